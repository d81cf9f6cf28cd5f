package docsync

import (
	"slices"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// joinWorld: host 0 owns a document that the others do not know.
func joinWorld(t *testing.T, seed int64, peers int) (*world, crdt.DocID) {
	w := newWorld(t, seed, peers)
	id := w.hosts[0].create(1)
	for i := range 3 {
		w.hosts[0].write(id, text("%d", i))
	}
	return w, id
}

func (w *world) join(s *side, j Join) {
	j.Kind = crdt.Session
	s.step(j)
	w.settle()
}

func TestJoinWithSecret(t *testing.T) {
	for seed := range int64(30) {
		w, id := joinWorld(t, seed, 2)
		w.hosts[0].secret["open sesame"] = crdt.Write
		l := w.connect(0, 1)
		w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self, Secret: []byte("open sesame")})
		w.alive(l)
		w.equal(id, 0, 1)
		w.wantState(l.b, id, InSync)
		if !slices.Contains(w.hosts[1].told, "join ready") {
			t.Fatalf("the joiner was told %v", w.hosts[1].told)
		}
		w.hosts[1].write(id, text("hello"))
		w.settle()
		w.equal(id, 0, 1)
	}
}

func TestJoinPendingThenApproved(t *testing.T) {
	w, id := joinWorld(t, 1, 2)
	l := w.connect(0, 1)
	w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self, Role: "write", Note: "it is me"})
	w.wantState(l.b, id, Pending)
	w.wantState(l.a, id, Pending)
	want := Request{Peer: w.hosts[1].self, Doc: id, Role: "write", Note: "it is me"}
	if got := w.hosts[0].asked; len(got) != 1 || got[0].Note != want.Note || got[0].Peer != want.Peer || got[0].Role != want.Role {
		t.Fatalf("asked %+v", got)
	}
	if w.hosts[1].vector(id) != nil {
		t.Fatal("something came over before the approval")
	}
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Write)
	w.settle()
	w.alive(l)
	w.equal(id, 0, 1)
	w.wantState(l.a, id, InSync)
	if got := w.hosts[1].told; !slices.Contains(got, "join pending") || !slices.Contains(got, "join ready") {
		t.Errorf("the joiner was told %v", got)
	}
}

func TestJoinNotServed(t *testing.T) {
	for _, secret := range []string{"wrong", ""} {
		w, id := joinWorld(t, 1, 2)
		w.hosts[0].secret["right"] = crdt.Read
		l := w.connect(0, 1)
		w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self, Secret: []byte(secret)})
		w.wantState(l.b, id, NotServed)
		w.wantState(l.a, id, Denied)
		w.alive(l)
		if w.hosts[1].vector(id) != nil || !slices.Contains(w.hosts[1].told, "join not_served") {
			t.Errorf("secret %q: told %v", secret, w.hosts[1].told)
		}
	}
}

// TestSecretStaysWithInviter: the secret goes to the peer that the ticket names only.
func TestSecretStaysWithInviter(t *testing.T) {
	w, id := joinWorld(t, 1, 3)
	var seen []*Open
	w.log = func(_, to string, f Frame) {
		if o, ok := f.(*Open); ok {
			seen = append(seen, o)
		}
	}
	l := w.connect(1, 2) // host 2 is not the inviter
	w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self, Secret: []byte("s"), Note: "n", Role: "read"})
	if len(seen) != 1 || len(seen[0].Secret)+len(seen[0].Note)+len(seen[0].Role) != 0 {
		t.Errorf("sent %+v", seen)
	}
}

// TestVersionBlocksNewPeers: a document with objects of unknown kinds is served to those who read it
// already and to nobody new.
func TestVersionBlocksNewPeers(t *testing.T) {
	w := newWorld(t, 1, 3)
	id := w.hosts[0].create(1)
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Write)
	w.hosts[1].accept[w.hosts[0].self] = true
	w.hosts[0].write(id, text("x"))
	w.hosts[0].object(id, memObject{Kind: "unknown", Nonce: 4})
	w.hosts[0].secret["s"] = crdt.Read
	w.connect(0, 1)
	l := w.connect(0, 2)
	w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self, Secret: []byte("s")})
	w.equal(id, 0, 1)
	w.wantState(l.b, id, Blocked)
	if w.hosts[2].vector(id) != nil || l.a.sess.Counters()[CountVersion] != 1 {
		t.Errorf("served to a new peer; counters %v", l.a.sess.Counters())
	}
}

