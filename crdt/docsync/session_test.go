package docsync

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// shared makes a document on the first host in which the others may write; paired hosts take offers.
func (w *world) shared(nonce uint64, writes int) crdt.DocID {
	id := w.hosts[0].create(nonce)
	for _, h := range w.hosts[1:] {
		w.hosts[0].grant(id, h.self, crdt.Write)
		for _, o := range w.hosts {
			h.accept[o.self] = true
		}
	}
	for i := range writes {
		w.hosts[0].write(id, text("first %d", i))
	}
	return id
}

func TestTwoPeersConverge(t *testing.T) {
	w := newWorld(t, 1, 2)
	id := w.shared(1, 5)
	l := w.connect(0, 1)
	w.settle()
	w.alive(l)
	w.equal(id, 0, 1)
	w.wantState(l.a, id, InSync)
	w.wantState(l.b, id, InSync)
	w.hosts[1].write(id, text("live"))
	w.settle()
	w.equal(id, 0, 1)
	if got := w.hosts[0].acks[id][w.hosts[1].self].Digest(); got != w.hosts[0].vector(id).Digest() {
		t.Error("the other peer's durable vector was not recorded")
	}
}

// TestConvergeAtRandom runs many small worlds: random documents, rights, writes, cuts of the link and
// orders of events. In the end all members have the same and no link failed.
func TestConvergeAtRandom(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 40
	}
	var resets, crossed uint64
	for seed := range int64(seeds) {
		w := newWorld(t, seed, 2+int(seed/2%2))
		docs := w.randomDocs()
		all := w.storm(docs)
		w.settle()
		for _, l := range all {
			if l.a.failed != nil || l.b.failed != nil {
				t.Fatalf("seed %d: a link failed: %v; %v", seed, l.a.failed, l.b.failed)
			}
			crossed += l.a.sess.count[CountCrossed] + l.b.sess.count[CountCrossed]
		}
		for _, id := range docs {
			w.allEqual(id)
		}
		resets += uint64(w.resets)
	}
	if resets == 0 || crossed == 0 {
		t.Errorf("%d cuts, %d crossed opens: each must have happened", resets, crossed)
	}
	t.Logf("%d seeds, %d cuts, %d crossed opens", seeds, resets, crossed)
}

func (w *world) randomDocs() (docs []crdt.DocID) {
	for i := range 1 + w.rng.Intn(4) {
		docs = append(docs, w.shared(uint64(i+1), 1+w.rng.Intn(12)))
	}
	if w.rng.Intn(2) == 0 {
		w.hosts[0].limit = 100
	}
	return docs
}

// chain cuts all links and connects each host with the next: the ends never meet.
func (w *world) chain() []*link {
	for len(w.links) > 0 {
		w.cut(w.links[0])
	}
	for i := 1; i < len(w.hosts); i++ {
		w.connect(i-1, i)
	}
	return append([]*link{}, w.links...)
}

// storm lets writes, cuts and reconnects happen between the frames, and returns all links there were.
func (w *world) storm(docs []crdt.DocID) []*link {
	all := w.chain()
	for range 60 {
		for range w.rng.Intn(30) {
			w.turn()
		}
		switch h, id := w.hosts[w.rng.Intn(len(w.hosts))], docs[w.rng.Intn(len(docs))]; {
		case w.rng.Intn(12) == 0 && len(w.links) > 0:
			w.cut(w.links[w.rng.Intn(len(w.links))])
		case w.rng.Intn(6) == 0 && len(w.links) < len(w.hosts)-1:
			all = append(all, w.chain()...)
		case h.vector(id) != nil:
			h.write(id, text("%d", w.rng.Int()))
		}
	}
	if len(w.links) < len(w.hosts)-1 {
		all = append(all, w.chain()...)
	}
	return all
}

func (w *world) allEqual(id crdt.DocID) {
	w.t.Helper()
	for i := 1; i < len(w.hosts); i++ {
		w.equal(id, 0, i)
	}
	for _, l := range w.links {
		w.wantState(l.a, id, InSync)
		w.wantState(l.b, id, InSync)
	}
}

