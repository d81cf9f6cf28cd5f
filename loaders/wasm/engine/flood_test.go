package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const i32, i64 = byte(ti32), byte(ti64)

// spin is a guest that never comes back from run.
func spin() []byte {
	a := &asm{}
	a.fn("run", nil, vals{i32}, nil, forever(), ok())
	return a.bytes()
}

// callTree has no loop: run calls itself twice, 60 levels deep.
func callTree() []byte {
	a := &asm{}
	a.fn("", vals{i32}, nil, nil,
		get(0), when(get(0), i32c(1), []byte{0x6b}, call(0), get(0), i32c(1), []byte{0x6b}, call(0)))
	a.fn("run", nil, vals{i32}, nil, i32c(60), call(0), ok())
	return a.bytes()
}

func startHang() []byte {
	a := &asm{}
	a.starts(a.fn("", nil, nil, nil, forever()))
	a.fn("run", nil, vals{i32}, nil, ok())
	return a.bytes()
}

func initHang() []byte {
	a := &asm{}
	a.fn("_initialize", nil, nil, nil, forever())
	a.fn("run", nil, vals{i32}, nil, ok())
	return a.bytes()
}

// growing asks for pages for ever, and for more once it has them all.
func growing() []byte {
	a := (&asm{}).memory(1)
	a.fn("run", nil, vals{i32}, nil, forever(i32c(1), []byte{0x40, 0}, drop()), ok())
	return a.bytes()
}

// hog traps when it gets no more memory, as allocators do.
func hog() []byte {
	a := (&asm{}).memory(1)
	a.fn("run", nil, vals{i32}, nil, forever(i32c(16), []byte{0x40, 0}, i32c(-1), []byte{0x46}, when(unreachable())), ok())
	return a.bytes()
}

// filling writes its whole memory again and again.
func filling() []byte {
	a := (&asm{}).memory(900)
	a.fn("run", nil, vals{i32}, nil, forever(i32c(0), i32c(7), i32c(900<<16), []byte{0xfc, 0x0b, 0}), ok())
	return a.bytes()
}

func recursing() []byte {
	a := &asm{}
	a.fn("", nil, nil, nil, call(0), call(0))
	a.fn("run", nil, vals{i32}, nil, call(0), ok())
	return a.bytes()
}

// host is a guest that does one thing with the kernel for ever.
func hostLoop(fn string, params, results vals, body func(fn int) []byte) []byte {
	a := &asm{}
	f := a.kernel(fn, params, results)
	a.fn("run", nil, vals{i32}, nil, forever(body(f)), ok())
	return a.bytes()
}

// wasiLoop is the same with WASI and 900 pages of memory. An error of WASI is a trap.
func wasiLoop(fn string, params vals, body func(fn int) []byte) []byte {
	a := (&asm{}).memory(900)
	f := a.imp(wasiModule, fn, params, vals{i32})
	a.fn("run", nil, vals{i32}, nil, forever(body(f), when(unreachable())), ok())
	return a.bytes()
}

// flood is a guest that goes too far in one way, and how it ends.
type flood struct {
	name  string
	wasm  []byte
	limit func(*Limits)
	want  error
	says  string
}

func floodsOfCode() []flood {
	return []flood{
		{"spin until the deadline", spin(), nil, ErrDeadline, "deadline passed: the limit is 50 ms"},
		{"call tree until the deadline", callTree(), nil, ErrDeadline, ""},
		{"hang in the start function", startHang(), nil, ErrDeadline, ""},
		{"hang in _initialize", initHang(), nil, ErrDeadline, "_initialize: deadline"},
		{"grow memory until the deadline", growing(), nil, ErrDeadline, ""},
		{"fill memory until the deadline", filling(), nil, ErrDeadline, ""},
		{"spin until the fuel is used", spin(), func(l *Limits) { l.Fuel = 1_000_000 }, ErrFuel, "out of fuel: the limit is 1000000"},
		{"call tree until the fuel is used", callTree(), func(l *Limits) { l.Fuel = 1_000_000 }, ErrFuel, ""},
		{"start function until the fuel is used", startHang(), func(l *Limits) { l.Fuel = 1_000_000 }, ErrFuel, ""},
		{"little fuel", spin(), func(l *Limits) { l.Fuel = 1 }, ErrFuel, ""},
		{"more memory than allowed", hog(), nil, ErrMemory, "memory limit reached: memory limit 64 MiB"},
		{"recursion without end", recursing(), nil, ErrTrap, "stack overflow"},
	}
}

