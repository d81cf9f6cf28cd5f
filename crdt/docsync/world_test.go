package docsync

import (
	"context"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// world is any number of peers and links in one goroutine: a seed decides what happens next.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	now   time.Time
	hosts []*memHost
	skew  map[crdt.PeerID]time.Duration
	links []*link
	conns int
	// frames counts all frames delivered, resets all links cut.
	frames, resets int
	log            func(from, to string, f Frame)
	mangle         func(from *side, b []byte) []byte // nil drops the frame
}

// link is a connection between two sides.
type link struct{ a, b *side }

// side is one end: a session with what it has asked for.
type side struct {
	w       *world
	host    *memHost
	peer    crdt.PeerID
	sess    *Session
	other   *side
	feed    *memFeed
	in      [][]byte // frames that arrive here
	lanes   map[crdt.DocID][]Work
	order   []crdt.DocID
	written int
	failed  error
	due     time.Time
	pages   []crdt.DocID // of the pages sent, in order
}

func newWorld(t testing.TB, seed int64, peers int) *world {
	t.Helper()
	pages, err := NewPages()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pages.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("a world of seed %d failed", seed)
		}
	})
	w := &world{t: t, rng: rand.New(rand.NewSource(seed)), now: time.UnixMilli(1_700_000_000_000), skew: map[crdt.PeerID]time.Duration{}}
	for i := range peers {
		id := byte('A' + i)
		if seed%2 == 1 {
			id = byte('Z' - i) // the first has the greatest id
		}
		h := newMemHost(id, pages)
		h.name = string(rune('A' + i))
		w.hosts = append(w.hosts, h)
	}
	return w
}

