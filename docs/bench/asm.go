package main

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// asm writes small modules: those that misbehave, and many that differ in nothing but a name. Imports
// come before functions.
type asm struct {
	types, imports, funcs, exports, codes [][]byte
	memory, start, data                   []byte
}

const (
	i32 = 0x7f
	i64 = 0x7e
)

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// constant is an instruction with a signed number behind it.
func constant(op byte, n int64) []byte {
	out := []byte{op}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func i32c(n int) []byte { return constant(0x41, int64(n)) }

func text(s string) []byte { return append(uleb(len(s)), s...) }

func section(id byte, items [][]byte) []byte {
	if len(items) == 0 {
		return nil
	}
	body := append(uleb(len(items)), slices.Concat(items...)...)
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func (a *asm) sig(params, results string) []byte {
	a.types = append(a.types, slices.Concat([]byte{0x60}, text(params), text(results)))
	return uleb(len(a.types) - 1)
}

// kernel imports a function of the plugins' kernel.
func (a *asm) kernel(name, params, results string) int {
	a.imports = append(a.imports, slices.Concat(text("extism:host/env"), text(name), []byte{0}, a.sig(params, results)))
	return len(a.imports) - 1
}

// fn adds a function; with a name it is exported.
func (a *asm) fn(name, params, results, locals string, body ...[]byte) int {
	index := len(a.imports) + len(a.funcs)
	a.funcs = append(a.funcs, a.sig(params, results))
	ls := uleb(len(locals))
	for i := range len(locals) {
		ls = append(ls, 1, locals[i])
	}
	code := slices.Concat(ls, slices.Concat(body...), []byte{0x0b})
	a.codes = append(a.codes, append(uleb(len(code)), code...))
	if name != "" {
		a.exports = append(a.exports, slices.Concat(text(name), []byte{0}, uleb(index)))
	}
	return index
}

func (a *asm) bytes() []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, a.types), section(2, a.imports),
		section(3, a.funcs), a.memory, section(7, a.exports), a.start, section(10, a.codes), a.data)
}

// forever runs its body for ever.
func forever(body ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(body...), []byte{0x0c, 0, 0x0b})
}

// endless are modules whose export "run" never comes to an end by itself, each in another way.
func endless() map[string][]byte {
	spin := &asm{}
	spin.fn("run", "", string([]byte{i32}), "", forever(), i32c(0))

	tree := &asm{} // f(n) calls f(n-1) twice: no loop, and 2^60 calls
	n := string([]byte{i32})
	down := slices.Concat([]byte{0x20, 0}, i32c(1), []byte{0x6b, 0x10, 0})
	tree.fn("", n, "", "", []byte{0x20, 0, 0x04, 0x40}, down, down, []byte{0x0b})
	tree.fn("run", "", n, "", i32c(60), []byte{0x10, 0}, i32c(0))

	start := &asm{}
	start.fn("", "", "", "", forever())
	start.fn("run", "", n, "", i32c(0))
	start.start = []byte{8, 1, 0}

	grow := &asm{memory: []byte{5, 3, 1, 0, 1}}
	grow.fn("run", "", n, "", forever(i32c(1), []byte{0x40, 0, 0x1a}), i32c(0))
	return map[string][]byte{"loop": spin.bytes(), "tree of calls": tree.bytes(), "start function": start.bytes(), "growing memory": grow.bytes()}
}

// tinyPlugin is a plugin of less than a kilobyte with one tool. Its name is in its bytes, so that no two
// of them share anything.
func tinyPlugin(name string) []byte {
	list := fmt.Sprintf(`{"tools":[{"name":"say","description":"Says that it is %s.","inputSchema":{"type":"object"}}]}`, name)
	said := `{"content":[{"type":"text","text":"said"}]}`
	a := &asm{memory: []byte{5, 3, 1, 0, 1}}
	alloc := a.kernel("alloc", string([]byte{i64}), string([]byte{i64}))
	store := a.kernel("store_u8", string([]byte{i64, i32}), "")
	output := a.kernel("output_set", string([]byte{i64, i64}), "")
	// send(at, size): block = alloc(size); for i < size: store_u8(block+i, memory[at+i]); output_set(block, size)
	send := a.fn("", string([]byte{i32, i32}), "", string([]byte{i64, i32}),
		[]byte{0x20, 1, 0xad, 0x10, byte(alloc), 0x21, 2},
		[]byte{0x03, 0x40},
		[]byte{0x20, 2, 0x20, 3, 0xad, 0x7c}, []byte{0x20, 0, 0x20, 3, 0x6a, 0x2d, 0, 0}, []byte{0x10, byte(store)},
		[]byte{0x20, 3}, i32c(1), []byte{0x6a, 0x22, 3, 0x20, 1, 0x49, 0x0d, 0, 0x0b},
		[]byte{0x20, 2, 0x20, 1, 0xad, 0x10, byte(output)})
	a.fn("describe", "", string([]byte{i32}), "", i32c(0), i32c(len(list)), []byte{0x10, byte(send)}, i32c(0))
	a.fn("call", "", string([]byte{i32}), "", i32c(len(list)), i32c(len(said)), []byte{0x10, byte(send)}, i32c(0))
	a.data = section(11, [][]byte{slices.Concat([]byte{0}, i32c(0), []byte{0x0b}, text(list+said))})
	return a.bytes()
}
