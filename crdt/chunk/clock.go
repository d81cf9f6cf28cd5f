package chunk

import (
	"slices"
	"unsafe"
)

// What a change has seen is, for each actor, the highest sequence number among its ancestors: the
// changes of an actor form a chain. Keeping that vector for every change would cost changes × actors;
// a change that only continues its parent keeps nothing, a merge keeps the difference to its parent,
// and a full vector is kept once the way to the last one has become long. The longer the vectors,
// the rarer they are, so that both the bytes of a change and the steps of a look-up stay bounded.

// clock is what a node keeps beyond "my parent and what it has seen".
type clock struct {
	full  []uint32 // by actor index; nil: see the parent
	extra []point  // points above the parent and what it has seen
}

// point is a change by actor index and sequence number.
type point struct{ actor, seq uint32 }

func (g *graph) point(i uint32) point { return point{g.nodes[i].actor, g.nodes[i].seq} }

// maxWeight is the number of steps after which a node keeps a full vector.
func (g *graph) maxWeight() int { return min(32+len(g.actors)/8, 1<<15) }

// seen returns the highest sequence number of an actor among the ancestors of node i, itself not
// counted; 0 when there is none.
func (g *graph) seen(i, actor uint32) uint32 {
	for i != 0 {
		n := &g.nodes[i]
		if n.clock != nil {
			if n.clock.full != nil {
				return at(n.clock.full, actor)
			}
			for _, e := range n.clock.extra {
				if e.actor == actor {
					return e.seq
				}
			}
		}
		if p := &g.nodes[n.parent]; p.actor == actor {
			return p.seq
		}
		i = n.parent
	}
	return 0
}

func at(vector []uint32, actor uint32) uint32 {
	if int(actor) < len(vector) {
		return vector[actor]
	}
	return 0
}

// join raises vector, as long as the actor list, to what node i has seen, itself not counted.
func (g *graph) join(vector []uint32, i uint32) {
	for i != 0 {
		n := &g.nodes[i]
		if n.clock != nil {
			for a, seq := range n.clock.full {
				vector[a] = max(vector[a], seq)
			}
			if n.clock.full != nil {
				return
			}
			for _, e := range n.clock.extra {
				vector[e.actor] = max(vector[e.actor], e.seq)
			}
		}
		p := g.point(n.parent)
		vector[p.actor] = max(vector[p.actor], p.seq)
		i = n.parent
	}
}

// zeroed returns buf as a zero vector as long as the actor list.
func (g *graph) zeroed(buf *[]uint32) []uint32 {
	*buf = slices.Grow((*buf)[:0], len(g.actors))[:len(g.actors)]
	clear(*buf)
	return *buf
}

// behind returns the union of what deps have seen, themselves not counted. The vector is valid until
// the next call.
func (g *graph) behind(deps []uint32) []uint32 {
	v := g.zeroed(&g.joined)
	for _, d := range deps {
		g.join(v, d)
	}
	return v
}

// raise adds nodes to a vector.
func (g *graph) raise(v []uint32, deps []uint32) {
	for _, d := range deps {
		p := g.point(d)
		v[p.actor] = max(v[p.actor], p.seq)
	}
}

// place gives a new node its parent, weight and clock.
func (g *graph) place(n *node, deps []uint32) {
	n.parent = deps[0]
	for _, d := range deps {
		if g.nodes[d].maxOp > g.nodes[n.parent].maxOp {
			n.parent = d
		}
	}
	var extra []point
	if !g.parentSuffices(n, deps) {
		extra = g.difference(n.parent, deps)
	}
	weight := int(g.nodes[n.parent].weight) + 1 + len(extra)
	switch {
	case weight > g.maxWeight():
		v := g.behind(deps)
		g.raise(v, deps)
		for len(v) > 0 && v[len(v)-1] == 0 {
			v = v[:len(v)-1]
		}
		n.clock = &clock{full: slices.Clone(v)}
		weight = 0
	case len(extra) > 0:
		n.clock = &clock{extra: slices.Clone(extra)}
	}
	n.weight = uint16(weight)
	if n.clock != nil {
		g.extra += int(unsafe.Sizeof(clock{})) + 4*len(n.clock.full) + 8*len(n.clock.extra)
	}
}

// parentSuffices covers the usual cases without a walk over all actors: one dependency, or the
// actor's own previous change beside one that has seen it.
func (g *graph) parentSuffices(n *node, deps []uint32) bool {
	switch len(deps) {
	case 1:
		return true
	case 2:
		rest := deps[0] + deps[1] - n.parent
		p := g.point(rest)
		return g.seen(n.parent, p.actor) >= p.seq
	}
	return false
}

// difference lists what deps and their ancestors add to parent and its ancestors.
func (g *graph) difference(parent uint32, deps []uint32) []point {
	all := g.behind(deps)
	g.raise(all, deps)
	base := g.zeroed(&g.other)
	g.join(base, parent)
	g.raise(base, []uint32{parent})
	var extra []point
	for a, seq := range all {
		if seq > base[a] {
			extra = append(extra, point{uint32(a), seq})
		}
	}
	return extra
}
