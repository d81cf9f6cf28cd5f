package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// What people see, as files: a change of the output is a change of these.
func TestGolden(t *testing.T) {
	t.Setenv("COLUMNS", "80") // the help is wrapped to it
	for name, args := range map[string]string{
		"status":          "status",
		"peers_list":      "peers list",
		"peers_pending":   "peers pending",
		"session_list":    "session list",
		"session_show":    "session show hamlet",
		"session_tickets": "session tickets hamlet",
		"session_log":     "session log hamlet",
		"session_search":  "session search boss",
		"agent_list":      "agent list",
		"agent_show":      "agent show chaz",
		"ext_show":        "ext show weather --session hamlet",
		"ext_pending":     "ext pending",
		"ext_list":        "ext list",
		"ext_releases":    "ext releases weather-releases",
		"ext_audit":       "ext audit",
		"ext_logs":        "ext logs weather --session hamlet",
		"ext_pack":        "ext pack ./weather",
		"ext_gc":          "ext gc --dry-run",
		"help_ext_trust":  "ext trust --help",
		"doctor":          "doctor",
		"help":            "--help",
		"help_share":      "session share --help",
		"config_example":  "config show --example",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := os.Chmod(b.home, 0o700); err != nil {
				t.Fatal(err)
			}
			b.node.results = sampleResults()
			b.node.results["session.search"] = control.List[control.Hit]{{Session: docS, SessionName: "hamlet", Entry: control.Entry{Sender: "Bernardo", Content: "the\nboss", Timestamp: noon}}}
			b.node.events["session.log"] = []any{
				control.Entry{ID: "1", Sender: "Bernardo", Content: "Who's there?", Timestamp: noon, EntryType: "message"},
				control.Entry{ID: "2", Sender: "chaz", Content: "line one\nline two\x1b[31m\n", Timestamp: noon + 4000, EntryType: "tool_result"},
				control.Entry{ID: "3", Sender: "late", Content: "from the future", Timestamp: noon * 2, EntryType: "message"},
				control.Entry{ID: "4", Sender: "far", Content: "beyond the calendar", Timestamp: 1 << 62, EntryType: "message"},
			}
			if name == "status" {
				b.daemon(t)
			}
			r := b.do(strings.Fields(args)...)
			if r.code != 0 || r.err != "" {
				t.Fatalf("exit %d, %s", r.code, r.err)
			}
			golden(t, name, strings.ReplaceAll(r.out, b.home, "HOME"))
		})
	}
}

// Scripts read these: the names and shapes are frozen.
func TestGoldenJSON(t *testing.T) {
	for name, args := range map[string]string{
		"json_status":       "status --json",
		"json_session_show": "session show hamlet --json",
		"json_session_log":  "session log hamlet --json",
		"json_peers_list":   "peers list --json",
		"json_doctor":       "doctor --json",
		"json_agent_list":   "agent list --json",
		"json_session_list": "session list --json",
		"json_join":         "session join T --json",
		"json_import":       "session import - --json",
		"json_cmd":          "cmd --session s /x --json",
		"json_ext_show":     "ext show weather --session hamlet --json",
		"json_ext_pending":  "ext pending --json",
		"json_ext_list":     "ext list --json",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := os.Chmod(b.home, 0o700); err != nil {
				t.Fatal(err)
			}
			b.node.results = sampleResults()
			b.node.events["session.log"] = []any{
				control.Entry{ID: "1", Sender: "a<b", Content: "x & y", Timestamp: noon, EntryType: "message"},
				control.Entry{ID: "2", Sender: "far", Content: "", Timestamp: 1 << 62, EntryType: "tool_call"},
			}
			if name == "json_status" {
				b.daemon(t)
			}
			r := b.do(strings.Fields(args)...)
			if r.code != 0 || r.err != "" {
				t.Fatalf("exit %d, %s", r.code, r.err)
			}
			golden(t, name, strings.ReplaceAll(r.out, b.home, "HOME"))
		})
	}
}