// TestOpenWithChain: a peer that was granted access elsewhere is admitted by what it shows.
func TestOpenWithChain(t *testing.T) {
	w, id := joinWorld(t, 1, 3)
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Admin)
	w.hosts[1].accept[w.hosts[0].self] = true
	l := w.connect(0, 1)
	w.settle()
	w.cut(l)
	w.hosts[1].grant(id, w.hosts[2].self, crdt.Write) // host 0 has not heard of it
	w.hosts[2].accept[w.hosts[1].self] = true
	l = w.connect(1, 2)
	w.settle()
	w.cut(l)
	w.hosts[2].write(id, text("from the third"))
	l = w.connect(0, 2)
	w.settle()
	w.alive(l)
	w.equal(id, 0, 2)
}

// TestOfferNeedsAName: the id of a public document is not told to the public.
func TestOfferNeedsAName(t *testing.T) {
	w, id := joinWorld(t, 1, 2)
	w.hosts[0].object(id, memObject{Kind: "public"})
	w.hosts[1].accept[w.hosts[0].self] = true
	offers := 0
	w.log = func(_, _ string, f Frame) {
		if _, ok := f.(*Offer); ok {
			offers++
		}
	}
	l := w.connect(0, 1)
	w.settle()
	if offers != 0 || w.hosts[1].vector(id) != nil {
		t.Errorf("%d offers to the public", offers)
	}
	w.join(l.b, Join{Doc: id, Inviter: w.hosts[0].self}) // who knows the id may read
	w.equal(id, 0, 1)

	w.cut(l)
	w.hosts[1].docs = map[crdt.DocID]*memDoc{}
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Read)
	w.connect(0, 1)
	w.settle()
	if offers != 1 {
		t.Errorf("%d offers to a named member", offers)
	}
	w.equal(id, 0, 1)
}

func TestOfferOfAStrangerIsIgnored(t *testing.T) {
	w, id := joinWorld(t, 1, 2)
	w.hosts[0].grant(id, w.hosts[1].self, crdt.Write)
	l := w.connect(0, 1)
	w.settle()
	if w.hosts[1].vector(id) != nil || l.b.sess.Counters()[CountOfferIgnored] != 1 {
		t.Errorf("counters %v", l.b.sess.Counters())
	}
	w.wantState(l.a, id, NotServed)
}

// TestRevoke: a peer that loses its right in the middle gets nothing written after that.
func TestRevoke(t *testing.T) {
	w := newWorld(t, 1, 2)
	id := w.shared(1, 2)
	l := w.connect(0, 1)
	w.settle()
	w.equal(id, 0, 1)
	before := w.hosts[1].vector(id)
	w.hosts[0].object(id, memObject{Kind: "revoke", Peer: w.hosts[1].self})
	w.hosts[0].write(id, text("secret"))
	w.settle()
	w.alive(l)
	if !before.Covers(w.hosts[1].vector(id)) {
		t.Error("a revoked peer got a change")
	}
	w.wantState(l.a, id, Denied)
	w.wantState(l.b, id, NotServed)
	w.hosts[1].write(id, text("I try"))
	w.settle()
	w.alive(l)
	w.wantState(l.a, id, Denied)
}

func TestForget(t *testing.T) {
	w := newWorld(t, 1, 2)
	id := w.shared(1, 2)
	l := w.connect(0, 1)
	w.settle()
	h := w.hosts[1]
	h.mu.Lock()
	delete(h.docs, id)
	h.changed(id)
	h.mu.Unlock()
	w.settle()
	w.alive(l)
	w.wantState(l.a, id, NotServed)
	w.wantState(l.b, id, "")
}

// TestAccessBeforeChanges: an object that a change needs is on the wire before it.
func TestAccessBeforeChanges(t *testing.T) {
	for seed := range int64(50) {
		w := newWorld(t, seed, 3)
		id := w.shared(1, 1)
		w.connect(0, 1)
		w.connect(1, 2)
		w.settle()
		for i := range 6 {
			w.hosts[i%3].write(id, text("%d", i)) // the first of each declares its actor
		}
		w.settle()
		w.equal(id, 0, 1, 2)
		for _, l := range w.links {
			w.alive(l)
			if n := l.a.sess.count[CountWaiting] + l.b.sess.count[CountWaiting]; n != 0 {
				t.Fatalf("seed %d: %d changes had to wait", seed, n)
			}
		}
	}
}

