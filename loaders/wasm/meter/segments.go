package meter

// The operators of constant expressions.
const (
	opEnd       = 0x0b
	opGlobalGet = 0x23
	opI32Const  = 0x41
	opI64Const  = 0x42
	opF32Const  = 0x43
	opF64Const  = 0x44
	opRefNull   = 0xd0
	opRefFunc   = 0xd2
	opVector    = 0xfd
	vecConst    = 12
)

// constant skips a constant expression. The numbers of functions in it are handed to ref, with where they
// stand.
func (r *reader) constant() { r.constantRefs(nil) }

func (r *reader) constantRefs(ref func(start, end int, f uint32)) {
	for r.err == nil {
		switch op := r.byte(); op {
		case opEnd:
			return
		case opGlobalGet:
			r.u32()
		case opI32Const:
			r.signed(32)
		case opI64Const:
			r.signed(64)
		case opF32Const:
			r.take(4)
		case opF64Const:
			r.take(8)
		case opRefNull:
			r.refType()
		case opRefFunc:
			start := r.pos
			f := r.u32()
			if ref != nil && r.err == nil {
				ref(start, r.pos, f)
			}
		case opVector:
			if sub := r.u32(); sub != vecConst {
				r.fail("vector operator %d in a constant", sub)
			}
			r.take(16)
		default:
			r.fail("operator 0x%02x in a constant", op)
		}
	}
}

func (m *module) readExports(r *reader) {
	n := r.count(m.limits.Exports, "exports")
	seen := make(map[string]struct{}, n)
	for i := 0; i < n && r.err == nil; i++ {
		e := Export{Name: r.name(), Kind: Kind(r.byte())}
		switch e.Kind {
		case KindFunc:
			e.Func = m.typeOf(r, r.index(len(m.funcs), "function"))
		case KindTable:
			r.index(m.tables, "table")
		case KindMemory:
			r.index(m.memories, "memory")
			if m.info.Memory != nil {
				m.info.Memory.Export = e.Name
			}
		case KindGlobal:
			r.index(m.globals, "global")
		default:
			r.fail("export %d %s", i, e.Kind.unknown())
		}
		if _, twice := seen[e.Name]; twice {
			r.fail("two exports %q", e.Name)
		}
		seen[e.Name] = struct{}{}
		m.info.Exports = append(m.info.Exports, e)
	}
}

func (m *module) readStart(r *reader) {
	r.index(len(m.funcs), "function")
	m.info.Start = true
}

func (m *module) readElements(r *reader) {
	before := len(r.b)
	m.elements(r, nil)
	m.bytesOf(r, before)
}

// elements walks over the element segments; ref gets the numbers of functions and where they stand.
func (m *module) elements(r *reader, ref func(start, end int, f uint32)) {
	n := r.u32()
	for i := uint32(0); i < n && r.err == nil; i++ {
		flag := r.u32()
		if flag > 7 {
			r.fail("element segment %d is of the unknown kind %d", i, flag)
			return
		}
		if flag&1 == 0 { // active: table and offset
			if flag&2 != 0 {
				r.index(m.tables, "table")
			}
			r.constantRefs(ref)
		}
		if flag&3 != 0 { // the kind of element is said
			if kind := r.byte(); flag&4 == 0 && kind != 0 {
				r.fail("element segment %d holds the unknown kind 0x%02x", i, kind)
			}
		}
		m.entries(r, flag&4 != 0, ref)
	}
}

func (m *module) entries(r *reader, expressions bool, ref func(start, end int, f uint32)) {
	n := r.count(m.limits.Elements, "elements")
	for i := 0; i < n && r.err == nil; i++ {
		if expressions {
			r.constantRefs(ref)
			continue
		}
		start := r.pos
		f := r.index(len(m.funcs), "function")
		if ref != nil && r.err == nil {
			ref(start, r.pos, f)
		}
	}
}

func (m *module) readData(r *reader) {
	n := r.u32()
	if m.sections[secDataCount].there && n != m.segments {
		r.fail("%d data segments are declared, %d are there", m.segments, n)
	}
	for i := uint32(0); i < n && r.err == nil; i++ {
		flag := r.u32()
		if flag > 2 {
			r.fail("data segment %d is of the unknown kind %d", i, flag)
			return
		}
		if flag == 2 {
			r.index(m.memories, "memory")
		}
		if flag != 1 {
			r.constant()
		}
		m.bytesOf(r, len(r.take(r.u32())))
	}
}

func (m *module) readCode(r *reader) {
	n := r.count(m.limits.Functions, "functions with code")
	m.bodies = make([][]byte, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		size := r.u32()
		if int64(size) > m.limits.Body {
			r.fail("function %d has %d bytes of code, the limit is %d", m.imported+i, size, m.limits.Body)
		}
		m.bodies = append(m.bodies, r.take(size))
		m.info.Code += int(size)
	}
}
