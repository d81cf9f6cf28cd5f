package meter

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// numbered is a module whose functions answer with their number, reached in every way there is: function
// 0 is imported. "at" calls through the table, "through" through the table that table.init, table.set and
// a global fill.
func numbered() asm {
	answer := func(n int) fn { return fn{typ: 0, code: cat(opI32Const, n)} }
	ref := func(n int) []byte { return cat(byte(opRefFunc), n, opEnd) }
	return asm{
		types:   [][]byte{sig("", "i"), sig("i", "i"), sig("", "")},
		imports: [][]byte{cat("env", "zero", byte(KindFunc), 0)},
		tables:  [][]byte{cat(FuncRef, 0, 20), cat(FuncRef, 0, 20)},
		globals: [][]byte{cat(FuncRef, 0, ref(3)), cat(I32, 1, opI32Const, 0, opEnd)},
		exports: [][]byte{
			export("zero", KindFunc, 0), export("one", KindFunc, 1), export("at", KindFunc, 5),
			export("through", KindFunc, 6), export("started", KindFunc, 8),
		},
		start: cat(7),
		elems: [][]byte{
			cat(0, opI32Const, 0, opEnd, vec(cat(0), cat(1), cat(2), cat(3))),
			cat(2, 0, opI32Const, 4, opEnd, 0, vec(cat(4))),
			cat(4, opI32Const, 5, opEnd, vec(ref(0), ref(1))),
			cat(6, 0, opI32Const, 7, opEnd, FuncRef, vec(ref(2), cat(byte(opRefNull), FuncRef, opEnd))),
			cat(1, 0, vec(cat(2), cat(0))),
			cat(3, 0, vec(cat(4))),
			cat(5, FuncRef, vec(ref(1))),
			cat(7, FuncRef, vec(ref(1))),
		},
		fns: []fn{
			answer(1),
			answer(2), answer(3), answer(4),
			{typ: 1, code: cat(opLocalGet, 0, opCallIndirect, 0, 0)},
			{typ: 1, code: cat(
				opI32Const, 0, opI32Const, 0, opI32Const, 2, byte(opMore), moreTableInit, 4, 1,
				opI32Const, 2, opI32Const, 0, opI32Const, 1, byte(opMore), moreTableInit, 6, 1,
				opI32Const, 3, byte(opRefFunc), 4, 0x26, 1,
				opI32Const, 4, byte(opGlobalGet), 0, 0x26, 1,
				opLocalGet, 0, opCallIndirect, 0, 1)},
			{typ: 2, code: cat(opCall, 4, opCall, 0, opI32Add, opGlobalSet, 1)},
			{typ: 0, code: cat(opGlobalGet, 1)},
		},
	}
}

func TestFunctionsKeepTheirNumbers(t *testing.T) {
	h := newHost(t, compiler())
	ctx := context.Background()
	if _, err := h.rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() int32 { return 0 }).
		Export("zero").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	b := NewBudget(1_000, 1_000)
	m, err := h.instance(instrumented(t, numbered().bytes()), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		arg  []uint64
		want uint64
	}{
		{"zero", nil, 0},
		{"one", nil, 1},
		{"started", nil, 4},
		{"at", []uint64{0}, 0},
		{"at", []uint64{1}, 1},
		{"at", []uint64{2}, 2},
		{"at", []uint64{3}, 3},
		{"at", []uint64{4}, 4},
		{"at", []uint64{5}, 0},
		{"at", []uint64{6}, 1},
		{"at", []uint64{7}, 2},
		{"through", []uint64{0}, 2},
		{"through", []uint64{1}, 0},
		{"through", []uint64{2}, 1},
		{"through", []uint64{3}, 4},
		{"through", []uint64{4}, 3},
	} {
		res, _, err := call(m, NewBudget(10_000, 10_000), c.name, c.arg...)
		if err != nil || res[0] != c.want {
			t.Errorf("%s%v = %v, %v; want %d", c.name, c.arg, res, err, c.want)
		}
	}
	if _, _, err := call(m, NewBudget(10_000, 10_000), "at", 8); err == nil || !strings.Contains(err.Error(), "invalid table access") {
		t.Errorf("a call of nothing: %v", err)
	}
}

func TestInstrumentRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		code []byte
	}{
		{"exceptions are not supported", cat(0x06, typeNone, opEnd)},
		{"exceptions are not supported", cat(0x1f, typeNone, 0, opEnd)},
		{"tail calls are not supported", cat(0x12, 0)},
		{"typed references and garbage collection are not supported", cat(0x14, 0)},
		{"typed references and garbage collection are not supported", cat(byte(0xfb), 0)},
		{"threads are not supported", cat(byte(0xfe), 3, 0)},
		{"vector operator 256: relaxed SIMD is not supported", cat(byte(opVector), 256)},
		{"operator 0xfc 18: unknown", cat(byte(opMore), 18)},
		{"operator 0xff: unknown", cat(byte(0xff))},
		{"operator 0x27: unknown", cat(0x27)},
		{"there is no function 7", cat(opCall, 7)},
		{"there is no type 5", cat(opBlock, 5, opEnd)},
		{"there is no type -66", cat(opBlock, []byte{0xbe, 0x7f}, opEnd)},
		{"unknown type of a value, 0x64", cat(opBlock, byte(0x64), opEnd)},
		{"a branch out of 3 blocks, where there are 0", cat(opBr, 3)},
		{"a branch out of 4 blocks, where there are 1", cat(opBlock, typeNone, opI32Const, 0, opBrTable, 2, 0, 4, 1, opEnd)},
		{"code behind the end", cat(opEnd, opNop)},
		{"unexpected end", cat(opBlock, typeNone)},
		{"unexpected end", cat(opBrTable, 1<<32-1, 0)},
		{"a number has more than 32 bits", cat(opI32Const, []byte{0xff, 0xff, 0xff, 0xff, 0x7f ^ 0x40})},
	} {
		// With a loop, so that no function is small enough to be left as it is.
		code := cat(opLoop, typeNone, opEnd, c.code)
		if out, err := Instrument(run(code, nil).bytes(), Options{}); err == nil || out != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x: got %x, %v; want %q", c.code, out, err, c.want)
		}
	}
	a := run(arg(), arg())
	a.fns[1].locals = vec(cat(1<<31, I32), cat(1<<31, I32))
	if _, err := Instrument(a.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "too many locals: the limit is 50000") {
		t.Errorf("locals: got %v", err)
	}
	for i, c := range []struct{ loops, locals int }{{4_000, 2}, {2_000, 2}, {100, 10_000}, {100, 4_000}} {
		a := run(cat(bytes.Repeat(cat(opLoop, typeNone, arg(), opBrIf, 0, opEnd), c.loops), arg()), arg())
		a.fns[0].locals = vec(cat(c.locals, I32))
		_, err := Instrument(a.bytes(), Options{})
		if refused := err != nil && strings.Contains(err.Error(), "to compile in good time"); refused != (i%2 == 0) {
			t.Errorf("%d loops, %d locals: %v", c.loops, c.locals, err)
		}
	}
	a = run(arg(), arg())
	a.exports[0] = export(FuelExport, KindFunc, 0)
	if _, err := Instrument(a.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("an export of the reserved name: %v", err)
	}
	a = run(arg(), arg())
	a.imports = [][]byte{cat(RefillModule, "other", byte(KindFunc), 0)}
	if _, err := Instrument(a.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("an import from the reserved module: %v", err)
	}
	out := instrumented(t, run(arg(), arg()).bytes())
	if _, err := Instrument(out, Options{}); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("the second time: %v", err)
	}
}

