package routine

import (
	"container/heap"
	"time"
)

// entry is one routine in the engine. All fields are guarded by [Engine.mu].
type entry struct {
	key    Key
	row    Routine   // as last read
	seen   time.Time // when it was first read; stands for the creation if the row does not tell
	reason string    // why it is inert, empty if it is not

	at   time.Time // when it is due, if it is in the heap
	slot int       // in the heap; -1: not in it
	fire *fire     // running

	gone   bool    // the row is gone; the entry goes when the fire ends
	skips  int     // in a row, for another home
	tries  int     // in a row, to read or write the row
	unkept *result // a fire whose outcome could not be written yet
}

// set takes a row as it was read. The caller holds mu.
func (r *entry) set(row Routine) {
	if row.Created.IsZero() {
		row.Created = r.seen
	}
	r.row = row
}

// result is how a fire ended.
type result struct {
	trigger Trigger
	failure error
	at      time.Time
}

// dueHeap orders entries by due time, then by name. An entry is in it at most once and knows its
// slot, so that a change of plan moves it: there is no second entry that could fire it again.
type dueHeap []*entry

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].key.order(h[j].key) < 0
}

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

// Push implements [heap.Interface].
func (h *dueHeap) Push(x any) {
	r := x.(*entry)
	r.slot = len(*h)
	*h = append(*h, r)
}

// Pop implements [heap.Interface].
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.slot = -1
	return r
}

// plan computes when an entry is due, from its row and the clock. The caller holds mu.
func (e *Engine) plan(r *entry) {
	now := e.now()
	switch {
	case r.fire != nil || r.gone:
		e.unplan(r) // the end of the fire plans it
		return
	case r.unkept != nil:
		r.reason = "its last outcome could not be written yet"
		e.planAt(r, now.Add(Retry(r.tries)))
		return
	}
	r.reason = r.row.Inert(now)
	at, ok := Next(r.row.Trigger, r.row.state(), now)
	if r.reason != "" || !ok {
		e.unplan(r)
		return
	}
	e.planAt(r, at)
}

// planAt makes an entry due at an instant. The caller holds mu.
func (e *Engine) planAt(r *entry, at time.Time) {
	r.at = at
	if r.slot < 0 {
		heap.Push(&e.due, r)
	} else {
		heap.Fix(&e.due, r.slot)
	}
	e.poke()
}

func (e *Engine) unplan(r *entry) {
	if r.slot >= 0 {
		heap.Remove(&e.due, r.slot)
	}
}

// drop forgets an entry; one that runs is forgotten when its fire ends. The caller holds mu.
func (e *Engine) drop(r *entry) {
	r.gone = true
	e.unplan(r)
	rows := e.scopes[r.key.Scope]
	if r.fire != nil || rows[r.key.ID] != r {
		return
	}
	if delete(rows, r.key.ID); len(rows) == 0 {
		delete(e.scopes, r.key.Scope)
	}
}
