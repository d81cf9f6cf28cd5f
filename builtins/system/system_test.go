package system

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestDeclaration(t *testing.T) {
	if err := New().Declaration().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New().Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
	if _, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}}); err == nil {
		t.Error("there is an instance without a clock")
	}
	for name, tool := range tools(t) {
		if p := tool.Policy.Fill(); p.Risk != extension.LowRisk || p.Approval != extension.NeverAsk {
			t.Errorf("%s: policy %+v", name, p)
		}
	}
}

func TestGetTime(t *testing.T) {
	for ms, want := range map[int64]string{
		1_700_000_000_999: "2023-11-14T22:13:20+00:00",
		0:                 "1970-01-01T00:00:00+00:00",
		crdt.MaxStamp:     "9999-12-31T23:59:59+00:00",
	} {
		got, err := timeTool(crdt.NewManualClock(ms).Now).Run(t.Context(), extension.Call{}, json.RawMessage(`{}`))
		if err != nil || got != want {
			t.Errorf("%d is %s, %v, want %s", ms, got, err, want)
		}
		if _, err := time.Parse(time.RFC3339, got); err != nil {
			t.Error(err)
		}
	}
}

func ask(t *testing.T, lent extension.Lent, name string) string {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"name": name})
	got, err := tools(t)["describe_tool"].Run(t.Context(), extension.Call{Lent: lent}, args)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestDescribeTool(t *testing.T) {
	lent := extension.Lent{Tools: func() []extension.ToolInfo {
		return []extension.ToolInfo{
			{Name: "move", Description: "Move a file. All of it.\nTwo lines.", Parameters: json.RawMessage(`{"type":"object","required":["to","from"],"properties":{
				"verbose":{"type":"boolean","description":"Say\n  more."},"from":{"type":"string","description":"Where it is."},"to":{"type":["string","null"]},"any":{}, "odd":true, "wrong":{"type":7,"description":[]}}}`)},
			{Name: "ping", Description: "Say pong."},
			{Name: "broken", Description: "Odd schema.", Parameters: json.RawMessage(`{"properties":7}`)},
			{Name: "half", Description: "Half a schema.", Parameters: json.RawMessage(`{"properties":{"a":{"type":"string"}},"required":"a"}`)},
		}
	}}
	for name, want := range map[string]string{
		"move": "move\nMove a file. All of it.\nTwo lines.\nParameters:\n" +
			"- from (string, required): Where it is.\n- to (string or null, required)\n- any (any, optional)\n- odd (any, optional)\n- verbose (boolean, optional): Say more.\n- wrong (any, optional)",
		"ping":   "ping\nSay pong.\nNo parameters.",
		"broken": "broken\nOdd schema.\nNo parameters.",
		"half":   "half\nHalf a schema.\nParameters:\n- a (string, optional)",
	} {
		if got := ask(t, lent, name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A tool that is not there and one that the caller may not use look the same.
func TestDescribeToolKeepsSecrets(t *testing.T) {
	none := extension.Lent{Tools: func() []extension.ToolInfo { return []extension.ToolInfo{{Name: "other"}} }}
	answers := []string{
		ask(t, none, "shell"),
		strings.ReplaceAll(ask(t, none, "not_there"), "not_there", "shell"),
		ask(t, extension.Lent{}, "shell"),
	}
	if len(slices.Compact(answers)) != 1 || !strings.Contains(answers[0], "shell") {
		t.Errorf("%q", answers)
	}
	if got := ask(t, none, strings.Repeat("x", 10_000)); len(got) > 200 {
		t.Errorf("%d bytes", len(got))
	}
	if _, err := tools(t)["describe_tool"].Run(t.Context(), extension.Call{}, json.RawMessage(`[]`)); !errors.Is(err, extension.ErrArgument) {
		t.Error(err)
	}
}

func FuzzDescription(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":["x"],"description":"d"}},"required":["a"]}`))
	f.Add([]byte(`{"properties":{"a":true},"required":[7]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if got := description(extension.ToolInfo{Name: "n", Description: "d", Parameters: schema}); !strings.HasPrefix(got, "n\nd\n") {
			t.Fatal(got)
		}
	})
}

func TestConformance(t *testing.T) { extensiontest.Run(t, New(), extensiontest.Handles{}) }
