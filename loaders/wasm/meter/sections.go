package meter

import "math"

// maxPages is the greatest memory that a module can have, 4 GiB.
const maxPages = 65_536

func (m *module) readTypes(r *reader) {
	n := r.count(m.limits.Types, "types")
	for i := 0; i < n && r.err == nil; i++ {
		if form := r.byte(); form != 0x60 {
			r.fail("type %d is no function type (form 0x%02x): garbage collection is not supported", i, form)
		}
		m.types = append(m.types, FuncType{Params: r.values(), Results: r.values()})
	}
}

func (r *reader) values() []Value {
	n := r.count(1_000, "parameters or results")
	vs := make([]Value, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		vs = append(vs, r.value())
	}
	return vs
}

func (r *reader) value() Value {
	v := Value(r.byte())
	switch v {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
	default:
		r.fail("unknown type of a value, 0x%02x", byte(v))
	}
	return v
}

func (r *reader) refType() {
	if v := Value(r.byte()); v != FuncRef && v != ExternRef {
		r.fail("unknown type of a reference, 0x%02x", byte(v))
	}
}

func (m *module) readImports(r *reader) {
	n := r.count(m.limits.Imports, "imports")
	for i := 0; i < n && r.err == nil; i++ {
		imp := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
		switch imp.Kind {
		case KindFunc:
			imp.Func = m.typeOf(r, m.readFunction(r))
			m.imported++
		case KindTable:
			m.readTable(r)
		case KindMemory:
			m.readMemory(r, true)
		case KindGlobal:
			r.globalType()
			m.addGlobal(r)
		default:
			r.fail("import %d %s", i, imp.Kind.unknown())
		}
		m.info.Imports = append(m.info.Imports, imp)
	}
}

// readFunction reads the type of one function and answers with the number of the function.
func (m *module) readFunction(r *reader) uint32 {
	t := r.index(len(m.types), "type")
	m.funcs = append(m.funcs, t)
	return uint32(len(m.funcs) - 1)
}

func (m *module) typeOf(r *reader, f uint32) *FuncType {
	if r.err != nil {
		return nil
	}
	return &m.types[m.funcs[f]]
}

// index reads a number that must be below n.
func (r *reader) index(n int, what string) uint32 {
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.fail("there is no %s %d", what, i)
	}
	return i
}

func (m *module) readFunctions(r *reader) {
	n := r.count(m.limits.Functions, "functions")
	for i := 0; i < n && r.err == nil; i++ {
		m.readFunction(r)
	}
	m.info.Functions = n
}

// sizes are the limits of a table or a memory.
type sizes struct {
	min, max uint32
	declared bool // the maximum is
}

func (r *reader) sizes(what string) sizes {
	flag := r.byte()
	switch {
	case flag&4 != 0 && flag < 8:
		r.fail("a 64-bit %s is not supported", what)
	case flag&2 != 0 && flag < 4:
		r.fail("a shared %s (threads) is not supported", what)
	case flag > 1:
		r.fail("unknown limits of a %s, 0x%02x", what, flag)
	}
	s := sizes{min: r.u32(), max: math.MaxUint32, declared: flag&1 != 0}
	if s.declared {
		s.max = r.u32()
	}
	if s.max < s.min {
		r.fail("a %s whose maximum %d is below its minimum %d", what, s.max, s.min)
	}
	return s
}

func (m *module) readTables(r *reader) {
	n := r.count(m.limits.Tables, "tables")
	for i := 0; i < n && r.err == nil; i++ {
		m.readTable(r)
	}
}

func (m *module) readTable(r *reader) sizes {
	r.refType()
	s := r.sizes("table")
	if uint64(s.min) > uint64(m.limits.Elements) {
		r.fail("a table of %d entries, the limit is %d", s.min, m.limits.Elements)
	}
	m.tables++
	if m.tables > m.limits.Tables {
		r.fail("too many tables: the limit is %d", m.limits.Tables)
	}
	return s
}

func (m *module) readMemories(r *reader) {
	n := r.count(maxPages, "memories")
	for i := 0; i < n && r.err == nil; i++ {
		m.readMemory(r, false)
	}
}

func (m *module) readMemory(r *reader, imported bool) {
	s := r.sizes("memory")
	m.memories++
	if m.memories > 1 {
		r.fail("more than one memory is not supported")
	}
	if s.min > maxPages || s.declared && s.max > maxPages {
		r.fail("a memory of more than %d pages", maxPages)
	}
	m.info.Memory = &Memory{Min: s.min, Max: min(s.max, maxPages), Declared: s.declared, Imported: imported}
}

func (r *reader) globalType() {
	r.value()
	if mutable := r.byte(); mutable > 1 {
		r.fail("a global is neither constant nor mutable, 0x%02x", mutable)
	}
}

func (m *module) addGlobal(r *reader) {
	m.globals++
	if m.globals > m.limits.Globals {
		r.fail("too many globals: the limit is %d", m.limits.Globals)
	}
}

func (m *module) readGlobals(r *reader) {
	n := r.count(m.limits.Globals, "globals")
	for i := 0; i < n && r.err == nil; i++ {
		r.globalType()
		r.constant()
		m.addGlobal(r)
	}
}
