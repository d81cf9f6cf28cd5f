package docsync

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// delayedRefusal is an answer that waits so that unknown and denied documents take equally long.
type delayedRefusal struct {
	at      time.Duration
	channel uint64
	tag     Tag
}

// want queues a document to be opened.
func (s *Session) want(d *docState) {
	if d.queued || d.ch != nil || d.blocks() {
		return
	}
	d.queued = true
	s.wantOpen = append(s.wantOpen, d)
	s.touch(d)
}

// openMore opens queued documents, a bounded number at once.
func (s *Session) openMore() error {
	for s.greeted && len(s.wantOpen) > 0 && s.opening < handshakes {
		d := s.wantOpen[0]
		if d.ch == nil && (d.held || d.join != nil) && !d.blocks() {
			if room, err := s.makeRoom(); err != nil || !room {
				return err
			}
			s.wantOpen, d.queued = s.wantOpen[1:], false
			if err := s.startOpen(d); err != nil {
				return err
			}
			continue
		}
		s.wantOpen, d.queued = s.wantOpen[1:], false
		s.touch(d)
	}
	return nil
}

// makeRoom sees to it that another channel may be opened: of many it closes an idle one, the one
// that was used longest ago.
func (s *Session) makeRoom() (bool, error) {
	if s.live < s.maxOpen {
		return true, nil
	}
	var oldest *channel
	for _, ch := range s.chans {
		if ch.spare() && (oldest == nil || ch.used < oldest.used || (ch.used == oldest.used && ch.id < oldest.id)) {
			oldest = ch
		}
	}
	if oldest == nil {
		return false, nil
	}
	return true, s.closeChannel(oldest, CodeDone)
}

func (s *Session) startOpen(d *docState) error {
	ch := s.newChannel(d, true)
	ch.shaking = true
	s.opening++
	if d.held {
		s.emit(LoadDoc{ch.task()})
		return nil
	}
	return s.sendOpen(ch, nil)
}

// onLoaded goes on with an own channel whose document was read, or asks again for the access
// objects that a waiting change needs.
func (s *Session) onLoaded(ch *channel, r Loaded) error {
	s.learn(ch.doc, r.Info)
	if ch.state == chanOpen {
		ch.waitAccess = r.Info.Access
		return s.sendFrame(&Access{Chan: ch.id, IDs: r.IDs})
	}
	ch.ids, ch.local = r.IDs, r.Vector
	return s.sendOpen(ch, r.Chain)
}

// sendOpen sends the open of an own channel. The chain goes with it only where the other side may
// not know that this one is a reader.
func (s *Session) sendOpen(ch *channel, chain [][]byte) error {
	d := ch.doc
	for i := range s.delayed {
		if s.delayed[i].tag == d.theirTag {
			// The other side must see the end of its own open before it sees this one.
			if err := s.sendDelayed(i); err != nil {
				return err
			}
			break
		}
	}
	ch.id, ch.state = s.nextChan, chanOpening
	s.nextChan += 2
	s.chans[ch.id] = ch
	f := &Open{Chan: ch.id, Tag: d.myTag}
	if d.heard == nil {
		f.Objects = chain[:min(len(chain), MaxChain)]
	}
	s.addRequest(f, d.join)
	return s.sendFrame(f)
}

// onOpen decides what to do with a channel that the other side wants.
func (s *Session) onOpen(f *Open) error {
	if (f.Chan%2 == 0) == s.smaller {
		return bad(CauseMalformed, "channel %d has this side's parity", f.Chan)
	}
	if f.Chan < s.theirLast {
		return bad(CauseReplay, "channel %d was used before", f.Chan)
	}
	s.theirLast = f.Chan + 1
	d := s.theirTags[f.Tag]
	if d != nil && d.ch != nil {
		if ignore, err := s.crossed(d.ch); ignore || err != nil {
			return err
		}
	}
	if d == nil || !d.held {
		if d != nil && d.again {
			// The other side knows the document, so there is nothing to hide by waiting.
			d.again = false
			err := s.refuseNow(f.Chan, CodeNotServed)
			s.want(d)
			return err
		}
		return s.refuseLater(f.Chan, f.Tag, s.time.elapsed)
	}
	if len(s.chans) >= MaxChannels {
		return s.refuseNow(f.Chan, CodeBusy)
	}
	ch := s.newChannel(d, false)
	ch.id, ch.state = f.Chan, chanAdmitting
	s.chans[ch.id] = ch
	s.emit(Admit{Task: ch.task(), Objects: f.Objects, Secret: f.Secret, Role: f.Role, Note: f.Note})
	return nil
}

// crossed settles two opens of one document that met on the way: that of the peer with the smaller
// id stands, the other one is as if it had never been sent.
func (s *Session) crossed(own *channel) (ignore bool, err error) {
	switch {
	case own.state == chanLoading:
		s.drop(own)
		return false, nil
	case own.state == chanOpening && s.smaller:
		s.count[CountCrossed]++
		return true, nil
	case own.state == chanOpening:
		s.count[CountCrossed]++
		own.doc.again = own.doc.join != nil
		s.drop(own)
		return false, nil
	}
	return false, bad(CauseDuplicate, "the document of channel %d is opened once more", own.id)
}

