package node

import (
	"context"
	"sync"
)

// bell wakes those who wait for something to be worth another look. Safe for concurrent use.
type bell struct {
	mu   sync.Mutex
	subs map[*bellSub]bool
}

type bellSub struct {
	b *bell
	c chan struct{} // capacity 1
}

// watch starts to listen: what rings from now on is not missed.
func (b *bell) watch() *bellSub {
	s := &bellSub{b, make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[*bellSub]bool{}
	}
	b.subs[s] = true
	return s
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		select {
		case s.c <- struct{}{}:
		default:
		}
	}
}

// wait returns true when it rang, false when ctx ended.
func (s *bellSub) wait(ctx context.Context) bool {
	select {
	case <-s.c:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *bellSub) stop() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	delete(s.b.subs, s)
}
