package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tree is a folder to mount, beside a secret that is outside of it.
//
//	secret, outside/file
//	in/a.txt, in/sub/b.txt, and links, each named for where it leads
func tree(t *testing.T) (in, secret string) {
	t.Helper()
	dir := t.TempDir()
	in, secret = filepath.Join(dir, "in"), filepath.Join(dir, "secret")
	for _, d := range []string{"in/sub", "outside"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "secret", "outside/file": "secret", "in/a.txt": "alpha", "in/sub/b.txt": "beta"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"abs": secret, "up": "../secret", "dir_up": "..", "dir_out": "../outside", "deep": "sub/../../secret",
		"chain": "up", "inside": "sub/b.txt", "dir_inside": "sub", "proc": "/proc/self/environ",
	} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(in, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return in, secret
}

// told runs the guest; an error of its own comes back as "! text".
func told(t *testing.T, p *Pool, input string) string {
	t.Helper()
	out, err := p.Call(t.Context(), "run", []byte(input))
	if err != nil {
		return "! " + err.Error()
	}
	return string(out)
}

func TestMounts(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := goGuest(t, "guest")
	for _, write := range []bool{false, true} {
		in, secret := tree(t)
		p := openPool(t, e, wasm, func(o *Options) {
			o.Mounts = map[string]Mount{"/data": {Dir: openRoot(t, in), Write: write}}
		})
		// What leads out is refused, and the file outside is as it was.
		for _, path := range []string{
			"abs", "up", "dir_up/secret", "dir_out/file", "deep", "chain", "proc", "../secret", "sub/../../secret",
			"dir_inside/../../secret", "../../../../../../etc/hostname", "fifo",
		} {
			for _, do := range []string{"read /data/" + path, "write /data/" + path + " x", "append /data/" + path + " x", "truncate /data/" + path + " 0", "stat /data/" + path} {
				if path == "fifo" && strings.HasPrefix(do, "stat") {
					continue // that it is there is no secret
				}
				if got := told(t, p, do); !strings.HasPrefix(got, "! ") {
					t.Errorf("write=%t: %s: %q", write, do, got)
				}
			}
		}
		for _, path := range []string{"dir_up", "dir_out", ".."} {
			if got := told(t, p, "list /data/"+path); !strings.HasPrefix(got, "! ") {
				t.Errorf("write=%t: list %s: %q", write, path, got)
			}
		}
		if got := told(t, p, "readlink /data/abs"); !strings.HasPrefix(got, "! ") {
			t.Errorf("write=%t: the layout of the host is shown: %q", write, got)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
			t.Errorf("write=%t: the file outside is %q, %v", write, b, err)
		}
		// The same inside is not.
		for do, want := range map[string]string{
			"read /data/a.txt": "alpha", "read /data/inside": "beta", "read /data/dir_inside/b.txt": "beta",
			"read /data/sub/../a.txt": "alpha", "list /data/sub": "b.txt",
			"stat /data/a.txt": "a.txt 5 false", "readlink /data/inside": "sub/b.txt",
		} {
			if got := told(t, p, do); got != want {
				t.Errorf("write=%t: %s: %q, want %q", write, do, got, want)
			}
		}
		if s := p.Stats(); s.Traps != 0 {
			t.Errorf("%+v: a refusal cost an instance", s)
		}
	}
}

func TestMountReadOnly(t *testing.T) {
	in, _ := tree(t)
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), func(o *Options) {
		o.Mounts = map[string]Mount{"/data": {Dir: openRoot(t, in)}}
	})
	for _, do := range []string{
		"write /data/a.txt x", "write /data/new x", "append /data/a.txt x", "mkdir /data/d", "remove /data/a.txt",
		"rename /data/a.txt /data/c.txt", "symlink a.txt /data/l", "link /data/a.txt /data/h", "truncate /data/a.txt 1",
	} {
		if got := told(t, p, do); !strings.Contains(got, "ead-only file system") {
			t.Errorf("%s: %q", do, got)
		}
	}
	if b, err := os.ReadFile(filepath.Join(in, "a.txt")); err != nil || string(b) != "alpha" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestMountWrite(t *testing.T) {
	in, secret := tree(t)
	other := t.TempDir()
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), func(o *Options) {
		o.Mounts = map[string]Mount{
			"/data": {Dir: openRoot(t, in), Write: true}, "/other": {Dir: openRoot(t, other), Write: true},
		}
	})
	for _, step := range []struct{ do, want string }{
		{"write /data/new.txt one", ""},
		{"append /data/new.txt two", ""},
		{"read /data/new.txt", "onetwo"},
		{"truncate /data/new.txt 3", ""},
		{"read /data/new.txt", "one"},
		{"mkdir /data/d", ""},
		{"rename /data/new.txt /data/d/moved.txt", ""},
		{"list /data/d", "moved.txt"},
		{"link /data/d/moved.txt /data/d/again.txt", ""},
		{"read /data/d/again.txt", "one"},
		{"remove /data/d", "! remove /data/d: Directory not empty"},
		{"remove /data/d/again.txt", ""},
		{"write /data/inside gamma", ""}, // a link that stays inside
		{"read /data/sub/b.txt", "gamma"},
		{"symlink ../a.txt /data/sub/l", ""},
		{"read /data/sub/l", "alpha"},
		{"write /other/x 1", ""},
		{"list /other", "x"},
		{"open /data/a.txt 60", "60"},
		// links that a guest makes
		{"symlink /etc/hostname /data/h1", "!"},
		{"symlink ../secret /data/h2", "!"},
		{"symlink sub/../../secret /data/h3", "!"},
		{"symlink .. /data/sub/fine", ""},               // is /data
		{"symlink fine/../secret /data/sub/h4", ""},     // by its letters /data/sub/secret, but it is outside
		{"read /data/sub/h4", "!"},                      // and refused where it is followed
		{"write /data/sub/h4 x", "!"},                   //
		{"link /data/up /data/h5", ""},                  // another name of a link that leads out
		{"read /data/h5", "!"},                          //
		{"rename /data/up /data/h6", ""},                // so does this
		{"read /data/h6", "!"},                          //
		{"rename /data/a.txt /other/a.txt", "!"},        // two folders
		{"rename /data/a.txt /data/../a.txt", "!"},      //
		{"link /data/a.txt /data/dir_up/a.txt", "!"},    //
		{"rename /data/a.txt /data/dir_out/a.txt", "!"}, //
		{"mkdir /data/dir_out/d", "!"},                  //
		{"remove /data/dir_out/file", "!"},              //
		{"symlink x /data/dir_out/l", "!"},              //
		{"read /data/a.txt", "alpha"},
	} {
		got := told(t, p, step.do)
		if got != step.want && (step.want != "!" || !strings.HasPrefix(got, "! ")) {
			t.Errorf("%s: %q, want %q", step.do, got, step.want)
		}
	}
	untouched(t, secret)
}

