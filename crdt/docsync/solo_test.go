package docsync

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// solo is one real side whose other end is the test, frame by frame. The test plays peer B, which
// may write document doc of host A.
type solo struct {
	*side
	t     testing.TB
	w     *world
	doc   crdt.DocID
	nonce [16]byte
}

func newSolo(t *testing.T) *solo {
	t.Helper()
	w := newWorld(t, 2, 2)
	w.conns = 7 // so with other nonces than the links of other worlds
	id := w.shared(1, 2)
	l := w.connect(0, 1)
	return w.playB(l, id)
}

// playB takes the second side of a link over, before anything was delivered.
func (w *world) playB(l *link, id crdt.DocID) *solo {
	l.b.failed = errors.New("played by the test")
	l.a.in = nil
	return &solo{side: l.a, t: w.t, w: w, doc: id, nonce: [16]byte{2, 1}}
}

// say gives the side a frame and lets everything happen that follows.
func (s *solo) say(frames ...Frame) {
	s.t.Helper()
	for _, f := range frames {
		b, err := Encode(f)
		if err != nil {
			s.t.Fatal(err)
		}
		s.raw(b)
	}
}

func (s *solo) raw(b []byte) {
	s.side.in = append(s.side.in, b)
	s.w.settle()
}

// heard takes the frames that the side has sent.
func (s *solo) heard() (out []Frame) {
	for _, b := range s.other.in {
		f, err := Decode(b)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, f)
	}
	s.other.in = nil
	return out
}

func (s *solo) hello() *Hello {
	return &Hello{Min: 1, Max: 1, Clock: s.w.now.UnixMilli(), Nonce: s.nonce, Agent: "solo"}
}

func (s *solo) open(ch uint64) *Open {
	return &Open{Chan: ch, Tag: MakeTag(s.doc, s.nonce, s.sess.cfg.Nonce)}
}

// talk opens channel 1 and shakes hands on it.
func (s *solo) talk() {
	s.t.Helper()
	s.say(s.hello(), s.open(1), &Access{Chan: 1}, &Have{Chan: 1})
	s.heard()
}

// page packs changes of B's actor, numbered from first.
func (s *solo) page(first uint64, n int, change func(c *memChange)) *Changes {
	s.t.Helper()
	s.w.hosts[0].object(s.doc, memObject{Kind: "actor", Peer: s.peer, Actor: s.actor()})
	s.w.settle()
	var page []crdt.SignedChange
	var deps []crdt.ChangeHash
	for i := range n {
		c := memChange{Actor: s.actor(), Seq: first + uint64(i), Deps: deps, Text: fmt.Append(nil, first, i)}
		if change != nil {
			change(&c)
		}
		c.finish(true)
		deps = []crdt.ChangeHash{c.hash}
		page = append(page, crdt.SignedChange{Raw: c.raw, Sig: c.sig})
	}
	b, err := s.w.hosts[0].pages.Encode(page)
	if err != nil {
		s.t.Fatal(err)
	}
	return &Changes{Chan: 1, Page: b}
}

func (s *solo) actor() crdt.ActorID { return s.w.hosts[1].actorOf(s.doc) }

// TestFaults: each fault of the other side ends the connection with its cause, counted, and with an
// error frame; before the fault the same session worked.
func TestFaults(t *testing.T) {
	for _, c := range slices.Concat(handshakeFaults(), channelFaults(), limitFaults()) {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t)
			c.do(s)
			var proto *ProtocolError
			if !errors.As(s.failed, &proto) || proto.Cause != c.cause {
				t.Fatalf("failed with %v, want %s", s.failed, c.cause)
			}
			if s.sess.Counters()[c.cause] != 1 {
				t.Errorf("counted %v", s.sess.Counters())
			}
			all := s.heard()
			if f, ok := all[len(all)-1].(*Error); !ok || f.Code != CodeProtocol {
				t.Errorf("the last frame is %#v, want an error", all[len(all)-1])
			}
			if got := s.sess.Step(s.w.now, Tick{}); got != nil {
				t.Errorf("a failed session still acts: %v", got)
			}
		})
	}
}

