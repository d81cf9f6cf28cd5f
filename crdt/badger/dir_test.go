package badger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestSecondOpenIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	put(t, s, "a", "1")
	refused := func(when string) {
		t.Helper()
		if _, err := Open(dir, Options{}); !errors.Is(err, crdt.ErrStoreBusy) || !strings.Contains(err.Error(), "in use by another process") {
			t.Errorf("%s, this process: %v", when, err)
		}
		cmd, out := child(t, "open", dir)
		out.Scan()
		if err := cmd.Wait(); err == nil || !strings.Contains(out.Text(), crdt.ErrStoreBusy.Error()) {
			t.Errorf("%s, another process: %q, %v", when, out.Text(), err)
		}
	}
	refused("open")
	put(t, s, "b", "2") // the refused ones left it alone
	mustClose(t, s)
	cmd, out := child(t, "open", dir)
	out.Scan()
	if err := cmd.Wait(); err != nil || out.Text() != "ready" {
		t.Errorf("closed, another process: %q, %v", out.Text(), err)
	}
	s = open(t, dir, Options{})
	if v, err := s.Get(t.Context(), []byte("b")); err != nil || string(v) != "2" {
		t.Errorf("get: %q, %v", v, err)
	}
	refused("open again")
}

func TestNewerFormatIsRefused(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	put(t, s, "a", "1")
	mustClose(t, s)
	format := filepath.Join(s.dir, formatFile)
	before := rewrite(t, format, func(b []byte) []byte { return []byte(strings.Replace(string(b), "format 1", "format 2", 1)) })
	if _, err := Open(s.dir, Options{}); !errors.Is(err, crdt.ErrNewerStore) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("format 2: %v", err)
	}
	rewrite(t, format, func([]byte) []byte { return before })
	if v, err := open(t, s.dir, Options{}).Get(t.Context(), []byte("a")); err != nil || string(v) != "1" {
		t.Errorf("format 1: %q, %v", v, err)
	}
}

func TestForeignDirectoryIsRefusedAndUntouched(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"documents":        {"letter.txt": "dear"},
		"another database": {"MANIFEST": "Bdgr", "000000.vlog": "x"},
		"its own FORMAT":   {"FORMAT": "sqlite"},
		"a file":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if files == nil {
				if err := os.WriteFile(dir, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := listing(t, dir)
			if s, err := Open(dir, Options{}); err == nil {
				mustClose(t, s)
				t.Error("opened")
			} else if errors.Is(err, crdt.ErrTornStore) || errors.Is(err, crdt.ErrNewerStore) || errors.Is(err, crdt.ErrStoreBusy) {
				t.Errorf("open: %v", err)
			}
			if after := listing(t, dir); after != before {
				t.Errorf("before: %s\nafter: %s", before, after)
			}
		})
	}
	// The control: an empty directory, and one in which a creation was interrupted.
	for _, name := range []string{"", lockFile, formatNew} {
		dir := t.TempDir()
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if s := open(t, dir, Options{}); s.Unclean() {
			t.Errorf("a new store (with %q) was not closed cleanly", name)
		}
	}
}

// listing describes every file: name, mode, size.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		b.WriteString(path + " " + fs.FormatFileInfo(info) + "\n")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestModesAreForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "store")
	s := open(t, dir, Options{})
	appendChain(t, s, 0, 10)
	check := func(s *Store) {
		t.Helper()
		files := 0
		if err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o", path, info.Mode().Perm())
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if files < 5 {
			t.Errorf("only %d files looked at", files)
		}
	}
	check(s)
	image := crashImage(t, s)
	mustClose(t, s)
	check(s)
	rewrite(t, newestLog(t, image), func(b []byte) []byte { return b[:len(b)-3] })
	if err := os.Chmod(image, 0o755); err != nil {
		t.Fatal(err)
	}
	s = open(t, image, Options{Report: func(string) {}})
	if _, ok := s.Repaired(); !ok {
		t.Error("not repaired: the test misses the files set aside")
	}
	for _, name := range []string{formatFile, lockFile} { // the copy of this test gave them other modes
		if err := os.Chmod(filepath.Join(image, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, _ := s.Repaired()
	info, err := os.Stat(folder)
	top, err2 := os.Stat(image)
	if err != nil || err2 != nil || info.Mode().Perm() != 0o700 || top.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, the folder set aside %v, %v, %v", top.Mode(), info.Mode(), err, err2)
	}
}

func TestRunEndsWithItsContextAndNothingIsLeft(t *testing.T) {
	// A library of Badger starts this one when it is linked.
	ignore := goleak.IgnoreCurrent()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{CollectEvery: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	appendChain(t, s, 0, 50)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	mustClose(t, s)
	goleak.VerifyNone(t, ignore)
	s = open(t, dir, Options{})
	if n, err := countChain(s); err != nil || n != 50 || s.Unclean() {
		t.Errorf("%d batches, %v, unclean: %v", n, err, s.Unclean())
	}
}
