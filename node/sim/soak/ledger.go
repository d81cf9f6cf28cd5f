package soak

import (
	"maps"
	"slices"
	"sync"
)

// ledger remembers what daemons acknowledged. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	written map[string]string // entry → the daemon that acknowledged it
	counts  Writes
}

// Writes counts what clients asked for.
type Writes struct {
	Acknowledged int64 `json:"acknowledged"`
	Switched     int64 `json:"switched"`   // extensions
	Unanswered   int64 `json:"unanswered"` // it died, stood still or refused: kept or not, both are right
}

func newLedger() *ledger { return &ledger{written: map[string]string{}} }

func (l *ledger) acked(entry, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[entry] = by
	l.counts.Acknowledged++
}

func (l *ledger) switched() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Switched++
}

func (l *ledger) unanswered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Unanswered++
}

func (l *ledger) count() Writes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// begin forgets the entries, of a session that is done with; the counts go on.
func (l *ledger) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.written)
}

// entries lists what was acknowledged, in a stable order, and by whom.
func (l *ledger) entries() ([]string, map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.written)), maps.Clone(l.written)
}
