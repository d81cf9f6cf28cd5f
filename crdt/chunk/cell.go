package chunk

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// write is one absorbed operation on a key.
type write struct {
	node uint32
	op   uint32 // counter << 1 | 1 if it deletes
}

func (w write) deletes() bool { return w.op&1 != 0 }

// cell is the history of one key. The gate lets an operation pass only if it replaces exactly what
// was visible to its author. So a write is visible at a place in the history exactly when it sets
// and no other write on the key that the place has seen has seen it: the visible writes are the
// maximal ones, and neither replaced operations nor replacements need to be remembered. It follows
// that of each actor at most its last write is visible.
type cell struct {
	only write  // when there has been one write
	more *lanes // when there have been several
}

type lanes struct {
	tips  []write // not seen by any other write of the key
	lanes []lane
}

// lane holds the writes of one actor on one key, oldest first.
type lane struct {
	actor  uint32
	writes []write
}

// view is what an author had seen: everything absorbed, or a vector.
type view struct {
	all    bool
	vector []uint32 // by actor index
}

func (g *graph) sees(v view, w write) bool {
	n := &g.nodes[w.node]
	return v.all || at(v.vector, n.actor) >= n.seq
}

// visible appends to out the operations of a key that are visible in v, in [crdt.OpID] order.
func (g *graph) visible(out []crdt.OpID, k cell, v view) []crdt.OpID {
	start := len(out)
	for _, w := range g.maximal(k, v) {
		if !w.deletes() {
			out = append(out, crdt.OpID{Counter: uint64(w.op >> 1), Actor: g.actors[g.nodes[w.node].actor]})
		}
	}
	slices.SortFunc(out[start:], crdt.OpID.Compare)
	return out
}

// maximal returns the writes in v that no other write in v has seen.
func (g *graph) maximal(k cell, v view) []write {
	if k.more == nil {
		if g.sees(v, k.only) {
			return []write{k.only}
		}
		return nil
	}
	inside := true
	for _, w := range k.more.tips {
		inside = inside && g.sees(v, w)
	}
	if inside {
		return k.more.tips
	}
	return g.pastMaximal(k.more, v)
}

func (g *graph) pastMaximal(l *lanes, v view) []write {
	var last []write // the last write of each actor in v
	for i := range l.lanes {
		lane := &l.lanes[i]
		seq := at(v.vector, lane.actor)
		n, _ := slices.BinarySearchFunc(lane.writes, seq+1, func(w write, s uint32) int {
			return cmp.Compare(g.nodes[w.node].seq, s)
		})
		if n > 0 {
			last = append(last, lane.writes[n-1])
		}
	}
	if len(last) < 2 {
		return last
	}
	// A write has a higher counter than all it has seen, so going down, whatever no earlier one has
	// seen is maximal.
	slices.SortFunc(last, func(a, b write) int { return cmp.Compare(b.op>>1, a.op>>1) })
	covered := g.zeroed(&g.other)
	maximal := last[:0]
	for _, w := range last {
		if n := &g.nodes[w.node]; covered[n.actor] < n.seq {
			maximal = append(maximal, w)
			g.join(covered, w.node)
		}
	}
	return maximal
}

// absorb adds a write; all says that it has seen every other.
func (g *graph) absorb(k cell, known bool, w write, all bool) cell {
	if !known {
		return cell{only: w}
	}
	if k.more == nil {
		g.extra += int(unsafe.Sizeof(lanes{})) + 16
		k.more = &lanes{tips: []write{k.only}}
		g.append(k.more, k.only)
	}
	l := k.more
	tips := l.tips[:0]
	for _, t := range l.tips {
		if n := &g.nodes[t.node]; !all && g.seen(w.node, n.actor) < n.seq {
			tips = append(tips, t)
		}
	}
	l.tips = append(tips, w)
	g.append(l, w)
	return k
}

func (g *graph) append(l *lanes, w write) {
	actor := g.nodes[w.node].actor
	g.extra += int(unsafe.Sizeof(w))
	for i := range l.lanes {
		if l.lanes[i].actor == actor {
			l.lanes[i].writes = append(l.lanes[i].writes, w)
			return
		}
	}
	g.extra += int(unsafe.Sizeof(lane{}))
	l.lanes = append(l.lanes, lane{actor: actor, writes: []write{w}})
}