type fault struct {
	name  string
	cause Cause
	do    func(s *solo)
}

func channelFaults() []fault {
	big := &Objects{Chan: 1, Objects: [][]byte{bytes.Repeat([]byte{1}, 9), bytes.Repeat([]byte{2}, 9)}}
	return []fault{
		{"opened own channel", CauseUnexpected, func(s *solo) { s.talk(); s.say(&Opened{Chan: 1}) }},
		{"parity", CauseMalformed, func(s *solo) { s.say(s.hello(), s.open(2)) }},
		{"channel used before", CauseReplay, func(s *solo) {
			s.talk()
			s.say(&Close{Chan: 1, Code: CodeDone}, s.open(1))
		}},
		{"opened twice", CauseDuplicate, func(s *solo) { s.talk(); s.say(s.open(3)) }},
		{"have before access", CauseUnexpected, func(s *solo) { s.say(s.hello(), s.open(1), &Have{Chan: 1}) }},
		{"objects before access", CauseUnexpected, func(s *solo) { s.say(s.hello(), s.open(1), big) }},
		{"changes too early", CauseUnexpected, func(s *solo) { s.say(s.hello(), s.open(1)); s.say(s.page(1, 1, nil)) }},
		{"bad object", CauseObject, func(s *solo) { s.talk(); s.say(big) }},
		{"bad chain", CauseObject, func(s *solo) {
			o := s.open(1)
			o.Objects = big.Objects
			s.w.hosts[0].object(s.doc, memObject{Kind: "revoke", Peer: s.peer})
			s.w.settle()
			s.say(s.hello(), o)
		}},
		{"page of rubbish", CausePage, func(s *solo) { s.talk(); s.say(&Changes{Chan: 1, Page: []byte("rubbish")}) }},
		{"gap", CauseGap, func(s *solo) {
			s.talk()
			s.say(s.page(1, 2, nil))
			s.say(s.page(4, 1, nil))
		}},
		{"ack without page", CauseUnexpected, func(s *solo) {
			s.talk()
			s.say(&Ack{Chan: 1}) // of the page with A's two changes
			if s.failed != nil {
				s.t.Fatal(s.failed)
			}
			s.say(&Ack{Chan: 1})
		}},
		{"pong without ping", CauseUnexpected, func(s *solo) { s.say(s.hello(), &Pong{ID: 99}) }},
		{"replayed pong", CauseUnexpected, func(s *solo) { s.say(s.hello(), &Pong{ID: 1}, &Pong{ID: 1}) }},
		{"offer of what was not asked", CauseOffer, func(s *solo) {
			s.say(s.hello(), &Offer{Doc: crdt.DocID{9}, Kind: "session", Objects: [][]byte{{1}}})
		}},
		{"forged proof", CauseObject, func(s *solo) {
			s.talk()
			s.say(&Proof{Chan: 1, Actor: s.actor(), Seq: 1, Sig: make([]byte, 64)})
		}},
		{"parts of a have out of order", CauseMalformed, func(s *solo) {
			e := VectorEntry{Actor: crdt.ActorID{1}, Seq: 1}
			s.say(s.hello(), s.open(1), &Access{Chan: 1}, &Have{Chan: 1, Vector: []VectorEntry{e}, More: true}, &Have{Chan: 1, Vector: []VectorEntry{e}})
		}},
	}
}

