package bank

import (
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Cache keeps what was computed from documents, for one version of each. What was not used for the
// longest time leaves when the whole costs more than the budget. Safe for concurrent use.
type Cache[T any] struct {
	budget int

	mu   sync.Mutex
	tick int
	cost int
	all  map[crdt.DocID]*cached[T]
}

type cached[T any] struct {
	mu    sync.Mutex // held while the value is computed
	heads []crdt.ChangeHash
	value T

	used, cost int // guarded by Cache.mu
}

// NewCache returns a cache; the budget is in the unit of what Get's functions say.
func NewCache[T any](budget int) *Cache[T] {
	return &Cache[T]{budget: budget, all: map[crdt.DocID]*cached[T]{}}
}

// Get returns the value for the document as v shows it. Where it is not known, compute makes it, from
// that of an older version if there is one (else the zero T), and says what keeping it costs.
func (c *Cache[T]) Get(v *crdt.View, compute func(old T) (value T, cost int)) T {
	e := c.entry(v.ID())
	e.mu.Lock()
	defer e.mu.Unlock()
	heads := v.Heads()
	if e.heads != nil && slices.Equal(e.heads, heads) {
		return e.value
	}
	value, cost := compute(e.value)
	e.value, e.heads = value, heads
	c.weigh(v.ID(), e, cost)
	return value
}

func (c *Cache[T]) entry(id crdt.DocID) *cached[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.all[id]
	if e == nil {
		e = &cached[T]{}
		c.all[id] = e
	}
	c.tick++
	e.used = c.tick
	return e
}

// weigh books the cost of an entry and lets others go where the budget wants it.
func (c *Cache[T]) weigh(id crdt.DocID, e *cached[T], cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[id] != e {
		return // it left while it was computed
	}
	c.cost += cost - e.cost
	e.cost = cost
	for c.cost > c.budget && len(c.all) > 1 {
		var oldest crdt.DocID
		for id, x := range c.all {
			if o := c.all[oldest]; x != e && (o == nil || x.used < o.used) {
				oldest = id
			}
		}
		c.cost -= c.all[oldest].cost
		delete(c.all, oldest)
	}
}

// Len is the number of documents in the cache.
func (c *Cache[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
