package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// decisionTable keeps trust decisions in a table of the store: on this peer alone.
type decisionTable struct {
	table *crdt.Table[loaders.Decision]
}

// Get implements [loaders.Decisions].
func (t decisionTable) Get(ctx context.Context, id string) (loaders.Decision, bool, error) {
	d, err := t.table.Get(ctx, id)
	if errors.Is(err, crdt.ErrNotFound) {
		return loaders.Decision{}, false, nil
	}
	return d, err == nil, err
}

// Put implements [loaders.Decisions].
func (t decisionTable) Put(ctx context.Context, d loaders.Decision) error {
	return t.table.Put(ctx, d.ID(), d)
}

// Delete implements [loaders.Decisions].
func (t decisionTable) Delete(ctx context.Context, id string) error { return t.table.Delete(ctx, id) }

// All implements [loaders.Decisions].
func (t decisionTable) All(ctx context.Context) ([]loaders.Decision, error) {
	var out []loaders.Decision
	err := t.table.All(ctx, func(_ string, d loaders.Decision) error { out = append(out, d); return nil })
	return out, err
}

// journalLength is how many events the journal keeps; older ones go.
const journalLength = 10_000

// journalTable keeps the audit journal of external extensions, one row an event under a number that grows.
type journalTable struct {
	table *crdt.Table[loaders.Event]

	mu    sync.Mutex
	next  uint64
	first uint64
	read  bool
}

func journalKey(n uint64) string { return fmt.Sprintf("%016x", n) }

// open finds the numbers in use. The caller holds t.mu.
func (t *journalTable) open(ctx context.Context) error {
	if t.read {
		return nil
	}
	none := true
	err := t.table.All(ctx, func(key string, _ loaders.Event) error {
		var n uint64
		if _, err := fmt.Sscanf(key, "%x", &n); err != nil {
			return fmt.Errorf("read journal: key %.40q: %w", key, err)
		}
		if none {
			t.first, none = n, false
		}
		t.next = n + 1
		return nil
	})
	t.read = err == nil
	return err
}

// Append implements [loaders.Journal].
func (t *journalTable) Append(ctx context.Context, e loaders.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(ctx); err != nil {
		return err
	}
	if err := t.table.Put(ctx, journalKey(t.next), e); err != nil {
		return err
	}
	t.next++
	for ; t.next-t.first > journalLength; t.first++ {
		if err := t.table.Delete(ctx, journalKey(t.first)); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [loaders.Journal].
func (t *journalTable) Read(ctx context.Context, n int) ([]loaders.Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []loaders.Event
	err := t.table.All(ctx, func(_ string, e loaders.Event) error { out = append(out, e); return nil })
	if n > 0 && len(out) > n {
		out = out[len(out)-n:]
	}
	return out, err
}
