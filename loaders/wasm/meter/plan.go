package meter

import "math"

// edit is a change of the code of one function: the bytes from pos to end are replaced.
type edit struct {
	pos, end int
	kind     editKind
	n        uint64
}

type editKind byte

const (
	editCharge editKind = iota // take n
	editCheck                  // take n, and ask for more where too little was left
	editFunc                   // n is the number of a function in its new place
	editBulk                   // take the length on the stack, shifted right by n, and check
)

// segment is code that runs to its end once it was entered, so it is paid for at its entry. It need not
// be in one piece: what follows a block that nothing leaves early belongs to the segment before the block.
type segment struct {
	edit   int // that pays for it
	parent int // what was entered before it in any case; -1 of the first
	cost   uint64
	room   uint64 // for the cost of children
}

// frame is the function itself, or a block, loop or if within it.
type frame struct {
	segment int // in which it was opened
	out     int // the outermost frame whose end, or loop, a branch from within goes to
}

// plan finds where one function pays. It is used for one function after another.
type plan struct {
	m        *module
	leaves   []uint8 // see leafCost
	edits    []edit
	segments []segment
	frames   []frame
	now      int // segment
	branches int64
	loops    int64
	direct   bool // the function begins with a loop
	calls    bool
	bulk     bool
}

// small is what is not worth an own charge, in units.
const small = 8

// function plans one body. The reader is behind the locals.
func (p *plan) function(r *reader, locals int) {
	*p = plan{m: p.m, leaves: p.leaves, edits: p.edits[:0], segments: p.segments[:0], frames: p.frames[:0]}
	p.open(r.pos, -1, editCheck)
	p.segments[0].cost = entryCost(locals)
	p.push()
	for len(p.frames) > 0 {
		at := r.pos
		o := r.op(p.m)
		if r.err != nil {
			return
		}
		p.segments[p.now].cost += cost(o, p.m, p.leaves)
		p.tangle(o)
		p.step(r, o, at)
	}
	if r.left() > 0 {
		r.fail("code behind the end of the function")
	}
	p.merge()
	p.settle()
}

// tangle counts what makes the compiler slow. A check is three branches more.
func (p *plan) tangle(o op) {
	switch o.code {
	case opBlock, opIf, opElse, opBrIf:
		p.branches++
	case opLoop:
		p.branches += 4
		p.loops++
	case opBrTable:
		p.branches += int64(o.sub) / 4
	}
}

// work is the measure of Limits.Work. wazero's compiler takes time by the square of the blocks of a
// function, and as many values are alive at each loop as there are locals.
func (p *plan) work(locals int) int64 {
	return p.branches*p.branches + int64(locals)*int64(locals)*(p.loops+1)/16
}

func (p *plan) step(r *reader, o op, at int) {
	switch o.code {
	case opBlock:
		p.push()
	case opLoop:
		p.direct = p.direct || len(p.segments) == 1 && !p.calls
		p.push()
		p.open(r.pos, p.now, editCheck)
	case opIf:
		p.push()
		p.open(r.pos, p.now, editCharge)
	case opElse:
		p.open(r.pos, p.frames[len(p.frames)-1].segment, editCharge)
	case opEnd:
		p.pop(r.pos)
	case opBr, opBrTable:
		p.branch(r, o.arg)
	case opBrIf:
		p.branch(r, o.arg)
		p.open(r.pos, p.now, editCharge)
	case opReturn:
		p.branch(r, uint32(len(p.frames)-1))
	case opCallIndirect:
		p.calls = true
	case opCall, opRefFunc:
		p.calls = p.calls || o.code == opCall
		if int64(o.arg) >= int64(p.m.imported) {
			p.edits = append(p.edits, edit{o.argAt, r.pos, editFunc, uint64(moved(p.m, o.arg))})
		}
	case opMore:
		if shift, ok := bulkShift(o.sub); ok {
			p.bulk = true
			p.edits = append(p.edits, edit{at, at, editBulk, shift})
		}
	}
}

// open begins a segment at pos.
func (p *plan) open(pos, parent int, kind editKind) {
	p.edits = append(p.edits, edit{pos: pos, end: pos, kind: kind})
	p.segments = append(p.segments, segment{edit: len(p.edits) - 1, parent: parent})
	p.now = len(p.segments) - 1
}

func (p *plan) push() {
	p.frames = append(p.frames, frame{segment: p.now, out: math.MaxInt})
}

// pop closes a frame. What follows it runs whenever the frame was entered, unless a branch within it went
// further out.
func (p *plan) pop(pos int) {
	last := len(p.frames) - 1
	f := p.frames[last]
	p.frames = p.frames[:last]
	if last == 0 {
		return
	}
	p.now = f.segment
	if f.out < last {
		up := &p.frames[last-1]
		up.out = min(up.out, f.out)
		p.open(pos, f.segment, editCharge)
	}
}

func (p *plan) branch(r *reader, depth uint32) {
	last := len(p.frames) - 1
	if int64(depth) > int64(last) {
		r.fail("a branch out of %d blocks, where there are %d", depth, last)
		return
	}
	f := &p.frames[last]
	f.out = min(f.out, last-int(depth))
}

// merge drops the check at the entry of a function that comes to a loop at once, as those of the Go
// compiler do: the loop has one.
func (p *plan) merge() {
	if !p.direct {
		return
	}
	entry, loop := &p.segments[0], &p.segments[1]
	p.edits[entry.edit].kind = editCharge
	if entry.cost <= small {
		loop.cost += entry.cost
		entry.cost = 0
	}
}

// settle lets segments pay for small ones that may follow, as long as they don't pay much more than twice
// what is their own, and writes the sums into the edits. A loop pays on every turn.
func (p *plan) settle() {
	for i := range p.segments {
		p.segments[i].room = max(small, p.segments[i].cost)
	}
	for i := len(p.segments) - 1; i >= 0; i-- {
		s := &p.segments[i]
		e := &p.edits[s.edit]
		if e.kind == editCheck {
			s.cost = max(s.cost, 1)
		} else if s.parent >= 0 && s.cost <= min(small, p.segments[s.parent].room) {
			up := &p.segments[s.parent]
			up.cost += s.cost
			up.room -= s.cost
			s.cost = 0
		}
		e.n = s.cost
	}
}
