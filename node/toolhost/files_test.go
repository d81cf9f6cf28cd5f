package toolhost

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

// yard is a work folder with something secret beside it.
func yard(t *testing.T) (work, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, outside = filepath.Join(top, "work"), filepath.Join(top, "outside")
	for _, d := range []string{work, outside, filepath.Join(work, "sub"), filepath.Join(work, "subway")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(outside, "secret"), "secret")
	put(t, filepath.Join(work, "a.txt"), "alpha")
	put(t, filepath.Join(work, "sub", "b.txt"), "beta")
	put(t, filepath.Join(work, "subway", "c.txt"), "gamma")
	return work, outside
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func machine(t *testing.T, cfg Config) *Machine {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hostFor(t *testing.T, cfg Config, l Levels, approved bool) extension.Host {
	t.Helper()
	h, err := machine(t, cfg).Host(l, approved)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestFilesStayInTheWorkFolder(t *testing.T) {
	work, outside := yard(t)
	link(t, filepath.Join(outside, "secret"), filepath.Join(work, "absolute"))
	link(t, "../outside/secret", filepath.Join(work, "relative"))
	link(t, outside, filepath.Join(work, "door"))
	link(t, "a.txt", filepath.Join(work, "inner"))
	link(t, "loop", filepath.Join(work, "loop"))
	f := hostFor(t, Config{WorkFolder: work}, Levels{}, false).Files()
	ctx := t.Context()
	for _, path := range []string{
		"../outside/secret", outside + "/secret", "sub/../../outside/secret", "absolute", "relative",
		"door/secret", "./door/../door/secret", "/etc/passwd", "/proc/self/environ", work + "/../outside/secret", work + "x",
	} {
		if _, _, err := f.ReadFile(ctx, path, 100); !errors.Is(err, extension.ErrGrant) || !strings.Contains(err.Error(), "read "+path) {
			t.Errorf("read %s: %v", path, err)
		}
		if _, err := f.Stat(ctx, path); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("stat %s: %v", path, err)
		}
		if err := f.WriteFile(ctx, path, []byte("mine")); err == nil {
			t.Errorf("wrote %s", path)
		}
	}
	if got := get(t, filepath.Join(outside, "secret")); got != "secret" {
		t.Fatalf("the file outside is now %q", got)
	}
	// Positive controls, by relative and absolute path and through a link that stays inside.
	for path, want := range map[string]string{"a.txt": "alpha", work + "/sub/b.txt": "beta", "sub/../a.txt": "alpha", "inner": "alpha"} {
		data, more, err := f.ReadFile(ctx, path, 100)
		if err != nil || more || string(data) != want {
			t.Errorf("read %s: %q, %v, %v", path, data, more, err)
		}
	}
	if _, _, err := f.ReadFile(ctx, "loop", 100); err == nil {
		t.Error("a link to itself was read")
	}
	for _, bad := range []string{"", "a\x00b"} {
		if _, _, err := f.ReadFile(ctx, bad, 1); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("path %q: %v", bad, err)
		}
	}
	if _, _, err := f.ReadFile(ctx, "none.txt", 100); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "none.txt") != 1 {
		t.Errorf("a missing file: %v", err)
	}
}

func TestNarrowerGrantsHoldAgainstLinksInside(t *testing.T) {
	work, outside := yard(t)
	link(t, outside, filepath.Join(work, "sub", "out"))
	link(t, "../a.txt", filepath.Join(work, "sub", "up"))
	link(t, outside, filepath.Join(work, "faked"))
	narrow := Grants{FS: FileGrants{AllowRead: []string{"sub", "faked"}, AllowWrite: []string{"sub"}}}
	f := hostFor(t, Config{WorkFolder: work}, Levels{Session: narrow}, false).Files()
	for _, path := range []string{"a.txt", "subway/c.txt", "sub/up", "sub/out/secret", "faked/secret", outside + "/secret", "sub/../a.txt"} {
		if data, _, err := f.ReadFile(t.Context(), path, 100); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("read %s: %q, %v", path, data, err)
		}
	}
	if data, _, err := f.ReadFile(t.Context(), "sub/b.txt", 100); err != nil || string(data) != "beta" {
		t.Errorf("read sub/b.txt: %q, %v", data, err)
	}
	if err := f.WriteFile(t.Context(), "sub/up", []byte("x")); !errors.Is(err, extension.ErrGrant) {
		t.Errorf("write through a link out of the granted folder: %v", err)
	}
	if err := f.WriteFile(t.Context(), "sub/b.txt", []byte("new")); err != nil || get(t, filepath.Join(work, "sub", "b.txt")) != "new" {
		t.Errorf("write sub/b.txt: %v", err)
	}
}

