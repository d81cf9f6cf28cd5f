package sim

import "time"

// conn is one connection: a reliable stream in each direction.
type conn struct {
	link    *link
	sides   [2]*side
	dirs    [2]direction // away from side 0, side 1
	tainted bool         // somebody does not keep to the protocol here
}

// direction is one half of a stream: what was sent arrives in order or not at all.
type direction struct {
	last  time.Duration // when the last frame arrives
	held  [][]byte      // arrived at a blocked place; nil is the end of the stream
	lost  bool          // a frame was lost: nothing behind it arrives
	bytes int
	count int
}

// carry brings a frame to the other end, behind those before it; nil is the end of the stream.
func (c *conn) carry(from int, frame []byte) {
	d, l := &c.dirs[from], c.link
	if d.lost {
		return
	}
	d.last = max(d.last, l.w.now+l.delay())
	d.bytes += len(frame)
	d.count++
	l.w.sent++
	number := l.w.sent
	l.w.after(d.last-l.w.now, func() {
		d.bytes -= len(frame)
		d.count--
		if l.blocked[from] {
			d.held = append(d.held, frame)
			return
		}
		c.arrive(from, frame, number)
	})
}

func (c *conn) arrive(from int, frame []byte, number uint64) {
	to := c.sides[1-from]
	if to.closed {
		return
	}
	if frame == nil {
		to.close(true)
		return
	}
	if number < to.p.latest(number) {
		c.link.w.hit(FaultReorder)
	}
	l := c.link
	if r := append(l.recent[from], frame); len(r) > 8 {
		l.recent[from] = r[1:]
	} else {
		l.recent[from] = r
	}
	to.receive(frame)
}
