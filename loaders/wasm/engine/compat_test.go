package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compat is one guest that somebody else made, for another host.
type compat struct {
	file, sha256 string
	options      func(*testing.T, *Options, *testHost)
	// calls are made in this order; each is "function(input) = output", or "… ! error".
	calls []string
	// refused is what the error of Open says; no call is made.
	refused string
	log     string // what the guest must have logged
	slow    bool   // seconds to compile
	idle    bool   // it loads, but has nothing that could be called
}

func TestCompat(t *testing.T) {
	dir := sdkDir(t)
	e := newEngine(t, Config{})
	var table strings.Builder
	fmt.Fprintf(&table, "%-22s %9s  %s\n", "guest", "bytes", "result")
	ran, refused, want := 0, 0, 20
	for _, c := range compats() {
		result, size := "not tried", 0
		t.Run(c.file, func(t *testing.T) {
			if c.slow && underRace {
				ran--
				want = 19
				t.Skip("it takes half a minute to compile under the race detector; it runs without")
			}
			wasm := sdkFile(t, dir, c.file, c.sha256)
			size = len(wasm)
			result = c.try(t, e, wasm)
		})
		switch {
		case c.refused != "":
			refused++
		case !c.idle:
			ran++
		}
		fmt.Fprintf(&table, "%-22s %9d  %s\n", c.file, size, result)
	}
	t.Logf("%d guests run, %d are refused:\n%s", ran, refused, &table)
	if ran < want {
		t.Errorf("%d guests run, at least %d have to", ran, want)
	}
}

func (c compat) try(t *testing.T, e *Engine, wasm []byte) string {
	h := &testHost{}
	p, err := tryOpen(t, e, wasm, func(o *Options) {
		o.Host = h
		if c.options != nil {
			c.options(t, o, h)
		}
	})
	if c.refused != "" {
		if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), c.refused) {
			t.Fatalf("got %v, want a refusal that says %q", err, c.refused)
		}
		return "refused: " + err.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range c.calls {
		name, rest, _ := strings.Cut(call, "(")
		input, want, _ := strings.Cut(rest, ") ")
		out, err := p.Call(t.Context(), name, []byte(input))
		got := "= " + string(out)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Fatalf("%s(%s) %s, want %s; logged %q", name, input, got, want, h.said())
		}
	}
	if !strings.Contains(h.said(), c.log) {
		t.Errorf("logged %q, want %q in it", h.said(), c.log)
	}
	return strings.Join(c.calls, "; ")
}

// sdkDir is the folder of the guests in the module cache.
func sdkDir(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "wasm")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skipf("the module cache has no github.com/extism/go-sdk, where the guests are: %v", errors.Join(err, statErr))
	}
	return dir
}

func sdkFile(t testing.TB, dir, file, want string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != want {
		t.Fatalf("%s has another SHA-256: %x", file, sum)
	}
	return wasm
}

// mounted makes a folder with the file that the guests look for.
func mounted(write bool) func(*testing.T, *Options, *testHost) {
	return func(t *testing.T, o *Options, h *testHost) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "test.txt"), []byte("hello world!"), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Mounts = map[string]Mount{"/mnt": {Dir: openRoot(t, dir), Write: write}}
		h.config = map[string]string{"path": "/mnt/test.txt"}
	}
}

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func config(key, value string) func(*testing.T, *Options, *testHost) {
	return func(_ *testing.T, _ *Options, h *testHost) { h.config = map[string]string{key: value} }
}

func answers(body string, header map[string]string) func(*testing.T, *Options, *testHost) {
	return func(_ *testing.T, _ *Options, h *testHost) {
		h.http = func(context.Context, HTTPRequest) (HTTPResponse, error) {
			return HTTPResponse{Status: 200, Body: []byte(body), Header: header}, nil
		}
	}
}

func messages(_ *testing.T, o *Options, h *testHost) {
	o.User = []string{"hostGreenMessage", "hostPurpleMessage"}
	mark := func(m string) func(context.Context, []byte) ([]byte, error) {
		return func(_ context.Context, in []byte) ([]byte, error) { return append([]byte(m), in...), nil }
	}
	h.user = map[string]func(context.Context, []byte) ([]byte, error){
		"hostGreenMessage": mark("green:"), "hostPurpleMessage": mark("purple:"),
	}
}

func upper(_ *testing.T, o *Options, h *testHost) {
	o.User = []string{"to_upper", "mult"}
	h.user = map[string]func(context.Context, []byte) ([]byte, error){
		"to_upper": func(_ context.Context, in []byte) ([]byte, error) { return bytes.ToUpper(in), nil },
	}
}
