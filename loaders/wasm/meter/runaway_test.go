package meter

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"
)

const (
	opUnreachable = 0x00
	opDrop        = 0x1a
	opLocalTee    = 0x22
	opI32Add      = 0x6a
	opI32Sub      = 0x6b
	opI32Eqz      = 0x45
)

// down is: local 0 is one less; its new value is on the stack.
func down() []byte { return cat(opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalTee, 0) }

func arg() []byte { return cat(opLocalGet, 0) }

// runaways run until local 0 is zero; it counts down from the argument, which is the most there is for the
// runaway and a small number for the control.
func runaways() map[string]asm {
	callIndirect := cat(opCallIndirect, 0, 0)
	leave := cat(opLocalGet, 0, opI32Eqz, opIf, typeNone, opI32Const, 7, opReturn, opEnd)
	repeat := func(code []byte, n int) (out []byte) {
		for range n {
			out = append(out, code...)
		}
		return out
	}
	fill := cat(opI32Const, 0, opI32Const, 1, opLocalGet, 0, byte(opMore), moreMemoryFill, 0)
	copied := cat(opI32Const, 0, opI32Const, 0, opLocalGet, 0, byte(opMore), moreMemoryCopy, 0, 0)
	// The tables are longer for these two, and the memory is.
	wide := func(a asm) asm {
		a.mems = [][]byte{cat(1, 1024, 1024)}
		a.tables = [][]byte{cat(FuncRef, 1, 1_000_000, 1_000_000)}
		return a
	}
	tableFill := cat(opI32Const, 0, byte(opRefNull), FuncRef, opLocalGet, 0, byte(opMore), moreTableFill, 0)
	tableCopy := cat(opI32Const, 0, opI32Const, 0, opLocalGet, 0, byte(opMore), moreTableCopy, 0, 0)
	return map[string]asm{
		"loop":         run(cat(opLoop, typeNone, down(), opBrIf, 0, opEnd, opI32Const, 7), arg()),
		"loop at once": run(cat(opLoop, typeNone, down(), opIf, typeNone, opBr, 1, opEnd, opEnd, opI32Const, 7), arg()),
		"loop with a parameter": run(cat(arg(), opLoop, 0, opDrop, down(), arg(), opBrIf, 0, opEnd, opDrop,
			opI32Const, 7), arg()),
		"loop by br_table": run(cat(opBlock, typeNone, opLoop, typeNone, down(), opI32Eqz,
			opBrTable, 1, 0, 1, opEnd, opEnd, opI32Const, 7), arg()),
		"loops in each other": run(cat(opLoop, typeNone, opLoop, typeNone, opBlock, typeNone, down(), opI32Const, 1,
			0x71, opBrIf, 0, arg(), opBrIf, 2, opEnd, arg(), opBrIf, 0, opEnd, opEnd, opI32Const, 7), arg()),
		"states of a machine": run(cat(opLoop, typeNone, opBlock, typeNone, opBlock, typeNone, opBlock, typeNone,
			opLocalGet, 1, opBrTable, 2, 0, 1, 2, opEnd, // state 0
			opI32Const, 1, opLocalSet, 1, opBr, 2, opEnd, // state 1
			down(), opI32Eqz, opLocalSet, 1, opLocalGet, 1, opI32Const, 1, 0x74, opLocalSet, 1, opBr, 1, opEnd, opEnd,
			opI32Const, 7), arg()),
		"tree of calls": run(cat(leave, down(), opCall, 0, opDrop, arg(), opCall, 0), arg()),
		"calls of two":  run(cat(leave, down(), opCall, 1), cat(leave, down(), opCall, 0)),
		"calls through a table": run(cat(leave, down(), opI32Const, 2, callIndirect),
			cat(leave, down(), opI32Const, 0, callIndirect)),
		// The table has function 0 at its place 0 and the other one, which calls nothing, at 2.
		"calls before a loop": run(cat(down(), arg(), opI32Eqz, opI32Const, 1, 0x74, callIndirect, opLoop, typeNone, opEnd),
			cat(opI32Const, 7)),
		"fill":       wide(run(cat(repeat(fill, 2000), opI32Const, 7), arg())),
		"copy":       wide(run(cat(repeat(copied, 2000), opI32Const, 7), arg())),
		"table fill": wide(run(cat(repeat(tableFill, 2000), opI32Const, 7), arg())),
		"table copy": wide(run(cat(repeat(tableCopy, 2000), opI32Const, 7), arg())),
	}
}

