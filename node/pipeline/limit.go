package pipeline

import (
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const window = time.Minute

// limiter counts the calls of each tool in the last minute, over all sessions and agents of this
// process.
type limiter struct {
	clock crdt.Clock

	mu    sync.Mutex
	calls map[string][]time.Time // oldest first
}

func newLimiter(clock crdt.Clock) *limiter {
	return &limiter{clock: clock, calls: map[string][]time.Time{}}
}

// take counts one call if the limit (calls a minute) takes it; else it returns how long to wait.
func (l *limiter) take(tool string, limit int) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	kept := l.calls[tool][:0]
	for _, at := range l.calls[tool] {
		if at.After(now) {
			at = now // the clock was put back: no call may block for longer than a minute
		}
		if now.Sub(at) < window {
			kept = append(kept, at)
		}
	}
	l.calls[tool] = kept
	if limit > 0 && len(kept) < limit {
		l.calls[tool] = append(kept, now)
		return 0, true
	}
	if limit <= 0 || len(kept) == 0 {
		return 0, false
	}
	return kept[len(kept)-limit].Add(window).Sub(now), false
}
