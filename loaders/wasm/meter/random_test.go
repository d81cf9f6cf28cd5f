package meter

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"
)

// writing is a random function in the making. Local 0 is the argument, local 1 is mixed by what runs and
// is the result, local 2 counts down with every turn of any loop, global 0 counts the statements that ran.
type writing struct {
	t      *rapid.T
	code   []byte
	labels []byte // what the blocks around are: opBlock or opLoop
	budget int    // of statements
	self   int
	fns    int
}

func (w *writing) add(parts ...any) { w.code = append(w.code, cat(parts...)...) }

func (w *writing) count() {
	w.add(opGlobalGet, 0, opI32Const, 1, opI32Add, opGlobalSet, 0)
}

func (w *writing) condition() {
	w.add(opLocalGet, 1, opI32Const, rapid.IntRange(1, 3).Draw(w.t, "mask"), 0x71)
}

func (w *writing) statements() {
	for range rapid.IntRange(1, 4).Draw(w.t, "statements") {
		w.count()
		w.statement()
	}
}

func (w *writing) within(label byte, f func()) {
	w.labels = append(w.labels, label)
	f()
	w.labels = w.labels[:len(w.labels)-1]
}

func (w *writing) statement() {
	w.budget--
	kind := rapid.IntRange(0, 10).Draw(w.t, "kind")
	if w.budget < 0 {
		kind = 0
	}
	switch kind {
	case 1:
		w.condition()
		w.add(opIf, typeNone)
		w.within(opBlock, w.statements)
		if rapid.Bool().Draw(w.t, "else") {
			w.add(opElse)
			w.within(opBlock, w.statements)
		}
		w.add(opEnd)
	case 2, 3:
		w.add(opBlock, typeNone)
		w.within(opBlock, w.statements)
		w.add(opEnd)
	case 4:
		w.add(opLoop, typeNone)
		w.within(opLoop, func() {
			w.statements()
			w.again(0)
		})
		w.add(opEnd)
	case 5, 6:
		w.branch()
	case 7:
		w.table()
	case 8:
		if w.self+1 < w.fns {
			w.add(opLocalGet, 1, opCall, rapid.IntRange(w.self+1, w.fns-1).Draw(w.t, "callee"), opLocalSet, 1)
		}
	case 9:
		n := rapid.IntRange(0, 60).Draw(w.t, "bytes")
		w.add(opI32Const, 0, opLocalGet, 1, opI32Const, n, byte(opMore), moreMemoryFill, 0)
		w.add(opI32Const, 0, 0x2d, 0, 0, opLocalGet, 1, opI32Add, opLocalSet, 1)
	case 10:
		w.condition()
		w.add(opIf, typeNone, opLocalGet, 1, opReturn, opEnd)
	default:
		w.add(opLocalGet, 1, opI32Const, 31, 0x6c, opI32Const, rapid.IntRange(1, 60).Draw(w.t, "add"), opI32Add, opLocalSet, 1)
	}
}

// again goes back to a loop as long as there are turns left.
func (w *writing) again(depth int) {
	w.add(opLocalGet, 2, opI32Const, 1, opI32Sub, opLocalTee, 2, opI32Const, 0, 0x4a, opBrIf, depth)
}

func (w *writing) branch() {
	if len(w.labels) == 0 {
		return
	}
	depth := rapid.IntRange(0, len(w.labels)-1).Draw(w.t, "depth")
	if w.labels[len(w.labels)-1-depth] == opLoop {
		w.again(depth)
		return
	}
	if rapid.Bool().Draw(w.t, "always") {
		w.add(opBr, depth)
		return
	}
	w.condition()
	w.add(opBrIf, depth)
}

// table is a br_table over the blocks from here out, up to the first loop.
func (w *writing) table() {
	n := 0
	for n < len(w.labels) && w.labels[len(w.labels)-1-n] == opBlock {
		n++
	}
	if n == 0 {
		return
	}
	var targets [][]byte
	for range rapid.IntRange(0, 4).Draw(w.t, "targets") {
		targets = append(targets, cat(rapid.IntRange(0, n-1).Draw(w.t, "target")))
	}
	w.condition()
	w.add(opBrTable, vec(targets...), rapid.IntRange(0, n-1).Draw(w.t, "otherwise"))
}

func randomModule(t *rapid.T) []byte {
	a := run(nil, nil)
	a.fns = nil
	a.exports = append(a.exports, export("count", KindGlobal, 0))
	n := rapid.IntRange(2, 4).Draw(t, "functions")
	for i := range n {
		w := &writing{t: t, budget: 25, self: i, fns: n}
		w.add(opLocalGet, 0, opLocalSet, 1, opI32Const, 20, opLocalSet, 2)
		w.statements()
		w.add(opLocalGet, 1)
		a.fns = append(a.fns, fn{typ: 0, locals: vec(cat(2, I32)), code: w.code})
	}
	return a.bytes()
}

// A random program gives the same after the pass, everything in it that ran was paid, and what it used is
// just enough to run it again.
func TestRandomPrograms(t *testing.T) {
	for engine, h := range map[string]*host{"compiler": newHost(t, compiler()), "interpreter": newHost(t, interpreter())} {
		t.Run(engine, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { checkRandom(rt, h, randomModule(rt)) })
		})
	}
}

func checkRandom(rt *rapid.T, h *host, wasm []byte) {
	arg := rapid.Uint64Range(0, 1000).Draw(rt, "argument")
	ctx := context.Background()
	plain, err := h.rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		rt.Fatalf("%x does not compile: %v", wasm, err)
	}
	defer func() { _ = plain.Close(ctx) }()
	out, err := Instrument(wasm, Options{})
	if err != nil {
		rt.Fatal(err)
	}
	m, err := h.instance(out, NewBudget(1, 1))
	if err != nil {
		rt.Fatalf("%x does not compile any more: %v", out, err)
	}
	defer func() { _ = m.Close(ctx) }()
	got, used, err := call(m, NewBudget(300_000, 1_000), "run", arg)
	if err != nil {
		rt.Skip("a tree of calls and loops that takes too long")
	}
	want, err := plain.ExportedFunction("run").Call(ctx, arg)
	if err != nil || got[0] != want[0] {
		rt.Fatalf("got %v, want %v, %v", got, want, err)
	}
	ran := int64(plain.ExportedGlobal("count").Get())
	// A function that is small enough to be paid by its callers has none in the host.
	if again := int64(m.ExportedGlobal("count").Get()); ran != again || used < 4*ran-maxLeaf {
		rt.Fatalf("%d statements of four instructions ran (%d after the pass), %d units were paid", ran, again, used)
	}
	fresh, err := h.instance(out, NewBudget(1, 1))
	if err != nil {
		rt.Fatal(err)
	}
	defer func() { _ = fresh.Close(ctx) }()
	if _, twice, err := call(fresh, NewBudget(max(used, 1), 7), "run", arg); err != nil || twice != used {
		rt.Fatalf("with a total of %d: used %d, %v", used, twice, err)
	}
}
