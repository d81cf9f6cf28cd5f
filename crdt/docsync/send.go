package docsync

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// scheduler decides whose page is read and sent next. Documents with fresh changes go before those
// that are far behind, each kind in turn; one frame with a page is with the writer at a time, so
// that a fresh change waits for at most the page that is being written.
type scheduler struct {
	loadLive, loadBulk []*channel
	sendLive, sendBulk []*channel
	liveLoading        int
	loads              map[uint64]bool // pages being read, by channel reference; true: bulk
	bytes              int             // of pages read or sent and not acknowledged
	writing            bool
	row                int // fresh pages sent since the last bulk page
}

// forget takes a channel out of everything.
func (q *scheduler) forget(ch *channel) {
	gone := func(c *channel) bool { return c == ch }
	if ch.inLoad {
		q.loadLive, q.loadBulk = slices.DeleteFunc(q.loadLive, gone), slices.DeleteFunc(q.loadBulk, gone)
	}
	if ch.inSend {
		q.sendLive, q.sendBulk = slices.DeleteFunc(q.sendLive, gone), slices.DeleteFunc(q.sendBulk, gone)
	}
	q.unload(ch)
	for _, n := range ch.inflight {
		q.bytes -= n
	}
	ch.inflight = nil
}

// unload drops a page that was read and not sent.
func (q *scheduler) unload(ch *channel) {
	q.bytes -= len(ch.page)
	ch.page, ch.marks = nil, nil
}

// loaded ends the reading of a page.
func (q *scheduler) loaded(ref uint64) {
	if bulk, ok := q.loads[ref]; ok {
		delete(q.loads, ref)
		if !bulk {
			q.liveLoading--
		}
	}
}

func (q *scheduler) bulkLoading() int { return len(q.loads) - q.liveLoading }

// queuePage lines a channel up whose page may be sent.
func (q *scheduler) queuePage(ch *channel) {
	if ch.inSend {
		return
	}
	ch.inSend = true
	if ch.bulk {
		q.sendBulk = append(q.sendBulk, ch)
	} else {
		q.sendLive = append(q.sendLive, ch)
	}
}

// refresh notes that there may be something to send.
func (s *Session) refresh(ch *channel) {
	ch.fresh = true
	if ch.loading {
		ch.again = true
	}
	if !ch.bulk && ch.ready() {
		ch.bulk = ch.sent.Missing(ch.local) > 256
	}
	s.wantPage(ch)
}

// wantPage lines a channel up for reading a page, if it may have another one now.
func (s *Session) wantPage(ch *channel) {
	s.touch(ch.doc)
	if !ch.ready() || !ch.fresh || ch.loading || ch.page != nil || ch.inLoad || len(ch.inflight) >= pagesInFlight {
		return
	}
	ch.inLoad = true
	if ch.bulk {
		s.send.loadBulk = append(s.send.loadBulk, ch)
	} else {
		s.send.loadLive = append(s.send.loadLive, ch)
	}
}

// pump reads and sends as much as the bounds allow.
func (s *Session) pump() error {
	q := &s.send
	for len(q.loadLive) > 0 && q.liveLoading < liveLoads && q.bytes < bytesInFlight {
		ch := q.loadLive[0]
		q.loadLive = q.loadLive[1:]
		s.loadPage(ch, false)
	}
	for len(q.loadBulk) > 0 && q.bulkLoading() < bulkLoads && q.bytes < bytesInFlight-2*MaxPageDecoded {
		ch := q.loadBulk[0]
		q.loadBulk = q.loadBulk[1:]
		s.loadPage(ch, true)
	}
	for !q.writing {
		ch := q.next()
		if ch == nil {
			return nil
		}
		if err := s.sendPage(ch); err != nil {
			return err
		}
	}
	return nil
}

// next takes the channel whose page is sent next off its queue.
func (q *scheduler) next() (ch *channel) {
	switch {
	case len(q.sendLive) > 0 && (q.row < liveInARow || len(q.sendBulk) == 0):
		ch, q.sendLive = q.sendLive[0], q.sendLive[1:]
		q.row++
	case len(q.sendBulk) > 0:
		ch, q.sendBulk = q.sendBulk[0], q.sendBulk[1:]
		q.row = 0
	default:
		return nil
	}
	ch.inSend = false
	return ch
}

