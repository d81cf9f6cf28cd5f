package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// hooked is a guest whose hook answers by kind; what it got is kept.
func hooked(answers map[string]string, got *[]string) goGuest {
	return goGuest{exportHook: func(_ context.Context, _ engine.Host, in []byte) ([]byte, error) {
		var q struct{ Kind string }
		if err := json.Unmarshal(in, &q); err != nil {
			return nil, err
		}
		*got = append(*got, string(in))
		if a := answers[q.Kind]; a != "trap" {
			return []byte(a), nil
		}
		return nil, engine.ErrTrap
	}}
}

// withHooks is a module that declares hooks, with one grant for the three that can decide.
func withHooks(grant extension.GuestHook) Module {
	m := module(extension.ABIChaz1)
	m.Decl.Hooks = []extension.HookKind{
		extension.HookToolCall, extension.HookToolResult, extension.HookBeforeAgentStart, extension.HookAgentEnd, extension.HookSessionStart,
	}
	m.Decl.Enforcing = true
	if grant != "" {
		m.Caps.Hooks = map[extension.HookKind]extension.GuestHook{}
		for _, k := range m.Decl.Hooks[:3] {
			m.Caps.Hooks[k] = grant
		}
	}
	return m
}

func TestHookDecisions(t *testing.T) {
	for _, c := range []struct {
		answer  string
		modify  string // verdict where it may decide; "error" for a failure
		observe string // what is told of it where it may not
	}{
		{`{}`, "allow", ""},
		{`{"decision":"allow"}`, "allow", ""},
		{``, "allow", ""},
		{`{"decision":"deny","reason":"no\u001b[2J"}`, "deny", "deny shell"},
		{`{"decision":"ask","reason":"sure?"}`, "ask", "ask shell"},
		{`{"decision":"modify","args":{"line":"ls"}}`, "modify", "modify shell"},
		{`{"decision":"modify","args":[1]}`, "error", ""},
		{`{"decision":"modify"}`, "error", ""},
		{`{"decision":"explode"}`, "error", ""},
		{`nonsense`, "error", ""},
		{`trap`, "error", ""},
		{`{"error":"I broke"}`, "error", ""},
	} {
		for _, grant := range []extension.GuestHook{extension.GuestModify, extension.GuestObserve} {
			t.Run(c.answer+" "+string(grant), func(t *testing.T) {
				w, got := newWorld(), []string{}
				x, i := w.live(t, hooked(map[string]string{"tool_call": c.answer}, &got), withHooks(grant))
				d, err := i.Hooks.ToolCall(t.Context(), w.call, extension.ToolCallInput{Tool: "shell", Args: []byte(`{"line":"rm"}`)})
				if len(got) != 1 || !strings.Contains(got[0], `"kind":"tool_call","payload":{"tool":"shell","args":{"line":"rm"}}`) {
					t.Errorf("the guest got %s", got)
				}
				if x.Declaration().Enforcing != (grant == extension.GuestModify) {
					t.Error("a hook that only observes counts as enforcing, or one that decides does not")
				}
				if grant == extension.GuestObserve {
					if err != nil || d.Verdict != extension.Allow || d.Args != nil || d.Reason != "" {
						t.Errorf("observing: %+v, %v", d, err)
					}
					events := w.audit.with(OpHook, Ignored)
					if (len(events) == 1) != (c.observe != "") || len(events) == 1 && !strings.HasPrefix(events[0].Detail, c.observe) {
						t.Errorf("the audit has %+v, want %q", events, c.observe)
					}
					return
				}
				if (err != nil) != (c.modify == "error") || err == nil && string(d.Verdict) != c.modify {
					t.Errorf("deciding: %+v, %v; want %s", d, err, c.modify)
				}
				if c.modify == "modify" && string(d.Args) != `{"line":"ls"}` || strings.Contains(d.Reason, "\x1b") {
					t.Errorf("deciding: %+v", d)
				}
			})
		}
	}
}