// TestWaiting: a change that needs an object which did not come is asked for again, boundedly.
func TestWaiting(t *testing.T) {
	s := newSolo(t)
	s.talk()
	p := s.page(1, 1, nil)
	// The host loses the actor object that page declared.
	obj := memObject{Kind: "actor", Doc: s.doc, Peer: s.peer, Actor: s.actor()}
	delete(s.host.docs[s.doc].objs, obj.id())
	s.say(p)
	asked := false
	for _, f := range s.heard() {
		_, isAccess := f.(*Access)
		asked = asked || isAccess
	}
	if !asked {
		t.Fatal("the access objects were not asked for again")
	}
	s.say(&Objects{Chan: 1, Objects: [][]byte{obj.raw()}}, &Have{Chan: 1})
	sawHave := false
	for _, f := range s.heard() {
		_, isHave := f.(*Have)
		sawHave = sawHave || isHave
	}
	if !sawHave {
		t.Fatal("the changes were not asked for again")
	}
	s.say(p)
	if s.failed != nil || s.host.vector(s.doc)[s.actor()].Seq != 1 {
		t.Errorf("failed %v, vector %v", s.failed, s.host.vector(s.doc))
	}

	// Now it never comes: after a few rounds the session stops asking and says so.
	s = newSolo(t)
	s.talk()
	p = s.page(1, 1, nil)
	delete(s.host.docs[s.doc].objs, obj.id())
	rounds := 0
	for range 20 {
		s.say(p)
		for _, f := range s.heard() {
			if _, ok := f.(*Access); ok {
				rounds++
			}
		}
		s.say(&Have{Chan: 1})
	}
	for len(s.sess.docs[s.doc].ch.inflight) > 0 {
		s.say(&Ack{Chan: 1})
	}
	if s.failed != nil || rounds != maxReasks {
		t.Errorf("asked %d times, failed %v", rounds, s.failed)
	}
	s.w.wantState(s.side, s.doc, Blocked)
}

// TestWaitingIsFreedFromElsewhere: when the object comes over another connection the changes are
// fetched again.
func TestWaitingIsFreedFromElsewhere(t *testing.T) {
	s := newSolo(t)
	s.talk()
	p := s.page(1, 1, nil)
	obj := memObject{Kind: "actor", Doc: s.doc, Peer: s.peer, Actor: s.actor()}
	delete(s.host.docs[s.doc].objs, obj.id())
	for range maxReasks + 1 {
		s.say(p, &Have{Chan: 1})
	}
	s.heard()
	s.host.object(s.doc, obj)
	s.w.settle()
	haves := 0
	for _, f := range s.heard() {
		if _, ok := f.(*Have); ok {
			haves++
		}
	}
	if haves != 1 {
		t.Errorf("%d have frames after the object came, want 1", haves)
	}
	s.say(p)
	if s.host.vector(s.doc)[s.actor()].Seq != 1 {
		t.Error("the change was not taken")
	}
}

// TestRefusedIsNotOfferedAgain: what the other side refuses, and what builds on it, is not sent
// again; the rest goes on; both sides say so.
func TestRefusedIsNotOfferedAgain(t *testing.T) {
	w := newWorld(t, 1, 3)
	id := w.shared(1, 1)
	w.hosts[1].picky = func(c memChange) bool { return string(c.Text) == "bad" }
	l := w.connect(0, 1)
	w.connect(0, 2)
	w.settle()
	sent := 0
	w.log = func(from, to string, f Frame) {
		if _, ok := f.(*Changes); ok && from == "A" && to == "B" {
			sent++
		}
	}
	bad := w.hosts[2]
	bad.write(id, text("bad"))
	w.settle()
	bad.write(id, text("on top of it"))
	w.settle()
	w.equal(id, 0, 2)
	w.alive(l)
	if sent != 1 {
		t.Errorf("%d pages sent, want the one that was refused", sent)
	}
	w.wantState(l.a, id, Blocked)
	w.wantState(l.b, id, Blocked)
	if n := l.b.sess.Counters()[CountRefused]; n != 1 {
		t.Errorf("%d changes refused", n)
	}
	// The control: what does not build on it still goes both ways.
	h := w.hosts[1]
	h.write(id, text("unrelated"))
	w.settle()
	if w.hosts[0].vector(id)[h.actorOf(id)].Seq != 1 {
		t.Error("an unrelated change did not come through")
	}
	// A new connection learns it from the have and does not send it either.
	w.cut(l)
	sent = 0
	w.connect(0, 1)
	w.settle()
	if sent != 0 {
		t.Errorf("%d pages sent on the next connection", sent)
	}
}