func limitFaults() []fault {
	return []fault{
		{"too many haves", CauseLimit, func(s *solo) {
			s.talk()
			for range maxHaves + 1 {
				s.say(&Have{Chan: 1})
			}
		}},
		{"too many access frames", CauseLimit, func(s *solo) {
			s.talk()
			for range maxAccess + 1 {
				s.say(&Access{Chan: 1})
			}
		}},
		{"guessing", CauseGuessing, func(s *solo) {
			s.say(s.hello())
			for i := range uint64(maxRefusals + 1) {
				s.say(&Open{Chan: 2*i + 1, Tag: Tag{byte(i), byte(i >> 8), 1}})
			}
		}},
		{"too many documents", CauseLimit, func(s *solo) {
			s.say(s.hello())
			for i := range MaxAnnounced/MaxAnnounce + 1 {
				f := &Announce{}
				for j := range MaxAnnounce {
					f.Entries = append(f.Entries, AnnounceEntry{Tag: Tag{byte(i), byte(j >> 8), byte(j)}})
				}
				s.say(f)
			}
		}},
	}
}

func handshakeFaults() []fault {
	return []fault{
		{"frame before hello", CauseBeforeHello, func(s *solo) { s.say(&Ping{ID: 1}) }},
		{"second hello", CauseSecondHello, func(s *solo) { s.say(s.hello(), s.hello()) }},
		{"own nonce", CauseReplay, func(s *solo) { h := s.hello(); h.Nonce = s.sess.cfg.Nonce; s.say(h) }},
		{"oversize", CauseOversize, func(s *solo) { s.raw(make([]byte, MaxFrame+1)) }},
		{"not CBOR", CauseMalformed, func(s *solo) { s.say(s.hello()); s.raw([]byte("hello")) }},
		{"unknown type", CauseUnknownType, func(s *solo) { s.say(s.hello()); s.raw([]byte{0x81, 17}) }},
		{"low extension", CauseUnknownType, func(s *solo) { s.say(s.hello()); s.raw([]byte{0x81, 0x18, 100}) }},
		{"unknown channel", CauseChannel, func(s *solo) { s.say(s.hello(), &Ack{Chan: 7}) }},
		{"close of unknown channel", CauseChannel, func(s *solo) { s.say(s.hello(), &Close{Chan: 7, Code: CodeDone}) }},
		{"opened out of the blue", CauseChannel, func(s *solo) { s.say(s.hello(), &Opened{Chan: 4}) }},
		{"refused out of the blue", CauseChannel, func(s *solo) { s.say(s.hello(), &Refused{Chan: 4, Code: CodeBusy}) }},
	}
}

// TestSoloWorks is the control of TestFaults: the same moves without the fault.
func TestSoloWorks(t *testing.T) {
	s := newSolo(t)
	s.talk()
	s.say(s.page(1, 3, nil), &Ping{ID: 5})
	s.raw([]byte{0x82, 0x18, 200, 0x61, 'x'}) // an extension
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	var acked, ponged bool
	for _, f := range s.heard() {
		switch f := f.(type) {
		case *Ack:
			acked = len(f.Vector) == 1 && f.Vector[0].Seq == 3
		case *Pong:
			ponged = f.ID == 5
		}
	}
	if !acked || !ponged || s.sess.Counters()[CountExtension] != 1 {
		t.Errorf("acked %v, ponged %v, counters %v", acked, ponged, s.sess.Counters())
	}
}

func TestWindow(t *testing.T) {
	s := newSolo(t)
	s.talk()
	p := s.page(1, 1, nil)
	b, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	for range windowPages {
		s.step(FrameIn{b}) // the work is not done in between
	}
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	s.step(FrameIn{b})
	var proto *ProtocolError
	if !errors.As(s.failed, &proto) || proto.Cause != CauseWindow {
		t.Errorf("a page beyond the window gave %v", s.failed)
	}
}

