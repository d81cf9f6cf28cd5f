package chunk

import (
	"github.com/chaz-peer/chaz-peer/crdt"
)

// checkAlone holds the rules about one operation that need no history.
func (g *gate) checkAlone(op *crdt.Op) error {
	t, ok := g.tables[op.Store]
	if !ok {
		return crdt.Refuse(crdt.ReasonStore, "%.40q is no store of %s", op.Store, g.kind)
	}
	if !t.spec.Rows {
		if op.Store == crdt.MetaStore && op.Key == crdt.MetaDocKey {
			return crdt.Refuse(crdt.ReasonRecord, "%s/%s is written by the genesis only", crdt.MetaStore, crdt.MetaDocKey)
		}
		return nil
	}
	switch {
	case op.Delete && !t.spec.Deletable:
		return crdt.Refuse(crdt.ReasonRow, "a row of %s can't be deleted", op.Store)
	case op.Delete:
		return nil
	case len(op.Pred) > 0:
		return crdt.Refuse(crdt.ReasonRow, "a row of %s can't be replaced", op.Store)
	case crdt.RowIDOf(op.Value).String() != op.Key:
		return crdt.Refuse(crdt.ReasonRow, "key of a row of %s is not its hash", op.Store)
	}
	return nil
}

// checkReplaced holds the rules about what one operation replaces, v being what its author had seen.
func (g *gate) checkReplaced(op *crdt.Op, v view) error {
	t := g.tables[op.Store]
	switch {
	case !t.remembers():
		return nil
	case t.spec.Rows && !op.Delete:
		// A row that stands is not added again: that keeps a cell to one visible write an actor.
		if !g.replaced(t, op.Key, nil, v) {
			return crdt.Refuse(crdt.ReasonRow, "row of %s is there already", op.Store)
		}
		return nil
	}
	reason := crdt.ReasonRecord
	if t.spec.Rows {
		reason = crdt.ReasonRow
	}
	if op.Delete && len(op.Pred) == 0 {
		return crdt.Refuse(reason, "deletes nothing in %s", op.Store)
	}
	if !g.replaced(t, op.Key, op.Pred, v) {
		return crdt.Refuse(reason, "replaces other operations in %s than its author could see", op.Store)
	}
	return nil
}
