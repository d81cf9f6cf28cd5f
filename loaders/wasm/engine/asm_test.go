package engine

import (
	"encoding/binary"
	"slices"
)

// asm writes small modules for tests. Imports come before functions.
type asm struct {
	types, imports, funcs, exports, codes [][]byte
	mem, start                            []byte
}

const (
	ti32 = 0x7f
	ti64 = 0x7e
)

type vals = []byte

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

func name(s string) []byte { return append(uleb(len(s)), s...) }

func vec(items [][]byte) []byte { return append(uleb(len(items)), slices.Concat(items...)...) }

func section(id byte, items [][]byte) []byte {
	if len(items) == 0 {
		return nil
	}
	body := vec(items)
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func (a *asm) sig(params, results vals) int {
	t := slices.Concat([]byte{0x60}, name(string(params)), name(string(results)))
	if i := slices.IndexFunc(a.types, func(x []byte) bool { return string(x) == string(t) }); i >= 0 {
		return i
	}
	a.types = append(a.types, t)
	return len(a.types) - 1
}

func (a *asm) imp(module, fn string, params, results vals) int {
	a.imports = append(a.imports, slices.Concat(name(module), name(fn), []byte{0}, uleb(a.sig(params, results))))
	return len(a.imports) - 1
}

func (a *asm) kernel(fn string, params, results vals) int {
	return a.imp(kernelModule, fn, params, results)
}

func (a *asm) memory(pages int) *asm {
	a.mem = slices.Concat([]byte{5}, uleb(2+len(uleb(pages))), []byte{1, 0}, uleb(pages))
	a.exports = append(a.exports, slices.Concat(name("memory"), []byte{2, 0}))
	return a
}

// fn adds a function and exports it under a name.
func (a *asm) fn(export string, params, results, locals vals, body ...[]byte) int {
	index := len(a.imports) + len(a.funcs)
	a.funcs = append(a.funcs, uleb(a.sig(params, results)))
	ls := make([][]byte, len(locals))
	for i, l := range locals {
		ls[i] = []byte{1, l}
	}
	code := slices.Concat(vec(ls), slices.Concat(body...), []byte{0x0b})
	a.codes = append(a.codes, slices.Concat(uleb(len(code)), code))
	if export != "" {
		a.exports = append(a.exports, slices.Concat(name(export), []byte{0}, uleb(index)))
	}
	return index
}

func (a *asm) starts(fn int) { a.start = slices.Concat([]byte{8}, uleb(len(uleb(fn))), uleb(fn)) }

func (a *asm) bytes() []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, a.types), section(2, a.imports),
		section(3, a.funcs), a.mem, section(7, a.exports), a.start, section(10, a.codes))
}

// instructions

func i32c(n int64) []byte { return append([]byte{0x41}, sleb(n)...) }
func i64c(n int64) []byte { return append([]byte{0x42}, sleb(n)...) }
func call(fn int) []byte  { return append([]byte{0x10}, uleb(fn)...) }
func get(local int) []byte {
	return append([]byte{0x20}, uleb(local)...)
}

func set(local int) []byte {
	return append([]byte{0x21}, uleb(local)...)
}

// forever runs its body for ever.
func forever(body ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(body...), []byte{0x0c, 0, 0x0b})
}

func when(body ...[]byte) []byte {
	return slices.Concat([]byte{0x04, 0x40}, slices.Concat(body...), []byte{0x0b})
}

func drop() []byte        { return []byte{0x1a} }
func unreachable() []byte { return []byte{0x00} }
func ok() []byte          { return i32c(0) }

// store32 stores a constant at an address of the guest's own memory.
func store32(at, v int64) []byte {
	return slices.Concat(i32c(at), i32c(v), []byte{0x36, 2, 0})
}

func store64(at, v int64) []byte {
	return slices.Concat(i32c(at), i64c(v), []byte{0x37, 3, 0})
}
