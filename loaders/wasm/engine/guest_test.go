package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestGuest runs a guest that was written with the public Go PDK.
func TestGuest(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := goGuest(t, "guest")
	h := &testHost{config: map[string]string{"key": "value", "empty": ""}}
	h.http = func(_ context.Context, r HTTPRequest) (HTTPResponse, error) {
		if r.URL == "bad" {
			return HTTPResponse{}, errors.New("bad is not allowed")
		}
		text := fmt.Sprint(r.Method, " ", r.Header["X-Ask"], " ", string(r.Body))
		return HTTPResponse{Status: 201, Header: map[string]string{"x-a": "b"}, Body: []byte(text)}, nil
	}
	p := openPool(t, e, wasm, func(o *Options) { o.Host = h })
	for _, c := range []struct {
		input, want string
		err         error // nil: want is the output; else the text has want in it
	}{
		{"config key", `"value" true`, nil},
		{"config none", `"" false`, nil},
		{"var a 1", "", nil},
		{"var a 2", "1", nil},
		{"http ok", "201 b POST please question", nil},
		{"http bad", "bad is not allowed", errAny},
		{"env", "0 0", nil},
		{"sleep 1ms", "true", nil},
		{"fail for a reason", "for a reason", &GuestError{}},
		{"read /etc/hostname", "", &GuestError{}},
		{"panic", "the guest trapped", ErrTrap},
		{"exit", "ended itself with code 3", ErrExit},
		{"hog", "memory limit 64 MiB", ErrMemory},
		{"var a 3", "2", nil}, // variables outlive instances
	} {
		out, err := p.Call(t.Context(), "run", []byte(c.input))
		var own *GuestError
		switch {
		case c.err == nil:
			if err != nil || string(out) != c.want {
				t.Errorf("%s: %q, %v, want %q", c.input, out, err, c.want)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %q, %v, want an error with %q", c.input, out, err, c.want)
		case errors.As(c.err, &own) != errors.As(err, &own), own == nil && c.err != errAny && !errors.Is(err, c.err):
			t.Errorf("%s: %v is another kind of error", c.input, err)
		}
	}
	if s := p.Stats(); s.Traps != 4 || s.Errors != 2 || s.Live != 1 || s.Calls != 14 || s.Fuel == 0 {
		t.Errorf("%+v", s)
	}
}

var errAny = errors.New("any")

func TestGuestSays(t *testing.T) {
	h := &testHost{}
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), func(o *Options) { o.Host = h })
	if _, err := p.Call(t.Context(), "run", []byte("say hello \x1b[31m")); err != nil {
		t.Fatal(err)
	}
	if got, want := h.said(), "stdout: hello \\x1b[31m\nwarn: warned\nstderr: no end of line"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := p.Call(t.Context(), "run", []byte("panic")); !errors.Is(err, ErrTrap) {
		t.Fatal(err)
	}
	if !strings.Contains(h.said(), "stderr: panic: as told") {
		t.Error("the last words are lost")
	}
}

// TestDeterministic: the same guest sees the same world every time, or the real one.
func TestDeterministic(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := goGuest(t, "guest")
	now := func(fixed bool) string {
		p := openPool(t, e, wasm, func(o *Options) { o.Deterministic = fixed })
		out, err := p.Call(t.Context(), "run", []byte("now"))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if a, b := now(true), now(true); a != b || !strings.HasPrefix(a, "2022-01-01") {
		t.Errorf("%s, then %s", a, b)
	}
	real, err := time.Parse(time.RFC3339, now(false))
	if d := time.Since(real); err != nil || d > time.Minute || d < -time.Minute {
		t.Errorf("the clock is %v off, %v", d, err)
	}

	random := (&asm{}).memory(1)
	alloc := random.kernel("alloc", vals{i64}, vals{i64})
	store := random.kernel("store_u64", vals{i64, i64}, nil)
	output := random.kernel("output_set", vals{i64, i64}, nil)
	get64 := random.imp(wasiModule, "random_get", vals{i32, i32}, vals{i32})
	random.fn("run", nil, vals{i32}, vals{i64}, i32c(0), i32c(8), call(get64), drop(),
		i64c(8), call(alloc), set(0), get(0), i32c(0), []byte{0x29, 3, 0}, call(store), get(0), i64c(8), call(output), ok())
	number := func(fixed bool) string {
		p := openPool(t, e, random.bytes(), func(o *Options) { o.Deterministic = fixed })
		out, err := p.Call(t.Context(), "run", nil)
		if err != nil || len(out) != 8 {
			t.Fatal(out, err)
		}
		return string(out)
	}
	if a, b := number(true), number(true); a != b {
		t.Errorf("%x, then %x", a, b)
	}
	if a, b := number(false), number(false); a == b {
		t.Errorf("%x twice", a)
	}
}

// TestHostEndsWithCall: functions of the host get a context that ends when the call has to.
func TestHostEndsWithCall(t *testing.T) {
	h := &testHost{}
	type key struct{}
	h.http = func(ctx context.Context, _ HTTPRequest) (HTTPResponse, error) {
		if ctx.Value(key{}) != "caller" {
			t.Error("it is not made of the caller's context")
		}
		<-ctx.Done()
		return HTTPResponse{}, ctx.Err()
	}
	ctx := context.WithValue(t.Context(), key{}, "caller")
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), func(o *Options) { o.Host, o.Limits.Deadline = h, 300 })
	if _, err := p.Call(ctx, "run", []byte("env")); err != nil { // builds the instance
		t.Fatal(err)
	}
	if _, err := p.Call(ctx, "run", []byte("http x")); !errors.Is(err, ErrDeadline) {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := p.Call(canceled, "run", []byte("spin")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := p.Call(short, "run", []byte("spin")); !errors.Is(err, ErrDeadline) || !strings.Contains(err.Error(), "of the caller") {
		t.Error(err)
	}
}
