package ipld

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// maxServed is how many roots a [Source] remembers the blocks of.
const maxServed = 32

// Source serves the blocks below a root to other peers, and no others. Who may ask for a root is for the
// caller to say. Safe for concurrent use.
type Source struct {
	l *Loader

	mu    sync.Mutex
	sets  map[string]served // by root
	order []string          // of sets, the newest last
}

// served is what is below a root.
type served struct {
	ids      map[string]bool
	complete bool
	at       uint64 // Store.changes when it was walked
}

// Source returns a new source over the store.
func (l *Loader) Source() *Source { return &Source{l: l, sets: map[string]served{}} }

// Get returns a block of the package or content under root. It fails with [loaders.ErrMissing] for one
// that is not below it and for one that is not here: they look the same.
func (s *Source) Get(ctx context.Context, _ crdt.DocID, root, id string) ([]byte, error) {
	if ok, err := s.below(ctx, root, id); err != nil || !ok {
		return nil, errors.Join(err, loaders.ErrMissing)
	}
	return s.l.store.Get(ctx, id)
}

// Has reports whether Get would find the block, but for one that rotted.
func (s *Source) Has(ctx context.Context, _ crdt.DocID, root, id string) (bool, error) {
	if ok, err := s.below(ctx, root, id); err != nil || !ok {
		return false, err
	}
	return s.l.store.Has(id)
}

func (s *Source) below(ctx context.Context, root, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set, ok := s.sets[root]
	if !ok || !set.complete && set.at != s.l.store.changes.Load() {
		set = served{ids: map[string]bool{}, at: s.l.store.changes.Load()}
		ids, err := s.l.Closure(ctx, root)
		if err != nil && !errors.Is(err, loaders.ErrMissing) && !errors.Is(err, loaders.ErrInvalid) {
			return false, fmt.Errorf("serve %.80q: %w", root, err)
		}
		set.complete = err == nil
		for _, id := range ids {
			set.ids[id] = true
		}
		s.remember(root, set)
	}
	return set.ids[id], nil
}

func (s *Source) remember(root string, set served) {
	if _, known := s.sets[root]; !known {
		s.order = append(s.order, root)
	}
	s.sets[root] = set
	if len(s.order) > maxServed {
		delete(s.sets, s.order[0])
		s.order = s.order[1:]
	}
}
