package chunk

import (
	"bytes"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// raise is the opposite of lower: the wire form of a change whose stores are all of the kind.
func raise(kind crdt.Kind, c *crdt.Change) *body {
	b := &body{
		deps: c.Deps, actor: c.Actor, seq: c.Seq, startOp: c.StartOp, time: c.Time,
		others: otherActors(c),
		ops:    make([]wireOp, len(c.Ops)),
	}
	index := make(map[crdt.ActorID]uint64, len(b.others)+1)
	index[c.Actor] = 0
	for i, a := range b.others {
		index[a] = uint64(i + 1)
	}
	counter := make(map[string]uint64)
	for i, s := range kind.Stores() {
		counter[s.Name] = uint64(i + 1)
	}
	for i := range c.Ops {
		op := &c.Ops[i]
		w := wireOp{objActor: index[genesisActor], objCtr: counter[op.Store], key: op.Key}
		if op.Delete {
			w.action, w.valType = actDelete, valNull
		} else {
			w.action, w.valType, w.value = actSet, valText, op.Value
		}
		if len(op.Pred) > 0 {
			w.pred = make([]wirePred, len(op.Pred))
		}
		for j, p := range op.Pred {
			w.pred[j] = wirePred{index[p.Actor], int64(p.Counter)}
		}
		b.ops[i] = w
	}
	return b
}

// otherActors lists, sorted, the actors that the operations of c name beside its own.
func otherActors(c *crdt.Change) []crdt.ActorID {
	others := []crdt.ActorID{genesisActor} // owns every store
	last := genesisActor
	for i := range c.Ops {
		for _, p := range c.Ops[i].Pred {
			if p.Actor != c.Actor && p.Actor != last {
				others, last = append(others, p.Actor), p.Actor
			}
		}
	}
	slices.SortFunc(others, func(a, b crdt.ActorID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(others)
}