// onAdmitted answers an open.
func (s *Session) onAdmitted(ch *channel, r Loaded) error {
	d := ch.doc
	again := ch.again
	ch.again = false
	if r.Code == "" && (r.Info.Peer < crdt.Read || r.Info.Gone || ch.abandon != "") {
		r.Code = CodeNotServed
	}
	if r.Code != "" {
		return s.refuse(ch, r.Code)
	}
	s.learn(d, r.Info)
	d.refusal, d.broken, d.unknownThere, d.again = "", "", false, false
	ch.state, ch.local, ch.accessSaid = chanOpen, r.Vector, [32]byte{}
	if err := s.sendFrame(&Opened{Chan: ch.id}); err != nil {
		return err
	}
	if err := s.sendFrame(&Access{Chan: ch.id, IDs: r.IDs}); err != nil || !again {
		return err
	}
	return s.channelDocChanged(ch)
}

// refuse turns down an open whose document is here.
func (s *Session) refuse(ch *channel, code Code) error {
	d := ch.doc
	d.denied, d.asks = code == CodeNotServed, code == CodePending
	again := d.again
	d.again = false
	s.drop(ch)
	var err error
	if code == CodeNotServed {
		err = s.refuseLater(ch.id, d.theirTag, ch.born)
	} else {
		err = s.refuseNow(ch.id, code)
	}
	if again {
		s.want(d)
	}
	return err
}

// refuseLater answers not_served, the same time after the open for unknown and denied documents.
func (s *Session) refuseLater(id uint64, tag Tag, opened time.Duration) error {
	if len(s.delayed) >= maxDelayed {
		return s.refuseNow(id, CodeBusy)
	}
	s.delayed = append(s.delayed, delayedRefusal{opened + refuseDelay, id, tag})
	return nil
}

func (s *Session) sendDelayed(i int) error {
	id := s.delayed[i].channel
	s.delayed = append(s.delayed[:i], s.delayed[i+1:]...)
	return s.refuseNow(id, CodeNotServed)
}

func (s *Session) refuseNow(id uint64, code Code) error {
	counters := map[Code]Cause{CodeNotServed: CountNotServed, CodePending: CountPending, CodeVersion: CountVersion, CodeBusy: CountBusy}
	s.count[counters[code]]++
	if s.refusals++; s.refusals > maxRefusals {
		return bad(CauseGuessing, "%d opens refused", s.refusals)
	}
	return s.sendFrame(&Refused{Chan: id, Code: code})
}

func (s *Session) onOpened(f *Opened) error {
	ch := s.chans[f.Chan]
	if ch == nil {
		return bad(CauseChannel, "opened for channel %d, which was not asked for", f.Chan)
	}
	if !ch.mine || ch.state != chanOpening {
		return bad(CauseUnexpected, "opened for channel %d", f.Chan)
	}
	ch.state = chanOpen
	s.touch(ch.doc)
	if ch.abandon != "" {
		return s.closeChannel(ch, ch.abandon)
	}
	ids := ch.ids
	if !ch.admitted() {
		ids = nil
	}
	ch.ids = nil
	return s.sendFrame(&Access{Chan: ch.id, IDs: ids})
}

func (s *Session) onRefused(f *Refused) error {
	ch := s.chans[f.Chan]
	if ch == nil {
		return bad(CauseChannel, "refused for channel %d, which was not asked for", f.Chan)
	}
	if !ch.mine || ch.state != chanOpening {
		return bad(CauseUnexpected, "refused for channel %d", f.Chan)
	}
	d := ch.doc
	s.drop(ch)
	d.refusal = f.Code
	switch f.Code {
	case CodePending:
		s.joinIs(d, JoinPending)
	case CodeBusy:
		s.retryLater(d)
	case CodeNotServed:
		if ch.announced {
			// It let this side in after it had looked at the open: once more.
			d.refusal = ""
			if d.held {
				s.reconsider(d)
			} else {
				s.want(d)
			}
			return nil
		}
		s.lacksIt(d)
		s.joinIs(d, JoinNotServed)
	default:
		s.joinIs(d, JoinNotServed)
	}
	if d.held && d.heard == nil && f.Code != CodeBusy {
		s.reconsider(d)
	}
	return nil
}

// retryLater opens a document again after a while.
func (s *Session) retryLater(d *docState) {
	if d.retrying {
		return
	}
	d.retrying = true
	s.retries = append(s.retries, moment{s.time.elapsed + retryBusy, d})
}

func (s *Session) retry(d *docState) {
	d.broken, d.retrying = "", false
	if d.refusal == CodeBusy {
		d.refusal = ""
	}
	s.touch(d)
	if d.ch != nil || !s.greeted {
		return
	}
	if d.held {
		s.reconsider(d)
	}
	if d.join != nil {
		s.want(d)
	}
}