// TestFork: two copies of one home write under one actor. It is found by comparing hashes, the actor
// stops, everything else goes on, and each side shows the other its signature.
func TestFork(t *testing.T) {
	for _, lead := range []int{0, 1, 3} {
		w := newWorld(t, int64(lead), 2)
		id := w.shared(1, 2)
		l := w.connect(0, 1)
		w.settle()
		w.cut(l)
		// The copy: host 1 writes under host 0's actor.
		copied, a := w.hosts[1], w.hosts[0].actorOf(id)
		copied.mu.Lock()
		d := copied.docs[id]
		c := memChange{Actor: a, Seq: 3, Deps: d.heads(), Text: text("the copy")}
		c.finish(true)
		d.add(c)
		copied.mu.Unlock()
		for i := range 1 + lead {
			w.hosts[0].write(id, text("the original %d", i))
		}
		w.hosts[0].limit = 100
		l = w.connect(0, 1)
		w.settle()
		w.alive(l)
		w.wantState(l.a, id, Forked)
		if w.hosts[0].vector(id)[a].Hash == copied.vector(id)[a].Hash {
			t.Fatal("the branches became one")
		}
		if l.a.sess.Counters()[CountFork]+l.b.sess.Counters()[CountFork] == 0 {
			t.Error("no fork was counted")
		}
		if w.hosts[0].accused+w.hosts[1].accused == 0 {
			t.Error("no signature was shown")
		}
	}
}

// TestForkLeavesOthersAlone: changes of other actors that do not build on the branch still travel.
func TestForkLeavesOthersAlone(t *testing.T) {
	w := newWorld(t, 1, 3)
	id := w.shared(1, 2)
	w.connect(0, 1)
	w.connect(1, 2)
	w.settle()
	for len(w.links) > 0 {
		w.cut(w.links[0])
	}
	fork := func(h *memHost, what string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		d := h.docs[id]
		c := memChange{Actor: w.hosts[2].actorOf(id), Seq: 1, Text: []byte(what)}
		o := memObject{Kind: "actor", Doc: id, Peer: w.hosts[2].self, Actor: c.Actor}
		d.objs[o.id()] = o
		c.finish(true)
		d.add(c)
	}
	// Written before the branches are there, so they depend on neither.
	w.hosts[0].write(id, text("from A"))
	w.hosts[1].write(id, text("from B"))
	fork(w.hosts[0], "one")
	fork(w.hosts[1], "two")
	l := w.connect(0, 1)
	w.settle()
	w.alive(l)
	w.wantState(l.a, id, Forked)
	w.wantState(l.b, id, Forked)
	for _, i := range []int{0, 1} {
		v := w.hosts[i].vector(id)
		if v[w.hosts[0].actorOf(id)].Seq != 3 || v[w.hosts[1].actorOf(id)].Seq != 1 {
			t.Errorf("peer %d has %v", i, v)
		}
	}
}

// TestBusyIsRetried: a busy answer is not the last word.
func TestBusyIsRetried(t *testing.T) {
	w := newWorld(t, 1, 2)
	id := w.shared(1, 2)
	l := w.connect(0, 1)
	w.settle()
	w.cut(l)
	w.hosts[0].write(id, text("more"))
	w.hosts[1].fail[id] = errTest
	l = w.connect(0, 1)
	w.settle()
	w.wantState(l.a, id, Behind)
	delete(w.hosts[1].fail, id)
	for range 4 {
		w.tick(time.Minute)
		w.settle()
	}
	w.alive(l)
	w.equal(id, 0, 1)
}
