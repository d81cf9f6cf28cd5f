package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

const rowLimit = 256 << 10

func TestEntries(t *testing.T) {
	agent := extension.Agent{Name: "nova"}
	e := CallRecord{Agent: agent, CallID: "m1", Tool: "shell", Args: json.RawMessage(` {"command": "ls"} `)}.Entry()
	if e.Content != `shell({"command": "ls"})` || e.Type != crdt.EntryToolCall || e.Sender != "nova" || e.AgentID != agent.ID.String() || string(e.Metadata) != `{"call_id":"m1","tool":"shell"}` {
		t.Errorf("%+v %s", e, e.Metadata)
	}
	e = ResultRecord{Agent: agent, Call: "c1", Tool: "shell", Owner: "core", Status: StatusLimited, Preview: "wait…"}.Entry()
	if e.Content != "shell limited: wait…" || e.Type != crdt.EntryToolResult || string(e.Metadata) != `{"call":"c1","owner":"core","status":"limited","tool":"shell"}` {
		t.Errorf("%+v %s", e, e.Metadata)
	}
	e = ResultRecord{Tool: "shell", Status: StatusOK, ChangedBy: []string{"norm"}, Args: json.RawMessage(`{"n":1}`)}.Entry()
	if string(e.Metadata) != `{"args":{"n":1},"call":"","changed_by":["norm"],"status":"ok","tool":"shell"}` {
		t.Errorf("%s", e.Metadata)
	}
}

func TestEntriesFitIntoARow(t *testing.T) {
	for name, args := range map[string]string{
		"controls": strings.Repeat("\x01", 5<<20), "invalid": strings.Repeat("\xff", 5<<20), "quotes": `{"a":"` + strings.Repeat(`\"`, 1<<20) + `"}`,
	} {
		call := CallRecord{Tool: strings.Repeat("<é", 10_000), CallID: strings.Repeat("i", 10_000), Args: json.RawMessage(args)}.Entry()
		res := ResultRecord{Tool: strings.Repeat("<é", 10_000), Owner: "o", Status: StatusInvalid, Preview: strings.Repeat("\x01", previewLength), ChangedBy: []string{"a"}, Args: json.RawMessage(args)}.Entry()
		for _, e := range []crdt.Entry{call, res} {
			text, err := crdt.Canonical(e)
			if err != nil || len(text) > rowLimit || !crdt.ValidValue(text) || !utf8.ValidString(e.Content) {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
		}
		if !strings.Contains(call.Content, "bytes)") {
			t.Errorf("%s: the cut is not said: …%q", name, call.Content[len(call.Content)-40:])
		}
	}
}

func TestNoCallWithoutItsEntry(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{})
	r.audit.failing = errTest
	out := r.call(t)
	if out.Status != StatusError || !errors.Is(out.Err, errTest) || len(r.audit.results) != 0 || strings.Contains(r.audit.happened(), "run") || !strings.HasPrefix(out.Text, "<tool_output") {
		t.Errorf("%+v, %s", out, r.audit.happened())
	}
	r.audit.failing = nil
	if out := r.call(t); out.Err != nil || out.Status != StatusOK {
		t.Errorf("control: %+v", out)
	}
	r.cfg.Audit = panicking{}
	if out := r.call(t); out.Err == nil || out.Status != StatusError {
		t.Errorf("an audit that panics: %+v", out)
	}
}

func TestResultIsWrittenWhenTheCallIsOver(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{})
	ctx, cancel := contextThatEnds(t, r)
	defer cancel()
	out := r.Call(ctx, r.req)
	if out.Err != nil || len(r.audit.results) != 1 {
		t.Errorf("%+v, %+v", out, r.audit.results)
	}
}

// panicking is an Audit whose store is broken.
type panicking struct{}

func (panicking) ToolCall(context.Context, CallRecord) (string, error) { panic("store") }
func (panicking) ToolResult(context.Context, ResultRecord) error       { panic("store") }

// contextThatEnds is cancelled by the tool itself.
func contextThatEnds(t *testing.T, r *rig) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) {
		cancel()
		return "done", nil
	}
	return ctx, cancel
}
