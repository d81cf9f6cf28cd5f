package meter

import (
	"bytes"
	"errors"
	"fmt"
)

// The numbers of the sections.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	secTag
)

// order is the rank of each section by its number: the count of data segments stands before the code.
var order = [...]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 10}

var names = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element",
	"code", "data", "data count",
}

// module is what both Inspect and Instrument parse.
type module struct {
	limits   Limits
	info     Info
	sections [secDataCount + 1]section

	types    []FuncType
	funcs    []uint32 // the type of each function, imported ones first
	imported int      // functions
	globals  int
	tables   int
	memories int
	segments uint32 // data segments, where their count is said beforehand
	bodies   [][]byte
	data     int64 // bytes of data and element segments
}

// section is the content of a section; there tells one without bytes from none.
type section struct {
	body  []byte
	there bool
}

var (
	magic    = []byte{0, 'a', 's', 'm'}
	lfsStart = []byte("version https://git-lfs")
)

// Inspect reads a module and refuses what can't be run here or is beyond the limits. It looks into no
// function. The Info holds on to the input. It never panics, and takes memory in proportion to the input
// alone.
func (l Limits) Inspect(wasm []byte) (*Info, error) {
	m, err := parse(wasm, l)
	if err != nil {
		return nil, fmt.Errorf("inspect module: %w", err)
	}
	return &m.info, nil
}

func parse(wasm []byte, l Limits) (*module, error) {
	if err := header(wasm, l); err != nil {
		return nil, err
	}
	m := &module{limits: l}
	r := &reader{b: wasm, pos: 8}
	last := 0
	for r.left() > 0 {
		id := r.byte()
		at := r.pos
		body := r.take(r.u32())
		if r.err != nil {
			return nil, fmt.Errorf("section at byte %d: %w", at-1, r.err)
		}
		if err := m.section(id, body, &last); err != nil {
			return nil, err
		}
	}
	if len(m.bodies) != m.info.Functions {
		return nil, fmt.Errorf("%d functions are declared, %d have code", m.info.Functions, len(m.bodies))
	}
	if s := m.sections[secDataCount]; s.there && m.segments > 0 && !m.sections[secData].there {
		return nil, fmt.Errorf("%d data segments are declared, none is there", m.segments)
	}
	return m, nil
}

// header tells a core module from what else people put into such files.
func header(wasm []byte, l Limits) error {
	switch {
	case int64(len(wasm)) > l.Bytes:
		return fmt.Errorf("too large: %d bytes, the limit is %d", len(wasm), l.Bytes)
	case bytes.HasPrefix(wasm, lfsStart):
		return errors.New("a Git LFS pointer, not the file itself: the module is stored outside of the repository")
	case len(wasm) < 8 || !bytes.Equal(wasm[:4], magic):
		return errors.New("not a WebAssembly module")
	}
	switch version := [4]byte(wasm[4:8]); {
	case version == [4]byte{1, 0, 0, 0}:
		return nil
	case version[2] == 1 && version[3] == 0:
		return errors.New("a WebAssembly component, not a core module: build it for a core target, such as wasm32-wasip1")
	default:
		return fmt.Errorf("a WebAssembly module of the unknown version %x", version)
	}
}

// section reads one section; last is the rank of the one before it.
func (m *module) section(id byte, body []byte, last *int) error {
	if id == secTag {
		return errors.New("uses exceptions, which are not supported")
	}
	if int(id) >= len(names) {
		return fmt.Errorf("unknown section %d", id)
	}
	r := &reader{b: body}
	if id == secCustom {
		name := r.name()
		m.info.Custom = append(m.info.Custom, Custom{Name: name, Data: r.b[r.pos:]})
		r.pos = len(r.b)
	} else {
		if order[id] <= *last {
			return fmt.Errorf("%s section: twice, or out of order", names[id])
		}
		*last = order[id]
		m.sections[id] = section{body, true}
		m.parsers()[id](r)
	}
	if r.err == nil && r.left() > 0 {
		r.fail("%d bytes too many", r.left())
	}
	if r.err != nil {
		return fmt.Errorf("%s section: byte %d: %w", names[id], r.pos, r.err)
	}
	return nil
}

func (m *module) parsers() [secDataCount + 1]func(*reader) {
	return [...]func(*reader){
		secType: m.readTypes, secImport: m.readImports, secFunction: m.readFunctions, secTable: m.readTables,
		secMemory: m.readMemories, secGlobal: m.readGlobals, secExport: m.readExports, secStart: m.readStart,
		secElement: m.readElements, secCode: m.readCode, secData: m.readData, secDataCount: m.readDataCount,
	}
}

// bytesOf adds to the bytes of segments.
func (m *module) bytesOf(r *reader, n int) {
	m.data += int64(n)
	if m.data > m.limits.Data {
		r.fail("too much data: the limit is %d bytes", m.limits.Data)
	}
}

func (m *module) readDataCount(r *reader) { m.segments = r.u32() }
