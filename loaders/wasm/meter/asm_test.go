package meter

import (
	"encoding/binary"
	"fmt"
)

// A small assembler: enough to write a module down in a test as it is in the format.

// cat joins bytes: an int is an unsigned number, a string a name with its length, a Value a type.
func cat(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			out = binary.AppendUvarint(out, uint64(v))
		case byte:
			out = append(out, v)
		case Value:
			out = append(out, byte(v))
		case string:
			out = appendName(out, v)
		case []byte:
			out = append(out, v...)
		default:
			panic(fmt.Sprintf("cat: %T", p))
		}
	}
	return out
}

func vec(entries ...[]byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(entries)))
	for _, e := range entries {
		out = append(out, e...)
	}
	return out
}

func sec(id int, body []byte) []byte { return cat(byte(id), len(body), body) }

func sig(params, results string) []byte {
	kinds := map[rune]Value{'i': I32, 'l': I64, 'f': F32, 'd': F64, 'v': V128, 'r': FuncRef, 'x': ExternRef}
	list := func(s string) []byte {
		out := binary.AppendUvarint(nil, uint64(len(s)))
		for _, c := range s {
			out = append(out, byte(kinds[c]))
		}
		return out
	}
	return cat(byte(0x60), list(params), list(results))
}

// fn is one function of a module.
type fn struct {
	typ    int
	locals []byte // a vector of groups; nil is none
	code   []byte // without the last end
}

// asm is a module in pieces. Whatever is nil is left out.
type asm struct {
	types, imports, tables, mems, globals, exports, elems, datas [][]byte
	start                                                        []byte
	fns                                                          []fn
	dataCount                                                    []byte
	tail                                                         []byte // sections at the end, as they are
}

func (a asm) bytes() []byte {
	out := cat(magic, []byte{1, 0, 0, 0})
	put := func(id int, entries [][]byte) {
		if entries != nil {
			out = append(out, sec(id, vec(entries...))...)
		}
	}
	var decls, bodies [][]byte
	for _, f := range a.fns {
		decls = append(decls, cat(f.typ))
		locals := f.locals
		if locals == nil {
			locals = []byte{0}
		}
		body := cat(locals, f.code, byte(opEnd))
		bodies = append(bodies, cat(len(body), body))
	}
	put(secType, a.types)
	put(secImport, a.imports)
	put(secFunction, decls)
	put(secTable, a.tables)
	put(secMemory, a.mems)
	put(secGlobal, a.globals)
	put(secExport, a.exports)
	if a.start != nil {
		out = append(out, sec(secStart, a.start)...)
	}
	put(secElement, a.elems)
	if a.dataCount != nil {
		out = append(out, sec(secDataCount, a.dataCount)...)
	}
	put(secCode, bodies)
	put(secData, a.datas)
	return append(out, a.tail...)
}

func export(name string, kind Kind, i int) []byte { return cat(name, byte(kind), i) }

// run is a module of one exported function "run" of the type i32 -> i32 with that code, a memory of a
// page, a table of four entries, all of them function 0, and a second function of the same type.
func run(code, second []byte) asm {
	return asm{
		types:   [][]byte{sig("i", "i"), sig("", "")},
		tables:  [][]byte{cat(FuncRef, 1, 4, 8)},
		mems:    [][]byte{cat(1, 1, 2)},
		globals: [][]byte{cat(I32, 1, opI32Const, 0, opEnd)},
		exports: [][]byte{export("run", KindFunc, 0), export("memory", KindMemory, 0)},
		elems:   [][]byte{cat(0, opI32Const, 0, opEnd, vec(cat(0), cat(0), cat(1), cat(1)))},
		fns: []fn{
			{typ: 0, locals: vec(cat(2, I32)), code: code},
			{typ: 0, locals: vec(cat(2, I32)), code: second},
		},
	}
}