// TestFramesPerSync bounds the frames of a sync: nothing goes round in circles.
func TestFramesPerSync(t *testing.T) {
	for seed := range int64(40) {
		w := newWorld(t, seed, 3)
		id := w.shared(1, 10)
		w.connect(0, 1)
		w.connect(1, 2)
		w.settle()
		w.equal(id, 0, 1, 2)
		base := w.frames
		for i := range 10 {
			w.hosts[i%3].write(id, text("live %d", i))
		}
		w.settle()
		w.equal(id, 0, 1, 2)
		// For each write: at most an objects frame, a page and an ack on each of two links.
		if got := w.frames - base; got > 10*2*3 {
			t.Errorf("seed %d: %d frames for 10 writes over 2 links", seed, got)
		}
		if base > 80 {
			t.Errorf("seed %d: %d frames to start", seed, base)
		}
	}
}

func TestNoEcho(t *testing.T) {
	w := newWorld(t, 3, 2)
	id := w.shared(1, 3)
	l := w.connect(0, 1)
	w.settle()
	before := len(l.b.pages)
	for i := range 50 {
		w.hosts[0].write(id, text("%d", i))
		w.settle()
	}
	if got := len(l.b.pages) - before; got != 0 {
		t.Errorf("the receiver sent %d pages back", got)
	}
	if got := w.hosts[1].applied; got != 53 {
		t.Errorf("%d changes applied, want 53", got)
	}
}

// TestFairness: a live change of one document waits for at most one page of another one's bulk.
func TestFairness(t *testing.T) {
	for seed := range int64(20) {
		w := newWorld(t, seed, 2)
		bulk, live := w.shared(1, 300), w.shared(2, 1)
		w.hosts[0].limit = 200 // about two changes a page
		l := w.connect(0, 1)
		for len(l.a.pages) < 20 {
			if !w.turn() {
				t.Fatal("the bulk is over before the live change")
			}
		}
		for w.hosts[1].vector(live) == nil {
			w.turn()
		}
		for i := range 5 {
			w.hosts[0].write(live, text("%d", i))
			// From the moment the session has read the change.
			for l.a.sess.docs[live].ch == nil || l.a.sess.docs[live].ch.page == nil {
				if !w.turn() {
					t.Fatal("at rest before the change was read")
				}
				if ch := l.a.sess.docs[live].ch; ch != nil && len(ch.inflight) > 0 {
					break
				}
			}
			at := len(l.a.pages)
			for !containsDoc(l.a.pages[at-1:], live) {
				if !w.turn() {
					t.Fatal("at rest before the change was sent")
				}
			}
			if got := len(l.a.pages) - at; got > 2 {
				t.Errorf("seed %d: %d pages of the bulk went before the live change", seed, got-1)
			}
		}
		w.settle()
		w.equal(bulk, 0, 1)
		w.equal(live, 0, 1)
	}
}

func containsDoc(pages []crdt.DocID, id crdt.DocID) bool {
	for _, p := range pages {
		if p == id {
			return true
		}
	}
	return false
}

// TestBulkTakesTurns: of several documents far behind none is starved.
func TestBulkTakesTurns(t *testing.T) {
	w := newWorld(t, 5, 2)
	docs := []crdt.DocID{w.shared(1, 300), w.shared(2, 300), w.shared(3, 300)}
	w.hosts[0].limit = 200
	l := w.connect(0, 1)
	w.settle()
	last := map[crdt.DocID]int{}
	for _, id := range docs {
		w.equal(id, 0, 1)
	}
	for i, p := range l.a.pages[:len(l.a.pages)-60] {
		if gap := i - last[p]; gap > 20 {
			t.Fatalf("a document waited for %d pages of others", gap)
		}
		last[p] = i
	}
}

func TestHalfOpen(t *testing.T) {
	w := newWorld(t, 1, 2)
	l := w.connect(0, 1)
	w.settle()
	w.alive(l)
	for range 20 {
		w.tick(time.Hour)
		w.settle()
	}
	w.alive(l) // the control: pings keep a quiet link alive
	w.mangle = func(*side, []byte) []byte { return nil }
	for range 20 {
		w.tick(time.Hour)
	}
	var proto *ProtocolError
	if !errors.As(l.a.failed, &proto) || proto.Cause != CauseSilence {
		t.Errorf("a dead link gave %v, want silence", l.a.failed)
	}
}

