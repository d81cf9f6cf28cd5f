package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// record is an Audit in memory. It notes the order of everything that happens around it too.
type record struct {
	mu      sync.Mutex
	calls   []CallRecord
	results []ResultRecord
	events  []string
	failing error // of ToolCall
}

func (r *record) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *record) ToolCall(_ context.Context, c CallRecord) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing != nil {
		return "", r.failing
	}
	r.calls = append(r.calls, c)
	r.events = append(r.events, "call "+c.Tool)
	return fmt.Sprint(len(r.calls)), nil
}

func (r *record) ToolResult(ctx context.Context, res ResultRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, res)
	r.events = append(r.events, "result "+string(res.Status))
	return ctx.Err()
}

func (r *record) happened() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, ", ")
}

// turn is a Turn whose hooks are functions.
type turn struct {
	tools    []Bound
	inactive []string
	onCall   func(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome
	onResult func(ctx context.Context, tool, text string) ResultOutcome
}

func (t *turn) Active() []string {
	var out []string
	for _, b := range t.tools {
		if !slices.Contains(t.inactive, b.Owner) {
			out = append(out, b.Owner)
		}
	}
	return out
}

func (t *turn) Tools() []extension.ToolInfo {
	var out []extension.ToolInfo
	for _, b := range t.tools {
		out = append(out, extension.ToolInfo{Name: b.Tool.Name, Owner: b.Owner, Policy: b.Tool.Policy})
	}
	return out
}

func (t *turn) Tool(name string) (Bound, bool) {
	for _, b := range t.tools {
		if b.Tool.Name == name {
			return b, true
		}
	}
	return Bound{}, false
}

func (t *turn) ToolCall(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome {
	if t.onCall == nil {
		return CallOutcome{Verdict: extension.Allow, Args: args}
	}
	return t.onCall(ctx, tool, args, validate)
}

func (t *turn) ToolResult(ctx context.Context, tool, text string) ResultOutcome {
	if t.onResult == nil {
		return ResultOutcome{Text: text}
	}
	return t.onResult(ctx, tool, text)
}

// asker answers questions.
type asker struct {
	mu    sync.Mutex
	asked []Question
	reply func(ctx context.Context, q Question) (Decision, error)
}

func (a *asker) Approve(ctx context.Context, q Question) (Decision, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q)
	a.mu.Unlock()
	return a.reply(ctx, q)
}

func answering(d Decision) *asker {
	return &asker{reply: func(context.Context, Question) (Decision, error) { return d, nil }}
}

// rig is a runner with one tool, "work" of the extension "ext".
type rig struct {
	*Runner
	audit *record
	clock *crdt.ManualClock
	turn  *turn
	req   Request
}

const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":0},"secret":{"type":"string"}},"additionalProperties":false}`

func newRig(t testing.TB, cfg Config, tool extension.Tool) *rig {
	t.Helper()
	r := &rig{audit: &record{}, clock: crdt.NewManualClock(1_000_000)}
	cfg.Clock, cfg.Audit = r.clock, r.audit
	var err error
	if r.Runner, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	tool.Name = "work"
	if tool.Parameters == nil {
		tool.Parameters = json.RawMessage(schema)
	}
	if tool.Run == nil {
		tool.Run = func(_ context.Context, _ extension.Call, args json.RawMessage) (string, error) {
			r.audit.note("run %s", args)
			return "did " + string(args), nil
		}
	}
	r.turn = &turn{tools: []Bound{{Owner: "ext", Tool: tool}}}
	r.req = Request{Turn: r.turn, Tool: "work", Args: json.RawMessage(`{"n":1}`), CallID: "m1", Agent: extension.Agent{Name: "nova"}}
	return r
}

func (r *rig) call(t testing.TB) Outcome {
	t.Helper()
	return r.Call(t.Context(), r.req)
}

// want checks a status, that the wrapped text has the form, and that there is one result for each
// call.
func (r *rig) want(t testing.TB, out Outcome, status Status, part string) {
	t.Helper()
	if out.Status != status || !strings.Contains(out.Plain, part) {
		t.Errorf("status %s, text %.300q; want %s with %q", out.Status, out.Plain, status, part)
	}
	if out.Text != wrap(r.req.Tool, out.Plain) {
		t.Errorf("the text for the model is not wrapped: %.200q", out.Text)
	}
	r.audit.mu.Lock()
	defer r.audit.mu.Unlock()
	if len(r.audit.calls) != len(r.audit.results) {
		t.Errorf("%d calls and %d results were written", len(r.audit.calls), len(r.audit.results))
	}
	last := r.audit.results[len(r.audit.results)-1]
	if last.Status != status || last.Preview != Preview(out.Plain, previewLength) || last.Call != fmt.Sprint(len(r.audit.calls)) {
		t.Errorf("the result entry: %+v", last)
	}
}

var errTest = errors.New("it broke")

func ptr(n int) *int { return &n }

const tick = time.Second