// untouched checks what is outside of the folder.
func untouched(t *testing.T, secret string) {
	t.Helper()
	for file, want := range map[string]string{secret: "secret", filepath.Join(filepath.Dir(secret), "outside/file"): "secret"} {
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", file, b, err)
		}
	}
	if list, err := os.ReadDir(filepath.Join(filepath.Dir(secret), "outside")); err != nil || len(list) != 1 {
		t.Errorf("outside there is %v, %v", list, err)
	}
}

// TestMountFloods: a guest can use up neither the files of the process nor the disk.
func TestMountFloods(t *testing.T) {
	in, _ := tree(t)
	p := openPool(t, newEngine(t, Config{}), goGuest(t, "guest"), func(o *Options) {
		o.Mounts = map[string]Mount{"/data": {Dir: openRoot(t, in), Write: true}}
	})
	before := openFDs(t)
	if got := told(t, p, "open /data/a.txt 100"); !strings.HasPrefix(got, "! ") || openFDs(t)-before > maxOpen+8 {
		t.Errorf("%s; %d files open", got, openFDs(t)-before)
	}
	p.Trim(0)
	if got := told(t, p, "fill /data/big"); !strings.Contains(got, "output too long") || !strings.Contains(got, "64 MiB to files") {
		t.Error(got)
	}
	if got := told(t, p, "truncate /data/big 1000000000000"); !strings.Contains(got, "output too long") {
		t.Error(got)
	}
	p.Trim(0)
	if now := openFDs(t); now > before+2 {
		t.Errorf("%d files stay open", now-before)
	}
}

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd to count open files in")
	}
	return len(list)
}
