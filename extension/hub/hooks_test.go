package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// treats is an extension with a tool_result hook.
func treats(f *fake, fn func(text string) (extension.ResultDecision, error)) *fake {
	f.d.Hooks = []extension.HookKind{extension.HookToolResult}
	return f.gives(&extension.Instance{Hooks: extension.Hooks{
		ToolResult: func(_ context.Context, _ extension.Call, in extension.ToolResultInput) (extension.ResultDecision, error) {
			return fn(in.Result)
		},
	}})
}

func treatment(name string, d extension.ResultDecision) *fake {
	return treats(compiled(name), func(string) (extension.ResultDecision, error) { return d, nil })
}

func TestToolResults(t *testing.T) {
	huge := extension.ResultDecision{Treatment: extension.Replace, Text: strings.Repeat("x", maxText+1)}
	for name, c := range map[string]struct {
		list []*fake
		want ResultOutcome
	}{
		"nobody":   {nil, ResultOutcome{Text: "text"}},
		"keep":     {[]*fake{treatment("a", extension.ResultDecision{}), treatment("b", extension.ResultDecision{Treatment: extension.Keep, Text: "ignored"})}, ResultOutcome{Text: "text"}},
		"replace":  {[]*fake{treatment("a", extension.ResultDecision{Treatment: extension.Replace, Text: "new\xff"})}, ResultOutcome{Text: "new�"}},
		"annotate": {[]*fake{treatment("a", extension.ResultDecision{Treatment: extension.Annotate, Text: "note"}), treatment("b", extension.ResultDecision{Treatment: extension.Annotate, Text: "two"})}, ResultOutcome{Text: "text\nnote\ntwo"}},
		"block":    {[]*fake{treatment("a", extension.ResultDecision{Treatment: extension.Block, Text: "secret"}), treatment("b", extension.ResultDecision{Treatment: extension.Replace, Text: "leak"})}, ResultOutcome{Text: "secret", Blocked: true, By: "a"}},
		"nonsense": {[]*fake{treatment("a", extension.ResultDecision{Treatment: "burn", Text: "x"})}, ResultOutcome{Text: "text"}},
		"huge":     {[]*fake{treatment("a", huge)}, ResultOutcome{Text: "text"}},
		"failing": {[]*fake{
			treats(compiled("a"), func(string) (extension.ResultDecision, error) { panic("ouch") }),
			treats(compiled("b"), func(string) (extension.ResultDecision, error) {
				return extension.ResultDecision{Treatment: extension.Block}, errors.New("no")
			}),
			treats(compiled("c"), func(text string) (extension.ResultDecision, error) {
				return extension.ResultDecision{Treatment: extension.Replace, Text: text + "!"}, nil
			}),
		}, ResultOutcome{Text: "text!"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustInstall(c.list...)
			w.during(w.session(c.list...), extension.Agent{}, func(turn *Turn) {
				if got := turn.ToolResult(w.ctx, "tool", "text"); got != c.want {
					t.Errorf("%+v; want %+v", got, c.want)
				}
			})
		})
	}
}

// brings is an extension with a before_agent_start hook.
func brings(name string, fn func() ([]extension.Message, error)) *fake {
	return compiled(name, extension.HookBeforeAgentStart).gives(&extension.Instance{Hooks: extension.Hooks{
		BeforeAgentStart: func(context.Context, extension.Call) ([]extension.Message, error) { return fn() },
	}})
}

func TestMessagesComeInRegistrationOrder(t *testing.T) {
	w := newWorld(t)
	message := func(role, text string) func() ([]extension.Message, error) {
		return func() ([]extension.Message, error) { return []extension.Message{{Role: role, Content: text}}, nil }
	}
	list := []*fake{
		brings("z", message("system", "one")),
		brings("crash", func() ([]extension.Message, error) { panic("ouch") }),
		brings("odd", message("prophet", "doom")),
		brings("huge", message("user", strings.Repeat("x", maxText+1))),
		brings("fails", func() ([]extension.Message, error) {
			return []extension.Message{{Role: "user", Content: "half"}}, errors.New("no")
		}),
		brings("a", message("user", "two\xff")),
	}
	w.mustInstall(list...)
	w.during(w.session(list...), extension.Agent{}, func(turn *Turn) {
		got := turn.BeforeAgentStart(w.ctx)
		if !slices.Equal(got, []extension.Message{{Role: "system", Content: "one"}, {Role: "user", Content: "two�"}}) {
			t.Errorf("%q", got)
		}
	})
	w.during(w.session(list[5]), extension.Agent{}, func(turn *Turn) {
		if got := turn.BeforeAgentStart(w.ctx); len(got) != 1 {
			t.Errorf("only what is active: %q", got)
		}
	})
	if got := w.outcomes(); !slices.Equal(got, []string{
		"crash before_agent_start panic", "odd before_agent_start nonsense", "huge before_agent_start nonsense", "fails before_agent_start error",
	}) {
		t.Errorf("%q", got)
	}
}