func TestVersionMismatch(t *testing.T) {
	s := newSolo(t)
	h := s.hello()
	h.Min, h.Max = 2, 5
	s.say(h)
	all := s.heard()
	f, ok := all[len(all)-1].(*Error)
	if !ok || f.Code != CodeIncompatible || f.Text != "this peer speaks sync protocol 1 to 1, the other 2 to 5" {
		t.Errorf("answered %+v", all[len(all)-1])
	}
	if st := s.sess.Status(); st.State != Incompatible {
		t.Errorf("status %+v", st)
	}
	newer := newSolo(t)
	h.Min = 1
	newer.say(h)
	if newer.failed != nil || newer.sess.Status().Protocol != 1 {
		t.Errorf("a peer that speaks 1 to 5: %v, %+v", newer.failed, newer.sess.Status())
	}
}

func TestRemoteError(t *testing.T) {
	s := newSolo(t)
	s.say(s.hello())
	s.heard()
	s.say(&Error{Code: CodeProtocol, Text: "you did wrong"})
	var remote *RemoteError
	if !errors.As(s.failed, &remote) || remote.Text != "you did wrong" || len(s.heard()) != 0 {
		t.Errorf("failed with %v", s.failed)
	}
}

// TestReplay: what one connection carried means nothing on another one.
func TestReplay(t *testing.T) {
	w := newWorld(t, 2, 2)
	id := w.shared(1, 3)
	var captured [][]byte
	w.mangle = func(from *side, b []byte) []byte {
		if from.host == w.hosts[1] {
			captured = append(captured, b)
		}
		return b
	}
	w.connect(0, 1)
	w.settle()
	w.equal(id, 0, 1)

	s := newSolo(t)
	s.w.hosts[0].docs[id] = w.hosts[0].docs[id] // the same document, a new connection
	s.side.step(DocsChanged{[]DocInfo{s.host.info(s.peer, id)}})
	s.heard()
	for _, b := range captured {
		s.raw(b)
	}
	for _, f := range s.heard() {
		switch f.(type) {
		case *Opened, *Access, *Objects, *Have, *Changes, *Offer:
			t.Errorf("a replay was answered with %T", f)
		}
	}
	if len(captured) < 5 {
		t.Errorf("only %d frames captured", len(captured))
	}
}

// TestDeniedLooksLikeUnknown: a stranger can't tell a document that it may not read from one that
// does not exist, neither by the frames nor by the time.
func TestDeniedLooksLikeUnknown(t *testing.T) {
	ask := func(known bool) (frames []string, took int64) {
		w := newWorld(t, 2, 2)
		id := w.hosts[0].create(1)
		if !known {
			id = crdt.DocID{7}
		}
		l := w.connect(0, 1)
		s := w.playB(l, id)
		s.say(s.hello())
		s.heard()
		start := w.now
		s.say(s.open(1))
		for _, f := range s.heard() {
			frames = append(frames, fmt.Sprintf("%T %+v", f, f))
		}
		if known {
			w.wantState(l.a, id, Denied)
		}
		return frames, w.now.Sub(start).Milliseconds()
	}
	a, at := ask(true)
	b, bt := ask(false)
	if fmt.Sprint(a) != fmt.Sprint(b) || at != bt || len(a) != 1 || at < refuseDelay.Milliseconds() {
		t.Errorf("denied: %v after %d ms; unknown: %v after %d ms", a, at, b, bt)
	}
}

// TestClosedChannelFrames: frames that were on their way when a channel was closed are passed over.
func TestClosedChannelFrames(t *testing.T) {
	s := newSolo(t)
	s.talk()
	p := s.page(1, 1, nil)
	s.w.hosts[0].object(s.doc, memObject{Kind: "revoke", Peer: s.peer})
	s.w.settle()
	s.say(p, &Close{Chan: 1, Code: CodeDone})
	if s.failed != nil || s.sess.Counters()[CountClosed] != 1 || s.host.applied != 0 {
		t.Errorf("failed %v, counters %v, applied %d", s.failed, s.sess.Counters(), s.host.applied)
	}
	s.say(p) // now the other side has seen the end of it
	var proto *ProtocolError
	if !errors.As(s.failed, &proto) || proto.Cause != CauseChannel {
		t.Errorf("failed with %v", s.failed)
	}
}