func TestHookTreatments(t *testing.T) {
	for _, grant := range []extension.GuestHook{extension.GuestModify, extension.GuestObserve} {
		for _, what := range []extension.Treatment{extension.Keep, extension.Replace, extension.Annotate, extension.Block} {
			w, got := newWorld(), []string{}
			answers := map[string]string{
				"tool_result":        fmt.Sprintf(`{"decision":%q,"text":"t"}`, what),
				"before_agent_start": `{"messages":[{"role":"system","content":"be\u202e kind"}]}`,
			}
			_, i := w.live(t, hooked(answers, &got), withHooks(grant))
			d, err := i.Hooks.ToolResult(t.Context(), w.call, extension.ToolResultInput{Tool: "shell", Result: "out"})
			want := extension.ResultDecision{Treatment: what, Text: "t"}
			if grant == extension.GuestObserve || what == extension.Keep {
				want = extension.ResultDecision{Treatment: extension.Keep}
			}
			if err != nil || d != want {
				t.Errorf("%s %s: %+v, %v", grant, what, d, err)
			}
			list, err := i.Hooks.BeforeAgentStart(t.Context(), w.call)
			if grant == extension.GuestObserve && (len(list) > 0 || err != nil) {
				t.Errorf("observing: messages %v, %v", list, err)
			}
			if grant == extension.GuestModify && (err != nil || len(list) != 1 || list[0] != extension.Message{Role: "system", Content: "be kind"}) {
				t.Errorf("deciding: messages %v, %v", list, err)
			}
		}
	}
}

func TestOnlyDeclaredAndGrantedHooksAreCalled(t *testing.T) {
	w, got := newWorld(), []string{}
	guest := hooked(map[string]string{"agent_end": "{}", "session_start": "trap"}, &got)
	_, i := w.live(t, guest, withHooks(""))
	if i.Hooks.ToolCall != nil || i.Hooks.ToolResult != nil || i.Hooks.BeforeAgentStart != nil {
		t.Error("hooks without a grant are there")
	}
	if i.Hooks.SessionShutdown != nil {
		t.Error("a hook that is not declared is there")
	}
	if err := i.Hooks.AgentEnd(t.Context(), w.call); err != nil || len(got) != 1 {
		t.Errorf("agent_end: %v, the guest got %s", err, got)
	}
	if err := i.Hooks.SessionStart(t.Context(), extension.Call{}); !errors.Is(err, engine.ErrTrap) {
		t.Errorf("session_start that traps: %v", err)
	}
}

