package node

import (
	"context"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// docSet is a set of documents. Safe for concurrent use.
type docSet struct {
	mu  sync.RWMutex
	ids map[crdt.DocID]bool
}

// load reads which documents are not to be exchanged.
func (s *docSet) load(ctx context.Context, catalog *crdt.Table[catalogRow]) error {
	return catalog.All(ctx, func(key string, row catalogRow) error {
		if !row.Unshared {
			return nil
		}
		id, err := crdt.ParseDocID(key)
		s.set(id, true)
		return err
	})
}

func (s *docSet) set(id crdt.DocID, in bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[crdt.DocID]bool{}
	}
	if in {
		s.ids[id] = true
	} else {
		delete(s.ids, id)
	}
}

func (s *docSet) has(id crdt.DocID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ids[id]
}
