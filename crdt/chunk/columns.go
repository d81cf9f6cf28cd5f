package chunk

import (
	"github.com/chaz-peer/chaz-peer/crdt"
)

// Columns of the operations of a change, in wire order. An id is (group << 4 | type), type 0 group
// count, 1 actor index, 2 unsigned, 3 delta, 4 boolean, 5 text, 6 value lengths and types, 7 values.
// The columns of list elements, marks and deflated data have no place in the accepted subset.
const (
	colObjActor  = 1
	colObjCtr    = 2
	colKey       = 21
	colInsert    = 52
	colAction    = 66
	colValMeta   = 86
	colValRaw    = 87
	colPredNum   = 112
	colPredActor = 113
	colPredCtr   = 115
)

// Actions and value types of the subset.
const (
	actMakeMap = 0
	actSet     = 1
	actDelete  = 3
	valNull    = 0
	valText    = 6
)

const (
	// maxCounter bounds operation counters and with them sequence numbers: the core keeps them in
	// 32 bits.
	maxCounter = 1<<31 - 1
	// maxPreds bounds the replaced operations that all operations of one change list.
	maxPreds = 4 * crdt.MaxOps
)

var columnIDs = [...]uint64{
	colObjActor, colObjCtr, colKey, colInsert, colAction,
	colValMeta, colValRaw, colPredNum, colPredActor, colPredCtr,
}

type columns map[uint64][]byte

func splitColumns(r *reader) (columns, error) {
	n := r.uleb()
	if n > uint64(len(columnIDs)) {
		return nil, malformed("%d columns", n)
	}
	type entry struct{ id, size uint64 }
	var list [len(columnIDs)]entry
	known := 0
	for i := range list[:n] {
		id, size := r.uleb(), r.uleb()
		for known < len(columnIDs) && columnIDs[known] != id {
			known++
		}
		if r.bad || known == len(columnIDs) || size == 0 {
			return nil, malformed("column %d is unknown, empty or out of place", id)
		}
		known++
		list[i] = entry{id, size}
	}
	cols := make(columns, n)
	for _, e := range list[:n] {
		cols[e.id] = r.take(e.size)
	}
	if r.bad || len(r.b) != 0 {
		return nil, malformed("columns do not fill the chunk")
	}
	return cols, nil
}

// opReader walks all columns in step.
type opReader struct {
	objActor, objCtr, action, valMeta, predNum, predActor runReader[uint64]
	key                                                   runReader[string]
	predCtr                                               runReader[int64]
	values                                                string
	ctr                                                   int64
	preds                                                 int
}

func newOpReader(cols columns) *opReader {
	keys := cols[colKey]
	text := string(keys) // one copy that all keys share
	return &opReader{
		objActor:  newRuns(cols[colObjActor]),
		objCtr:    newRuns(cols[colObjCtr]),
		action:    newRuns(cols[colAction]),
		valMeta:   newRuns(cols[colValMeta]),
		predNum:   newRuns(cols[colPredNum]),
		predActor: newRuns(cols[colPredActor]),
		predCtr:   runReader[int64]{reader: reader{b: cols[colPredCtr]}, value: (*reader).sleb},
		key: runReader[string]{reader: reader{b: keys}, value: func(r *reader) string {
			n := r.uleb()
			start := len(keys) - len(r.b)
			r.take(n)
			if r.bad {
				return ""
			}
			return text[start : start+int(n)]
		}},
		values: string(cols[colValRaw]),
	}
}

// readColumns reads the operations. What it allocates stays within a small multiple of the input:
// repeats that a column can state for free are refused where they are met.
func (b *body) readColumns(r *reader) error {
	cols, err := splitColumns(r)
	if err != nil {
		return err
	}
	in := newOpReader(cols)
	const usualKey = 64 // bytes
	b.ops = make([]wireOp, 0, min(len(cols[colKey])/usualKey+1, crdt.MaxOps))
	for !in.action.done() {
		if len(b.ops) == crdt.MaxOps {
			return crdt.Refuse(crdt.ReasonTooLarge, "more than %d operations", crdt.MaxOps)
		}
		op, err := in.next()
		if err != nil {
			return err
		}
		if n := len(b.ops); n > 0 && b.ops[n-1].key == op.key && b.ops[n-1].objCtr == op.objCtr {
			return malformed("two operations on one key")
		}
		b.ops = append(b.ops, op)
	}
	if len(b.ops) == 0 {
		return malformed("no operations")
	}
	if !in.done() {
		return malformed("columns of unequal length")
	}
	return nil
}

