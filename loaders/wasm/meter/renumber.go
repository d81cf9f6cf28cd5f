package meter

import "encoding/binary"

// The sections that name functions, with the new numbers, and the tables with their new maximum. All were
// parsed before, so nothing can fail here but the names.

// patched copies a body where walk reports the numbers of functions in it.
func (m *module) patched(body []byte, walk func(r *reader, ref func(start, end int, f uint32))) []byte {
	out := make([]byte, 0, len(body)+len(body)/8)
	from := 0
	walk(&reader{b: body}, func(start, end int, f uint32) {
		out = append(out, body[from:start]...)
		out = binary.AppendUvarint(out, uint64(moved(m, f)))
		from = end
	})
	return append(out, body[from:]...)
}

func (m *module) newElements() []byte { return m.patched(m.sections[secElement].body, m.elements) }

func (m *module) newGlobals() []byte {
	return m.patched(m.sections[secGlobal].body, func(r *reader, ref func(start, end int, f uint32)) {
		if r.left() == 0 {
			return
		}
		for range r.u32() {
			r.globalType()
			r.constantRefs(ref)
		}
	})
}

func (m *module) newExports() []byte {
	return m.patched(m.sections[secExport].body, func(r *reader, ref func(start, end int, f uint32)) {
		if r.left() == 0 {
			return
		}
		for range r.u32() {
			r.name()
			kind, start := Kind(r.byte()), r.pos
			if f := r.u32(); kind == KindFunc {
				ref(start, r.pos, f)
			}
		}
	})
}

func (m *module) newStart() []byte {
	return m.patched(m.sections[secStart].body, func(r *reader, ref func(start, end int, f uint32)) {
		if r.left() > 0 {
			f := r.u32()
			ref(0, r.pos, f)
		}
	})
}

// newTables gives each table a maximum: the runtime bounds memory, but lets a table grow to gigabytes.
func (m *module) newTables() []byte {
	body := m.sections[secTable].body
	if len(body) == 0 {
		return nil
	}
	r := &reader{b: body}
	n := r.u32()
	out := binary.AppendUvarint(make([]byte, 0, len(body)+8), uint64(n))
	for range n {
		out = append(out, r.byte(), 1)
		s := r.sizes("table")
		out = binary.AppendUvarint(out, uint64(s.min))
		out = binary.AppendUvarint(out, min(uint64(s.max), uint64(m.limits.Elements)))
	}
	return out
}

// newNames is the name section with the names of functions alone, or nil where there is none or it is
// broken: names are for traces only.
func (m *module) newNames() []byte {
	data, n := m.info.Section("name")
	if n != 1 {
		return nil
	}
	r := &reader{b: data}
	for r.err == nil && r.left() > 0 {
		id, body := r.byte(), r.take(r.u32())
		if id != 1 || r.err != nil {
			continue
		}
		sub := &reader{b: body}
		names := m.patched(body, func(_ *reader, ref func(start, end int, f uint32)) { functionNames(sub, ref) })
		if sub.err != nil || sub.left() > 0 {
			return nil
		}
		return appendSection(appendName(nil, "name"), 1, names)
	}
	return nil
}

func functionNames(r *reader, ref func(start, end int, f uint32)) {
	n := r.u32()
	for i := uint32(0); i < n && r.err == nil; i++ {
		start := r.pos
		f := r.u32()
		if r.err == nil {
			ref(start, r.pos, f)
		}
		r.name()
	}
}