func TestWhatIsDeclaredMustBeExported(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Module)
		export string
		want   string
	}{
		"hooks":    {func(m *Module) { m.Decl.Hooks = []extension.HookKind{extension.HookAgentEnd} }, exportHook, "declares the hook agent_end"},
		"commands": {func(m *Module) { m.Commands = []DeclaredCommand{{Name: "demo"}} }, exportCommand, "declares commands"},
		"tail":     {func(m *Module) { m.Provides = []string{"context_tail"} }, exportContext, "provides context_tail"},
		"status":   {func(m *Module) { m.Provides = []string{"status_segment"} }, exportStatus, "provides status_segment"},
		"memory":   {func(m *Module) { m.Provides = []string{"memory"} }, exportProvide, "provides memory"},
		"typed":    {func(m *Module) { m.Provides = []string{"acme/x"} }, exportProvide, "provides acme/x"},
	} {
		m := module(extension.ABIChaz1)
		c.change(&m)
		x, err := New(goGuest{}, m, Services{})
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = x.Instantiate(t.Context(), newWorld().scope())
		wants(t, err, c.want, "does not export "+c.export)
		newWorld().live(t, goGuest{c.export: says("{}")}, m)
	}
	x, err := New(goGuest{exportToolList: says(`{"tools":[{"name":"t"}]}`)}, module(extension.ABIChaz1), Services{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Instantiate(t.Context(), newWorld().scope())
	wants(t, err, "lists tools", exportToolCall)
}

func TestTheModuleSaysWhoItIs(t *testing.T) {
	m := module(extension.ABIChaz1)
	m.Version = "1.2"
	for answer, want := range map[string]string{
		`{"name":"demo","version":"1.2"}`: "", `{"name":"demo","version":"1.3"}`: "its package demo 1.2",
		`{"name":"other","version":"1.2"}`: "says that it is other", `nonsense`: "not as the interface asks",
	} {
		x, err := New(goGuest{exportManifest: says(answer)}, m, Services{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Instantiate(t.Context(), newWorld().scope())
		if want == "" && err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		if want != "" {
			wants(t, err, want)
		}
	}
}

func TestTextsOfAGuest(t *testing.T) {
	var got []string
	answer := func(text string) func(context.Context, engine.Host, []byte) ([]byte, error) {
		return func(_ context.Context, _ engine.Host, in []byte) ([]byte, error) {
			got = append(got, string(in))
			return []byte(text), nil
		}
	}
	guest := goGuest{
		exportCommand: answer(`{"text":"done\u001b[2J\u202e!"}`), exportContext: answer(`{"text":"remember the milk"}`),
		exportStatus: answer(`{"segments":{"mood":"good\nbad"}}`), exportRoutine: answer(`{}`), exportShutdown: answer(`{}`),
	}
	m := module(extension.ABIChaz1)
	m.Decl.Scopes = []extension.Scope{extension.Global, extension.PerAgent, extension.PerSession}
	m.Commands = []DeclaredCommand{{Name: "demo", Help: "does it"}}
	m.Provides = []string{"context_tail", "prompt_augmentation", "status_segment"}
	w := newWorld()
	x, i := w.live(t, guest, m)
	if out, err := i.Commands[0].Run(t.Context(), w.call, "a b"); err != nil || out != "done[2J!" || i.Commands[0].Usage != "does it" {
		t.Errorf("command: %q, %v", out, err)
	}
	turn := extension.Turn{Session: w.call.Session, Agent: w.call.Agent, Tools: []string{"x"}}
	if out, err := i.ContextTail(t.Context(), turn); err != nil || out != "remember the milk" {
		t.Errorf("tail: %q, %v", out, err)
	}
	if _, err := i.PromptAugmentation(t.Context(), extension.Turn{}); err != nil {
		t.Errorf("prompt: %v", err)
	}
	if s, err := i.StatusSegment(t.Context()); err != nil || s["mood"] != "good bad" {
		t.Errorf("status: %v, %v", s, err)
	}
	id := `"session":"` + w.call.Session.String() + `","agent":{"id":"` + w.call.Agent.ID.String() + `","name":"ada"}`
	want := []string{"{" + id + `,"name":"demo","args":"a b"}`, "{" + id + `,"kind":"tail","tools":["x"]}`, `{"kind":"prompt","tools":[]}`, "{}"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the guest got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if i.Routine != nil {
		t.Error("a session instance has a routine handler")
	}
	global, err := x.Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil || global.ContextTail != nil || global.PromptAugmentation != nil || global.Routine == nil {
		t.Fatalf("the global instance: %+v, %v", global, err)
	}
	got = nil
	if err := global.Routine(t.Context(), extension.Fire{Routine: "r", Scope: "global", Payload: []byte(`{"a":1}`)}); err != nil || got[0] != `{"routine":"r","scope":"global","payload":{"a":1}}` {
		t.Errorf("routine: %v, the guest got %s", err, got)
	}
	for range 2 { // the second one does nothing
		if err := global.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 2 {
		t.Errorf("the guest got %q", got)
	}
	if err := global.Routine(t.Context(), extension.Fire{}); !errors.Is(err, errEnded) {
		t.Errorf("after the end: %v", err)
	}
}
