package toolhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestShellNeedsApprovalOrAList(t *testing.T) {
	work, _ := yard(t)
	cfg := Config{WorkFolder: work}
	run := func(l Levels, approved bool, line string) error {
		_, err := hostFor(t, cfg, l, approved).Shell(t.Context(), extension.ShellCommand{Line: line})
		return err
	}
	list := Grants{Shell: ShellGrants{Allow: []string{"echo"}}}
	for name, c := range map[string]struct {
		l        Levels
		approved bool
		line     string
		ok       bool
	}{
		"nothing without approval":              {Levels{}, false, "echo x", false},
		"approved":                              {Levels{}, true, "echo x | cat", true},
		"on the operator's list":                {Levels{Tool: list}, false, "echo x", true},
		"not on the operator's list":            {Levels{Tool: list}, true, "ls", false},
		"a session's list approves nothing":     {Levels{Session: list}, false, "echo x", false},
		"a session's list narrows an approval":  {Levels{Session: list}, true, "ls", false},
		"and lets through what is on it":        {Levels{Session: list}, true, "echo x", true},
		"none":                                  {Levels{Tool: Grants{Shell: ShellGrants{Allow: []string{}}}}, true, "echo x", false},
		"an agent denies":                       {Levels{Agent: Grants{Shell: ShellGrants{Deny: []string{"echo"}}}}, true, "echo x", false},
		"the agent's limits for the tool do so": {Levels{Tool: list, PerTool: Grants{Shell: ShellGrants{Allow: []string{"ls"}}}}, true, "echo x", false},
		"too long":                              {Levels{}, true, "echo " + strings.Repeat("x", maxLine), false},
		"zero byte":                             {Levels{}, true, "echo \x00", false},
	} {
		if err := run(c.l, c.approved, c.line); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShellResults(t *testing.T) {
	work, outside := yard(t)
	link(t, outside, filepath.Join(work, "door"))
	h := hostFor(t, Config{WorkFolder: work, Environ: []string{"PATH=" + os.Getenv("PATH"), "API_KEY=topsecret", "LC_ALL=C"}}, Levels{}, true)
	run := func(line, dir string) (extension.ShellResult, error) {
		return h.Shell(t.Context(), extension.ShellCommand{Line: line, Dir: dir})
	}
	for _, c := range []struct {
		line, dir, out, errs string
		exit                 int
	}{
		{"echo out; echo err >&2; exit 3", "", "out\n", "err\n", 3},
		{"pwd", "sub", filepath.Join(work, "sub") + "\n", "", 0},
		{"pwd", filepath.Join(work, "sub"), filepath.Join(work, "sub") + "\n", "", 0},
		{"kill -KILL $$", "", "", "", -1},
		{"cat", "", "", "", 0}, // no input
		{"echo \"[$API_KEY]$LC_ALL\"", "", "[]C\n", "", 0},
		{"", "", "", "", 0},
	} {
		res, err := run(c.line, c.dir)
		if err != nil || string(res.Stdout) != c.out || string(res.Stderr) != c.errs || res.Exit != c.exit || res.TimedOut || res.Cut {
			t.Errorf("%q in %q: %+v, %v", c.line, c.dir, res, err)
		}
	}
	for _, dir := range []string{"..", "door", outside, "/", "sub/../.."} {
		if _, err := run("pwd", dir); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("in %s: %v", dir, err)
		}
	}
	for _, dir := range []string{"none", "a.txt"} {
		if _, err := run("pwd", dir); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("in %s: %v", dir, err)
		}
	}
}

func TestShellOutputIsCut(t *testing.T) {
	work, _ := yard(t)
	h := hostFor(t, Config{WorkFolder: work}, Levels{}, true)
	res, err := h.Shell(t.Context(), extension.ShellCommand{Line: "head -c 100000000 /dev/zero; echo e >&2"})
	if err != nil || len(res.Stdout) != defaultOutput || !res.Cut || res.Exit != 0 || string(res.Stderr) != "e\n" {
		t.Errorf("100 MB: %d bytes, cut %v, exit %d, %v", len(res.Stdout), res.Cut, res.Exit, err)
	}
	res, err = h.Shell(t.Context(), extension.ShellCommand{Line: "printf 12345", Limit: 5})
	if err != nil || string(res.Stdout) != "12345" || res.Cut {
		t.Errorf("just at the limit: %+v, %v", res, err)
	}
}

// gone waits until no process of this id runs.
func gone(t *testing.T, file string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(get(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(b), ") Z ") {
			return // dead, and not yet collected by whoever inherited it
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestShellTimeoutKillsTheWholeGroup(t *testing.T) {
	work, _ := yard(t)
	h := hostFor(t, Config{WorkFolder: work}, Levels{}, true)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	res, err := h.Shell(ctx, extension.ShellCommand{Line: "echo before; sleep 1000 & echo $! > child; sh -c 'sleep 1000'; echo after"})
	if err != nil || !res.TimedOut || res.Exit != -1 || string(res.Stdout) != "before\n" {
		t.Errorf("%+v, %v", res, err)
	}
	gone(t, filepath.Join(work, "child"))
	over := errors.New("the turn is over")
	ctx2, end := context.WithCancelCause(t.Context())
	end(over)
	if _, err := h.Shell(ctx2, extension.ShellCommand{Line: "sleep 1000"}); err == nil {
		t.Error("ran after the end of the call")
	}
}

func TestShellLeavesNothingInTheBackground(t *testing.T) {
	work, _ := yard(t)
	h := hostFor(t, Config{WorkFolder: work}, Levels{}, true)
	res, err := h.Shell(t.Context(), extension.ShellCommand{Line: "sleep 1000 & echo $! > child; echo done"})
	if err != nil || res.TimedOut || res.Exit != 0 || string(res.Stdout) != "done\n" {
		t.Errorf("%+v, %v", res, err)
	}
	gone(t, filepath.Join(work, "child"))
}
