package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSameInstance: calls that come one after the other meet the same instance, until it fails.
func TestSameInstance(t *testing.T) {
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), nil)
	counted := func(want string) {
		t.Helper()
		out, err := p.Call(t.Context(), "count", nil)
		if err != nil || string(out) != want {
			t.Fatalf("%s, %v, want %s", out, err, want)
		}
	}
	counted("1")
	counted("2")
	if _, err := p.Call(t.Context(), "run", []byte("fail x")); err == nil {
		t.Fatal("no error")
	}
	if _, err := p.Call(t.Context(), "nothing", nil); !errors.Is(err, ErrNoExport) {
		t.Fatal(err)
	}
	counted("3")
	if _, err := p.Call(t.Context(), "run", []byte("exit")); !errors.Is(err, ErrExit) {
		t.Fatal(err)
	}
	counted("1")
	p.Trim(1)
	counted("2")
	p.Trim(0)
	counted("1")
	if !p.Has("count") || p.Has("nothing") || p.Has("memory") {
		t.Error("Has")
	}
}

// gated is a guest whose run calls the user function wait.
func gated() []byte {
	a := &asm{}
	wait := a.imp(userModule, "wait", nil, nil)
	a.fn("run", nil, vals{i32}, nil, call(wait), ok())
	return a.bytes()
}

func TestAtTheSameTime(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	h := &testHost{user: map[string]func(context.Context, []byte) ([]byte, error){
		"wait": func(ctx context.Context, _ []byte) ([]byte, error) {
			inside <- struct{}{}
			select {
			case <-leave:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}}
	p := openPool(t, newEngine(t, Config{}), gated(), func(o *Options) { o.Host, o.User, o.Size = h, []string{"wait"}, 2 })
	results := make(chan error)
	run := func(ctx context.Context) { _, err := p.Call(ctx, "run", nil); results <- err }
	go run(t.Context())
	go run(t.Context())
	<-inside
	<-inside
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	go run(short) // both are busy
	if err := <-results; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrDeadline) {
		t.Error(err)
	}
	go run(t.Context()) // waits for one of them
	leave <- struct{}{}
	if err := <-results; err != nil {
		t.Error(err)
	}
	<-inside
	if s := p.Stats(); s.Live != 2 || s.Built != 2 || s.Calls != 3 {
		t.Errorf("%+v", s)
	}
	// Closing ends what runs.
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := p.Call(t.Context(), "run", nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if s := p.Stats(); s.Live != 0 {
		t.Errorf("%+v", s)
	}
}

// TestBesideASpinner: a guest that spins keeps neither the collector nor other guests from working. The
// control is the runtime alone, where a spinning guest stops the whole process.
func TestBesideASpinner(t *testing.T) {
	e := newEngine(t, Config{})
	bad := openPool(t, e, spin(), func(o *Options) { o.Limits.Fuel = 1 << 60 })
	good := openPool(t, e, goGuest(t, "guest"), nil)
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			if _, err := bad.Call(t.Context(), "run", nil); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	for bad.Stats().Live < runtime.GOMAXPROCS(0) {
		runtime.Gosched()
	}
	begin := time.Now()
	for range 20 {
		runtime.GC()
		if _, err := good.Call(t.Context(), "echo", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("20 collections and calls in %v", time.Since(begin))
	if err := bad.Close(t.Context()); err != nil {
		t.Error(err)
	}
	done.Wait()
}

// TestManyAtOnce is for the race detector: pools, calls, traps and closing from many goroutines.
func TestManyAtOnce(t *testing.T) {
	e := newEngine(t, Config{Spare: 1})
	guests := [][]byte{hog(), callTree(), gated(), sum()}
	h := &testHost{user: map[string]func(context.Context, []byte) ([]byte, error){
		"wait": func(context.Context, []byte) ([]byte, error) { return nil, nil },
	}}
	var done sync.WaitGroup
	for i := range 16 {
		done.Go(func() {
			for k := range 4 {
				p := openPool(t, e, guests[(i+k)%len(guests)], func(o *Options) {
					o.Host, o.User, o.Size = h, []string{"wait"}, 2
					o.Limits.Fuel, o.Limits.Memory = 2_000_000, 8<<20
				})
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() { _, _ = p.Call(t.Context(), "run", nil) })
				}
				if k%2 == 0 {
					calls.Wait()
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				calls.Wait()
			}
		})
	}
	done.Wait()
}

// sum is a guest that works a little, and succeeds.
func sum() []byte {
	a := &asm{}
	a.fn("run", nil, vals{i32}, nil, ok())
	return a.bytes()
}

// TestCreateAndClose: instances leave nothing behind.
func TestCreateAndClose(t *testing.T) {
	cycles := 10_000
	if testing.Short() {
		cycles = 1000
	}
	e := newEngine(t, Config{})
	a := (&asm{}).memory(16)
	a.fn("run", nil, vals{i32}, nil, i32c(0), i32c(1), i32c(1<<16), []byte{0xfc, 0x0b, 0}, ok()) // touches one page
	p := openPool(t, e, a.bytes(), nil)
	cycle := func(n int) {
		for range n {
			if _, err := p.Call(t.Context(), "run", nil); err != nil {
				t.Fatal(err)
			}
			p.Trim(0)
		}
	}
	cycle(cycles / 10)
	before := rss(t)
	cycle(cycles)
	after := rss(t)
	t.Logf("%d instances: %.1f MiB, then %.1f MiB", cycles, before/(1<<20), after/(1<<20))
	if after > before*1.05+4<<20 {
		t.Errorf("the process grew from %.0f to %.0f bytes", before, after)
	}
}

func TestResults(t *testing.T) {
	e := newEngine(t, Config{})
	a := &asm{}
	alloc, seterr := a.kernel("alloc", vals{i64}, vals{i64}), a.kernel("error_set", vals{i64}, nil)
	fails := [][]byte{i64c(3), call(alloc), call(seterr)}
	a.fn("nothing", nil, nil, nil)
	a.fn("nothing_failed", nil, nil, nil, fails...)
	a.fn("long", nil, vals{i64}, nil, i64c(7))
	a.fn("fraction", nil, vals{0x7c}, nil, []byte{0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f})
	a.fn("zero_with_text", nil, vals{i32}, nil, append(fails, ok())...)
	a.fn("minus", nil, vals{i32}, nil, i32c(-1))
	a.fn("takes", vals{i32}, vals{i32}, nil, ok())
	p := openPool(t, e, a.bytes(), nil)
	for name, want := range map[string]string{
		"nothing": "<nil>", "nothing_failed": "\x00\x00\x00", "long": "the guest returned 7", "fraction": "<nil>",
		"zero_with_text": "<nil>", "minus": "the guest returned -1",
		"takes": "call takes of guest: no such function to call without parameters: it is (i32) -> i32",
	} {
		if _, err := p.Call(t.Context(), name, nil); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := p.Call(t.Context(), "nothing", make([]byte, 65<<20)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Error(err)
	}
	if _, err := p.Call(t.Context(), "nothing", make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
}