// A runtime bounds memory, not tables: a table without a maximum may grow to the limit here and no further.
func TestTablesAreBounded(t *testing.T) {
	a := run(cat(byte(opRefNull), FuncRef, opLocalGet, 0, byte(opMore), moreTableGrow, 0), arg())
	a.tables[0] = cat(FuncRef, 0, 4)
	h := newHost(t, compiler())
	m, err := h.instance(instrumented(t, a.bytes()), NewBudget(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	limit := DefaultLimits().Elements
	for _, c := range []struct{ by, want int }{{limit - 3, -1}, {limit - 4, 4}, {1, -1}} {
		res, _, err := call(m, NewBudget(10_000, 10_000), "run", uint64(c.by))
		if err != nil || int32(res[0]) != int32(c.want) {
			t.Errorf("growing by %d: got %v, %v; want %d", c.by, res, err, c.want)
		}
	}
}

// Names of functions stay right in traces; sections that nobody reads at run time go.
func TestNames(t *testing.T) {
	a := run(cat(opLocalGet, 0, opCall, 1), cat(opUnreachable))
	names := vec(cat(0, "outer"), cat(1, "inner"))
	module := cat(byte(0), len(cat("m")), "m")
	a.tail = cat(sec(0, cat("name", module, byte(1), len(names), names)), sec(0, cat("producers", make([]byte, 100))))
	out := instrumented(t, a.bytes())
	if bytes.Contains(out, []byte("producers")) {
		t.Error("a custom section is kept")
	}
	h := newHost(t, compiler())
	m, err := h.instance(out, NewBudget(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = call(m, NewBudget(100, 100), "run", 1)
	if err == nil || !strings.Contains(err.Error(), ".inner(") || !strings.Contains(err.Error(), ".outer(") {
		t.Errorf("the trace: %v", err)
	}
	// A section of names that is broken is as good as none.
	for _, broken := range [][]byte{cat(byte(1), 99), cat(byte(1), 2, 1, 0), cat(byte(1), 3, 0, 0, 0)} {
		a.tail = sec(0, cat("name", broken))
		if _, err := h.rt.CompileModule(context.Background(), instrumented(t, a.bytes())); err != nil {
			t.Errorf("names %x: %v", broken, err)
		}
	}
}

// The fuel of a call does not depend on slices, engines or the instance.
func TestFuelIsDeterministic(t *testing.T) {
	hosts := map[string]*host{"compiler": newHost(t, compiler()), "interpreter": newHost(t, interpreter())}
	for name, a := range runaways() {
		var used []int64
		for engine, h := range hosts {
			m, err := h.instance(instrumented(t, a.bytes()), NewBudget(1, 1))
			if err != nil {
				t.Fatal(err)
			}
			for _, slice := range []int64{1, 100, 1_000_000, 1} {
				_, n, err := call(m, NewBudget(10_000_000, slice), "run", 9)
				if err != nil || n == 0 {
					t.Fatalf("%s, %s: %d units, %v", name, engine, n, err)
				}
				used = append(used, n)
			}
			_ = m.Close(context.Background())
		}
		if slices.Min(used) != slices.Max(used) {
			t.Errorf("%s: %v units", name, used)
		}
	}
}

// What things cost, as a person would count them: ten turns of a loop of five instructions, and so on.
func TestCosts(t *testing.T) {
	h := newHost(t, compiler())
	for _, c := range []struct {
		name string
		code []byte
		min  int64
		max  int64
	}{
		{"a loop of 10 turns", cat(opLoop, typeNone, down(), opBrIf, 0, opEnd, arg()), 50, 110},
		{"an arm that is not taken", cat(opI32Const, 0, opIf, typeNone, bytes.Repeat(cat(arg(), opDrop), 100), opEnd, arg()), 3, 20},
		{"an arm that is taken", cat(opI32Const, 1, opIf, typeNone, bytes.Repeat(cat(arg(), opDrop), 100), opEnd, arg()), 200, 220},
		{"a leaf", cat(arg(), opCall, 1), 8, 30},
		{"64 KiB filled", cat(opI32Const, 0, opI32Const, 0, opI32Const, []byte{0x80, 0x80, 0x04}, byte(opMore), moreMemoryFill, 0, arg()), 8192, 8300},
		{"a page grown", cat(arg(), opMemoryGrow, 0), 4096, 4200},
		{"code after a block that is left by the branch", cat(opBlock, typeNone, arg(), opBrIf, 0, bytes.Repeat(cat(arg(), opDrop), 100), opEnd, arg()), 3, 20},
		{"code after a block that may be left, for good", cat(opBlock, typeNone, opBlock, typeNone, arg(), opBrIf, 1, opEnd,
			bytes.Repeat(cat(arg(), opDrop), 100), opEnd, arg()), 3, 20},
	} {
		m, err := h.instance(instrumented(t, run(c.code, arg()).bytes()), NewBudget(1, 1))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, used, err := call(m, NewBudget(1<<40, 1<<40), "run", 10)
		if err != nil || used < c.min || used > c.max {
			t.Errorf("%s: %d units, %v; want %d to %d", c.name, used, err, c.min, c.max)
		}
	}
}
