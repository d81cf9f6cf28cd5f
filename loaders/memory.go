package loaders

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// MemDecisions keeps decisions in memory; they are gone with the process. The zero value is ready.
type MemDecisions struct {
	mu   sync.Mutex
	byID map[string]Decision
}

var _ Decisions = (*MemDecisions)(nil)

// Get implements [Decisions].
func (m *MemDecisions) Get(_ context.Context, id string) (Decision, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.byID[id]
	return d, ok, nil
}

// Put implements [Decisions].
func (m *MemDecisions) Put(_ context.Context, d Decision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]Decision{}
	}
	m.byID[d.ID()] = d
	return nil
}

// Delete implements [Decisions].
func (m *MemDecisions) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byID, id)
	return nil
}

// All implements [Decisions], in the order of ids.
func (m *MemDecisions) All(context.Context) ([]Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Decision
	for _, d := range m.byID {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Decision) int { return cmp.Compare(a.ID(), b.ID()) })
	return out, nil
}

// MemJournal keeps events in memory; they are gone with the process. The zero value is ready.
type MemJournal struct {
	mu     sync.Mutex
	events []Event
}

var _ Journal = (*MemJournal)(nil)

// Append implements [Journal].
func (m *MemJournal) Append(_ context.Context, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	return nil
}

// Read implements [Journal].
func (m *MemJournal) Read(_ context.Context, n int) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := 0
	if n > 0 {
		from = max(0, len(m.events)-n)
	}
	return slices.Clone(m.events[from:]), nil
}