// connect starts a session between two hosts.
func (w *world) connect(i, j int) *link {
	w.conns++
	l := &link{}
	mk := func(h, o *memHost, n byte) *side {
		s := &side{w: w, host: h, peer: o.self, lanes: map[crdt.DocID][]Work{}, feed: h.watch()}
		s.sess = NewSession(Config{Self: h.self, Peer: o.self, Nonce: [16]byte{n, byte(w.conns), byte(w.conns >> 8)}, Agent: "test/1"})
		return s
	}
	l.a, l.b = mk(w.hosts[i], w.hosts[j], 1), mk(w.hosts[j], w.hosts[i], 2)
	l.a.other, l.b.other = l.b, l.a
	w.links = append(w.links, l)
	for _, s := range []*side{l.a, l.b} {
		docs, err := s.host.Describe(context.Background(), s.peer, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		s.step(DocsChanged{docs})
		s.step(Start{})
	}
	return l
}

// cut drops a link with everything on its way.
func (w *world) cut(l *link) {
	w.resets++
	for _, s := range []*side{l.a, l.b} {
		s.feed.Close()
	}
	for i := range w.links {
		if w.links[i] == l {
			w.links = append(w.links[:i], w.links[i+1:]...)
			return
		}
	}
}

func (s *side) name() string { return s.host.name }

func (s *side) step(ev Event) {
	now := s.w.now.Add(s.w.skew[s.host.self])
	for _, a := range s.sess.Step(now, ev) {
		switch a := a.(type) {
		case Send:
			if s.w.log != nil {
				s.w.log(s.name(), s.other.name(), a.Frame)
			}
			if c, ok := a.Frame.(*Changes); ok {
				s.pages = append(s.pages, s.sess.chans[c.Chan].doc.id)
			}
			b := a.Bytes
			if s.w.mangle != nil {
				b = s.w.mangle(s, b)
			}
			if b != nil {
				s.other.in = append(s.other.in, b)
			}
			if a.Notify {
				s.written++
			}
		case SetTimer:
			s.due = s.w.now.Add(a.After)
		case Fail:
			s.failed = a.Err
		case Work:
			id := a.Document()
			if len(s.lanes[id]) == 0 {
				s.order = append(s.order, id)
			}
			s.lanes[id] = append(s.lanes[id], a)
		case Notice:
			s.host.Notify(s.peer, a)
		}
	}
}

// moves lists what can happen at a side now.
func (s *side) moves() (out []func()) {
	if s.failed != nil {
		return nil
	}
	if len(s.in) > 0 {
		out = append(out, s.deliver)
	}
	if s.written > 0 {
		out = append(out, func() { s.written--; s.step(Written{}) })
	}
	if n := len(s.order); n > 0 {
		out = append(out, func() { s.work(s.order[s.w.rng.Intn(n)]) })
	}
	if len(s.feed.pending) > 0 {
		out = append(out, func() {
			docs, _ := s.host.Describe(context.Background(), s.peer, s.feed.take())
			s.step(DocsChanged{docs})
		})
	}
	return out
}

func (s *side) deliver() {
	b := s.in[0]
	s.in = s.in[1:]
	s.w.frames++
	s.step(FrameIn{b})
}

func (s *side) work(id crdt.DocID) {
	w := s.lanes[id][0]
	s.lanes[id] = s.lanes[id][1:]
	if len(s.lanes[id]) == 0 {
		for i := range s.order {
			if s.order[i] == id {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
	}
	r, err := s.host.Do(context.Background(), s.peer, w)
	s.step(WorkDone{Work: w, Result: r, Err: err})
}

// turn does one random thing; false when nothing can happen without time passing.
func (w *world) turn() bool {
	var all []func()
	for _, l := range w.links {
		all = append(all, l.a.moves()...)
		all = append(all, l.b.moves()...)
	}
	if len(all) == 0 {
		return false
	}
	all[w.rng.Intn(len(all))]()
	return true
}

// settle runs until nothing happens any more, letting timers below 10 s fire.
func (w *world) settle() {
	w.t.Helper()
	for range 400_000 {
		if w.turn() {
			continue
		}
		if !w.tick(10 * time.Second) {
			return
		}
	}
	w.t.Fatal("the world does not come to rest")
}

// tick lets the next timer fire that is due within a time.
func (w *world) tick(within time.Duration) bool {
	var next *side
	for _, l := range w.links {
		for _, s := range []*side{l.a, l.b} {
			if s.failed == nil && !s.due.IsZero() && s.due.Before(w.now.Add(within)) && (next == nil || s.due.Before(next.due)) {
				next = s
			}
		}
	}
	if next == nil {
		return false
	}
	if next.due.After(w.now) {
		w.now = next.due
	}
	next.due = time.Time{}
	next.step(Tick{})
	return true
}

// equal fails unless all hosts that hold a document have the same of it.
func (w *world) equal(id crdt.DocID, hosts ...int) {
	w.t.Helper()
	first := w.hosts[hosts[0]]
	for _, i := range hosts[1:] {
		h := w.hosts[i]
		if h.vector(id).Digest() != first.vector(id).Digest() || h.accessOf(id) != first.accessOf(id) {
			w.t.Fatalf("peers %c and %c differ: %v and %v", 'A'+hosts[0], 'A'+i, first.vector(id), h.vector(id))
		}
	}
	if len(first.vector(id)) == 0 {
		w.t.Fatalf("peer %c holds nothing", 'A'+hosts[0])
	}
}

// state is what one side of a link shows for a document.
func (s *side) state(id crdt.DocID) State {
	for _, d := range s.sess.Status().Docs {
		if d.Doc == id {
			return d.State
		}
	}
	return ""
}

func (w *world) wantState(s *side, id crdt.DocID, want State) {
	w.t.Helper()
	if got := s.state(id); got != want {
		w.t.Fatalf("%s shows %s for the document, want %s; session: %v", s.name(), got, want, s.sess.Status())
	}
}

func (w *world) alive(l *link) {
	w.t.Helper()
	if l.a.failed != nil || l.b.failed != nil {
		w.t.Fatalf("the link failed: %v; %v", l.a.failed, l.b.failed)
	}
}

func text(format string, args ...any) []byte { return fmt.Appendf(nil, format, args...) }
