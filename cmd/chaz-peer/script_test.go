package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary also the program: started under the name chaz-peer it is it.
func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){"chaz-peer": main})
}

// leakFree fails a run that leaves goroutines behind.
type leakFree struct{ m *testing.M }

func (l leakFree) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScript runs what a user types: every file of testdata/script with real daemons on loopback.
// testdata/script/README explains the commands beside those of testscript.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real daemons")
	}
	places := make(chan struct{}, 2) // few daemons at a time, so that small machines keep up
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			places <- struct{}{}
			e.Defer(func() { <-places })
			return setUpScript(e)
		},
		Condition: func(name string) (bool, error) {
			_, _, built := example()
			return built, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon": cmdDaemon, "stop-daemon": cmdStop, "kill9": cmdKill9, "crash": cmdCrash,
			"exit": cmdExit, "until": cmdUntil, "posts": cmdPosts, "pair": cmdPair,
			"json": cmdJSON, "shape": cmdShape, "get": cmdGet, "take": cmdTake, "edit": cmdEdit,
			"git-commit": cmdGitCommit, "all-in": cmdAllIn, "same-but": cmdSameBut, "hold": cmdHold, "spoil": cmdSpoil, "text": cmdText,
		},
	})
}

// excerpt is how much of the play the scripts use.
const excerpt = 200

func setUpScript(e *testscript.Env) error {
	lines := bytes.SplitAfterN(hamletFile, []byte("\n"), excerpt+1)
	talk := bytes.Join(lines[:excerpt], nil)
	if err := os.WriteFile(filepath.Join(e.WorkDir, "hamlet.jsonl"), talk, 0o600); err != nil {
		return err
	}
	if err := writeExamples(e.WorkDir); err != nil {
		return err
	}
	// A program with the race detector in it otherwise takes a second to end.
	e.Setenv("GORACE", "atexit_sleep_ms=0")
	w := &world{tb: e.T().(testing.TB), daemons: map[string]*daemon{}}
	e.Values[worldKey{}] = w
	e.Defer(w.end)
	return nil
}

// cmdExit runs a program that must end with a status: exit STATUS PROGRAM ARG…
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit STATUS PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := run(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// run runs a program and returns its exit status.
func run(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if err == nil {
		return 0
	}
	if e, ok := err.(*exec.ExitError); ok && e.Exited() {
		return e.ExitCode()
	}
	ts.Fatalf("run %s: %v", args[0], err)
	return 0
}

// cmdUntil repeats a program until it succeeds, and what it prints is as wanted:
// until TIME PROGRAM ARG… [where PATH OP VALUE | matching PATTERN]
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TIME PROGRAM ARG… [where PATH OP VALUE | matching PATTERN]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	line, wanted := splitWanted(ts, args[1:])
	end := time.Now().Add(limit)
	for tries := 1; ; tries++ {
		cmd := command(ts, line)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if err == nil {
			err = wanted(out.String())
		}
		late := time.Now().After(end)
		if err == nil || late {
			// Only the last look is worth a line in the log, and is what later checks are about.
			fmt.Fprint(ts.Stdout(), out.String())
			fmt.Fprint(ts.Stderr(), errs.String())
		}
		switch {
		case err == nil:
			return
		case late:
			ts.Fatalf("not in %s and %d tries: %v", limit, tries, err)
		}
		time.Sleep(20 * time.Millisecond) // until the next look, not for something to happen
	}
}

func splitWanted(ts *testscript.TestScript, args []string) ([]string, func(out string) error) {
	n := len(args)
	switch {
	case n > 4 && args[n-4] == "where":
		return args[:n-4], func(out string) error { return checkJSON(out, args[n-3], args[n-2], args[n-1]) }
	case n > 2 && args[n-2] == "matching":
		return args[:n-2], func(out string) error { return matches(out, args[n-1]) }
	}
	return args, func(string) error { return nil }
}

// command is a program of the script's, with the variables of the script that bear on it.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		full := filepath.Join(dir, args[0])
		if _, err := os.Stat(full); err == nil {
			path = full
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, k := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "CHAZ_UNSAFE_IGNORE_ROLE", "CHAZ_CLOCK_SKEW"} {
		cmd.Env = append(cmd.Env, k+"="+ts.Getenv(k))
	}
	return cmd
}

// cmdTake keeps the text of a file, without the line break at its end: take VARIABLE FILE [LINE]
func cmdTake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: take VARIABLE FILE [LINE]")
	}
	text := strings.TrimRight(ts.ReadFile(args[1]), "\n")
	if len(args) == 3 {
		n, err := strconv.Atoi(args[2])
		lines := strings.Split(text, "\n")
		if err != nil || n < 1 || n > len(lines) {
			ts.Fatalf("no line %s in %s", args[2], args[1])
		}
		text = lines[n-1]
	}
	if text == "" {
		ts.Fatalf("%s is empty", args[1])
	}
	ts.Setenv(args[0], text)
}
