package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// crowd installs n extensions with a tool, a tool_call hook and a session instance each.
func crowd(w *world, n int) (list []*fake) {
	for i := range n {
		f := compiled(fmt.Sprintf("e%03d", i), extension.HookTool, extension.HookToolCall, extension.HookBeforeAgentStart)
		f.at(extension.Global, extension.PerSession).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			if s.Scope() == extension.PerSession {
				return &extension.Instance{Hooks: extension.Hooks{BeforeAgentStart: func(context.Context, extension.Call) ([]extension.Message, error) { return nil, nil }}}, nil
			}
			return &extension.Instance{
				Tools: []extension.Tool{tool(fmt.Sprintf("t%03d", i), "done")},
				Hooks: extension.Hooks{ToolCall: func(context.Context, extension.Call, extension.ToolCallInput) (extension.CallDecision, error) {
					return extension.CallDecision{}, nil
				}},
			}, nil
		})
		list = append(list, f)
	}
	w.mustInstall(list...)
	return list
}

// BenchmarkTurn measures what a turn, a hook chain and a tool call cost with 10 and 200 extensions
// installed, ten of them or all on, and with instances of 1 and 10,000 sessions known.
func BenchmarkTurn(b *testing.B) {
	args := json.RawMessage(`{"path":"notes.md"}`)
	for _, c := range []struct{ installed, on, sessions int }{{10, 10, 1}, {200, 10, 1}, {200, 200, 1}, {200, 0, 1}, {10, 10, 10_000}} {
		w := newWorld(b)
		list := crowd(w, c.installed)
		session := w.session(list[:c.on]...)
		w.during(session, extension.Agent{}, func(*Turn) {})
		w.know(c.sessions-1, list[:c.on])
		agent := w.agent("nova")
		name := fmt.Sprintf("installed=%d/on=%d/sessions=%d", c.installed, c.on, c.sessions)
		b.Run(name+"/turn", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.turn(session, agent).Release()
			}
		})
		turn := w.turn(session, agent)
		b.Run(name+"/hooks", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				turn.ToolCall(w.ctx, "t000", args, nil)
			}
		})
		if c.on > 0 {
			b.Run(name+"/lookup", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := turn.Tool("t005"); !ok {
						b.Fatal("no tool")
					}
				}
			})
			b.Run(name+"/call", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					t, _ := turn.Tool("t005")
					if _, err := t.Tool.Run(w.ctx, t.Call, args); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		turn.Release()
	}
}

// know puts instances of further sessions into the hub, without documents behind them.
func (w *world) know(n int, list []*fake) {
	for i := range n {
		id := crdt.DocID{1, byte(i), byte(i >> 8)}
		w.hub.mu.Lock()
		for _, f := range list {
			e := w.entry(f.d.Name)
			s := w.hub.slotFor(need{ent: e, scope: extension.PerSession, doc: id})
			s.live = newInstance(s, &extension.Instance{}, new(atomic.Bool), 0)
		}
		w.hub.mu.Unlock()
	}
}

// BenchmarkBare is the yardstick: a document looked at, and a goroutine that is waited for.
func BenchmarkBare(b *testing.B) {
	w := newWorld(b)
	session := w.session()
	b.Run("view", func(b *testing.B) {
		for b.Loop() {
			if err := w.repo.View(w.ctx, session, func(*crdt.View) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			done := make(chan struct{})
			go close(done)
			<-done
		}
	})
}
