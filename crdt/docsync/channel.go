package docsync

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

type chanState uint8

const (
	chanLoading   chanState = iota // own: the document is being read, nothing was sent
	chanOpening                    // own: open was sent
	chanAdmitting                  // the other side's: the host decides
	chanOpen
	chanClosed
)

// channel is the exchange of one document.
type channel struct {
	doc   *docState
	id    uint64
	ref   uint64
	mine  bool // this side opened it
	state chanState
	born  time.Duration
	used  time.Duration // last time something but a clock tick concerned it

	announced bool // the other side announced the document while the channel was there
	abandon   Code // to be closed as soon as the other side has answered
	shaking   bool // counted in Session.opening
	ids       []crdt.ObjectID

	// Access sets.
	theirIDs       map[crdt.ObjectID]bool
	accessSaid     [32]byte // digest of the set of which the other side has all
	gotAccess      bool
	answer         bool // the other side's access frame is to be answered with objects and have
	loadingObjects bool
	reload         bool // the access set moved while it was being read
	adding         int
	accessSeen     int
	objectsSeen    int

	// Vectors: what is here, what is there for certain, what will be there when all in flight
	// arrives, what was there at the start.
	local, theirs, sent, goal crdt.Vector
	gotHave, sentHave         bool
	haveParts                 *Have
	haveReady                 bool // haveParts is complete and not yet taken
	looking                   bool
	haves                     int
	proofs                    int
	complete                  bool

	// Sending.
	epoch    uint64 // moves when sent is set back, so that a page read before is dropped
	fresh    bool   // there may be something to send
	again    bool   // the document changed while a page was being read
	loading  bool
	bulk     bool // far behind
	page     []byte
	pageMore bool
	marks    []Mark // of page
	inLoad   bool   // queued to load
	inSend   bool   // queued to send
	inflight []int

	// Receiving.
	applying   int
	waiting    map[crdt.ChangeHash]bool
	waitsFor   string
	waitAccess [32]byte              // the access set at which they were found waiting
	stopped    map[crdt.ActorID]bool // actors of which a change was not taken
	lenient    bool                  // a change of an unknown actor was not taken
	asking     bool
	reasks     int
}

func (s *Session) newChannel(d *docState, mine bool) *channel {
	s.nextRef++
	s.live++
	ch := &channel{
		doc: d, ref: s.nextRef, mine: mine, born: s.time.elapsed, used: s.time.elapsed,
		theirIDs: map[crdt.ObjectID]bool{}, local: crdt.Vector{}, theirs: crdt.Vector{}, sent: crdt.Vector{},
		waiting: map[crdt.ChangeHash]bool{}, stopped: map[crdt.ActorID]bool{},
	}
	d.ch = ch
	// Its first have says anew what differs and what is refused. Either side may have forgotten the
	// document since the last channel, and be given the other branch now.
	clear(d.forks)
	clear(d.without)
	s.touch(d)
	return ch
}

// drop forgets a channel on this side, with everything that is set aside for it.
func (s *Session) drop(ch *channel) {
	ch.state = chanClosed
	s.shaken(ch)
	s.live--
	if s.chans[ch.id] == ch {
		delete(s.chans, ch.id)
	}
	s.send.forget(ch)
	if ch.doc.ch == ch {
		ch.doc.ch = nil
	}
	s.touch(ch.doc)
}

// shaken ends the handshake of an own channel: the next one may be opened.
func (s *Session) shaken(ch *channel) {
	if ch.shaking {
		ch.shaking = false
		s.opening--
	}
}

// closeChannel ends a channel from this side in whatever state it is.
func (s *Session) closeChannel(ch *channel, code Code) error {
	switch ch.state {
	case chanClosed:
		return nil
	case chanLoading:
		s.drop(ch)
		return nil
	case chanOpening, chanAdmitting:
		ch.abandon = code
		return nil
	}
	if len(s.tombs) >= MaxChannels {
		return bad(CauseLimit, "%d channels closed here and not there", len(s.tombs))
	}
	s.tombs[ch.id] = true
	s.ended(ch)
	return s.sendFrame(&Close{Chan: ch.id, Code: code})
}

