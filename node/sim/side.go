package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// side is one end of a connection: a session and what a driver does for it, in simulated time.
type side struct {
	w      *world
	c      *conn
	end    int
	p, far *peer
	sess   *docsync.Session
	feed   *crdt.Feed
	closed bool
	began  bool

	changed  []crdt.DocID // to be told to the session
	telling  bool
	lanes    []lane
	answered time.Duration // when the last outcome reaches the session
	timer    uint64        // number of the timer that counts

	tamper tamper // what happens to the next frame that fits
}

// lane holds the works of one document, done one after the other.
type lane struct {
	doc  crdt.DocID
	work []docsync.Work
}

// maxLane is how many works of one document may wait: more would be a queue without a bound.
const maxLane = 4096

func newSide(c *conn, end int) *side {
	s := &side{w: c.link.w, c: c, end: end, p: c.link.ends[end], far: c.link.ends[1-end]}
	var nonce [16]byte
	if _, err := s.p.rand.Read(nonce[:]); err != nil {
		panic(err)
	}
	s.sess = docsync.NewSession(docsync.Config{Self: s.p.self(), Peer: s.far.self(), Nonce: nonce, Agent: "sim/1"})
	s.feed = s.p.repo.Changes()
	return s
}

func (s *side) start() {
	if s.closed {
		return
	}
	s.began = true
	docs, err := s.p.host.Describe(s.w.ctx, s.far.self(), nil)
	if err != nil {
		s.broken(err)
		return
	}
	s.step(docsync.DocsChanged{Docs: sortDocs(docs)})
	s.step(docsync.Start{})
	for _, j := range slices.Clone(s.p.joins) {
		s.step(j)
	}
}

// broken ends a session whose host can't answer: its disk is dead, or there is a defect.
func (s *side) broken(err error) {
	if !isDisk(err) && s.w.ctx.Err() == nil {
		s.w.fail(S1, s.p, "the host of the session with %s: %v", s.far.name, err)
	}
	s.close(true)
	s.p.looked()
}

func isDisk(err error) bool {
	return errors.Is(err, errDead) || errors.Is(err, errFull) || errors.Is(err, errUnsure)
}

// step steps the session and does what it asks for.
func (s *side) step(ev docsync.Event) {
	if s.closed || s.w.res.Failure != nil {
		return
	}
	var failed error
	for _, a := range s.sess.Step(s.p.clock.Now(), ev) {
		switch a := a.(type) {
		case docsync.Send:
			s.send(a)
		case docsync.SetTimer:
			s.arm(a.After)
		case docsync.Fail:
			failed = a.Err
		case docsync.Work:
			s.queue(a)
		case docsync.Notice:
			s.p.host.Notify(s.far.self(), a)
		}
	}
	if failed != nil {
		s.w.note('f', s.p.n, s.far.n, []byte(failed.Error()))
		s.judgeEnd(failed)
		s.close(true)
	}
}

func (s *side) arm(d time.Duration) {
	s.timer++
	n := s.timer
	s.w.later(d, func() {
		if n == s.timer {
			s.step(docsync.Tick{})
		}
	})
}

// close ends this end. The other one is told if it can be.
func (s *side) close(tell bool) {
	if s.closed {
		return
	}
	s.closed = true
	s.feed.Close()
	if tell {
		s.c.carry(s.end, nil)
	}
	l := s.c.link
	if l.conn == s.c && s.c.sides[0].closed && s.c.sides[1].closed {
		l.conn = nil
	}
	l.dialSoon()
}

func (s *side) send(a docsync.Send) {
	s.checkSent(a.Frame)
	frame := a.Bytes
	if s.tamper.kind != "" {
		frame = s.tampered(a.Frame, frame)
	}
	if frame != nil {
		s.c.carry(s.end, frame)
	}
	if a.Notify {
		s.w.after(50*time.Microsecond, func() { s.step(docsync.Written{}) })
	}
	s.checkQueues()
}

func (s *side) receive(frame []byte) {
	s.w.res.Messages++
	if kind := frame[min(1, len(frame)-1)]; kind != docsync.TypePing && kind != docsync.TypePong {
		s.w.talk++
		s.w.lastly = s.w.now
	}
	s.w.note('r', s.p.n, s.far.n, frame)
	s.step(docsync.FrameIn{Bytes: frame})
}

// follow reads the feed and lets the session know, a moment later.
func (s *side) follow() {
	ids, err := s.feed.Next(s.w.stopped)
	if err != nil || len(ids) == 0 {
		return
	}
	for _, id := range ids {
		if !slices.Contains(s.changed, id) {
			s.changed = append(s.changed, id)
		}
	}
	if s.telling {
		return
	}
	s.telling = true
	s.w.after(between(s.w.net, 20*time.Microsecond, 2*time.Millisecond), func() {
		s.telling = false
		ids := s.changed
		s.changed = nil
		if s.closed || !s.began || !s.p.up {
			return // a session that begins later is told everything
		}
		docs, err := s.p.host.Describe(s.w.ctx, s.far.self(), ids)
		if err != nil {
			s.broken(err)
			return
		}
		s.step(docsync.DocsChanged{Docs: sortDocs(docs)})
	})
}

// queue lines a work up behind those of its document.
func (s *side) queue(w docsync.Work) {
	id := w.Document()
	i := slices.IndexFunc(s.lanes, func(l lane) bool { return l.doc == id })
	if i < 0 {
		i = len(s.lanes)
		s.lanes = append(s.lanes, lane{doc: id})
	}
	s.lanes[i].work = append(s.lanes[i].work, w)
	if n := len(s.lanes[i].work); n > maxLane {
		s.w.fail(S2, s.p, "%d works of one document wait", n)
	} else if n == 1 {
		s.workSoon(i)
	}
}

func (s *side) workSoon(i int) {
	s.w.after(between(s.w.net, 50*time.Microsecond, 3*time.Millisecond), func() { s.work(i) })
}

// work does the first work of a lane and posts the outcome.
func (s *side) work(i int) {
	if s.closed || !s.p.up {
		return
	}
	w := s.lanes[i].work[0]
	result, err := s.p.host.Do(s.w.ctx, s.far.self(), w)
	s.judgeWork(w, result, err)
	s.p.looked()
	if s.closed || !s.p.up {
		return // it has died in it
	}
	s.answered = max(s.answered, s.w.now+between(s.w.net, 0, 500*time.Microsecond))
	s.w.after(s.answered-s.w.now, func() {
		s.step(docsync.WorkDone{Work: w, Result: result, Err: err})
	})
	s.lanes[i].work = s.lanes[i].work[1:]
	if len(s.lanes[i].work) > 0 {
		s.workSoon(i)
	}
}

// sortDocs puts what came in no order into one.
func sortDocs(infos []docsync.DocInfo) []docsync.DocInfo {
	slices.SortFunc(infos, func(a, b docsync.DocInfo) int { return slices.Compare(a.Doc[:], b.Doc[:]) })
	return infos
}
