package soak

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	soakTime = flag.Duration("soak.time", 20*time.Second, "how long TestSoak goes on")
	soakSeed = flag.Uint64("soak.seed", 5, "of its faults; 0: from the clock")
	soakExe  = flag.String("soak.exe", "", "the program to start as daemons; empty: it is built")
)

// program is what is tested, built once for all tests that want it.
type program struct {
	once sync.Once
	exe  string
	err  error
}

var built program

func (p *program) build() (string, error) {
	p.once.Do(func() {
		dir, err := os.MkdirTemp("", "chaz-exe-")
		if p.err = err; err != nil {
			return
		}
		p.exe = filepath.Join(dir, "chaz-peer")
		cmd := exec.Command("go", "build", "-o", p.exe, "github.com/chaz-peer/chaz-peer/cmd/chaz-peer")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		p.err = cmd.Run()
	})
	return p.exe, p.err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.exe != "" {
		_ = os.RemoveAll(filepath.Dir(built.exe))
	}
	os.Exit(code)
}

// world is what a test with real daemons needs: the program, and a folder that is kept if it fails.
func world(t *testing.T) (exe, dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts real daemons")
	}
	exe = *soakExe
	var err error
	if exe == "" {
		exe, err = built.build()
	}
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	if dir, err = os.MkdirTemp("", "chaz-soak-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("homes and logs are in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return exe, dir
}

// TestSoak is the soak: half a minute of it in CI, as long as you like with -soak.time.
func TestSoak(t *testing.T) {
	exe, dir := world(t)
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	r, err := Run(t.Context(), Options{Exe: exe, Dir: dir, Time: *soakTime, Seed: seed, Log: os.Stderr})
	for what, why := range r.Skipped {
		t.Logf("skipped: %s: %s", what, why)
	}
	t.Logf("%s", r.Line())
	if err != nil {
		t.Fatal(err)
	}
	if r.Rounds == 0 || r.Writes.Acknowledged == 0 || r.Entries == 0 {
		t.Error("nothing was soaked")
	}
	if idle := r.Vacuous(); len(idle) > 0 && *soakTime >= 5*time.Minute {
		t.Errorf("faults without any effect: %v", idle)
	}
}