// deep is more calls in each other than the fuel lasts for, and fewer than the stack has room for.
const deep = 500_000

// most is the argument of each runaway: what would take minutes, or for ever.
func most(name string) uint64 {
	switch name {
	case "fill", "copy":
		return 64 << 20
	case "table fill", "table copy":
		return 1_000_000
	case "tree of calls":
		return 60
	case "calls of two", "calls through a table":
		return deep
	}
	return 0 // 0-1 wraps around: four thousand million turns
}

func TestRunawaysStop(t *testing.T) {
	const total = 2_000_000
	for engine, cfg := range map[string]wazero.RuntimeConfig{"compiler": compiler(), "interpreter": interpreter()} {
		for name, a := range runaways() {
			if engine == "interpreter" && (most(name) == deep || name == "calls before a loop") {
				continue // its stack of 2,000 calls is full before the fuel is used
			}
			t.Run(engine+"/"+name, func(t *testing.T) {
				h := newHost(t, cfg)
				m, err := h.instance(instrumented(t, a.bytes()), NewBudget(total, total))
				if err != nil {
					t.Fatal(err)
				}
				res, used, err := call(m, NewBudget(total, 50_000), "run", most(name))
				if !errors.Is(err, errFuel) {
					t.Fatalf("got %v, %v after %d units", res, err, used)
				}
				if fuel := int64(m.ExportedGlobal(FuelExport).Get()); fuel >= 0 {
					t.Errorf("the counter is %d after the end", fuel)
				}
				// The control: less of the same, with the same fuel, in an instance of its own.
				if m, err = h.instance(instrumented(t, a.bytes()), NewBudget(total, total)); err != nil {
					t.Fatal(err)
				}
				res, used, err = call(m, NewBudget(total, 50_000), "run", 10)
				if err != nil || res[0] != 7 && name != "tree of calls" {
					t.Fatalf("the control: got %v, %v after %d units", res, err, used)
				}
			})
		}
	}
}

func TestStartFunctionStops(t *testing.T) {
	spin := asm{
		types: [][]byte{sig("", "")},
		fns:   []fn{{code: cat(opLoop, typeNone, opBr, 0, opEnd)}},
		start: cat(0),
	}
	h := newHost(t, compiler())
	if _, err := h.instance(instrumented(t, spin.bytes()), NewBudget(1_000_000, 10_000)); !errors.Is(err, errFuel) {
		t.Fatalf("a start function that loops: %v", err)
	}
	// The control: a loop that ends.
	spin.fns[0].locals = vec(cat(1, I32))
	spin.fns[0].code = cat(opI32Const, 50, opLocalSet, 0, opLoop, typeNone, down(), opBrIf, 0, opEnd)
	b := NewBudget(1_000_000, 10_000)
	m, err := h.instance(instrumented(t, spin.bytes()), b)
	if err != nil {
		t.Fatal(err)
	}
	if used := b.Used(int64(m.ExportedGlobal(FuelExport).Get())); used < 250 {
		t.Errorf("50 turns of five instructions took %d units", used)
	}
}

// A guest that spins must not hold up the garbage collector, which waits for every thread, and must end
// when its caller gives up. Without refills runtime.GC would wait here until the test times out.
func TestSpinLetsOthersLive(t *testing.T) {
	h := newHost(t, compiler())
	m, err := h.instance(instrumented(t, runaways()["loop"].bytes()), NewBudget(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	turns := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.WithValue(withBudget(NewBudget(1<<62, 100_000)), turnsKey{}, turns))
	done := make(chan error, 1)
	go func() {
		_, err := m.ExportedFunction("run").Call(ctx, 0)
		done <- err
	}()
	for range 5 {
		<-turns
		runtime.GC()
	}
	select {
	case err := <-done:
		t.Fatalf("it ended by itself: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
}
