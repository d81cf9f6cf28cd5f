package chunk

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Next implements [crdt.Gate]. Operations are ordered by store, in the order of the kind, then by
// key. A row that is there is left out only in stores whose rows can be deleted, because the others
// are not remembered; a record is written also when it has that value already. Errors wrap a
// [*crdt.Refusal] when the edits are at fault, and a [*crdt.MissingError] when deps are unknown.
func (g *gate) Next(actor crdt.ActorID, time int64, deps []crdt.ChangeHash, edits []crdt.Edit) (*crdt.Change, error) {
	c, err := g.next(actor, time, deps, edits)
	if err != nil {
		return nil, fmt.Errorf("encode change: %w", err)
	}
	return c, nil
}

func (g *gate) next(actor crdt.ActorID, time int64, heads []crdt.ChangeHash, edits []crdt.Edit) (*crdt.Change, error) {
	sorted, err := g.sorted(edits)
	if err != nil {
		return nil, err
	}
	c := &crdt.Change{Actor: actor, Seq: 1, Time: time, Deps: slices.Clone(heads)}
	if last, ok := g.graph.lastOf(actor); ok {
		n := &g.graph.nodes[last]
		c.Seq = uint64(n.seq) + 1
		c.Deps = append(c.Deps, n.hash)
	}
	slices.SortFunc(c.Deps, compareHashes)
	c.Deps = slices.Compact(c.Deps)
	deps, err := g.graph.findAll(c.Deps)
	if err != nil {
		return nil, err
	}
	for _, d := range deps {
		c.StartOp = max(c.StartOp, uint64(g.graph.nodes[d].maxOp)+1)
	}
	if err := g.checkPlace(c, deps); err != nil {
		return nil, err
	}
	v, err := g.look(actor, deps)
	if err != nil {
		return nil, err
	}
	if c.Ops = g.ops(sorted, v); len(c.Ops) == 0 {
		return nil, nil
	}
	if err := g.finish(c); err != nil {
		return nil, err
	}
	return c, nil
}

func compareHashes(a, b crdt.ChangeHash) int { return slices.Compare(a[:], b[:]) }

// sorted checks edits one by one and orders them.
func (g *gate) sorted(edits []crdt.Edit) ([]crdt.Edit, error) {
	if len(edits) > crdt.MaxOps {
		return nil, crdt.Refuse(crdt.ReasonTooLarge, "%d operations, at most %d", len(edits), crdt.MaxOps)
	}
	for i := range edits {
		e := &edits[i]
		op := crdt.Op{Store: e.Store, Key: e.Key, Value: e.Value, Delete: e.Delete}
		if e.Delete {
			op.Value = ""
		}
		if err := g.checkAlone(&op); err != nil {
			return nil, err
		}
		if err := checkText(&op); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(edits)
	slices.SortFunc(out, func(a, b crdt.Edit) int {
		return cmp.Or(cmp.Compare(g.tables[a.Store].order, g.tables[b.Store].order), cmp.Compare(a.Key, b.Key))
	})
	for i := 1; i < len(out); i++ {
		if out[i-1].Store == out[i].Store && out[i-1].Key == out[i].Key {
			return nil, malformed("two edits of one key of %s", out[i].Store)
		}
	}
	return out, nil
}

// ops turns edits into operations on what is visible in v.
func (g *gate) ops(edits []crdt.Edit, v view) []crdt.Op {
	out := make([]crdt.Op, 0, len(edits))
	for _, e := range edits {
		t := g.tables[e.Store]
		op := crdt.Op{Store: t.spec.Name, Key: e.Key, Delete: e.Delete}
		if !e.Delete {
			op.Value = e.Value
		}
		if k, known := t.get(e.Key); known {
			op.Pred = g.graph.visible(nil, k, v)
		}
		present := len(op.Pred) > 0
		if e.Delete && !present || t.spec.Rows && !e.Delete && present {
			continue
		}
		out = append(out, op)
	}
	return out
}

// finish encodes c and holds it to every limit that a reader would.
func (g *gate) finish(c *crdt.Change) error {
	preds := 0
	for i := range c.Ops {
		preds += len(c.Ops[i].Pred)
	}
	switch {
	case preds > maxPreds:
		return crdt.Refuse(crdt.ReasonTooLarge, "replaces %d operations, at most %d", preds, maxPreds)
	case len(c.Deps) > crdt.MaxDeps:
		return crdt.Refuse(crdt.ReasonTooLarge, "%d dependencies, at most %d", len(c.Deps), crdt.MaxDeps)
	}
	b := raise(g.kind, c)
	if err := b.checkHeader(); err != nil {
		return err
	}
	c.Raw = b.encode()
	if len(c.Raw) > crdt.MaxChange {
		return crdt.Refuse(crdt.ReasonTooLarge, "%d bytes, at most %d", len(c.Raw), crdt.MaxChange)
	}
	c.Hash = hashOf(c.Raw)
	return nil
}
