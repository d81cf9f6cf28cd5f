package toolhost

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// needBwrap skips where bubblewrap can't work, and says why.
func needBwrap(t *testing.T, m *Machine) {
	t.Helper()
	if err := m.CheckSandbox(t.Context()); err != nil {
		t.Skipf("no sandbox on this machine: %v", err)
	}
}

func TestSandbox(t *testing.T) {
	work, outside := yard(t)
	link(t, filepath.Join(outside, "secret"), filepath.Join(work, "escape"))
	m := machine(t, Config{WorkFolder: work, Sandbox: Bubblewrap})
	needBwrap(t, m)
	h, err := m.Host(Levels{}, true)
	if err != nil {
		t.Fatal(err)
	}
	plain := hostFor(t, Config{WorkFolder: work}, Levels{}, true)
	marker := filepath.Join(outside, "marker")
	script := func(h extension.Host, line string) (string, int) {
		t.Helper()
		res, err := h.Shell(t.Context(), extension.ShellCommand{Line: line})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return string(res.Stdout), res.Exit
	}
	for name, line := range map[string]string{
		"reading outside":       "cat " + outside + "/secret",
		"reading through links": "cat escape",
		"writing outside":       "echo x > " + marker,
		"other processes":       "kill -0 " + strconv.Itoa(os.Getpid()),
	} {
		if out, exit := script(h, line); exit == 0 {
			t.Errorf("%s worked in the sandbox: %q", name, out)
		}
		if _, exit := script(plain, line); exit != 0 {
			t.Errorf("control: %s does not even work outside", name)
		}
		_ = os.Remove(marker)
	}
	if _, exit := script(h, "touch /usr/bin/chaz-was-here"); exit == 0 {
		t.Error("the system is writable")
	}
	out, exit := script(h, "cat a.txt && echo changed > a.txt && cd sub && pwd && cat b.txt && ls /tmp && echo $HOME")
	if exit != 0 || !strings.Contains(out, "alpha") || !strings.Contains(out, work+"/sub\nbeta") || get(t, filepath.Join(work, "a.txt")) != "changed\n" {
		t.Errorf("the work folder in the sandbox: %d, %q", exit, out)
	}
}

func TestSandboxFollowsTheFileGrants(t *testing.T) {
	work, outside := yard(t)
	link(t, outside, filepath.Join(work, "faked"))
	m := machine(t, Config{WorkFolder: work, Sandbox: Bubblewrap})
	needBwrap(t, m)
	h, err := m.Host(Levels{Session: Grants{FS: FileGrants{AllowRead: []string{"sub", "faked", "none"}, AllowWrite: []string{}}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"cat sub/b.txt": true, "cat a.txt": false, "cat subway/c.txt": false, "echo x > sub/new": false, "cat faked/secret": false, "cat " + outside + "/secret": false,
	} {
		res, err := h.Shell(t.Context(), extension.ShellCommand{Line: line})
		if err != nil || (res.Exit == 0) != want {
			t.Errorf("%s: exit %d, %v, %s", line, res.Exit, err, res.Stderr)
		}
	}
}

func TestSandboxNetwork(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash to open a connection with")
	}
	work, _ := yard(t)
	m := machine(t, Config{WorkFolder: work, Sandbox: Bubblewrap})
	needBwrap(t, m)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	line := "bash -c ': > /dev/tcp/127.0.0.1/" + port + "'"
	for name, c := range map[string]struct {
		l    Levels
		want bool
	}{
		"public addresses only": {Levels{}, false},
		"everything":            {Levels{Tool: Grants{Network: NetworkGrants{AllowPrivate: yes()}}}, true},
		"one endpoint":          {Levels{Tool: Grants{Network: NetworkGrants{AllowPrivate: yes(), Endpoints: []Endpoint{{Host: "127.0.0.1"}}}}}, false},
		"narrowed":              {Levels{Tool: Grants{Network: NetworkGrants{AllowPrivate: yes()}}, Agent: Grants{Network: NetworkGrants{Endpoints: []Endpoint{}}}}, false},
	} {
		h, err := m.Host(c.l, true)
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Shell(t.Context(), extension.ShellCommand{Line: line})
		if err != nil || (res.Exit == 0) != c.want {
			t.Errorf("%s: exit %d, %v, %s", name, res.Exit, err, res.Stderr)
		}
	}
}

func TestSandboxTimeout(t *testing.T) {
	work, _ := yard(t)
	m := machine(t, Config{WorkFolder: work, Sandbox: Bubblewrap})
	needBwrap(t, m)
	h, err := m.Host(Levels{}, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	// Holding a lock on a file shows from outside whether anything inside still lives.
	res, err := h.Shell(ctx, extension.ShellCommand{Line: "echo up; setsid sh -c 'exec 9>held; flock 9; sleep 1000' & sleep 1000"})
	if err != nil || !res.TimedOut || res.Exit != -1 || string(res.Stdout) != "up\n" {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock to look with")
	}
	if out, err := exec.Command("flock", "-w", "10", filepath.Join(work, "held"), "true").CombinedOutput(); err != nil {
		t.Errorf("something lives on after the end of the sandbox: %v %s", err, out)
	}
}

func TestMissingSandboxRunsNothing(t *testing.T) {
	work, _ := yard(t)
	t.Setenv("PATH", t.TempDir())
	m := machine(t, Config{WorkFolder: work, Sandbox: Bubblewrap})
	if m.CheckSandbox(t.Context()) == nil {
		t.Error("a missing sandbox was not noticed")
	}
	h, err := m.Host(Levels{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Shell(t.Context(), extension.ShellCommand{Line: ": > ran"}); err == nil {
		t.Error("a command ran without its sandbox")
	}
	if _, err := os.Stat(filepath.Join(work, "ran")); err == nil {
		t.Error("a command ran without its sandbox")
	}
	if machine(t, Config{WorkFolder: work}).CheckSandbox(t.Context()) != nil {
		t.Error("no sandbox is configured, and one is missed")
	}
}