func TestNoListAndSingleFiles(t *testing.T) {
	work, outside := yard(t)
	secret := filepath.Join(outside, "secret")
	put(t, filepath.Join(outside, "other"), "other")
	none := Grants{FS: FileGrants{AllowRead: []string{}, AllowWrite: []string{}}}
	f := hostFor(t, Config{WorkFolder: work}, Levels{Agent: none}, false).Files()
	if _, _, err := f.ReadFile(t.Context(), "a.txt", 10); !errors.Is(err, extension.ErrGrant) {
		t.Errorf("read with an empty list: %v", err)
	}
	if err := f.WriteFile(t.Context(), "a.txt", nil); !errors.Is(err, extension.ErrGrant) {
		t.Errorf("write with an empty list: %v", err)
	}
	fresh := filepath.Join(outside, "fresh")
	single := Grants{FS: FileGrants{AllowRead: []string{secret}, AllowWrite: []string{fresh}}}
	f = hostFor(t, Config{WorkFolder: work}, Levels{Tool: single}, false).Files()
	if data, _, err := f.ReadFile(t.Context(), secret, 10); err != nil || string(data) != "secret" {
		t.Errorf("read a granted file: %q, %v", data, err)
	}
	if _, _, err := f.ReadFile(t.Context(), filepath.Join(outside, "other"), 10); !errors.Is(err, extension.ErrGrant) {
		t.Errorf("read beside a granted file: %v", err)
	}
	if err := f.WriteFile(t.Context(), fresh, []byte("f")); err != nil || get(t, fresh) != "f" {
		t.Errorf("create a granted file: %v", err)
	}
	if info, err := f.Stat(t.Context(), fresh); err != nil || info.Size() != 1 {
		t.Errorf("stat what may be written: %v", err)
	}
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	work, _ := yard(t)
	pipe := filepath.Join(work, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(work, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := hostFor(t, Config{WorkFolder: work}, Levels{Tool: Grants{FS: FileGrants{AllowRead: []string{".", "/dev"}}}}, false).Files()
	for _, path := range []string{"pipe", "socket", "/dev/null", "/dev/zero", "sub", "."} {
		if _, _, err := f.ReadFile(t.Context(), path, 10); err == nil || errors.Is(err, extension.ErrGrant) {
			t.Errorf("read %s: %v", path, err)
		}
		if err := f.WriteFile(t.Context(), path, []byte("x")); err == nil {
			t.Errorf("wrote %s", path)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Error("the pipe was replaced")
	}
}

func TestReadLimits(t *testing.T) {
	work, _ := yard(t)
	f := hostFor(t, Config{WorkFolder: work, MaxFile: 4}, Levels{}, false).Files()
	for limit, want := range map[int64]string{3: "alp", 100: "alph", 0: "alph"} {
		data, more, err := f.ReadFile(t.Context(), "a.txt", limit)
		if err != nil || !more || string(data) != want {
			t.Errorf("limit %d: %q, %v, %v", limit, data, more, err)
		}
	}
	if err := f.WriteFile(t.Context(), "a.txt", []byte("12345")); !errors.Is(err, extension.ErrArgument) || get(t, filepath.Join(work, "a.txt")) != "alpha" {
		t.Errorf("write over the limit: %v", err)
	}
	if err := f.WriteFile(t.Context(), "a.txt", []byte("1234")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.ReadFile(ctx, "a.txt", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the end: %v", err)
	}
	if err := f.WriteFile(ctx, "a.txt", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("write after the end: %v", err)
	}
}

func TestWriteReplacesWhole(t *testing.T) {
	work, _ := yard(t)
	f := hostFor(t, Config{WorkFolder: work}, Levels{}, false).Files()
	path := filepath.Join(work, "a.txt")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := f.WriteFile(t.Context(), "a.txt", []byte("changed")); err != nil {
		t.Fatal(err)
	}
	var b [10]byte
	if n, _ := old.Read(b[:]); string(b[:n]) != "alpha" {
		t.Errorf("an open reader sees %q: the file was not replaced but changed", b[:n])
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || get(t, path) != "changed" {
		t.Errorf("after the write: %v, %v", info.Mode(), err)
	}
	// A link inside survives and its target changes, also behind a link to a folder.
	link(t, "sub", filepath.Join(work, "folder"))
	link(t, "b.txt", filepath.Join(work, "sub", "alias"))
	if err := f.WriteFile(t.Context(), "folder/alias", []byte("through")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(work, "sub", "alias")); err != nil || to != "b.txt" || get(t, filepath.Join(work, "sub", "b.txt")) != "through" {
		t.Errorf("the link: %q, %v", to, err)
	}
	// ".." behind a link to a folder means another folder than it says.
	if err := os.MkdirAll(filepath.Join(work, "deep", "er"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "deep/er", filepath.Join(work, "short"))
	link(t, "../t.txt", filepath.Join(work, "deep", "er", "tricky"))
	put(t, filepath.Join(work, "deep", "t.txt"), "target")
	put(t, filepath.Join(work, "t.txt"), "bystander")
	if err := f.WriteFile(t.Context(), "short/tricky", []byte("x")); err == nil && get(t, filepath.Join(work, "t.txt")) != "bystander" {
		t.Error("the wrong file was written")
	}
	if get(t, filepath.Join(work, "t.txt")) != "bystander" {
		t.Error("a bystander changed")
	}
	left, err := filepath.Glob(filepath.Join(work, ".chaz-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWriteFailuresLeaveTheOriginal(t *testing.T) {
	work, _ := yard(t)
	f := hostFor(t, Config{WorkFolder: work}, Levels{}, false).Files()
	if err := f.WriteFile(t.Context(), "none/x.txt", []byte("x")); err == nil || !strings.Contains(err.Error(), "folder is not there") {
		t.Errorf("a missing folder: %v", err)
	}
	if err := os.Chmod(filepath.Join(work, "a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(t.Context(), "a.txt", []byte("x")); !errors.Is(err, fs.ErrPermission) || get(t, filepath.Join(work, "a.txt")) != "alpha" {
		t.Errorf("a read-only file: %v", err)
	}
	if err := f.WriteFile(t.Context(), "new.txt", []byte("new")); err != nil || get(t, filepath.Join(work, "new.txt")) != "new" {
		t.Errorf("a new file: %v", err)
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a.txt", "../outside/secret", "door/secret", "sub/../../outside/secret", "/", "a\x00", "door/../outside/secret", "//etc/passwd", "sub/up/../x"} {
		f.Add(s)
	}
	top, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	work, outside := filepath.Join(top, "work"), filepath.Join(top, "outside")
	for _, err := range []error{
		os.Mkdir(work, 0o755), os.Mkdir(outside, 0o755), os.Mkdir(work+"/sub", 0o755),
		os.WriteFile(outside+"/secret", []byte("secret"), 0o644), os.Symlink(outside, work+"/door"), os.Symlink("..", work+"/sub/up"),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	m, err := New(Config{WorkFolder: work})
	if err != nil {
		f.Fatal(err)
	}
	h, err := m.Host(Levels{}, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if data, _, err := h.Files().ReadFile(t.Context(), path, 100); err == nil && string(data) == "secret" {
			t.Fatalf("%q reads a file outside", path)
		}
		_ = h.Files().WriteFile(t.Context(), path, []byte("w"))
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Fatalf("%q wrote outside", path)
		}
		if b, err := os.ReadFile(outside + "/secret"); err != nil || string(b) != "secret" {
			t.Fatalf("%q changed a file outside", path)
		}
	})
}

func TestNewChecksItsConfiguration(t *testing.T) {
	for _, cfg := range []Config{{}, {WorkFolder: "relative"}, {WorkFolder: "/x", Sandbox: "chroot"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	m := machine(t, Config{WorkFolder: "/x/../y"})
	if m.cfg.WorkFolder != "/y" || !slices.Contains([]string{NoSandbox, Bubblewrap}, m.cfg.Sandbox) {
		t.Errorf("work folder %s", m.cfg.WorkFolder)
	}
	if _, err := m.Host(Levels{PerTool: Grants{FS: FileGrants{AllowRead: []string{""}}}}, true); err == nil {
		t.Error("malformed grants gave a host")
	}
}