func TestContextComesFromAgentsAndSessions(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("nova")
	text := func(name string, scopes ...extension.Scope) *fake {
		f := compiled(name, extension.HookTool).at(scopes...).provides(extension.CapPromptAugmentation, extension.CapContextTail)
		return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			say := func(_ context.Context, turn extension.Turn) (string, error) {
				return fmt.Sprintf(" %s %s %v\n", name, s.Scope(), turn.Tools), nil
			}
			return &extension.Instance{Tools: []extension.Tool{tool(name+"_tool", "")}, PromptAugmentation: say, ContextTail: say}, nil
		})
	}
	blank := compiled("blank").at(extension.PerSession).provides(extension.CapContextTail).gives(&extension.Instance{
		ContextTail: func(context.Context, extension.Turn) (string, error) { return " \n", nil },
	})
	huge := compiled("huge").at(extension.PerSession).provides(extension.CapContextTail).gives(&extension.Instance{
		ContextTail: func(context.Context, extension.Turn) (string, error) { return strings.Repeat("x", maxText+1), nil },
	})
	list := []*fake{
		text("all", extension.Global, extension.PerAgent, extension.PerSession), blank, huge,
		text("peer", extension.Global), text("own", extension.Global, extension.PerAgent),
	}
	w.mustInstall(list...)
	session := w.session(list...)
	want := "all per_session [all_tool peer_tool own_tool]\n\nown per_agent [all_tool peer_tool own_tool]"
	w.during(session, agent, func(turn *Turn) {
		if got := turn.Tails(w.ctx); got != want {
			t.Errorf("%q", got)
		}
		if got := turn.Augment(w.ctx); got != want {
			t.Errorf("%q", got)
		}
	})
	w.during(session, extension.Agent{}, func(turn *Turn) { // no agent: the global ones stay silent
		if got := turn.Tails(w.ctx); got != "all per_session [all_tool peer_tool own_tool]" {
			t.Errorf("%q", got)
		}
	})
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("nova")
	status := func(name string, scopes ...extension.Scope) *fake {
		return compiled(name).at(scopes...).provides(extension.CapStatusSegment).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			return &extension.Instance{StatusSegment: func(context.Context) (map[string]string, error) {
				return map[string]string{"shared": name + " " + where(s), name: "line\nbreak"}, nil
			}}, nil
		})
	}
	bad := compiled("bad").provides(extension.CapStatusSegment).gives(&extension.Instance{StatusSegment: func(context.Context) (map[string]string, error) { panic("ouch") }})
	list := []*fake{status("a"), bad, status("b", extension.Global, extension.PerAgent)}
	w.mustInstall(list...)
	got := w.hub.Status(w.ctx, w.session(list...), agent)
	if got["shared"] != "b per_agent" || got["a"] != "line break" || got["b"] != "line break" || len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestTheClosestScopeHandlesAHook(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("nova")
	some := compiled("some", extension.HookAgentEnd).at(extension.Global, extension.PerAgent, extension.PerSession)
	some.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		i := &extension.Instance{}
		if s.Scope() != extension.PerSession { // it lives there, without this hook
			i.Hooks.AgentEnd = func(context.Context, extension.Call) error { w.note("some %s", where(s)); return nil }
		}
		return i, nil
	})
	list := []*fake{some, w.watched("all", extension.Global, extension.PerSession)}
	w.mustInstall(list...)
	session := w.session(list...)
	w.noted()
	w.during(session, agent, func(turn *Turn) {
		w.noted()
		turn.AgentEnd(w.ctx)
	})
	w.wantNotes("some per_agent", "all per_session agent_end")
}

func TestAnExternalExtensionIsSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fails := true
		hook := func(context.Context, extension.Call) error {
			if fails {
				panic("ouch")
			}
			return nil
		}
		ends := extension.Hooks{AgentEnd: hook}
		out := external("out", extension.HookAgentEnd, extension.HookTool).gives(&extension.Instance{Hooks: ends, Tools: []extension.Tool{tool("out__t", "")}})
		in := compiled("in", extension.HookAgentEnd, extension.HookTool).gives(&extension.Instance{Hooks: ends, Tools: []extension.Tool{tool("in_t", "")}})
		w.mustInstall(out, in)
		session := w.session(out, in)
		w.during(session, extension.Agent{}, func(turn *Turn) {
			turn.AgentEnd(w.ctx)
			turn.AgentEnd(w.ctx)
			fails = false
			turn.AgentEnd(w.ctx) // one success starts the count anew
			fails = true
			turn.AgentEnd(w.ctx)
			turn.AgentEnd(w.ctx)
			if state, _ := w.hub.State("out"); state != StateOK {
				t.Error(state)
			}
			turn.AgentEnd(w.ctx)
			if got := toolNames(turn); !slices.Equal(got, []string{"in:in_t"}) {
				t.Errorf("it contributes nothing, in this turn either: %v", got)
			}
			if _, ok := turn.Tool("out__t"); ok {
				t.Error("its tool is still found")
			}
		})
		if state, reason := w.hub.State("out"); state != StateSuspended || !strings.Contains(reason, "ouch") {
			t.Error(state, reason)
		}
		if state, _ := w.hub.State("in"); state != StateOK {
			t.Errorf("what is compiled in is never suspended: %s", state)
		}
		if !slices.Contains(w.outcomes(), "out agent_end suspended") {
			t.Error(w.outcomes())
		}
		if !w.hub.Resume(crdt.DocID{}, "out") || w.hub.Resume(crdt.DocID{}, "out") || w.hub.Resume(crdt.DocID{}, "nobody") {
			t.Error("resume")
		}
		w.during(session, extension.Agent{}, func(turn *Turn) {
			if got := toolNames(turn); !slices.Equal(got, []string{"in:in_t", "out:out__t"}) {
				t.Error(got)
			}
		})
	})
}

// Code in a sandbox can't panic; that it died is told by its error, also of a tool, whose errors are
// answers otherwise.
func TestCrashesOfSandboxesSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		cause := errors.New("no such city")
		out := external("out", extension.HookTool)
		out.gives(&extension.Instance{Tools: []extension.Tool{{Name: "out__t", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return "", fmt.Errorf("forecast: %w", cause)
		}}}})
		w.mustInstall(out)
		session := w.session(out)
		call := func() {
			w.during(session, extension.Agent{}, func(turn *Turn) {
				if b, ok := turn.Tool("out__t"); ok {
					if _, err := b.Tool.Run(w.ctx, b.Call, json.RawMessage(`{}`)); err == nil {
						t.Error("no error")
					}
				}
			})
		}
		for range 5 {
			call()
		}
		if state, _ := w.hub.State("out"); state != StateOK {
			t.Errorf("an answer counts as a failure: %s", state)
		}
		cause = extension.ErrCrashed
		for range maxFaults {
			call()
		}
		if state, reason := w.hub.State("out"); state != StateSuspended || !strings.Contains(reason, "crashed") {
			t.Error(state, reason)
		}
	})
}

func TestInstancesThatPanicSuspendToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var works atomic.Bool
		f := external("f").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			if !works.Load() {
				panic("ouch")
			}
			return &extension.Instance{}, nil
		})
		w.running(t)
		w.install(f)
		time.Sleep(time.Hour)
		if state, reason := w.hub.State("f"); state != StateSuspended || !strings.Contains(reason, "panicked") || f.built.Load() != maxFaults {
			t.Errorf("%s (%s) after %d attempts", state, reason, f.built.Load())
		}
		w.hub.Resume(crdt.DocID{}, "f")
		synctest.Wait()
		if state, _ := w.hub.State("f"); state != StateFailed || f.built.Load() != maxFaults+1 {
			t.Errorf("the count starts anew: %s after %d attempts", state, f.built.Load())
		}
		works.Store(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		if state, _ := w.hub.State("f"); state != StateOK || f.built.Load() != maxFaults+2 {
			t.Errorf("%s after %d attempts", state, f.built.Load())
		}
	})
}

func TestASuspendedEnforcingExtensionKeepsDenying(t *testing.T) {
	w := newWorld(t)
	f := decider(external("strict"), func(extension.ToolCallInput) (extension.CallDecision, error) { panic("ouch") })
	f.d.Enforcing = true
	w.mustInstall(f)
	session := w.session(f)
	for range 2 * maxFaults {
		w.during(session, extension.Agent{}, func(turn *Turn) {
			if got := turn.ToolCall(w.ctx, "t", []byte(`{}`), nil); got.Verdict != extension.Deny || got.By != "strict" {
				t.Errorf("%+v", got)
			}
		})
	}
	if state, _ := w.hub.State("strict"); state != StateSuspended {
		t.Error(state)
	}
	w.hub.Resume(crdt.DocID{}, "strict")
	w.during(session, extension.Agent{}, func(turn *Turn) { // also when it happens within one turn
		for range 2 * maxFaults {
			if got := turn.ToolCall(w.ctx, "t", []byte(`{}`), nil); got.Verdict != extension.Deny || got.By != "strict" {
				t.Errorf("%+v", got)
			}
		}
	})
}