func (s *Session) loadPage(ch *channel, bulk bool) {
	q := &s.send
	ch.inLoad, ch.fresh, ch.loading = false, false, true
	if q.loads == nil {
		q.loads = map[uint64]bool{}
	}
	q.loads[ch.ref] = bulk
	if !bulk {
		q.liveLoading++
	}
	have := ch.sent.Clone()
	for a, seq := range ch.doc.forks {
		// From the fork on the change here is among those left out, and with it what builds on it.
		have[a] = crdt.Tip{Seq: math.MaxInt64}
		if seq > 0 {
			have[a] = crdt.Tip{Seq: seq - 1}
		}
	}
	s.emit(LoadPage{Task: ch.task(), Have: have, Without: maps.Clone(ch.doc.without), Limit: MaxPage})
}

// onPageLoaded keeps a page to be sent in its turn.
func (s *Session) onPageLoaded(ch *channel, epoch uint64, r PageLoaded) error {
	s.send.loaded(ch.ref)
	ch.loading = false
	again := ch.again
	ch.again = false
	s.learn(ch.doc, r.Info)
	if !ch.admitted() {
		return s.lose(ch)
	}
	ch.local = r.Vector
	if epoch != ch.epoch {
		s.refresh(ch)
		return nil
	}
	if len(r.Page) == 0 || ch.covered(r.UpTo) {
		// Nothing to send, or what the other side has sent itself meanwhile.
		ch.bulk = false
		if again {
			s.refresh(ch)
		}
		s.checkComplete(ch)
		return nil
	}
	ch.page, ch.pageMore, ch.bulk = r.Page, r.More, r.More
	ch.fresh = r.More || again
	s.send.bytes += len(r.Page)
	ch.advance(r.UpTo)
	if ch.accessSaid != r.Info.Access {
		s.loadObjects(ch) // new access objects first; the page is queued behind them
		return nil
	}
	s.send.queuePage(ch)
	return nil
}

// covered reports whether all that a page brings is there or on its way already.
func (ch *channel) covered(upTo crdt.Vector) bool {
	for a, t := range upTo {
		if _, forked := ch.doc.forks[a]; !forked && ch.sent[a].Seq < t.Seq {
			return false
		}
	}
	return true
}

// advance counts a page as sent. A large one gets marks, so that the other side does not send the
// same back before it has judged it.
func (ch *channel) advance(upTo crdt.Vector) {
	var changes uint64
	var marks []Mark
	for a, t := range upTo {
		if _, forked := ch.doc.forks[a]; forked || ch.sent[a].Seq >= t.Seq {
			continue
		}
		changes += t.Seq - ch.sent[a].Seq
		marks = append(marks, Mark{Actor: a, Seq: t.Seq})
		ch.sent[a] = t
	}
	if changes > markedPage && len(marks) <= MaxVector {
		slices.SortFunc(marks, func(a, b Mark) int { return bytes.Compare(a.Actor[:], b.Actor[:]) })
		ch.marks = marks
	}
}

func (s *Session) sendPage(ch *channel) error {
	page, marks := ch.page, ch.marks
	if page == nil {
		return nil
	}
	ch.page, ch.marks = nil, nil
	ch.inflight = append(ch.inflight, len(page))
	ch.used = s.time.elapsed
	s.send.writing = true
	if err := s.sendNotify(&Changes{Chan: ch.id, Page: page, Marks: marks, More: ch.pageMore}, true); err != nil {
		return err
	}
	s.wantPage(ch)
	return nil
}

// onAck frees the oldest page in flight.
func (s *Session) onAck(ch *channel, f *Ack) error {
	if len(ch.inflight) == 0 {
		return bad(CauseUnexpected, "an ack without a page in flight")
	}
	s.send.bytes -= ch.inflight[0]
	ch.inflight = ch.inflight[1:]
	for _, e := range f.Vector {
		if mine := ch.local[e.Actor]; mine.Seq == e.Seq && mine.Hash != e.Hash {
			s.fork(ch, e.Actor, e.Seq, mine.Hash)
			continue
		}
		raise(ch.theirs, e.Actor, crdt.Tip{Seq: e.Seq, Hash: e.Hash})
		raise(ch.sent, e.Actor, crdt.Tip{Seq: e.Seq, Hash: e.Hash})
	}
	s.noteRefused(ch, f.Refused)
	s.ackMoved(ch)
	s.wantPage(ch)
	return nil
}

// raise moves an entry of a vector up, never down; an entry whose hash was unknown gets it.
func raise(v crdt.Vector, a crdt.ActorID, t crdt.Tip) {
	if old := v[a]; old.Seq < t.Seq || (old.Seq == t.Seq && old.Hash == crdt.ChangeHash{}) {
		v[a] = t
	}
}
