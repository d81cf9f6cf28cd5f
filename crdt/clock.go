package crdt

import (
	"math"
	"sync/atomic"
	"time"
)

// Clock is where time comes from. Everything below the node takes one, so that a peer's clock can
// be skewed by flag, by environment and in tests. Now may lie and may jump; nothing may be refused
// because of it.
type Clock interface {
	Now() time.Time
}

// SystemClock is the machine's clock shifted by Skew.
type SystemClock struct{ Skew time.Duration }

// Now implements [Clock].
func (c SystemClock) Now() time.Time { return time.Now().Add(c.Skew) }

// ManualClock stands where it was put; safe for concurrent use. It is the clock of tests and of the
// lab.
type ManualClock struct{ ms atomic.Int64 }

// NewManualClock returns a clock that shows ms milliseconds after the Unix epoch.
func NewManualClock(ms int64) *ManualClock {
	c := &ManualClock{}
	c.ms.Store(ms)
	return c
}

// Now implements [Clock].
func (c *ManualClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Set puts the clock to ms milliseconds after the Unix epoch.
func (c *ManualClock) Set(ms int64) { c.ms.Store(ms) }

// Advance moves the clock by d.
func (c *ManualClock) Advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// The years in which a local clock is believed when it stamps: 1970 to 9999.
const (
	MinStamp int64 = 0
	MaxStamp int64 = 253402300799999
)

// NowMillis reads the clock as a stamp: Unix milliseconds, a clock outside 1970–9999 read as the
// nearest bound.
func NowMillis(c Clock) int64 {
	return min(max(c.Now().UnixMilli(), MinStamp), MaxStamp)
}

// After is the stamp of a new fact by a peer whose clock shows now and that has seen newest (ok
// false: has seen none): now if that is later, else newest + 1 ms, saturating at the int64 maximum.
func After(now, newest int64, ok bool) int64 {
	switch {
	case !ok || now > newest:
		return now
	case newest == math.MaxInt64:
		return newest
	}
	return newest + 1
}
