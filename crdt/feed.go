package crdt

import (
	"context"
	"errors"
	"sync"
)

// ErrFeedClosed is returned by [Feed.Next] after [Feed.Close] or [Repo.Close].
var ErrFeedClosed = errors.New("the feed is closed")

// Feed tells which documents changed, in content or in access. It remembers each document at most
// once until it is read, so a slow reader costs no memory and misses no document.
type Feed struct {
	mu      sync.Mutex
	pending map[DocID]bool
	wake    chan struct{} // capacity 1
	closed  chan struct{}
	once    sync.Once
	detach  func()
}

// Next waits for changes and returns the ids of the documents, in no order.
func (f *Feed) Next(ctx context.Context) ([]DocID, error) {
	for {
		f.mu.Lock()
		ids := make([]DocID, 0, len(f.pending))
		for id := range f.pending {
			ids = append(ids, id)
		}
		clear(f.pending)
		f.mu.Unlock()
		if len(ids) > 0 {
			return ids, nil
		}
		select {
		case <-f.wake:
		case <-f.closed:
			return nil, ErrFeedClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the feed and releases it.
func (f *Feed) Close() { f.once.Do(func() { f.detach(); close(f.closed) }) }

func (f *Feed) tell(id DocID) {
	f.mu.Lock()
	f.pending[id] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Changes returns a feed of all documents from now on.
func (r *Repo) Changes() *Feed { return r.feeds.open(nil) }

// Watch returns a feed of one document from now on.
func (r *Repo) Watch(id DocID) *Feed { return r.feeds.open(&id) }

// feedSet is the set of open feeds.
type feedSet struct {
	mu   sync.Mutex
	live map[*Feed]*DocID
}

func (s *feedSet) open(only *DocID) *Feed {
	f := &Feed{pending: map[DocID]bool{}, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	f.detach = func() {
		s.mu.Lock()
		delete(s.live, f)
		s.mu.Unlock()
	}
	s.mu.Lock()
	if s.live == nil {
		s.live = map[*Feed]*DocID{}
	}
	s.live[f] = only
	s.mu.Unlock()
	return f
}

func (s *feedSet) tell(id DocID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f, only := range s.live {
		if only == nil || *only == id {
			f.tell(id)
		}
	}
}

func (s *feedSet) closeAll() {
	s.mu.Lock()
	all := make([]*Feed, 0, len(s.live))
	for f := range s.live {
		all = append(all, f)
	}
	s.mu.Unlock()
	for _, f := range all {
		f.Close()
	}
}
