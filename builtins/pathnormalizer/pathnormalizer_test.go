package pathnormalizer

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestConformance(t *testing.T) { extensiontest.Run(t, New(), extensiontest.Handles{}) }

func hook(t testing.TB) func(tool, args string) extension.CallDecision {
	t.Helper()
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New().Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	return func(tool, args string) extension.CallDecision {
		d, err := i.Hooks.ToolCall(context.Background(), extension.Call{}, extension.ToolCallInput{Tool: tool, Args: json.RawMessage(args)})
		if err != nil {
			t.Errorf("%s %s: %v", tool, args, err)
		}
		return d
	}
}

func TestNormalize(t *testing.T) {
	call := hook(t)
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"a/b/"}`, `{"path":"a/b"}`},
		{"read_file", `{"path":"a///"}`, `{"path":"a"}`},
		{"write_file", `{"path":"a/","content":"x/"}`, `{"content":"x/","path":"a"}`},
		{"edit_file", `{"path":"/tmp/a//","edits":[{"old_text":"a/","new_text":12345678901234567890}]}`, `{"edits":[{"old_text":"a/","new_text":12345678901234567890}],"path":"/tmp/a"}`},
		{"read_file", `{"path":"//"}`, `{"path":"/"}`},
		{"read_file", `{"path":"/////"}`, `{"path":"/"}`},
		// Left alone:
		{"read_file", `{"path":"/"}`, ""},
		{"read_file", `{"path":"a"}`, ""},
		{"read_file", `{"path":""}`, ""},
		{"read_file", `{"path":"a/ "}`, ""},
		{"read_file", `{"path":"a\\"}`, ""},
		{"read_file", `{"path":7}`, ""},
		{"read_file", `{"path":null}`, ""},
		{"read_file", `{"path":["a/"]}`, ""},
		{"read_file", `{"PATH":"a/"}`, ""},
		{"read_file", `{}`, ""},
		{"read_file", `null`, ""},
		{"read_file", `"a/"`, ""},
		{"read_file", `{"path":"a/"`, ""},
		{"shell", `{"path":"a/"}`, ""},
		{"files__read_file", `{"path":"a/"}`, ""},
		{"", `{"path":"a/"}`, ""},
	} {
		d := call(c.tool, c.args)
		if c.want == "" && (d.Verdict != "" || d.Args != nil) || c.want != "" && (d.Verdict != extension.Modify || string(d.Args) != c.want) {
			t.Errorf("%s %s: %s %s", c.tool, c.args, d.Verdict, d.Args)
		}
	}
}

func TestNormalizeProperty(t *testing.T) {
	call := hook(t)
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringOf(rapid.SampledFrom([]rune("/ab.ü \x00\u2028<"))).Draw(t, "path")
		args, _ := json.Marshal(map[string]any{"path": path, "other": 1})
		d := call("write_file", string(args))
		want := strings.TrimRight(path, "/")
		if want == "" && path != "" {
			want = "/"
		}
		if want == path {
			if d.Verdict != "" {
				t.Fatalf("%q was changed: %s", path, d.Args)
			}
			return
		}
		changed++
		var got struct {
			Path  string
			Other int
		}
		if err := json.Unmarshal(d.Args, &got); err != nil || got.Path != want || got.Other != 1 {
			t.Fatalf("%q became %s", path, d.Args)
		}
		if again := call("write_file", string(d.Args)); again.Verdict != "" {
			t.Fatalf("a second time changes again: %s", again.Args)
		}
	})
	if changed == 0 {
		t.Error("nothing was changed")
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add(`{"path":"a/"}`)
	f.Add(`{"path":"//","path":"b/"}`)
	call := hook(f)
	f.Fuzz(func(t *testing.T, args string) {
		d := call("read_file", args)
		if d.Verdict != "" && d.Verdict != extension.Modify || (d.Verdict == "") != (d.Args == nil) || d.Args != nil && !json.Valid(d.Args) {
			t.Fatalf("%s: %s %s", args, d.Verdict, d.Args)
		}
	})
}
