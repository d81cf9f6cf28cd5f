package hub

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// ledger checks the promises about one extension's instances: no call after the end or after its
// Shutdown has begun, one Shutdown for each.
type ledger struct {
	built, ended, calls, broken atomic.Int64
}

func (l *ledger) instance(name string) *extension.Instance {
	l.built.Add(1)
	var in atomic.Int64
	var over atomic.Bool
	call := func() {
		in.Add(1)
		defer in.Add(-1)
		if over.Load() {
			l.broken.Add(1)
		}
		l.calls.Add(1)
	}
	return &extension.Instance{
		Tools: []extension.Tool{{Name: name + "__t", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { call(); return "", nil }}},
		Hooks: extension.Hooks{
			AgentEnd: func(context.Context, extension.Call) error { call(); return nil },
			ToolCall: func(context.Context, extension.Call, extension.ToolCallInput) (extension.CallDecision, error) {
				call()
				return extension.CallDecision{}, nil
			},
		},
		Shutdown: func(context.Context) error {
			if over.Swap(true) || in.Load() != 0 {
				l.broken.Add(1)
			}
			l.ended.Add(1)
			return nil
		},
	}
}

// wholeTurn uses everything that a turn has.
func (w *world) wholeTurn(k TurnKey) {
	turn, err := w.hub.Turn(w.ctx, k)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer turn.Release()
	turn.ToolCall(w.ctx, "t", []byte(`{}`), nil)
	for _, i := range turn.Tools() {
		if b, ok := turn.Tool(i.Name); ok {
			_, _ = b.Tool.Run(w.ctx, b.Call, nil)
		}
	}
	turn.AgentEnd(w.ctx)
}

// acts is all that may happen at the same time.
func (w *world) acts(list []*fake, sessions []crdt.DocID, agents []extension.Agent) []func(r *rand.Rand) {
	return []func(r *rand.Rand){
		func(r *rand.Rand) { w.wholeTurn(TurnKey{Session: sessions[r.Intn(2)], Agent: agents[r.Intn(2)]}) },
		func(r *rand.Rand) {
			kinds := []activation.Kind{activation.Activated, activation.Deactivated, activation.Activated}
			doc := []crdt.DocID{sessions[0], sessions[1], agents[0].ID}[r.Intn(3)]
			w.toggle(doc, kinds[r.Intn(3)], list[r.Intn(3)])
		},
		func(r *rand.Rand) { w.set(sessions[r.Intn(2)], "a/k", r.Intn(3)) },
		func(r *rand.Rand) {
			s := sessions[r.Intn(2)]
			if err := errors.Join(w.hub.SessionStart(w.ctx, s), w.hub.SessionShutdown(w.ctx, s)); err != nil {
				w.t.Error(err)
			}
		},
		func(r *rand.Rand) { _ = w.hub.Remove(w.ctx, "a") },
		func(r *rand.Rand) { w.hub.Install(w.ctx, []extension.Extension{list[r.Intn(3)]}) },
		func(r *rand.Rand) {
			if err := w.hub.InstallIn(w.ctx, sessions[r.Intn(2)], list[r.Intn(2)]); err != nil {
				w.t.Error(err)
			}
		},
		func(r *rand.Rand) { _ = w.hub.RemoveIn(w.ctx, sessions[r.Intn(2)], list[r.Intn(2)].d.Name) },
		func(r *rand.Rand) {
			s := sessions[r.Intn(2)]
			w.hub.Block(s, "a", "pending")
			w.hub.Unblock(s, "a")
			_ = w.hub.Routine(w.ctx, list[r.Intn(3)].d.Name, extension.Fire{Scope: "session:" + s.String()})
		},
		func(r *rand.Rand) {
			w.hub.Status(w.ctx, sessions[0], agents[0])
			w.hub.FailuresIn(sessions[0])
			w.hub.Commands(sessions[0])
		},
	}
}

// TestEverythingAtTheSameTime lets turns, commands, switches, closings, removals and installations
// meet and counts at the end.
func TestEverythingAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	l := &ledger{}
	gives := func(name string) *fake {
		f := external(name, extension.HookTool, extension.HookAgentEnd, extension.HookToolCall)
		if name == "c" {
			f = compiled(name, f.d.Hooks...)
		}
		f.d.ReadAtBuild = []string{"k"}
		return f.at(extension.Global, extension.PerAgent, extension.PerSession).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			return l.instance(name), nil
		})
	}
	list := []*fake{gives("a"), gives("b"), gives("c")}
	w.mustInstall(list...)
	sessions := []crdt.DocID{w.session(list...), w.session(list...)}
	agents := []extension.Agent{w.agent("nova"), w.agent("chaz")}
	ctx, cancel := context.WithCancel(w.ctx)
	ran := make(chan error, 1)
	go func() { ran <- w.hub.Run(ctx) }()

	acts := w.acts(list, sessions, agents)
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(n)))
			for range 150 {
				acts[r.Intn(len(acts)+2)%len(acts)](r) // turns and switches more often
			}
		})
	}
	wg.Wait()
	cancel()
	<-ran
	if err := w.hub.Close(w.ctx); err != nil {
		t.Error(err)
	}
	if l.broken.Load() != 0 || l.built.Load() != l.ended.Load() || l.calls.Load() == 0 || l.built.Load() < 20 {
		t.Errorf("built %d, ended %d, calls %d, broken promises %d", l.built.Load(), l.ended.Load(), l.calls.Load(), l.broken.Load())
	}
	t.Logf("built %d, calls %d", l.built.Load(), l.calls.Load())
}
