package meter

import (
	"encoding/binary"
	"fmt"
)

// Instrument answers with a module that does the same and pays for it from the counter FuelExport. The
// input stays as it is.
//
// It refuses what Inspect refuses, instructions that it does not know, and a module that has the reserved
// names already. It does not validate code; the runtime does that with the answer as it would have done
// with the input. The answer keeps the names of functions for traces and drops the other custom sections.
// No table of it grows over the limit of elements. The pass takes time and memory in proportion to the
// input.
func Instrument(wasm []byte, o Options) ([]byte, error) {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	m, err := parse(wasm, o.Limits)
	if err == nil {
		err = m.reserved()
	}
	var out []byte
	if err == nil {
		out, err = m.rewrite()
	}
	if err != nil {
		return nil, fmt.Errorf("instrument module: %w", err)
	}
	return out, nil
}

func (m *module) reserved() error {
	for _, i := range m.info.Imports {
		if i.Module == RefillModule {
			return fmt.Errorf("it imports from %q, a name that is reserved", RefillModule)
		}
	}
	if m.info.ExportOf(FuelExport) != nil {
		return fmt.Errorf("it exports %q, a name that is reserved", FuelExport)
	}
	return nil
}

// moved is the number of a function behind the import that is put in.
func moved(m *module, f uint32) uint32 {
	if int64(f) >= int64(m.imported) {
		return f + 1
	}
	return f
}

// rewrite puts the sections together again. The new function is the last import, so all functions with
// code move by one; the new type and the new global are the last and move nothing.
func (m *module) rewrite() ([]byte, error) {
	w := &writer{m: m, fuel: uint32(m.globals), refill: uint32(m.imported)}
	code, err := w.code()
	if err != nil {
		return nil, err
	}
	signature := []byte{0x60, 1, byte(I64), 1, byte(I64)}
	refill := binary.AppendUvarint(append(appendName(appendName(nil, RefillModule), RefillName), byte(KindFunc)),
		uint64(len(m.types)))
	fuel := []byte{byte(I64), 1, opI64Const, 0, opEnd}
	export := binary.AppendUvarint(append(appendName(nil, FuelExport), byte(KindGlobal)), uint64(m.globals))

	out := make([]byte, 0, m.size()+len(code)+256)
	out = append(append(out, magic...), 1, 0, 0, 0)
	out = m.grown(out, secType, m.sections[secType].body, signature)
	out = m.grown(out, secImport, m.sections[secImport].body, refill)
	out = m.keep(out, secFunction, m.sections[secFunction].body)
	out = m.keep(out, secTable, m.newTables())
	out = m.keep(out, secMemory, m.sections[secMemory].body)
	out = m.grown(out, secGlobal, m.newGlobals(), fuel)
	out = m.grown(out, secExport, m.newExports(), export)
	out = m.keep(out, secStart, m.newStart())
	out = m.keep(out, secElement, m.newElements())
	out = m.keep(out, secDataCount, m.sections[secDataCount].body)
	out = m.keep(out, secCode, code)
	out = m.keep(out, secData, m.sections[secData].body)
	if names := m.newNames(); names != nil {
		out = appendSection(out, secCustom, names)
	}
	return out, nil
}

// size is what the sections take that are kept.
func (m *module) size() int {
	n := 0
	for _, s := range m.sections {
		n += len(s.body)
	}
	return n - len(m.sections[secCode].body)
}

func (m *module) keep(out []byte, id int, body []byte) []byte {
	if !m.sections[id].there {
		return out
	}
	return appendSection(out, id, body)
}

// grown is a section with an entry more.
func (m *module) grown(out []byte, id int, body, entry []byte) []byte {
	r := &reader{b: body}
	n := uint32(0)
	if m.sections[id].there {
		n = r.u32()
	}
	head := binary.AppendUvarint(nil, uint64(n)+1)
	out = append(out, byte(id))
	out = binary.AppendUvarint(out, uint64(len(head)+r.left()+len(entry)))
	out = append(append(out, head...), body[r.pos:]...)
	return append(out, entry...)
}

func appendSection(out []byte, id int, body []byte) []byte {
	out = append(out, byte(id))
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...)
}

func appendName(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