func floodsOfKernel() []flood {
	return []flood{
		{
			"blocks without end", hostLoop("alloc", vals{i64}, vals{i64}, func(f int) []byte { return slices.Concat(i64c(1<<20), call(f), drop()) }),
			nil, ErrMemory, "exchange memory limit 64 MiB",
		},
		{
			"small blocks without end", hostLoop("alloc", vals{i64}, vals{i64}, func(f int) []byte { return slices.Concat(i64c(1), call(f), drop()) }),
			nil, ErrMemory, "exchange memory limit 64 MiB",
		},
		{
			"one block too large", hostLoop("alloc", vals{i64}, vals{i64}, func(f int) []byte { return slices.Concat(i64c(-1), call(f), drop()) }),
			nil, ErrMemory, "",
		},
		{
			"output too long", hostLoop("output_set", vals{i64, i64}, nil, func(f int) []byte { return slices.Concat(i64c(16), i64c(2<<20), call(f)) }),
			nil, ErrOutput, "the limit is 1 MiB",
		},
		{
			"output from nowhere", hostLoop("output_set", vals{i64, i64}, nil, func(f int) []byte { return slices.Concat(i64c(1<<40), i64c(5), call(f)) }),
			nil, ErrTrap, "offset 1099511627776 is not in the exchange memory",
		},
		{
			"load from nowhere", hostLoop("load_u64", vals{i64}, vals{i64}, func(f int) []byte { return slices.Concat(i64c(-4), call(f), drop()) }),
			nil, ErrTrap, "offset 18446744073709551612 is not in",
		},
		{
			"store to nothing", hostLoop("store_u8", vals{i64, i32}, nil, func(f int) []byte { return slices.Concat(i64c(0), i32c(1), call(f)) }),
			nil, ErrTrap, "offset 0 is not in",
		},
		{
			"input beyond its end", hostLoop("input_load_u64", vals{i64}, vals{i64}, func(f int) []byte { return slices.Concat(i64c(1), call(f), drop()) }),
			nil, ErrTrap, "offset 1 is not in",
		},
		{
			"log from nowhere", hostLoop("log_info", vals{i64}, nil, func(f int) []byte { return slices.Concat(i64c(99), call(f)) }),
			nil, ErrTrap, "",
		},
	}
}

func floodsOfWASI() []flood {
	i4 := vals{i32, i32, i32, i32}
	return []flood{
		{
			"sleep for an hour", wasiLoop("poll_oneoff", i4, func(f int) []byte {
				return slices.Concat(store64(24, 3600e9), i32c(0), i32c(1024), i32c(1), i32c(2048), call(f))
			}), nil, ErrDeadline, "",
		},
		{
			"too many events", wasiLoop("poll_oneoff", i4, func(f int) []byte {
				return slices.Concat(i32c(0), i32c(1024), i32c(1_000_000), i32c(2048), call(f))
			}), nil, ErrTrap, "poll_oneoff with 1000000, the limit is 64",
		},
		{
			"too many buffers", wasiLoop("fd_write", i4, func(f int) []byte {
				return slices.Concat(i32c(1), i32c(0), i32c(7_000_000), i32c(55<<20), call(f))
			}), nil, ErrTrap, "fd_write with 7000000, the limit is 1024",
		},
		{
			"standard output without end", wasiLoop("fd_write", i4, func(f int) []byte {
				return slices.Concat(store32(0, 0), store32(4, 50<<20), i32c(1), i32c(0), i32c(1), i32c(55<<20), call(f))
			}), nil, ErrDeadline, "",
		},
		{
			"lines without end", wasiLoop("fd_write", i4, func(f int) []byte {
				return slices.Concat(i32c(64), i32c('\n'), i32c(50<<20), []byte{0xfc, 0x0b, 0}, store32(0, 64), store32(4, 50<<20),
					i32c(1), i32c(0), i32c(1), i32c(55<<20), call(f))
			}), nil, ErrDeadline, "",
		},
		{
			"random numbers without end", wasiLoop("random_get", vals{i32, i32}, func(f int) []byte {
				return slices.Concat(i32c(0), i32c(55<<20), call(f))
			}), nil, ErrDeadline, "",
		},
		{
			"a number of a file beyond all", wasiLoop("fd_renumber", vals{i32, i32}, func(f int) []byte {
				return slices.Concat(i32c(1), i32c(1<<30), call(f))
			}), nil, ErrTrap, "fd_renumber",
		},
		{
			"a path without end", wasiLoop("path_open", vals{i32, i32, i32, i32, i32, i64, i64, i32, i32}, func(f int) []byte {
				return slices.Concat(i32c(3), i32c(0), i32c(0), i32c(1<<20), i32c(0), i64c(2), i64c(0), i32c(0), i32c(0), call(f))
			}), nil, ErrTrap, "path_open",
		},
	}
}

