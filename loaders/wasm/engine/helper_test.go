package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
)

// testHost is a whole host in memory: settings in a map, one answer to all requests, functions by name.
type testHost struct {
	config map[string]string
	http   func(context.Context, HTTPRequest) (HTTPResponse, error)
	user   map[string]func(context.Context, []byte) ([]byte, error)

	mu   sync.Mutex
	logs []string
}

var errNoUser = errors.New("the test has no such function")

func (h *testHost) Config(_ context.Context, key string) (string, bool) {
	v, ok := h.config[key]
	return v, ok
}

func (h *testHost) HTTP(ctx context.Context, r HTTPRequest) (HTTPResponse, error) {
	if h.http == nil {
		return HTTPResponse{}, fmt.Errorf("no network for %s", r.URL)
	}
	return h.http(ctx, r)
}

func (h *testHost) User(ctx context.Context, name string, input []byte) ([]byte, error) {
	f, ok := h.user[name]
	if !ok {
		return nil, errNoUser
	}
	return f(ctx, input)
}

func (h *testHost) Log(level, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, level+": "+text)
}

func (h *testHost) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.logs, "\n")
}

// generous are limits that no honest guest of these tests meets.
func generous() Limits {
	return Limits{
		Memory: 64 << 20, Fuel: 20_000_000_000, Deadline: 60_000, Output: 1 << 20, Vars: 256 << 10, Exchange: 64 << 20,
	}
}

// cacheDir is shared by the tests of a run: a Go guest takes seconds to compile.
var cacheDir string

func TestMain(m *testing.M) {
	code := 1
	if dir, err := os.MkdirTemp("", "engine-test-"); err == nil {
		cacheDir = dir
		code = m.Run()
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// newEngine makes an engine with the cache of this run, unless the test has its own.
func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	if cfg.CacheDir == "" {
		cfg.CacheDir, cfg.CacheKey = cacheDir, []byte("a key of this test run")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// openPool compiles a module and opens it with generous limits, changed by change.
func openPool(t testing.TB, e *Engine, wasm []byte, change func(*Options)) *Pool {
	t.Helper()
	p, err := tryOpen(t, e, wasm, change)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryOpen(t testing.TB, e *Engine, wasm []byte, change func(*Options)) (*Pool, error) {
	t.Helper()
	m, err := e.Compile(t.Context(), wasm)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	o := Options{Name: "guest", Limits: generous(), Host: &testHost{}}
	if change != nil {
		change(&o)
	}
	p, err := m.Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, nil
}
