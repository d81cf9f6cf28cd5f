package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

const vowelsSum = "0c1779c48f56f94b3e3624d76f55e38215870c59ccb3d41f6ba8b2bc22f218f5"

func benchGuests(b *testing.B) map[string][]byte {
	return map[string][]byte{
		"count_vowels": sdkFile(b, sdkDir(b), "count_vowels.wasm", vowelsSum),
		"go_guest":     goGuest(b, "guest"),
	}
}

// BenchmarkWarmStart is the time of a load from the compile cache by that of a cold one, each in an
// engine of its own; the first call is part of neither.
func BenchmarkWarmStart(b *testing.B) {
	for name, wasm := range benchGuests(b) {
		b.Run(name, func(b *testing.B) {
			var cold, warm []time.Duration
			for range b.N {
				dir := b.TempDir()
				cold = append(cold, loadTime(b, dir, wasm))
				for range 3 {
					warm = append(warm, loadTime(b, dir, wasm))
				}
			}
			b.ReportMetric(float64(median(warm).Microseconds())/1000, "warm-ms")
			b.ReportMetric(float64(median(cold).Microseconds())/1000, "cold-ms")
			b.ReportMetric(float64(median(warm))/float64(median(cold)), "warm/cold")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func loadTime(b *testing.B, dir string, wasm []byte) time.Duration {
	e, err := New(b.Context(), Config{CacheDir: dir, CacheKey: []byte("0123456789abcdef")})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	m, err := e.Compile(b.Context(), wasm)
	took := time.Since(begin)
	if err != nil {
		b.Fatal(err)
	}
	m.Close()
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkCall is one call through the pool, with all limits, against the same call through the SDK.
func BenchmarkCall(b *testing.B) {
	wasm := sdkFile(b, sdkDir(b), "count_vowels.wasm", vowelsSum)
	input := []byte(strings.Repeat("hello world ", 20))
	p := openPool(b, newEngine(b, Config{}), wasm, nil)
	sdk := sdkPlugin(b, wasm, extism.PluginConfig{RuntimeConfig: wazero.NewRuntimeConfig()})
	ours, theirs := make([]time.Duration, 0, b.N), make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		_, err := p.Call(b.Context(), "count_vowels", input)
		middle := time.Now()
		_, _, err2 := sdk.Call("count_vowels", input)
		if err = errors.Join(err, err2); err != nil {
			b.Fatal(err)
		}
		ours, theirs = append(ours, middle.Sub(begin)), append(theirs, time.Since(middle))
	}
	b.ReportMetric(float64(median(ours).Nanoseconds())/1000, "ours-us")
	b.ReportMetric(float64(median(theirs).Nanoseconds())/1000, "sdk-us")
	b.ReportMetric(float64(median(theirs))/float64(median(ours)), "sdk/ours")
	b.ReportMetric(0, "ns/op")
}

func sdkPlugin(b *testing.B, wasm []byte, c extism.PluginConfig) *extism.Plugin {
	c.EnableWasi = true
	p, err := extism.NewPlugin(b.Context(), extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}}, c, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// BenchmarkLimits is the work of a guest with our limits by the same without any, and by the same with
// the runtime's own means of stopping a guest.
func BenchmarkLimits(b *testing.B) {
	wasm := goGuest(b, "guest")
	p := openPool(b, newEngine(b, Config{}), wasm, func(o *Options) { o.Limits.Fuel = 1 << 60 })
	bare := sdkPlugin(b, wasm, extism.PluginConfig{RuntimeConfig: wazero.NewRuntimeConfig()})
	watched := sdkPlugin(b, wasm, extism.PluginConfig{RuntimeConfig: wazero.NewRuntimeConfig().WithCloseOnContextDone(true)})
	for _, work := range []string{"loop 30000000", "sha256 8", "json 300"} {
		b.Run(strings.Fields(work)[0], func(b *testing.B) {
			input := []byte(work)
			arms := [3]func() error{
				func() error { _, err := p.Call(b.Context(), "work", input); return err },
				func() error { _, _, err := bare.CallWithContext(b.Context(), "work", input); return err },
				func() error { _, _, err := watched.CallWithContext(b.Context(), "work", input); return err },
			}
			var times [3][]time.Duration
			for b.Loop() {
				for i, arm := range arms {
					begin := time.Now()
					if err := arm(); err != nil {
						b.Fatal(err)
					}
					times[i] = append(times[i], time.Since(begin))
				}
			}
			none := float64(median(times[1]))
			b.ReportMetric(none/1e6, "none-ms")
			b.ReportMetric(float64(median(times[0]))/none, "ours/none")
			b.ReportMetric(float64(median(times[2]))/none, "watched/none")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkKill is the time after which a guest that would never end has ended, by its deadline.
func BenchmarkKill(b *testing.B) {
	e := newEngine(b, Config{})
	for _, g := range []struct {
		name string
		wasm []byte
	}{{"spin", spin()}, {"call_tree", callTree()}, {"start", startHang()}, {"grow", growing()}, {"fill", filling()}, {"recursion", slowRecursion()}} {
		for _, ms := range []int64{50, 100, 500} {
			b.Run(g.name+"/"+strconv.FormatInt(ms, 10)+"ms", func(b *testing.B) {
				p := openPool(b, e, g.wasm, func(o *Options) { o.Limits.Deadline, o.Limits.Fuel = ms, 1<<60 })
				var took []time.Duration
				for b.Loop() {
					begin := time.Now()
					if _, err := p.Call(b.Context(), "run", nil); !errors.Is(err, ErrDeadline) {
						b.Fatal(err)
					}
					took = append(took, time.Since(begin))
				}
				deadline := float64(ms) * 1e6
				b.ReportMetric(float64(median(took))/deadline, "median/deadline")
				b.ReportMetric(float64(slices.Max(took))/deadline, "worst/deadline")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// slowRecursion is deep when its deadline comes, and stays so.
func slowRecursion() []byte {
	a := &asm{}
	a.fn("", vals{i32}, nil, nil, get(0), []byte{0x45}, when(forever()), get(0), i32c(1), []byte{0x6b}, call(0))
	a.fn("run", nil, vals{i32}, nil, i32c(200_000), call(0), ok())
	return a.bytes()
}

// BenchmarkBeside is a small call while other guests spin, by the same call alone.
func BenchmarkBeside(b *testing.B) {
	e := newEngine(b, Config{})
	p := openPool(b, e, sdkFile(b, sdkDir(b), "count_vowels.wasm", vowelsSum), nil)
	bad := openPool(b, e, spin(), func(o *Options) { o.Limits.Deadline, o.Limits.Fuel = 60_000, 1<<60 })
	var lone float64
	for _, spinning := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("spinning=%d", spinning), func(b *testing.B) {
			ctx, stop := context.WithCancel(b.Context())
			done := make(chan struct{})
			for range spinning {
				go func() { _, _ = bad.Call(ctx, "run", nil); done <- struct{}{} }()
			}
			for bad.Stats().Live < spinning {
				runtime.Gosched()
			}
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				if _, err := p.Call(b.Context(), "count_vowels", []byte("hello world")); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			begin := time.Now()
			runtime.GC()
			b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "gc-ms")
			stop()
			for range spinning {
				<-done
			}
			slices.Sort(took)
			p99 := float64(took[len(took)*99/100])
			if spinning == 0 {
				lone = p99
			}
			b.ReportMetric(float64(median(took).Nanoseconds())/1000, "p50-us")
			b.ReportMetric(p99/1000, "p99-us")
			b.ReportMetric(p99/lone, "p99/alone")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkIdle is what an instance that waits takes of the machine, by the memory that it declares.
func BenchmarkIdle(b *testing.B) {
	const n = 100
	for name, wasm := range benchGuests(b) {
		b.Run(name, func(b *testing.B) {
			export := map[string]string{"count_vowels": "count_vowels", "go_guest": "echo"}[name]
			e := newEngine(b, Config{})
			declared := float64(0)
			open := func() *Pool {
				p := openPool(b, e, wasm, nil)
				if _, err := p.Call(b.Context(), export, []byte("x")); err != nil {
					b.Fatal(err)
				}
				declared = float64(p.code.info.Memory.Min) * 65536
				return p
			}
			for b.Loop() {
				open()
				before := rss(b)
				for range n {
					open()
				}
				each := (rss(b) - before) / n
				b.ReportMetric(each/(1<<20), "MiB")
				b.ReportMetric(each/declared, "rss/declared")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// rss is the resident memory of this process in bytes.
func rss(b testing.TB) float64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("no /proc/self/statm to read the memory of a process from")
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * float64(os.Getpagesize())
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