// ended drops an open channel and keeps what it showed.
func (s *Session) ended(ch *channel) {
	d := ch.doc
	if ch.idle() {
		// Both sides stood where this one stands.
		now := d.digests()
		d.heard, d.said = &now, now
	}
	s.drop(ch)
}

// onClose ends a channel that the other side closed, or one that both closed.
func (s *Session) onClose(f *Close) error {
	if s.tombs[f.Chan] {
		delete(s.tombs, f.Chan)
		return nil
	}
	ch := s.chans[f.Chan]
	if ch == nil || ch.state != chanOpen {
		return bad(CauseChannel, "close of channel %d, which is not open", f.Chan)
	}
	d := ch.doc
	s.ended(ch)
	switch f.Code {
	case CodeNotServed:
		d.refusal = CodeNotServed
		clear(d.forks)
		s.lacksIt(d)
		if d.join != nil {
			s.joinIs(d, JoinNotServed)
		}
	case CodeBusy:
		d.refusal = CodeBusy
		s.retryLater(d)
	}
	return s.sendFrame(&Close{Chan: f.Chan, Code: CodeDone})
}

// lose ends a channel because the other side may not read the document any more.
func (s *Session) lose(ch *channel) error {
	ch.doc.denied = true
	return s.closeChannel(ch, CodeNotServed)
}

// admitted reports whether the other side may be told anything of the document.
func (ch *channel) admitted() bool { return ch.doc.held && ch.doc.info.Peer >= crdt.Read }

// ready reports whether changes may be sent.
func (ch *channel) ready() bool { return ch.state == chanOpen && ch.gotHave && ch.sentHave }

// busy reports whether something is on its way in either direction.
func (ch *channel) busy() bool {
	return ch.fresh || ch.loading || ch.page != nil || len(ch.inflight) > 0 || ch.applying > 0 || ch.adding > 0 ||
		ch.haveReady || ch.asking
}

// idle reports whether both sides have the same and nothing is on its way.
func (ch *channel) idle() bool {
	if !ch.ready() || ch.busy() || ch.loadingObjects {
		return false
	}
	here, there := ch.missing()
	return here+there == 0
}

// spare reports whether the channel does nothing and can do nothing until something new happens.
func (ch *channel) spare() bool {
	stuck := len(ch.waiting) > 0 || ch.doc.reason != ""
	return ch.idle() || (stuck && ch.ready() && !ch.busy() && !ch.loadingObjects)
}

// channelDocChanged takes a new state of a document that has a channel.
func (s *Session) channelDocChanged(ch *channel) error {
	if ch.state != chanOpen {
		ch.again = true
		return nil
	}
	if !ch.admitted() {
		if ch.mine && !ch.gotHave {
			return nil // what the other side shows may still admit it
		}
		return s.lose(ch)
	}
	ch.used = s.time.elapsed
	if len(ch.waiting) > 0 && !ch.asking && ch.waitAccess != ch.doc.info.Access {
		// What was waiting may be taken now: make the other side send it again.
		ch.waitAccess = ch.doc.info.Access
		if err := s.sendHave(ch, nil); err != nil {
			return err
		}
	}
	if ch.sentHave && ch.accessSaid != ch.doc.info.Access {
		s.loadObjects(ch)
	}
	if ch.ready() && ch.sent.Digest() != ch.doc.info.Vector {
		s.refresh(ch)
	}
	return nil
}

// checkComplete notes the first complete sync: everything that the other side had at the start is
// here.
func (s *Session) checkComplete(ch *channel) {
	d := ch.doc
	if !ch.complete && ch.ready() {
		goal := ch.goal
		if len(d.forks) > 0 {
			goal = goal.Clone()
			for a := range d.forks {
				delete(goal, a)
			}
		}
		ch.complete = ch.local.Covers(goal)
	}
	if ch.complete {
		s.joinIs(d, JoinReady)
	}
}
