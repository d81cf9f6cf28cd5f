package chunk

import (
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// gate implements [crdt.Gate]. Check and Next use scratch memory, so they too need the owner's lock.
type gate struct {
	kind    crdt.Kind
	graph   *graph
	tables  map[string]*table
	scratch []crdt.OpID
}

func newGate(genesis *crdt.Change, kind crdt.Kind) *gate {
	stores := kind.Stores()
	g := &gate{
		kind:   kind,
		graph:  newGraph(genesis, uint64(len(stores)+1)),
		tables: make(map[string]*table, len(stores)),
	}
	for i, s := range stores {
		g.tables[s.Name] = newTable(s, i)
	}
	return g
}

// Check implements [crdt.Gate]. A change that was absorbed before passes. The order of the rules is
// fixed: what the change alone shows, then missing dependencies, then what they show, and a fork last,
// because only that verdict depends on what arrived first.
func (g *gate) Check(c *crdt.Change) error {
	if _, known := g.graph.find(c.Hash); known {
		return nil
	}
	for i := range c.Ops {
		if err := g.checkAlone(&c.Ops[i]); err != nil {
			return err
		}
	}
	deps, err := g.graph.findAll(c.Deps)
	if err != nil {
		return err
	}
	if err := g.checkPlace(c, deps); err != nil {
		return err
	}
	v, err := g.look(c.Actor, deps)
	if err != nil {
		return err
	}
	for i := range c.Ops {
		if err := g.checkReplaced(&c.Ops[i], v); err != nil {
			return err
		}
	}
	last, ok := g.graph.lastOf(c.Actor)
	if ok && c.Seq <= uint64(g.graph.nodes[last].seq) {
		return crdt.Refuse(crdt.ReasonFork, "another change %d of actor %s is here", c.Seq, c.Actor)
	}
	return nil
}

// checkPlace holds the rules about sequence number, first operation and own previous change.
func (g *gate) checkPlace(c *crdt.Change, deps []uint32) error {
	if len(deps) == 0 {
		return crdt.Refuse(crdt.ReasonSequence, "depends on nothing")
	}
	previous, maxOp := uint64(0), uint64(0)
	for _, d := range deps {
		n := &g.graph.nodes[d]
		maxOp = max(maxOp, uint64(n.maxOp))
		if g.graph.actors[n.actor] != c.Actor {
			continue
		}
		if previous != 0 {
			return crdt.Refuse(crdt.ReasonSequence, "depends on two changes of its own actor")
		}
		previous = uint64(n.seq)
	}
	if previous+1 != c.Seq {
		return crdt.Refuse(crdt.ReasonSequence, "change %d does not list change %d of its actor", c.Seq, c.Seq-1)
	}
	if c.StartOp != maxOp+1 {
		return crdt.Refuse(crdt.ReasonSequence, "first operation %d, want %d", c.StartOp, maxOp+1)
	}
	return nil
}

// look finds what an author with these dependencies had seen, and refuses a dependency that another
// one implies, unless it is the author's own.
func (g *gate) look(actor crdt.ActorID, deps []uint32) (view, error) {
	gr := g.graph
	redundant := func(d uint32) error {
		return crdt.Refuse(crdt.ReasonSequence, "dependency %s is implied by another one", gr.nodes[d].hash)
	}
	if gr.covers(deps) {
		for _, d := range deps {
			if n := &gr.nodes[d]; !n.head && gr.actors[n.actor] != actor {
				return view{}, redundant(d)
			}
		}
		return view{all: true}, nil
	}
	v := gr.behind(deps)
	for _, d := range deps {
		p := gr.point(d)
		if v[p.actor] >= p.seq && gr.actors[p.actor] != actor {
			return view{}, redundant(d)
		}
	}
	gr.raise(v, deps)
	return view{vector: v}, nil
}

// Absorb implements [crdt.Gate] at the cost of the change. A change that is here already, or whose
// dependencies are not, is left out.
func (g *gate) Absorb(c *crdt.Change) {
	if _, known := g.graph.find(c.Hash); known || len(c.Deps) == 0 {
		return
	}
	deps, err := g.graph.findAll(c.Deps)
	if err != nil {
		return
	}
	all := g.graph.covers(deps)
	n := g.graph.add(c, deps)
	for i := range c.Ops {
		op := &c.Ops[i]
		t, ok := g.tables[op.Store]
		if !ok || !t.remembers() {
			continue
		}
		w := write{node: n, op: (uint32(c.StartOp) + uint32(i)) << 1}
		if op.Delete {
			w.op |= 1
		}
		k, known := t.get(op.Key)
		t.put(op.Key, g.graph.absorb(k, known, w, all))
	}
}

// Size implements [crdt.Gate].
func (g *gate) Size() int {
	n := g.graph.size()
	for _, t := range g.tables {
		n += t.size()
	}
	return n
}

// replaced reports whether pred lists exactly what is visible under a key in v.
func (g *gate) replaced(t *table, key string, pred []crdt.OpID, v view) bool {
	g.scratch = g.scratch[:0]
	if k, known := t.get(key); known {
		g.scratch = g.graph.visible(g.scratch, k, v)
	}
	return slices.Equal(g.scratch, pred)
}
