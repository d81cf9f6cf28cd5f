package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdEdit changes one thing in a variable or cuts its end off: edit VARIABLE OLD NEW | edit VARIABLE cut N
func cmdEdit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit VARIABLE OLD NEW | edit VARIABLE cut N")
	}
	old := ts.Getenv(args[0])
	text := strings.Replace(old, args[1], args[2], 1)
	if args[1] == "cut" {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		text = old[:max(0, len(old)-n)]
	}
	if text == old {
		ts.Fatalf("%s did not change: %s", args[0], old)
	}
	ts.Setenv(args[0], text)
}

// cmdAllIn checks that each line of a file occurs in another one: all-in FILE FILE
func cmdAllIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: all-in FILE FILE")
	}
	text, count := ts.ReadFile(args[1]), 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		count++
		if !strings.Contains(text, strings.TrimSpace(line)) {
			ts.Fatalf("line %d of %s is not in %s: %s", count, args[0], args[1], line)
		}
	}
	if count == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
	ts.Logf("all %d lines are there", count)
}

// cmdSameBut checks that two files of JSON lines differ in one field alone: same-but FILE FILE FIELD
func cmdSameBut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: same-but FILE FILE FIELD")
	}
	without := func(file string) []string {
		var out []string
		for line := range strings.Lines(ts.ReadFile(file)) {
			var m map[string]any
			ts.Check(json.Unmarshal([]byte(line), &m))
			delete(m, args[2])
			out = append(out, text(m))
		}
		return out
	}
	a, b := without(args[0]), without(args[1])
	if len(a) == 0 || len(a) != len(b) {
		ts.Fatalf("%d and %d lines", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			ts.Fatalf("line %d: %s and %s", i+1, a[i], b[i])
		}
	}
}

// cmdHold locks the store of a home for a time, as another process would: hold HOME TIME
func cmdHold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hold HOME TIME")
	}
	long, err := time.ParseDuration(args[1])
	ts.Check(err)
	f, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), "store", "lock"), os.O_RDWR, 0)
	ts.Check(err)
	ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	release := time.AfterFunc(long, func() { _ = f.Close() })
	ts.Defer(func() {
		if release.Stop() {
			_ = f.Close()
		}
	})
}

// cmdSpoil damages the last file that fits a pattern: spoil FILE cut N | spoil FILE tear | spoil FILE overwrite
func cmdSpoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: spoil FILE cut N | spoil FILE tear | spoil FILE overwrite")
	}
	all, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(all) == 0 {
		ts.Fatalf("no file %s", args[0])
	}
	path := all[len(all)-1]
	b, err := os.ReadFile(path)
	ts.Check(err)
	switch args[1] {
	case "cut":
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		b = b[:max(0, len(b)-n)]
	case "tear": // what was written last is there in part
		b = bytes.TrimRight(b, "\x00")
		b = b[:max(0, len(b)-7)]
	case "overwrite":
		b = bytes.Repeat([]byte("spoilt "), len(b)/7+1)
	default:
		ts.Fatalf("spoil: unknown %s", args[1])
	}
	ts.Check(os.WriteFile(path, b, 0o600))
}

// cmdText makes a text of many different lines: text FILE SIZE
func cmdText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: text FILE SIZE")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(longText(size)), 0o600))
}

func longText(size int) string {
	const end = "finis"
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("line " + strconv.Itoa(i) + strings.Repeat(" \"words\" & <words>", 50) + "\n")
	}
	return b.String()[:size-len(end)] + end
}
