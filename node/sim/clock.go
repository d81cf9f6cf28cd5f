package sim

import (
	"math"
	"time"
)

// epoch is the true time at which every run begins, Unix ms.
const epoch int64 = 1_786_000_000_000

// clock is a peer's clock: it runs at a rate of its own from where it was last put. It implements
// [crdt.Clock].
type clock struct {
	world *world
	since time.Duration // true time of the last change
	at    int64         // what it showed then, Unix ms
	ppm   int64         // too fast by so many parts in a million
}

// extreme is how far from the ends of int64 a clock is put: one that stood still would be no clock.
const extreme = int64(1) << 40

func (c *clock) millis() int64 {
	passed := (c.world.now - c.since).Microseconds()
	passed += passed / 1000 * c.ppm / 1000
	return addSaturating(c.at, passed/1000)
}

// Now implements [crdt.Clock].
func (c *clock) Now() time.Time { return time.UnixMilli(c.millis()) }

func (c *clock) set(ms int64) { c.since, c.at = c.world.now, ms }

func (c *clock) jump(d time.Duration) { c.set(addSaturating(c.millis(), d.Milliseconds())) }

func (c *clock) drift(ppm int64) {
	c.set(c.millis())
	c.ppm = ppm
}

// correct puts the clock right to within a remaining error, as a time server does.
func (c *clock) correct(rest time.Duration) {
	c.set(c.world.trueMillis() + rest.Milliseconds())
	c.ppm = 0
}

func (w *world) trueMillis() int64 { return epoch + w.now.Milliseconds() }

func addSaturating(a, b int64) int64 {
	switch s := a + b; {
	case b > 0 && s < a:
		return math.MaxInt64
	case b < 0 && s > a:
		return math.MinInt64
	default:
		return s
	}
}
