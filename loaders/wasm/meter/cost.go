package meter

// The costs, in units. One is about a simple instruction; the others are for what takes far longer, so
// that no instruction buys much time for little fuel.
const (
	costDivide   = 4  // division, remainder, square root
	costCall     = 4  // of a function of the module
	costIndirect = 16 // the same, through a table; covers a callee that does not pay for itself
	costHost     = 64 // of an imported function; what it does is the host's to charge
	costExit     = 64 // instructions for which the runtime leaves native code
	costBulk     = 16 // in addition to the length
	costGrow     = 4096
	// maxLeaf is what a function may cost that does not pay for itself: its callers do.
	maxLeaf = 32
)

// cost is that of one instruction. Growing costs the same whatever the length: what can be grown at all
// is bounded, by the limits of memory and tables.
func cost(o op, m *module, leaves []uint8) uint64 {
	switch c := o.code; {
	case c == opCall && int64(o.arg) < int64(m.imported):
		return costHost
	case c == opCall:
		return costCall + uint64(leaves[int(o.arg)-m.imported])
	case c == opCallIndirect:
		return costIndirect
	case c == opMemoryGrow, c == opMore && o.sub == moreTableGrow:
		return costGrow
	case c == opRefFunc:
		return costExit
	case c == opMore && o.sub >= moreMemoryInit:
		return costBulk
	case c == opNop, c == opBlock, c == opLoop, c == opElse, c == opEnd:
		return 0
	case c >= 0x6d && c <= 0x70, c >= 0x7f && c <= 0x82, c == 0x91, c == 0x95, c == 0x9f, c == 0xa3:
		return costDivide
	}
	return 1
}

// entryCost is for what a call does besides the code: locals are set to zero.
func entryCost(locals int) uint64 { return 2 + uint64(locals)/8 }

// bulkShift says how the length on the stack is paid for: a unit for so many bytes or for each entry.
func bulkShift(sub uint32) (shift uint64, ok bool) {
	switch sub {
	case moreMemoryInit, moreMemoryCopy, moreMemoryFill:
		return 3, true
	case moreTableInit, moreTableCopy, moreTableFill:
		return 0, true
	}
	return 0, false
}

// leafCost is what a function costs at most that is so small and simple that its callers pay for it: it
// has no loop and calls nothing. It is 0 of any other.
func leafCost(m *module, body []byte) uint8 {
	r := &reader{b: body}
	_, locals := r.locals()
	sum := entryCost(locals)
	for r.err == nil && r.left() > 0 && sum <= maxLeaf {
		o := r.op(m)
		switch o.code {
		case opLoop, opCall, opCallIndirect, opRefFunc, opMemoryGrow, opMore:
			return 0
		}
		sum += cost(o, m, nil)
	}
	if r.err != nil || sum > maxLeaf {
		return 0
	}
	return uint8(sum)
}