func TestFloods(t *testing.T) {
	e := newEngine(t, Config{})
	for _, c := range slices.Concat(floodsOfCode(), floodsOfKernel(), floodsOfWASI()) {
		t.Run(c.name, func(t *testing.T) {
			h := &testHost{}
			p := openPool(t, e, c.wasm, func(o *Options) {
				o.Host = h
				o.Limits.Deadline = 50
				if c.want != ErrDeadline {
					o.Limits.Deadline = 60_000
				}
				if c.limit != nil {
					c.limit(&o.Limits)
				}
			})
			begin := time.Now()
			_, err := p.Call(t.Context(), "run", []byte("x"))
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Fatalf("after %v: %v, want %v: %s", time.Since(begin), err, c.want, c.says)
			}
			if took := time.Since(begin); c.want == ErrDeadline && took > 5*time.Second {
				t.Errorf("it ran for %v, the deadline was 50 ms", took)
			}
			if s := p.Stats(); s.Live != 0 || s.Traps != 1 {
				t.Errorf("%+v, want the instance gone", s)
			}
			if n := len(h.logs); n > maxLines+1 {
				t.Errorf("%d lines were logged", n)
			}
		})
	}
}

// TestFloodOfLogs shows what is left of a guest that logs for ever, and that it is made harmless.
func TestFloodOfLogs(t *testing.T) {
	a := &asm{}
	alloc, store, log := a.kernel("alloc", vals{i64}, vals{i64}), a.kernel("store_u64", vals{i64, i64}, nil), a.kernel("log_warn", vals{i64}, nil)
	line := int64(binary.LittleEndian.Uint64([]byte("a\n\x1b[\xff\u202e")))
	a.fn("run", nil, vals{i32}, vals{i64}, forever(i64c(8), call(alloc), set(0), get(0), i64c(line), call(store), get(0), call(log)), ok())
	h := &testHost{}
	p := openPool(t, newEngine(t, Config{}), a.bytes(), func(o *Options) { o.Host, o.Limits.Fuel = h, 2_000_000 })
	if _, err := p.Call(t.Context(), "run", nil); !errors.Is(err, ErrFuel) {
		t.Fatal(err)
	}
	if len(h.logs) != maxLines+1 {
		t.Fatalf("%d lines", len(h.logs))
	}
	if got, want := h.logs[0], `warn: a\n\x1b[\xff\u202e`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if last := h.logs[maxLines]; !strings.Contains(last, "more lines of this call were dropped") {
		t.Error(last)
	}
}

// TestNeedsTooMuchMemory: what can't even start is refused before it runs.
func TestNeedsTooMuchMemory(t *testing.T) {
	_, err := tryOpen(t, newEngine(t, Config{}), filling(), func(o *Options) { o.Limits.Memory = 32 << 20 })
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "it needs 57600 KiB to start, the limit is 32 MiB") {
		t.Error(err)
	}
}
