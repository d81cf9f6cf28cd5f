package engine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var testKey = []byte("0123456789abcdef")

// cached compiles a module in a new engine with that cache, runs it, and answers with its output and
// what was logged.
func cached(t *testing.T, dir string, key, wasm []byte) (string, string) {
	t.Helper()
	var log bytes.Buffer
	e := newEngine(t, Config{CacheDir: dir, CacheKey: key, Log: slog.New(slog.NewTextHandler(&log, nil))})
	p := openPool(t, e, wasm, nil)
	out, err := p.Call(t.Context(), "run", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return string(out), log.String()
}

// speaker is a guest whose output is one letter.
func speaker(letter byte) []byte {
	a := &asm{}
	alloc, store := a.kernel("alloc", vals{i64}, vals{i64}), a.kernel("store_u8", vals{i64, i32}, nil)
	output := a.kernel("output_set", vals{i64, i64}, nil)
	a.fn("run", nil, vals{i32}, vals{i64}, i64c(1), call(alloc), set(0), get(0), i32c(int64(letter)), call(store),
		get(0), i64c(1), call(output), ok())
	return a.bytes()
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+storeSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCacheIsUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "cache")
	if out, log := cached(t, dir, testKey, speaker('a')); out != "a" || log != "" {
		t.Fatal(out, log)
	}
	files := cacheFiles(t, dir)
	if len(files) != 1 {
		t.Fatal(files)
	}
	// Nothing of the runtime's own cache is left, and nobody else can read what is.
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if path != files[0] && !d.IsDir() || info.Mode().Perm()&0o077 != 0 && strings.HasPrefix(path, dir) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(files[0], old, old); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if out, log := cached(t, dir, testKey, speaker('a')); out != "a" || log != "" {
		t.Fatal(out, log)
	}
	after, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(files[0]); err != nil || !info.ModTime().After(old) || !bytes.Equal(before, after) {
		t.Error("the second load did not use the file")
	}
	cached(t, dir, testKey, speaker('b'))
	if n := len(cacheFiles(t, dir)); n != 2 {
		t.Errorf("%d files for two modules", n)
	}
}

// tampering is a change of the cache file of the module that says a, and what comes out then.
type tampering struct {
	name   string
	change func(t *testing.T, name string, b []byte) []byte
	runs   string
	silent bool // nothing is logged
}

func tamperings() []tampering {
	at := func(b []byte, i int) []byte { b[i] ^= 1; return b }
	return []tampering{
		{"unchanged", func(_ *testing.T, _ string, b []byte) []byte { return b }, "a", true},
		{"a bit of the machine code", func(_ *testing.T, _ string, b []byte) []byte { return at(b, len(b)-100) }, "a", false},
		{"the last bit", func(_ *testing.T, _ string, b []byte) []byte { return at(b, len(b)-1) }, "a", false},
		{"a bit of the seal", func(_ *testing.T, _ string, b []byte) []byte { return at(b, len(sealMagic)+20) }, "a", false},
		{"a bit of the nonce", func(_ *testing.T, _ string, b []byte) []byte { return at(b, len(sealMagic)) }, "a", false},
		{"the layout", func(_ *testing.T, _ string, b []byte) []byte { return at(b, 3) }, "a", false},
		{"cut", func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)/2] }, "a", false},
		{"cut in the seal", func(_ *testing.T, _ string, b []byte) []byte { return b[:20] }, "a", false},
		{"empty", func(*testing.T, string, []byte) []byte { return nil }, "a", false},
		{"more at the end", func(_ *testing.T, _ string, b []byte) []byte { return append(b, 0) }, "a", false},
		{"the sealed file of another module", func(t *testing.T, _ string, _ []byte) []byte { return foreignFile(t) }, "a", false},
		{"another module sealed with another key", func(t *testing.T, name string, _ []byte) []byte {
			return sealOf(t, []byte("fedcba9876543210")).wrap(name, foreignCode(t))
		}, "a", false},
		{"another module with the right key: whoever has it may", func(t *testing.T, name string, _ []byte) []byte {
			return sealOf(t, testKey).wrap(name, foreignCode(t))
		}, "b", true},
	}
}

// TestCacheTampered: a file that somebody changed is never run. The machine code is what an attacker
// wants; the control is that the same bytes under the right seal do run.
func TestCacheTampered(t *testing.T) {
	for _, c := range tamperings() {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cached(t, dir, testKey, speaker('a'))
			file := cacheFiles(t, dir)[0]
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, c.change(t, filepath.Base(file), b), 0o600); err != nil {
				t.Fatal(err)
			}
			out, log := cached(t, dir, testKey, speaker('a'))
			if out != c.runs || (log == "") != c.silent {
				t.Errorf("it says %q, want %q; logged %q", out, c.runs, log)
			}
			if out, log := cached(t, dir, testKey, speaker('a')); out != c.runs || log != "" {
				t.Errorf("afterwards it says %q; logged %q", out, log)
			}
		})
	}
}

