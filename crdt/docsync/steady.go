package docsync

import (
	"slices"
	"time"
)

// steadyTime turns readings of a clock that may jump into time that only passes.
type steadyTime struct {
	set     bool
	last    time.Time
	elapsed time.Duration
	heard   time.Duration // of the last frame
	armed   time.Duration // the timer asked for, 0 when none
	pinged  time.Duration
}

// advance takes a new reading and reports whether the clock jumped.
func (t *steadyTime) advance(now time.Time) (jumped bool) {
	if t.set {
		d := now.Sub(t.last)
		jumped = d < 0 || d > maxClockStep
		t.elapsed += min(max(d, 0), maxClockStep)
	}
	t.set, t.last = true, now
	return jumped
}

func (t *steadyTime) wall() int64 { return t.last.UnixMilli() }

// moment is when something about a document is due.
type moment struct {
	at  time.Duration
	doc *docState
}

// dueTimers does everything whose time has come.
func (s *Session) dueTimers() error {
	now := s.time.elapsed
	if now-s.time.heard >= silenceLimit || (!s.greeted && now >= helloLimit) {
		return bad(CauseSilence, "no frame for %s", (now - s.time.heard).Round(time.Second))
	}
	if s.greeted && now-s.time.pinged >= pingEvery {
		if err := s.ping(); err != nil {
			return err
		}
	}
	for len(s.delayed) > 0 && s.delayed[0].at <= now {
		if err := s.sendDelayed(0); err != nil {
			return err
		}
	}
	for len(s.retries) > 0 && s.retries[0].at <= now {
		d := s.retries[0].doc
		s.retries = s.retries[1:]
		s.retry(d)
	}
	for len(s.ackNotes) > 0 && s.ackNotes[0].at <= now {
		d := s.ackNotes[0].doc
		s.ackNotes = s.ackNotes[1:]
		d.ackQueued = false
		s.recordAck(d)
	}
	return nil
}

// armTimer asks for a tick at the next due moment, if none is asked for by then.
func (s *Session) armTimer() {
	next := s.time.heard + silenceLimit
	if s.greeted {
		next = min(next, s.time.pinged+pingEvery)
	} else {
		next = min(next, helloLimit)
	}
	if len(s.delayed) > 0 {
		next = min(next, s.delayed[0].at)
	}
	if len(s.retries) > 0 {
		next = min(next, s.retries[0].at)
	}
	if len(s.ackNotes) > 0 {
		next = min(next, s.ackNotes[0].at)
	}
	if s.time.armed == 0 || next < s.time.armed {
		s.time.armed = next
		s.emit(SetTimer{After: max(next-s.time.elapsed, time.Millisecond)})
	}
}

// clockMeter estimates how far the other peer's clock is ahead.
type clockMeter struct {
	nextID  uint64
	waiting map[uint64]time.Duration // pings without an answer: when they were sent
	samples []int64                  // ms
	first   int64                    // from the hello, without correction
	known   bool
}

func (m *clockMeter) rough(ms int64) { m.first, m.known = ms, true }

// offset is the median of the samples in ms: the other clock minus this one.
func (m *clockMeter) offset() (int64, bool) {
	if len(m.samples) == 0 {
		return m.first, m.known
	}
	sorted := slices.Sorted(slices.Values(m.samples))
	return sorted[len(sorted)/2], true
}

func (s *Session) ping() error {
	m := &s.meter
	if m.waiting == nil {
		m.waiting = map[uint64]time.Duration{}
	}
	m.nextID++
	m.waiting[m.nextID] = s.time.elapsed
	s.time.pinged = s.time.elapsed
	return s.sendFrame(&Ping{ID: m.nextID, Clock: s.time.wall()})
}

func (s *Session) onPong(f *Pong) error {
	sent, ok := s.meter.waiting[f.ID]
	if !ok {
		return bad(CauseUnexpected, "a pong without its ping")
	}
	delete(s.meter.waiting, f.ID)
	half := (s.time.elapsed - sent).Milliseconds() / 2
	s.meter.samples = append(s.meter.samples, f.Clock+half-s.time.wall())
	if n := len(s.meter.samples); n > offsetSamples {
		s.meter.samples = s.meter.samples[n-offsetSamples:]
	}
	return nil
}

// ClockOffset is how many milliseconds the other peer's clock is ahead of this one: the median of
// the last samples, each corrected by half its round trip. ok is false before the first.
func (s *Session) ClockOffset() (ms int64, ok bool) { return s.meter.offset() }