// TestClockJumps: a clock that jumps by years neither fails the link nor stops it.
func TestClockJumps(t *testing.T) {
	w := newWorld(t, 1, 2)
	id := w.shared(1, 2)
	w.skew[w.hosts[0].self] = 2 * time.Hour
	w.skew[w.hosts[1].self] = -72 * time.Hour
	l := w.connect(0, 1)
	w.settle()
	if ms, ok := l.a.sess.ClockOffset(); !ok || ms != -74*3600*1000 {
		t.Errorf("offset %d ms, want −74 h", ms)
	}
	for i, jump := range []time.Duration{300 * 24 * time.Hour, -300 * 24 * time.Hour, 24 * time.Hour} {
		w.skew[w.hosts[0].self] += jump
		w.hosts[0].write(id, text("%d", i))
		w.settle()
		w.equal(id, 0, 1)
	}
	w.alive(l)
	if l.a.sess.Counters()[CountClockJump] == 0 {
		t.Error("no jump was counted")
	}
}

// TestManyDocuments: documents that are equal cost an entry each, not a channel.
func TestManyDocuments(t *testing.T) {
	w := newWorld(t, 1, 2)
	const n = 2500
	for i := range n {
		w.shared(uint64(i+1), 1)
	}
	w.connect(0, 1)
	w.settle()
	w.cut(w.links[0])
	w.frames = 0
	l := w.connect(0, 1)
	w.settle()
	if w.frames > 20 || len(l.a.sess.chans) != 0 {
		t.Errorf("%d frames and %d channels for %d equal documents", w.frames, len(l.a.sess.chans), n)
	}
	if got := len(l.a.sess.Status().Docs); got != n {
		t.Errorf("%d documents in the status, want %d", got, n)
	}
}

// TestIdleChannelsClose: a peer with more documents in use than channels gives the idle ones up.
func TestIdleChannelsClose(t *testing.T) {
	w := newWorld(t, 1, 2)
	var docs []crdt.DocID
	const most = 20
	for i := range most * 3 {
		docs = append(docs, w.shared(uint64(i+1), 1))
	}
	l := w.connect(0, 1)
	l.a.sess.maxOpen, l.b.sess.maxOpen = most, most
	w.settle()
	w.alive(l)
	if got := len(l.a.sess.chans); got > most {
		t.Errorf("%d channels open", got)
	}
	for _, id := range []crdt.DocID{docs[0], docs[len(docs)-1]} {
		w.hosts[0].write(id, text("again"))
		w.hosts[1].write(id, text("again"))
	}
	w.settle()
	for _, id := range docs {
		w.equal(id, 0, 1)
		w.wantState(l.a, id, InSync)
		w.wantState(l.b, id, InSync)
	}
}

// TestFailureHere: a document that can't be read on one side is retried later and holds up no other.
func TestFailureHere(t *testing.T) {
	w := newWorld(t, 1, 2)
	sick, well := w.shared(1, 3), w.shared(2, 3)
	w.hosts[0].fail[sick] = fmt.Errorf("disk on fire")
	w.hosts[1].accept[w.hosts[0].self] = true
	l := w.connect(0, 1)
	w.settle()
	w.alive(l)
	w.equal(well, 0, 1)
	if w.hosts[1].vector(sick) != nil {
		t.Fatal("the sick document came over")
	}
	delete(w.hosts[0].fail, sick)
	w.cut(l)
	l = w.connect(0, 1)
	w.settle()
	w.equal(sick, 0, 1)

	w.hosts[0].fail[sick] = fmt.Errorf("disk on fire")
	w.hosts[1].write(sick, text("more"))
	w.settle()
	w.alive(l)
	w.wantState(l.a, sick, Blocked)
	delete(w.hosts[0].fail, sick)
	for range 6 {
		w.tick(time.Hour)
		w.settle()
	}
	w.equal(sick, 0, 1)
	w.wantState(l.a, sick, InSync)
	w.wantState(l.b, sick, InSync)
}
