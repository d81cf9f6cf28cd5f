package toolhost

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

// TestThePeersOwnFiles has an operator who grants more than the peer's home: no tool gets at its key
// by that, by whichever way, and the folders in the home that are granted by name are still there.
func TestThePeersOwnFiles(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(filepath.Join(home, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, "key"), "seed")
	put(t, filepath.Join(work, "a.txt"), "alpha")
	put(t, filepath.Join(top, "b.txt"), "beta")
	link(t, "home/key", filepath.Join(top, "k"))
	link(t, "home", filepath.Join(top, "h"))

	open := func(work, private string, grants FileGrants) extension.Files {
		t.Helper()
		m, err := New(Config{WorkFolder: work, Private: private})
		if err != nil {
			t.Fatal(err)
		}
		host, err := m.Host(Levels{Tool: Grants{FS: grants}}, true)
		if err != nil {
			t.Fatal(err)
		}
		return host.Files()
	}
	reads := func(f extension.Files, path string) error {
		_, _, err := f.ReadFile(t.Context(), path, 0)
		return err
	}
	around := FileGrants{AllowRead: []string{top, work}, AllowWrite: []string{top}}
	for name, private := range map[string]string{"home": home, "link to home": filepath.Join(top, "h")} {
		f := open(work, private, around)
		for _, path := range []string{"../key", home + "/key", top + "/k", top + "/h/key", top + "/h/../home/key", home + "/store/x", home, top + "/h"} {
			if err := reads(f, path); !errors.Is(err, extension.ErrGrant) {
				t.Errorf("%s: read %s: %v", name, path, err)
			}
			if err := f.WriteFile(t.Context(), path, []byte("x")); !errors.Is(err, extension.ErrGrant) {
				t.Errorf("%s: write %s: %v", name, path, err)
			}
			if _, err := f.Stat(t.Context(), path); !errors.Is(err, extension.ErrGrant) {
				t.Errorf("%s: stat %s: %v", name, path, err)
			}
		}
		if err := errors.Join(reads(f, "a.txt"), reads(f, top+"/b.txt"), f.WriteFile(t.Context(), top+"/new.txt", nil)); err != nil {
			t.Errorf("%s: what is granted: %v", name, err)
		}
	}
	// The work folder is the home itself.
	if err := reads(open(home, home, FileGrants{}), "key"); !errors.Is(err, extension.ErrGrant) {
		t.Error("the home as work folder:", err)
	}
	// Without a private folder the grant means what it says.
	if err := reads(open(work, "", around), "../key"); err != nil {
		t.Error(err)
	}
	if get(t, filepath.Join(home, "key")) != "seed" {
		t.Error("the key was written")
	}
}
