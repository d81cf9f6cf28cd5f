package meter

import (
	"encoding/binary"
	"fmt"
)

// The instructions that are put in.
const (
	opLocalGet  = 0x20
	opLocalSet  = 0x21
	opGlobalSet = 0x24
	opI64GeS    = 0x59
	opI64Sub    = 0x7d
	opI64ShrU   = 0x88
	opI64Extend = 0xad // of an unsigned i32
	typeNone    = 0x40
)

// writer makes the new code of functions, one after another.
type writer struct {
	m      *module
	plan   plan
	fuel   uint32 // global
	refill uint32 // function
	length uint32 // local of the function at hand, where it has bulk operations
	buf    []byte
	work   int64 // so far, see Limits.Work
}

// code makes the content of the code section.
func (w *writer) code() ([]byte, error) {
	m := w.m
	w.plan.m, w.plan.leaves = m, make([]uint8, len(m.bodies))
	for i, body := range m.bodies {
		w.plan.leaves[i] = leafCost(m, body)
	}
	out := make([]byte, 0, len(m.sections[secCode].body)*5/4)
	out = binary.AppendUvarint(out, uint64(len(m.bodies)))
	for i, body := range m.bodies {
		if w.plan.leaves[i] == 0 {
			if err := w.function(i, body); err != nil {
				return nil, fmt.Errorf("function %d: %w", m.imported+i, err)
			}
			body = w.buf
		}
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out, nil
}

// function puts the new body of a function into w.buf.
func (w *writer) function(i int, body []byte) error {
	r := &reader{b: body}
	groups, locals := r.locals()
	from := r.pos
	w.plan.function(r, locals)
	if r.err != nil {
		return fmt.Errorf("byte %d: %w", r.pos, r.err)
	}
	if w.work += w.plan.work(locals); w.work > w.m.limits.Work {
		return fmt.Errorf("too many branches or locals, up to here, to compile in good time (%d, the limit is %d)",
			w.work, w.m.limits.Work)
	}
	w.buf = w.buf[:0]
	if w.plan.bulk {
		params := len(w.m.types[w.m.funcs[w.m.imported+i]].Params)
		w.length = uint32(params + locals)
		first := &reader{b: body}
		first.u32()
		w.number(uint64(groups) + 1)
		w.buf = append(w.buf, body[first.pos:from]...)
		w.buf = append(w.buf, 1, byte(I32))
	} else {
		w.buf = append(w.buf, body[:from]...)
	}
	for _, e := range w.plan.edits {
		w.buf = append(w.buf, body[from:e.pos]...)
		from = e.end
		w.edit(e)
	}
	w.buf = append(w.buf, body[from:]...)
	return nil
}

func (w *writer) edit(e edit) {
	switch e.kind {
	case editFunc:
		w.number(e.n)
	case editBulk:
		w.with(opLocalSet, w.length)
		w.with(opGlobalGet, w.fuel)
		w.with(opLocalGet, w.length)
		w.buf = append(w.buf, opI64Extend, opI64Const, byte(e.n), opI64ShrU, opI64Sub)
		w.with(opGlobalSet, w.fuel)
		w.check()
		w.with(opLocalGet, w.length)
	default:
		if e.n > 0 {
			w.with(opGlobalGet, w.fuel)
			w.buf = appendSigned(append(w.buf, opI64Const), int64(e.n))
			w.buf = append(w.buf, opI64Sub)
			w.with(opGlobalSet, w.fuel)
		}
		if e.kind == editCheck {
			w.check()
		}
	}
}

// check asks for fuel where the counter is below zero. The call stands in the else branch on purpose:
// wazero's register allocator takes the state of the first branch into the code that follows, and the
// other way round each loop would keep its values on the stack.
func (w *writer) check() {
	w.with(opGlobalGet, w.fuel)
	w.buf = append(w.buf, opI64Const, 0, opI64GeS, opIf, typeNone, opElse)
	w.with(opGlobalGet, w.fuel)
	w.with(opCall, w.refill)
	w.with(opGlobalSet, w.fuel)
	w.buf = append(w.buf, opEnd)
}

func (w *writer) with(op byte, n uint32) {
	w.buf = append(w.buf, op)
	w.number(uint64(n))
}

func (w *writer) number(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