func sealOf(t *testing.T, key []byte) seal {
	t.Helper()
	s, err := newSeal(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// foreignFile is the cache file of the module that says b.
func foreignFile(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(cacheFiles(t, sealedDir(t))[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// foreignCode is what is in it.
func foreignCode(t *testing.T) sealed {
	t.Helper()
	name := filepath.Base(cacheFiles(t, sealedDir(t))[0])
	c, err := sealOf(t, testKey).open(name, foreignFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sealedDir is a cache with the file of the module that says b.
func sealedDir(t *testing.T) string {
	dir := t.TempDir()
	cached(t, dir, testKey, speaker('b'))
	return dir
}

func TestCacheBounds(t *testing.T) {
	dir := t.TempDir()
	cached(t, dir, testKey, speaker('a'))
	info, err := os.Stat(cacheFiles(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{CacheDir: dir, CacheKey: testKey, CacheSize: info.Size()*2 + 100})
	for _, letter := range []byte("bcdef") {
		openPool(t, e, speaker(letter), nil)
	}
	if n := len(cacheFiles(t, dir)); n != 2 {
		t.Errorf("%d files are left, want 2", n)
	}
}

func TestCacheNeedsKey(t *testing.T) {
	if _, err := New(t.Context(), Config{CacheDir: t.TempDir(), CacheKey: []byte("short")}); err == nil || !strings.Contains(err.Error(), "5 bytes") {
		t.Error(err)
	}
	dir := t.TempDir()
	cached(t, dir, nil, speaker('a'))
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("%v without a key, %v", list, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Config{CacheDir: file, CacheKey: testKey}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// TestCacheOfCrashed: what a process left that was killed goes away, what one has that runs stays.
func TestCacheOfCrashed(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * staleRun)
	for _, name := range []string{"run-old", "run-new"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "lane-1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "1.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run-old", "1.tmp"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	cached(t, dir, testKey, speaker('a'))
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 || list[1].Name() != "run-new" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestCompileOnce: callers with the same bytes share one compilation and one module.
func TestCompileOnce(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := speaker('z')
	var done sync.WaitGroup
	modules := make([]*Module, 8)
	for i := range modules {
		done.Go(func() {
			m, err := e.Compile(t.Context(), bytes.Clone(wasm))
			if err != nil {
				t.Error(err)
				return
			}
			modules[i] = m
		})
	}
	done.Wait()
	for _, m := range modules {
		if m.code != modules[0].code {
			t.Error("compiled twice")
		}
	}
	for _, m := range modules {
		m.Close()
		m.Close()
	}
	if c := modules[0].code; c.users != 0 || len(e.spare) != 1 {
		t.Errorf("%d users, %d spare", c.users, len(e.spare))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Compile(ctx, speaker('y')); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Modules that nobody uses are dropped, oldest first; those in use stay.
	p := openPool(t, e, speaker('x'), nil)
	for letter := range byte(20) {
		if err := openPool(t, e, speaker(letter), nil).Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(e.codes) != defaultSpare+1 || len(e.spare) != defaultSpare {
		t.Errorf("%d modules in memory, %d of them spare", len(e.codes), len(e.spare))
	}
	if out, err := p.Call(t.Context(), "run", nil); err != nil || string(out) != "x" {
		t.Error(out, err)
	}
}

func TestEngineCloses(t *testing.T) {
	e := newEngine(t, Config{})
	p := openPool(t, e, spin(), func(o *Options) { o.Limits.Fuel = 1 << 60 })
	ended := make(chan error)
	go func() { _, err := p.Call(context.Background(), "run", nil); ended <- err }()
	for p.Stats().Live == 0 {
		runtime.Gosched()
	}
	m, err := e.Compile(t.Context(), speaker('a'))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := e.Compile(t.Context(), speaker('b')); err == nil {
		t.Error("a closed engine compiled")
	}
	if _, err := m.Open(t.Context(), Options{Limits: generous(), Host: &testHost{}}); err == nil {
		t.Error("a closed engine opened")
	}
}

// TestCompileBomb: a small module that the compiler can't get through is given up, and the next is not
// kept waiting.
func TestCompileBomb(t *testing.T) {
	e := newEngine(t, Config{CompileTime: 500 * time.Millisecond})
	for range 3 {
		_, err := e.Compile(t.Context(), bomb(1200)) // just below what is refused unseen
		if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "compiling it takes longer than 500ms") {
			t.Fatal(err)
		}
	}
	if len(e.stuck) != 1 {
		t.Errorf("%d compilers are stuck, want 1: the module is remembered", len(e.stuck))
	}
	openPool(t, e, speaker('a'), nil)
}

// bomb is a function with n local variables and n loops, which all use them.
func bomb(n int) []byte {
	locals := make(vals, n)
	var body []byte
	for i := range n {
		locals[i] = i32
		a, b := i*7919%n, i*104729%n
		body = append(body, slices.Concat([]byte{0x03, 0x40}, get(a), get(b), []byte{0x6a}, set((a+b)%n), get(a), []byte{0x0d, 0, 0x0b})...)
	}
	a := &asm{}
	a.fn("run", nil, vals{i32}, locals, body, ok())
	return a.bytes()
}
