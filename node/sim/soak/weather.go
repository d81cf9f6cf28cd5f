package soak

import (
	"math/rand/v2"
	"sync"
	"time"
)

// way is how the relay treats what goes from one daemon to another.
type way struct {
	blocked bool
	loss    float64 // share of packets that do not arrive; over TCP they arrive late
	twice   float64 // share of packets that arrive two times
	delay   time.Duration
	jitter  time.Duration // at most so much more
}

// Carried counts what the relay did, in packets (over TCP: in reads).
type Carried struct {
	Passed  int64 `json:"passed"`
	Blocked int64 `json:"blocked"`
	Lost    int64 `json:"lost"`
	Twice   int64 `json:"twice"`
	Late    int64 `json:"late"`
	Reset   int64 `json:"reset"` // connections
}

// weather is the state of all ways. It is safe for concurrent use.
type weather struct {
	mu      sync.Mutex
	rng     *rand.Rand
	ways    map[[2]int]way // from, to
	changed chan struct{}  // closed and replaced at each change
	carried Carried
}

func newWeather(seed uint64) *weather {
	return &weather{rng: rand.New(rand.NewPCG(seed, 7)), ways: map[[2]int]way{}, changed: make(chan struct{})}
}

// set changes one direction.
func (w *weather) set(from, to int, change func(*way)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	y := w.ways[[2]int{from, to}]
	change(&y)
	w.ways[[2]int{from, to}] = y
	close(w.changed)
	w.changed = make(chan struct{})
}

// cut cuts two daemons off from each other, or joins them again.
func (w *weather) cut(i, j int, off bool) {
	w.set(i, j, func(y *way) { y.blocked = off })
	w.set(j, i, func(y *way) { y.blocked = off })
}

func (w *weather) blocked(from, to int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ways[[2]int{from, to}].blocked
}

func (w *weather) counts() Carried {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.carried
}

// packet decides what becomes of one: how many arrive, and when.
func (w *weather) packet(from, to int) (copies int, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	y := w.ways[[2]int{from, to}]
	switch {
	case y.blocked:
		w.carried.Blocked++
		return 0, 0
	case w.rng.Float64() < y.loss:
		w.carried.Lost++
		return 0, 0
	}
	w.carried.Passed++
	copies = 1
	if w.rng.Float64() < y.twice {
		w.carried.Twice++
		copies = 2
	}
	return copies, w.lateLocked(y)
}

func (w *weather) lateLocked(y way) time.Duration {
	after := y.delay
	if y.jitter > 0 {
		after += time.Duration(w.rng.Int64N(int64(y.jitter)))
	}
	if after > 0 {
		w.carried.Late++
	}
	return after
}

// resend is how long TCP takes to send again what was lost.
const resend = 300 * time.Millisecond

// chunk is packet for a stream, from which nothing can be missing: what is lost comes late.
func (w *weather) chunk(from, to int) (after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	y := w.ways[[2]int{from, to}]
	w.carried.Passed++
	after = w.lateLocked(y)
	if w.rng.Float64() < y.loss {
		w.carried.Lost++
		after += resend
	}
	return after
}

// pass waits until the way is open; false when done is closed first.
func (w *weather) pass(from, to int, done <-chan struct{}) bool {
	for counted := false; ; {
		w.mu.Lock()
		changed, blocked := w.changed, w.ways[[2]int{from, to}].blocked
		if blocked && !counted {
			w.carried.Blocked++
			counted = true
		}
		w.mu.Unlock()
		if !blocked {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return false
		}
	}
}

func (w *weather) resets(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.carried.Reset += int64(n)
}
