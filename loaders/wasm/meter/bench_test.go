package meter

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// guest builds the Go module in testdata for WASI.
func guest(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// arm is one way to limit a guest.
type arm struct {
	name    string
	fuel    bool
	watched bool // a timer that closes the module, and a context that refills look at
	closing bool // WithCloseOnContextDone
}

func arms() []arm {
	return []arm{
		{name: "plain"},
		{name: "fuel", fuel: true},
		{name: "fuel+watchdog", fuel: true, watched: true},
		{name: "close", watched: true, closing: true},
	}
}

// prepare builds an instance for an arm and answers with a function that makes one call.
func (a arm) prepare(t testing.TB, wasm []byte, name string, arg uint64) func() (uint64, time.Duration) {
	h := newHost(t, compiler().WithCloseOnContextDone(a.closing))
	wasi_snapshot_preview1.MustInstantiate(context.Background(), h.rt)
	if a.fuel {
		wasm = instrumented(t, wasm)
	}
	m, err := h.instance(wasm, NewBudget(1<<60, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if f := m.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(withBudget(NewBudget(1<<60, 1<<20))); err != nil {
			t.Fatal(err)
		}
	}
	return func() (uint64, time.Duration) { return a.call(t, m, name, arg) }
}

func (a arm) call(t testing.TB, m api.Module, name string, arg uint64) (uint64, time.Duration) {
	start := time.Now()
	ctx := withBudget(NewBudget(1<<60, 1<<20))
	if a.watched {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
		defer time.AfterFunc(time.Minute, func() { _ = m.CloseWithExitCode(ctx, 1) }).Stop()
	}
	if a.fuel {
		m.ExportedGlobal(FuelExport).(api.MutableGlobal).Set(0)
	}
	res, err := m.ExportedFunction(name).Call(ctx, arg)
	if err != nil {
		t.Fatal(err)
	}
	return res[0], time.Since(start)
}

// BenchmarkLimits measures what each way of limiting costs a guest that computes: the arms take turns in
// one process, and the figure is the median of what a call took over what it took plain in the same
// round. The line "mean" has the geometric means of the loop, the hash and the JSON.
func BenchmarkLimits(b *testing.B) {
	guest := guest(b)
	product := map[string]float64{}
	for _, w := range []struct {
		name, function string
		wasm           []byte
		arg            uint64
	}{
		{"loop", "run", run(cat(opLoop, typeNone, opLocalGet, 1, opI32Const, 3, 0x6c, opLocalGet, 0, opI32Add, opLocalSet, 1,
			down(), opBrIf, 0, opEnd, opLocalGet, 1), arg()).bytes(), 30_000_000},
		{"sha256", "hash", guest, 2048},
		{"json", "json_round", guest, 20},
		{"sieve", "sieve", guest, 1_000_000},
	} {
		b.Run(w.name, func(b *testing.B) {
			for name, ratio := range rounds(b, w.wasm, w.function, w.arg) {
				b.ReportMetric(ratio, name)
				if w.name != "sieve" {
					product[name] += math.Log(ratio) / 3
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("mean", func(b *testing.B) {
		for b.Loop() { // the figures are made already
		}
		for name, sum := range product {
			b.ReportMetric(math.Exp(sum), name)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// rounds calls each arm once in each round and answers with the median ratios, by arm.
func rounds(b *testing.B, wasm []byte, function string, arg uint64) map[string]float64 {
	var calls []func() (uint64, time.Duration)
	for _, a := range arms() {
		calls = append(calls, a.prepare(b, wasm, function, arg))
	}
	ratios := make([][]float64, len(calls))
	for b.Loop() {
		want, plain := calls[0]()
		for i, call := range calls[1:] {
			got, took := call()
			if got != want {
				b.Fatalf("%s: got %d, want %d", arms()[i+1].name, got, want)
			}
			ratios[i+1] = append(ratios[i+1], float64(took)/float64(plain))
		}
	}
	out := map[string]float64{}
	for i, a := range arms()[1:] {
		slices.Sort(ratios[i+1])
		out[a.name] = ratios[i+1][len(ratios[i+1])/2]
	}
	return out
}

// BenchmarkPass measures the pass itself against the compilation that follows it.
func BenchmarkPass(b *testing.B) {
	wasm := guest(b)
	out := instrumented(b, wasm)
	b.Run("inspect", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		for b.Loop() {
			if _, err := Inspect(wasm); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("instrument", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		for b.Loop() {
			instrumented(b, wasm)
		}
		b.ReportMetric(float64(len(out))/float64(len(wasm)), "size")
	})
	b.Run("compile", func(b *testing.B) {
		var ratios []float64
		for b.Loop() {
			plain := compileTime(b, wasm)
			ratios = append(ratios, float64(compileTime(b, out))/float64(plain))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "metered/plain")
	})
}

func compileTime(b *testing.B, wasm []byte) time.Duration {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, compiler())
	defer func() { _ = rt.Close(ctx) }()
	start := time.Now()
	if _, err := rt.CompileModule(ctx, wasm); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
