package meter

// The operators that the rewriting looks at.
const (
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opMemoryGrow   = 0x40
	opMore         = 0xfc // the operator is in a second number
	moreMemoryInit = 8
	moreMemoryCopy = 10
	moreMemoryFill = 11
	moreTableInit  = 12
	moreTableCopy  = 14
	moreTableGrow  = 15
	moreTableFill  = 17
)

// maxLocals is what other runtimes have as their limit too.
const maxLocals = 50_000

// op is one instruction. The reader is behind it.
type op struct {
	code byte
	sub  uint32 // the second number where code is opMore or opVector; of br_table how many targets it has
	// arg is the depth of a branch (of br_table the greatest one) or the number of a function; it stands
	// in the bytes from argAt on.
	arg   uint32
	argAt int
}

// op reads one instruction with all that belongs to it.
func (r *reader) op(m *module) op {
	o := op{code: r.byte()}
	switch c := o.code; {
	case c == opBlock || c == opLoop || c == opIf:
		r.blockType(m)
	case c == opBr || c == opBrIf:
		o.arg = r.u32()
	case c == opBrTable:
		o.sub, o.arg = r.branches()
	case c == opCall || c == opRefFunc:
		o.argAt = r.pos
		o.arg = r.index(len(m.funcs), "function")
	case c == opCallIndirect:
		r.index(len(m.types), "type")
		r.index(m.tables, "table")
	case c == 0x1c: // select with types
		r.values()
	case c >= 0x20 && c <= 0x26: // local, global, table
		r.u32()
	case c >= 0x28 && c <= 0x3e: // load, store
		r.u32()
		r.u32()
	case c == 0x3f || c == opMemoryGrow:
		r.u32()
	case c == opI32Const:
		r.signed(32)
	case c == opI64Const:
		r.signed(64)
	case c == opF32Const:
		r.take(4)
	case c == opF64Const:
		r.take(8)
	case c == opRefNull:
		r.refType()
	case c == opMore:
		o.sub = r.u32()
		r.more(o.sub)
	case c == opVector:
		o.sub = r.u32()
		r.vector(o.sub)
	case c <= opNop, c == opElse, c == opEnd, c == opReturn, c == 0x1a, c == 0x1b, c >= 0x45 && c <= 0xc4, c == 0xd1:
	default:
		r.fail("operator 0x%02x: %s", c, proposal(c))
	}
	return o
}

// proposal says where an operator is from that is not supported.
func proposal(c byte) string {
	switch {
	case c >= 0x06 && c <= 0x0a, c == 0x18, c == 0x19, c == 0x1f:
		return "exceptions are not supported"
	case c == 0x12, c == 0x13, c == 0x15:
		return "tail calls are not supported"
	case c == 0x14, c >= 0xd3 && c <= 0xd6, c == 0xfb:
		return "typed references and garbage collection are not supported"
	case c == 0xfe:
		return "threads are not supported"
	}
	return "unknown"
}

func (r *reader) blockType(m *module) {
	if r.left() > 0 && r.b[r.pos] == typeNone {
		r.pos++
		return
	}
	// A type of a value is the negative number of one byte, one of a function is none.
	if r.left() > 0 && r.b[r.pos] > typeNone && r.b[r.pos] < 0x80 {
		r.value()
		return
	}
	if t := r.signed(33); r.err == nil && (t < 0 || t >= int64(len(m.types))) {
		r.fail("there is no type %d", t)
	}
}

// locals reads what stands before the code of a function.
func (r *reader) locals() (groups, total int) {
	groups = r.count(maxLocals, "groups of locals")
	sum := uint64(0)
	for i := 0; i < groups && r.err == nil; i++ {
		sum += uint64(r.u32())
		r.value()
		if sum > maxLocals {
			r.fail("too many locals: the limit is %d", maxLocals)
		}
	}
	return groups, int(sum)
}

func (r *reader) branches() (n, deepest uint32) {
	n = r.u32()
	for i := uint64(0); i <= uint64(n) && r.err == nil; i++ {
		deepest = max(deepest, r.u32())
	}
	return n, deepest
}

func (r *reader) more(sub uint32) {
	switch {
	case sub <= 7: // saturating conversions
	case sub == 9, sub == moreMemoryFill, sub == 13, sub >= moreTableGrow && sub <= moreTableFill:
		r.u32()
	case sub == moreMemoryInit, sub == moreMemoryCopy, sub == moreTableInit, sub == moreTableCopy:
		r.u32()
		r.u32()
	default:
		r.fail("operator 0xfc %d: unknown", sub)
	}
}

func (r *reader) vector(sub uint32) {
	switch {
	case sub <= 11, sub == 92, sub == 93:
		r.u32()
		r.u32()
	case sub == vecConst, sub == 13:
		r.take(16)
	case sub >= 21 && sub <= 34:
		r.byte()
	case sub >= 84 && sub <= 91:
		r.u32()
		r.u32()
		r.byte()
	case sub > 255:
		r.fail("vector operator %d: relaxed SIMD is not supported", sub)
	}
}