func TestColoursOnlyOnATerminal(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	if r := b.do("peers", "list"); strings.Contains(r.out, "\x1b") {
		t.Errorf("colours in a pipe: %q", r.out)
	}
	b.tty = true
	if r := b.do("peers", "list"); !strings.Contains(r.out, "\x1b[32m") || strings.Contains(r.out, "\x1b[2J") {
		t.Errorf("on a terminal: %q", r.out)
	}
	b.env["NO_COLOR"] = "1"
	if r := b.do("peers", "list"); strings.Contains(r.out, "\x1b") {
		t.Errorf("colours in spite of NO_COLOR: %q", r.out)
	}
}

func TestCleanKeepsWritingAndDropsControl(t *testing.T) {
	for in, want := range map[string]string{
		"Grüße 世界 👍":        "Grüße 世界 👍",
		"a\x1b[2Jb":         "a\ufffd[2Jb",
		"a\u202eb":          "a\ufffdb",
		"two\nlines\n":      "two lines",
		"c1\u009b31m":       "c1\ufffd31m",
		"tab\tand\rreturn":  "tab and return",
		"\u2066isolate\x00": "\ufffdisolate\ufffd",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cleanText("a\r\n\tb\x07"); got != "a\n\tb\ufffd" {
		t.Errorf("cleanText = %q", got)
	}
}

func TestShareOnStdoutQROnStderr(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	r := b.do("session", "share", "s", "--qr")
	if r.code != 0 || r.out != "chaz:abc?kind=session\n" || !strings.Contains(r.err, "█") {
		t.Errorf("exit %d, out %q, err %q", r.code, r.out, r.err)
	}
	if r := b.do("session", "share", "s"); r.err != "" || r.out != "chaz:abc?kind=session\n" {
		t.Errorf("without --qr: %q, %q", r.out, r.err)
	}
}

func TestExportToFile(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.node.events["session.export"] = []any{control.Chunk{Data: []byte("one\n")}, control.Chunk{Data: []byte("two\n")}}
	if r := b.do("session", "export", "s"); r.out != "one\ntwo\n" {
		t.Errorf("to stdout: %q, %q", r.out, r.err)
	}
	path := filepath.Join(t.TempDir(), "s.automerge")
	r := b.do("session", "export", "s", path, "--json")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "one\ntwo\n" || r.out != `{"id":"`+docS+`","entries":2,"bytes":8}`+"\n" {
		t.Errorf("%q, %v, %q %q", got, err, r.out, r.err)
	}
	if last := b.node.calls[len(b.node.calls)-1]; !strings.Contains(last.params, `"automerge"`) {
		t.Errorf("asked %s", last.params)
	}
	if r := b.do("session", "export", "s", path); r.code != exitError || !strings.Contains(r.err, "--force") {
		t.Errorf("over an existing file: exit %d, %q", r.code, r.err)
	}
	b.node.results["session.export"] = &control.Error{Cause: "torn", Code: control.CodeInternal}
	if r := b.do("session", "export", "s", path, "--force"); r.code != exitError {
		t.Errorf("a failed export: exit %d", r.code)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("a failed export left %v", left)
	}
	if got, _ := os.ReadFile(path); string(got) != "one\ntwo\n" {
		t.Errorf("a failed export changed the file: %q", got)
	}
}

func TestImportSendsTheFileAndShowsABar(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.node.events["session.import"] = []any{control.Progress{Done: 5, Total: 10, Unit: "bytes"}, control.Progress{Done: 10, Total: 10, Unit: "bytes"}}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := b.do("session", "import", path)
	if c := b.node.calls[0]; r.code != 0 || c.upload != "{}\n{}\n" || !strings.Contains(c.params, `"size":6`) || r.err != "" {
		t.Errorf("exit %d, %+v, %q", r.code, c, r.err)
	}
	b.tty = true
	if r := b.do("session", "import", path); !strings.Contains(r.err, "[###############...............]  50 % of 10 bytes") {
		t.Errorf("no bar: %q", r.err)
	}
	for _, bad := range []string{filepath.Dir(path), path + "x"} {
		if r := b.do("session", "import", bad); r.code != exitError {
			t.Errorf("import of %s: exit %d", bad, r.code)
		}
	}
}
