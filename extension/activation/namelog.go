package activation

import (
	"bytes"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// nameLog is the log of one name. Its rows never go; heap orders those that may win.
type nameLog struct {
	name string
	rows []logRow
	// heap holds indices into rows, the winner by F2 first. A row that is void stays in it until it
	// reaches the top, so the top is never void once add has returned. It is never empty: hashes
	// can't form a circle, so at least one row is listed by no other.
	heap []int32
	// void maps a row id to the first row (by id) that lists it; ids of rows that have not arrived
	// included.
	void map[crdt.RowID]crdt.RowID
}

type logRow struct {
	id        crdt.RowID
	kind      Kind
	ref       extension.Ref
	timestamp int64
	prev      []crdt.RowID
	author    crdt.PeerID
}

func (n *nameLog) event(i int32) Event {
	r := &n.rows[i]
	return Event{ID: r.id, Kind: r.kind, Name: n.name, Ref: r.ref, Timestamp: r.timestamp, Prev: r.prev}
}

func (n *nameLog) add(e *Event, author crdt.PeerID) {
	n.rows = append(n.rows, logRow{e.ID, e.Kind, e.Ref, e.Timestamp, e.Prev, author})
	for _, id := range e.Prev {
		if n.void == nil {
			n.void = map[crdt.RowID]crdt.RowID{}
		}
		if by, listed := n.void[id]; !listed || bytes.Compare(e.ID[:], by[:]) < 0 {
			n.void[id] = e.ID
		}
	}
	n.push(int32(len(n.rows) - 1))
	for n.isVoid(n.heap[0]) {
		n.pop()
	}
}

func (n *nameLog) isVoid(i int32) bool {
	if len(n.void) == 0 {
		return false
	}
	_, listed := n.void[n.rows[i].id]
	return listed
}

// beats is F2 between two rows.
func (n *nameLog) beats(i, j int32) bool {
	a, b := &n.rows[i], &n.rows[j]
	if a.timestamp != b.timestamp {
		return a.timestamp > b.timestamp
	}
	if a.kind != b.kind {
		return a.kind.rank() > b.kind.rank()
	}
	return bytes.Compare(a.id[:], b.id[:]) > 0
}

func (n *nameLog) push(row int32) {
	h := append(n.heap, row)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !n.beats(h[i], h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	n.heap = h
}

func (n *nameLog) pop() {
	last := len(n.heap) - 1
	h := n.heap[:last]
	if last > 0 {
		h[0] = n.heap[last]
	}
	for i := 0; ; {
		best := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && n.beats(h[child], h[best]) {
				best = child
			}
		}
		if best == i {
			break
		}
		h[i], h[best] = h[best], h[i]
		i = best
	}
	n.heap = h
}

// survivors lists the rows that F1 leaves and that at least reach (ts, kind) by F2 without the id,
// in no order. It visits only the part of the heap that can hold them.
func (n *nameLog) survivors(ts int64, kind Kind) []crdt.RowID {
	var ids []crdt.RowID
	for todo := []int{0}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at >= len(n.heap) {
			continue
		}
		e := n.event(n.heap[at])
		if e.compareStamp(ts, kind) < 0 {
			continue
		}
		if !n.isVoid(n.heap[at]) {
			ids = append(ids, e.ID)
		}
		todo = append(todo, 2*at+1, 2*at+2)
	}
	return ids
}

// lastRef finds the greatest row that switched on, those that are not void first.
func (n *nameLog) lastRef() (extension.Ref, bool) {
	best := int32(-1)
	for i := range int32(len(n.rows)) {
		if n.rows[i].kind != Activated {
			continue
		}
		if best < 0 || n.isVoid(best) != n.isVoid(i) && n.isVoid(best) || n.isVoid(best) == n.isVoid(i) && n.beats(i, best) {
			best = i
		}
	}
	if best < 0 {
		return extension.Ref{}, false
	}
	return n.rows[best].ref, true
}
