package node_test

import (
	"encoding/binary"
	"slices"
)

// asm writes a WebAssembly module by hand, a hundred bytes where a compiler would make megabytes. Imports
// come before functions.
type asm struct {
	types, imports, funcs, exports, codes [][]byte
	mem                                   []byte
}

const (
	ti32 = 0x7f
	ti64 = 0x7e
)

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sleb(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func wasmName(s string) []byte { return append(uleb(len(s)), s...) }

func vec(items [][]byte) []byte { return append(uleb(len(items)), slices.Concat(items...)...) }

func section(id byte, items [][]byte) []byte {
	if len(items) == 0 {
		return nil
	}
	body := vec(items)
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func (a *asm) sig(params, results []byte) int {
	t := slices.Concat([]byte{0x60}, wasmName(string(params)), wasmName(string(results)))
	if i := slices.IndexFunc(a.types, func(x []byte) bool { return string(x) == string(t) }); i >= 0 {
		return i
	}
	a.types = append(a.types, t)
	return len(a.types) - 1
}

func (a *asm) imp(module, fn string, params, results []byte) int {
	a.imports = append(a.imports, slices.Concat(wasmName(module), wasmName(fn), []byte{0}, uleb(a.sig(params, results))))
	return len(a.imports) - 1
}

// fn adds a function, and exports it under a name if there is one.
func (a *asm) fn(export string, params, results, locals []byte, body ...[]byte) int {
	index := len(a.imports) + len(a.funcs)
	a.funcs = append(a.funcs, uleb(a.sig(params, results)))
	ls := make([][]byte, len(locals))
	for i, l := range locals {
		ls[i] = []byte{1, l}
	}
	code := slices.Concat(vec(ls), slices.Concat(body...), []byte{0x0b})
	a.codes = append(a.codes, slices.Concat(uleb(len(code)), code))
	if export != "" {
		a.exports = append(a.exports, slices.Concat(wasmName(export), []byte{0}, uleb(index)))
	}
	return index
}

func (a *asm) bytes() []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, a.types), section(2, a.imports),
		section(3, a.funcs), a.mem, section(7, a.exports), section(10, a.codes))
}

// instructions

func i32c(n int64) []byte { return append([]byte{0x41}, sleb(n)...) }
func i64c(n int64) []byte { return append([]byte{0x42}, sleb(n)...) }
func callFn(fn int) []byte {
	return append([]byte{0x10}, uleb(fn)...)
}

func get(local int) []byte { return append([]byte{0x20}, uleb(local)...) }
func set(local int) []byte { return append([]byte{0x21}, uleb(local)...) }
func add() []byte          { return []byte{0x7c} } // of i64
func sub() []byte          { return []byte{0x7d} }

// until runs its body again and again until the condition, an i32, holds.
func until64(cond []byte, body ...[]byte) []byte {
	return slices.Concat([]byte{0x02, 0x40, 0x03, 0x40}, cond, []byte{0x0d, 1}, slices.Concat(body...), []byte{0x0c, 0, 0x0b, 0x0b})
}

func forever() []byte { return []byte{0x03, 0x40, 0x0c, 0, 0x0b} }

// kernel is what every guest here imports.
type kernel struct {
	asm
	alloc, store8, store64, load8, load64, length, input, inputLen, output int
}

func newKernel() *kernel {
	k := &kernel{}
	one, two, none := []byte{ti64}, []byte{ti64, ti64}, []byte(nil)
	in := func(name string, params, results []byte) int { return k.imp("extism:host/env", name, params, results) }
	k.alloc, k.length = in("alloc", one, one), in("length", one, one)
	k.store8, k.store64 = in("store_u8", []byte{ti64, ti32}, none), in("store_u64", two, none)
	k.load8, k.load64 = in("load_u8", one, []byte{ti32}), in("load_u64", one, one)
	k.input, k.inputLen, k.output = in("input_offset", none, one), in("input_length", none, one), in("output_set", two, none)
	return k
}

// write stores a text at an address in a local, which stays as it is.
func (k *kernel) write(at int, text string) []byte {
	var out []byte
	for i := 0; i+8 <= len(text); i += 8 {
		out = slices.Concat(out, get(at), i64c(int64(i)), add(), i64c(int64(binary.LittleEndian.Uint64([]byte(text[i:])))), callFn(k.store64))
	}
	for i := len(text) / 8 * 8; i < len(text); i++ {
		out = slices.Concat(out, get(at), i64c(int64(i)), add(), i32c(int64(text[i])), callFn(k.store8))
	}
	return out
}

// answers is the body of an export that always answers the same; it needs one local.
func (k *kernel) answers(text string) []byte {
	return slices.Concat(i64c(int64(len(text))), callFn(k.alloc), set(0), k.write(0, text),
		get(0), i64c(int64(len(text))), callFn(k.output), i32c(0))
}

// says adds an export that always answers the same.
func (k *kernel) says(export, text string) {
	k.fn(export, nil, []byte{ti32}, []byte{ti64}, k.answers(text))
}
