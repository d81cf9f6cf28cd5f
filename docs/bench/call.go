package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/pipeline"
)

// turnOf is a turn of the hub as the pipeline wants it.
type turnOf struct{ *hub.Turn }

func (t turnOf) Tool(name string) (pipeline.Bound, bool) {
	b, ok := t.Turn.Tool(name)
	return pipeline.Bound(b), ok
}

func (t turnOf) ToolCall(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) pipeline.CallOutcome {
	return pipeline.CallOutcome(t.Turn.ToolCall(ctx, tool, args, validate))
}

func (t turnOf) ToolResult(ctx context.Context, tool, text string) pipeline.ResultOutcome {
	return pipeline.ResultOutcome(t.Turn.ToolResult(ctx, tool, text))
}

// heldAudit keeps the newest entries in memory, in the form in which they would be written.
type heldAudit struct {
	mu   sync.Mutex
	last [2]crdt.Entry
	n    int
}

func (a *heldAudit) keep(e crdt.Entry) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.last[a.n%2] = e
	return strconv.Itoa(a.n)
}

func (a *heldAudit) ToolCall(_ context.Context, r pipeline.CallRecord) (string, error) {
	return a.keep(r.Entry()), nil
}

func (a *heldAudit) ToolResult(_ context.Context, r pipeline.ResultRecord) error {
	a.keep(r.Entry())
	return nil
}

// writtenAudit writes both entries into the session, durable, as a node does.
type writtenAudit struct{ repo *crdt.Repo }

func (a writtenAudit) write(ctx context.Context, doc crdt.DocID, e crdt.Entry) (id crdt.RowID, err error) {
	e.Sender = "bench"
	err = a.repo.Update(ctx, doc, func(tx *crdt.Tx) error {
		id, err = crdt.AddEntry(tx, e)
		return err
	})
	return id, err
}

func (a writtenAudit) ToolCall(ctx context.Context, r pipeline.CallRecord) (string, error) {
	id, err := a.write(ctx, r.Session, r.Entry())
	return id.String(), err
}

func (a writtenAudit) ToolResult(ctx context.Context, r pipeline.ResultRecord) error {
	_, err := a.write(ctx, r.Session, r.Entry())
	return err
}

// caller calls one tool of a turn through the pipeline.
type caller struct {
	runner *pipeline.Runner
	doc    crdt.DocID
	turn   *hub.Turn
	tool   string
}

func newCaller(a pipeline.Audit, doc crdt.DocID, turn *hub.Turn, tool string) (caller, error) {
	r, err := pipeline.New(pipeline.Config{Clock: crdt.SystemClock{}, Audit: a})
	return caller{r, doc, turn, tool}, err
}

// call returns what the tool said; anything but a good end is an error.
func (c caller) call(ctx context.Context, args json.RawMessage) (string, error) {
	out := c.runner.Call(ctx, pipeline.Request{Turn: turnOf{c.turn}, Session: c.doc, Tool: c.tool, Args: args})
	if out.Err != nil {
		return "", out.Err
	}
	if out.Status != pipeline.StatusOK {
		return "", fmt.Errorf("call %s: %s: %s", c.tool, out.Status, out.Plain)
	}
	return out.Plain, nil
}

// compiled is the tool of testdata/guest, compiled in.
type compiled struct{}

func (compiled) Declaration() extension.Declaration {
	return extension.Declaration{
		Manifest: extension.Manifest{Name: "compiled", Ref: extension.BuiltinRef("compiled", "1.0.0"), Hooks: []extension.HookKind{extension.HookTool}},
		Scopes:   []extension.Scope{extension.PerSession},
	}
}

func (compiled) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	return &extension.Instance{Tools: []extension.Tool{{
		Name: "compiled", Description: "Counts the vowels of a text.", Policy: extension.Policy{Approval: extension.NeverAsk},
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","maxLength":1000}}}`),
		Run: func(_ context.Context, _ extension.Call, args json.RawMessage) (string, error) {
			return vowels(args)
		},
	}}}, nil
}

func vowels(args []byte) (string, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(args, &in); err != nil {
		return "", err
	}
	n := 0
	for _, r := range in.Text {
		if strings.ContainsRune("aeiou", r) {
			n++
		}
	}
	return string(rune('0' + n%10)), nil
}

// said is the text with which every arm is called, and what it must answer.
var said = strings.Repeat("so shaken as we are, so wan with care, ", 6)

// sdkPlugin is a module in the SDK of the Extism project; with a timeout it stops a guest by the runtime's
// own means.
func sdkPlugin(ctx context.Context, module []byte, timeout time.Duration) (*extism.Plugin, error) {
	m := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}, Timeout: uint64(timeout.Milliseconds())}
	return extism.NewPlugin(ctx, m, extism.PluginConfig{EnableWasi: true}, nil)
}

// arms are the ways to the same tool. They take turns.
type arm struct {
	name  string
	every int // sample every so many rounds
	run   func() (string, error)
	took  []float64
}

func takeTurns(rounds int, want string, arms []*arm) error {
	for _, a := range arms { // nobody pays for the first call
		for range 20 {
			if got, err := a.run(); err != nil || got != want {
				return fmt.Errorf("%s: %q instead of %q: %w", a.name, got, want, err)
			}
		}
	}
	runtime.GC()
	for i := range rounds {
		for _, a := range arms {
			if i%a.every != 0 {
				continue
			}
			t0 := time.Now()
			got, err := a.run()
			took := time.Since(t0)
			if err != nil || got != want {
				return fmt.Errorf("%s: %q instead of %q: %w", a.name, got, want, err)
			}
			a.took = append(a.took, float64(took))
		}
	}
	return nil
}

// against sets the samples of an arm beside those of another that were taken in the same rounds.
func (a *arm) against(b *arm) pairs {
	n := min(len(a.took), len(b.took))
	thin := func(x *arm) []float64 {
		step := len(x.took) / n
		out := make([]float64, n)
		for i := range out {
			out[i] = x.took[i*step]
		}
		return out
	}
	return pairs{thin(a), thin(b)}
}
