package docsync

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Config is what a [Session] is made of.
type Config struct {
	Self, Peer crdt.PeerID // Peer as the transport has proved it
	Nonce      [16]byte    // random, fresh for each connection
	Agent      string      // program and version, told to the other peer
	Features   []string    // told to the other peer
	Min, Max   uint64      // protocol versions spoken; 0 means [Protocol]
}

// Session is the state of one connection with one peer. No method is safe for concurrent use with
// another.
type Session struct {
	cfg     Config
	smaller bool // this peer has the smaller id
	out     []Action
	err     error
	count   map[Cause]uint64

	time  steadyTime
	meter clockMeter

	started    bool
	greeted    bool
	hello      Hello // the other peer's
	protocol   uint64
	docs       map[crdt.DocID]*docState
	myTags     map[Tag]*docState // as this peer announces
	theirTags  map[Tag]*docState // as the other peer announces
	heardTags  map[Tag]digests
	asked      map[Tag]int // how often answered as unknown: so many offers may come
	toAnnounce []*docState
	touched    []*docState

	chans     map[uint64]*channel
	tombs     map[uint64]bool // closed here, the other side's close is still to come
	nextChan  uint64
	nextRef   uint64
	theirLast uint64 // highest channel number of the other side, plus 1
	opening   int    // own channels in their handshake
	live      int    // channels in any state
	maxOpen   int    // channels above which an idle one is closed for a new one
	wantOpen  []*docState
	delayed   []delayedRefusal
	refusals  int
	retries   []moment
	ackNotes  []moment

	send scheduler
}

// NewSession returns the state for a stream that is about to start.
func NewSession(cfg Config) *Session {
	if cfg.Max == 0 {
		cfg.Min, cfg.Max = Protocol, Protocol
	}
	s := &Session{
		cfg: cfg, smaller: bytes.Compare(cfg.Self[:], cfg.Peer[:]) < 0,
		count: map[Cause]uint64{}, docs: map[crdt.DocID]*docState{},
		myTags: map[Tag]*docState{}, theirTags: map[Tag]*docState{}, heardTags: map[Tag]digests{}, asked: map[Tag]int{},
		chans: map[uint64]*channel{}, tombs: map[uint64]bool{}, maxOpen: idleChannels,
	}
	if !s.smaller {
		s.nextChan = 1
	}
	return s
}

// Opens reports whether self is the one that opens the stream to peer: the peer with the smaller id
// bytes does.
func Opens(self, peer crdt.PeerID) bool { return bytes.Compare(self[:], peer[:]) < 0 }

// Step takes an event at a time and returns what is to be done, in order. now is read off the local
// clock, which may lie and jump: of a jump at most 20 s count as time. Step never blocks.
func (s *Session) Step(now time.Time, ev Event) []Action {
	if s.err != nil {
		return nil
	}
	s.out = nil
	if s.time.advance(now) {
		s.count[CountClockJump]++
	}
	err := s.handle(ev)
	if err == nil {
		err = s.settle()
	}
	if err != nil {
		s.fail(err)
	}
	out := s.out
	s.out = nil
	return out
}

// Counters counts refusals, faults and what was ignored, by cause.
func (s *Session) Counters() map[Cause]uint64 { return maps.Clone(s.count) }

func (s *Session) handle(ev Event) error {
	switch ev := ev.(type) {
	case Start:
		return s.onStart()
	case FrameIn:
		return s.onBytes(ev.Bytes)
	case Written:
		s.send.writing = false
		return nil
	case Tick:
		s.time.armed = 0
		return nil
	case DocsChanged:
		return s.onDocs(ev.Docs)
	case WorkDone:
		return s.onWork(ev)
	case Join:
		return s.onJoin(ev)
	case Leave:
		return s.onLeave(ev)
	case broken:
		return ev.err
	}
	return fmt.Errorf("step session: unknown event %T", ev)
}

// settle does what follows from the new state: due timers, announcements, opens, pages, statuses.
func (s *Session) settle() error {
	if !s.started {
		return nil
	}
	for _, step := range []func() error{s.dueTimers, s.flushAnnounce, s.openMore, s.pump} {
		if err := step(); err != nil {
			return err
		}
	}
	s.reportStatus()
	s.armTimer()
	return nil
}

func (s *Session) emit(a Action) { s.out = append(s.out, a) }

func (s *Session) sendFrame(f Frame) error { return s.sendNotify(f, false) }

func (s *Session) sendNotify(f Frame, notify bool) error {
	b, err := Encode(f)
	if err != nil {
		return err
	}
	s.emit(Send{Frame: f, Bytes: b, Notify: notify})
	return nil
}

func (s *Session) onStart() error {
	s.started = true
	s.time.heard = s.time.elapsed
	h := &Hello{Min: s.cfg.Min, Max: s.cfg.Max, Clock: s.time.wall(), Nonce: s.cfg.Nonce, Features: s.cfg.Features, Agent: clipText(s.cfg.Agent, MaxName)}
	return s.sendFrame(h)
}

// onHello ends the handshake: ranges are compared, tags can be made, documents announced.
func (s *Session) onHello(h *Hello) error {
	if h.Nonce == s.cfg.Nonce {
		return bad(CauseReplay, "the other side repeats this side's nonce")
	}
	s.hello = *h
	if s.protocol = min(s.cfg.Max, h.Max); s.protocol < max(s.cfg.Min, h.Min) {
		return &IncompatibleError{s.cfg.Min, s.cfg.Max, h.Min, h.Max}
	}
	s.greeted = true
	s.meter.rough(h.Clock - s.time.wall())
	s.emit(PeerGreeted{Agent: h.Agent, Features: h.Features, Protocol: s.protocol})
	if err := s.ping(); err != nil {
		return err
	}
	for _, d := range s.sortedDocs() {
		s.makeTags(d)
		s.touch(d)
		if d.join != nil {
			s.want(d)
		}
		if d.held {
			s.reconsider(d)
		}
	}
	return nil
}

// fail ends the session, telling the other side why where that can help it.
func (s *Session) fail(err error) {
	s.err = err
	var proto *ProtocolError
	var remote *RemoteError
	var incompatible *IncompatibleError
	f := &Error{Code: CodeInternal, Text: "internal error"}
	switch {
	case errors.As(err, &proto):
		s.count[proto.Cause]++
		f = &Error{Code: CodeProtocol, Text: clipText(string(proto.Cause)+": "+proto.Detail, MaxNote)}
		if proto.Cause == CauseSilence {
			f.Code = CodeSilence
		}
	case errors.As(err, &incompatible):
		s.count[CauseIncompatible]++
		f = &Error{Code: CodeIncompatible, Text: clipText(err.Error(), MaxNote)}
	case errors.As(err, &remote):
		s.count[CauseRemote]++
		f = nil
	default:
		s.count[CountInternal]++
	}
	if f != nil {
		if b, err := Encode(f); err == nil {
			s.emit(Send{Frame: f, Bytes: b})
		}
	}
	s.emit(Fail{Err: err})
}

func (s *Session) sortedDocs() []*docState {
	return slices.SortedFunc(maps.Values(s.docs), func(a, b *docState) int { return bytes.Compare(a.id[:], b.id[:]) })
}

// clipText cuts a text to at most n bytes of valid UTF-8.
func clipText(text string, n int) string {
	text = string(bytes.ToValidUTF8([]byte(text), []byte("?")))
	if len(text) <= n {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:n]), nil))
}
