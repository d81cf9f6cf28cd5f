package sim

import (
	"math/rand/v2"
	"time"
)

// link is the way between two peers and the connection that is on it now.
type link struct {
	w       *world
	ends    [2]*peer
	rng     *rand.Rand
	latency time.Duration
	jitter  time.Duration
	down    int     // reasons why nobody can connect
	blocked [2]bool // in the direction away from end 0, end 1 nothing arrives
	conn    *conn
	dialing bool
	recent  [2][][]byte // the last frames of earlier connections, by sender
}

// connection attempts.
const (
	dialFirst = 20 * time.Millisecond
	dialMost  = 2 * time.Second
)

func (w *world) newLink(a, b *peer) *link {
	l := &link{w: w, ends: [2]*peer{a, b}, rng: newStream(w.opt.Seed, "link", a.n*100+b.n)}
	l.latency = between(l.rng, 500*time.Microsecond, 40*time.Millisecond)
	l.jitter = between(l.rng, 0, 30*time.Millisecond)
	w.links = append(w.links, l)
	return l
}

func (w *world) link(a, b *peer) *link {
	for _, l := range w.links {
		if l.ends[0] == a && l.ends[1] == b || l.ends[0] == b && l.ends[1] == a {
			return l
		}
	}
	return nil
}

// side is the live end of a peer, if there is one.
func (l *link) side(p *peer) *side {
	if l.conn == nil {
		return nil
	}
	s := l.conn.sides[l.end(p)]
	if l.ends[l.end(p)] != p || s == nil || s.closed {
		return nil
	}
	return s
}

func (l *link) end(p *peer) int {
	if l.ends[1] == p {
		return 1
	}
	return 0
}

func (l *link) open() bool {
	return l.down == 0 && !l.blocked[0] && !l.blocked[1] && l.ends[0].up && l.ends[1].up
}

// dialSoon connects after a while if that is possible then.
func (l *link) dialSoon() {
	if l.dialing || !l.open() || l.conn != nil && !l.conn.dying() {
		return
	}
	l.dialing = true
	l.w.later(between(l.rng, dialFirst, dialMost), func() {
		l.dialing = false
		if l.open() && (l.conn == nil || l.conn.dying()) {
			l.cut()
			l.connect()
		}
	})
}

// dying: one end is gone, and the other has not heard of it.
func (c *conn) dying() bool { return c.sides[0].closed || c.sides[1].closed }

func (l *link) connect() {
	c := &conn{link: l}
	l.conn = c
	for i := range 2 {
		c.sides[i] = newSide(c, i)
	}
	l.w.note('+', l.ends[0].n, l.ends[1].n, nil)
	c.dirs[0].last = l.w.now + l.delay()/2 // the other end begins before the first frame arrives
	l.w.after(c.dirs[0].last-l.w.now, c.sides[1].start)
	c.sides[0].start()
}

// delay is how long a frame is on its way.
func (l *link) delay() time.Duration {
	d := l.latency
	if !l.w.faulty[FaultReorder] && l.w.opt.Scenario == nil {
		return time.Millisecond
	}
	if l.jitter > 0 {
		d += time.Duration(l.rng.Int64N(int64(l.jitter)))
	}
	return d
}

// cut ends the connection at both ends at once, with all that is on its way.
func (l *link) cut() {
	c := l.conn
	if c == nil {
		return
	}
	l.conn = nil
	for _, s := range c.sides {
		s.close(false)
	}
	l.w.note('-', l.ends[0].n, l.ends[1].n, nil)
}

// reset cuts and connects again.
func (l *link) reset() {
	l.cut()
	l.dialSoon()
}

// partition makes the link unusable; heal takes one such reason away.
func (l *link) partition() {
	l.down++
	l.cut()
	l.w.line.link(l)
}

func (l *link) heal() {
	l.down = max(l.down-1, 0)
	l.w.line.link(l)
	l.dialSoon()
}

// block keeps what is sent in a direction; unblock lets it through.
func (l *link) block(end int) {
	l.blocked[end] = true
	l.w.line.link(l)
}

func (l *link) unblock(end int) {
	l.blocked[end] = false
	l.w.line.link(l)
	if c := l.conn; c != nil {
		d := &c.dirs[end]
		held := d.held
		d.held = nil
		for _, frame := range held { // before what is still on its way
			l.w.sent++
			c.arrive(end, frame, l.w.sent)
		}
	}
	l.dialSoon()
}