func (in *opReader) next() (wireOp, error) {
	op := wireOp{
		objActor: in.objActor.next(),
		objCtr:   in.objCtr.next(),
		key:      in.key.next(),
		action:   in.action.next(),
	}
	meta, n := in.valMeta.next(), in.predNum.next()
	if in.objActor.bad || in.objCtr.bad || in.key.bad || in.action.bad || in.valMeta.bad || in.predNum.bad {
		return op, malformed("broken column")
	}
	size := meta >> 4
	if size > uint64(len(in.values)) {
		return op, malformed("value is cut off")
	}
	op.valType, op.value, in.values = meta&15, in.values[:size], in.values[size:]
	if n > maxPreds || in.preds+int(n) > maxPreds {
		return op, crdt.Refuse(crdt.ReasonTooLarge, "replaces more than %d operations", maxPreds)
	}
	in.preds += int(n)
	return op, in.readPreds(&op, int(n))
}

func (in *opReader) readPreds(op *wireOp, n int) error {
	for i := range n {
		actor, step := in.predActor.next(), in.predCtr.next()
		if in.predActor.bad || in.predCtr.bad || step > maxCounter || step < -maxCounter {
			return malformed("broken column of replaced operations")
		}
		in.ctr += step
		if in.ctr < 1 || in.ctr > maxCounter {
			return malformed("counter of a replaced operation out of range")
		}
		// Of one actor at most one operation on a key is visible, see cell.
		if i > 0 && op.pred[i-1].actor == actor {
			return crdt.Refuse(crdt.ReasonRecord, "replaces two operations of one actor")
		}
		op.pred = append(op.pred, wirePred{actor, in.ctr})
	}
	return nil
}

func (in *opReader) done() bool {
	return in.objActor.done() && in.objCtr.done() && in.key.done() && in.valMeta.done() &&
		in.predNum.done() && in.predActor.done() && in.predCtr.done() && in.values == ""
}

// appendColumns writes the column table and the columns; empty ones are left out.
func (b *body) appendColumns(out []byte) []byte {
	objActor, objCtr := runWriter[uint64]{put: appendUleb}, runWriter[uint64]{put: appendUleb}
	action, meta := runWriter[uint64]{put: appendUleb}, runWriter[uint64]{put: appendUleb}
	num, predActor := runWriter[uint64]{put: appendUleb}, runWriter[uint64]{put: appendUleb}
	key := runWriter[string]{put: putText}
	predCtr := runWriter[int64]{put: appendSleb}
	var values []byte
	var ctr int64
	for i := range b.ops {
		op := &b.ops[i]
		if op.root {
			objActor.addNull()
			objCtr.addNull()
		} else {
			objActor.add(op.objActor)
			objCtr.add(op.objCtr)
		}
		key.add(op.key)
		action.add(op.action)
		meta.add(uint64(len(op.value))<<4 | op.valType)
		values = append(values, op.value...)
		num.add(uint64(len(op.pred)))
		for _, p := range op.pred {
			predActor.add(p.actor)
			predCtr.add(p.ctr - ctr)
			ctr = p.ctr
		}
	}
	// A boolean column alternates counts of false and true, false first; nothing is inserted.
	insert := appendUleb(nil, uint64(len(b.ops)))
	data := [len(columnIDs)][]byte{
		objActor.bytes(), objCtr.bytes(), key.bytes(), insert, action.bytes(),
		meta.bytes(), values, num.bytes(), predActor.bytes(), predCtr.bytes(),
	}
	return joinColumns(out, &data)
}

func joinColumns(out []byte, data *[len(columnIDs)][]byte) []byte {
	count := uint64(0)
	for _, d := range data {
		if len(d) > 0 {
			count++
		}
	}
	out = appendUleb(out, count)
	for i, d := range data {
		if len(d) > 0 {
			out = appendUleb(appendUleb(out, columnIDs[i]), uint64(len(d)))
		}
	}
	for _, d := range data {
		out = append(out, d...)
	}
	return out
}
