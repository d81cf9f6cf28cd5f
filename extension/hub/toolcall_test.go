package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// decider is an extension with a tool_call hook.
func decider(f *fake, fn func(in extension.ToolCallInput) (extension.CallDecision, error)) *fake {
	f.d.Hooks = []extension.HookKind{extension.HookToolCall}
	return f.gives(&extension.Instance{Hooks: extension.Hooks{
		ToolCall: func(_ context.Context, _ extension.Call, in extension.ToolCallInput) (extension.CallDecision, error) {
			return fn(in)
		},
	}})
}

func says(name string, d extension.CallDecision) *fake {
	return decider(compiled(name), func(extension.ToolCallInput) (extension.CallDecision, error) { return d, nil })
}

func modify(args string) extension.CallDecision {
	return extension.CallDecision{Verdict: extension.Modify, Args: json.RawMessage(args)}
}

// decide installs extensions, switches them on and runs one call through their hooks.
func decide(w *world, args string, validate func(json.RawMessage) error, list ...*fake) CallOutcome {
	w.t.Helper()
	w.mustInstall(list...)
	turn := w.turn(w.session(list...), extension.Agent{})
	defer turn.Release()
	return turn.ToolCall(w.ctx, "tool", json.RawMessage(args), validate)
}

func wantOutcome(t *testing.T, got CallOutcome, want CallOutcome) {
	t.Helper()
	if got.Verdict != want.Verdict || string(got.Args) != string(want.Args) || !slices.Equal(got.ChangedBy, want.ChangedBy) || got.By != want.By {
		t.Errorf("outcome %+v (%s); want %+v (%s)", got, got.Args, want, want.Args)
	}
	if !strings.Contains(got.Reason, want.Reason) || want.Reason == "" && got.Reason != "" {
		t.Errorf("reason %q; want %q", got.Reason, want.Reason)
	}
}

func TestVerdicts(t *testing.T) {
	args := json.RawMessage(`{"a":1}`)
	ask := extension.CallDecision{Verdict: extension.Ask, Reason: "sure?"}
	deny := extension.CallDecision{Verdict: extension.Deny, Reason: "never\n that"}
	for name, c := range map[string]struct {
		list []*fake
		want CallOutcome
	}{
		"nobody":              {nil, CallOutcome{Verdict: extension.Allow, Args: args}},
		"zero":                {[]*fake{says("a", extension.CallDecision{})}, CallOutcome{Verdict: extension.Allow, Args: args}},
		"ask and allow":       {[]*fake{says("a", ask), says("b", extension.CallDecision{Verdict: extension.Allow})}, CallOutcome{Verdict: extension.Ask, Args: args, By: "a", Reason: "sure?"}},
		"two ask":             {[]*fake{says("a", ask), says("b", ask)}, CallOutcome{Verdict: extension.Ask, Args: args, By: "a, b", Reason: "sure?"}},
		"deny after ask":      {[]*fake{says("a", ask), says("b", deny)}, CallOutcome{Verdict: extension.Deny, Args: args, By: "b", Reason: "never that"}},
		"modify":              {[]*fake{says("a", modify(`{"a":2}`))}, CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"a":2}`), ChangedBy: []string{"a"}}},
		"modify to the same":  {[]*fake{says("a", modify(`{ "a": 1 }`))}, CallOutcome{Verdict: extension.Allow, Args: args}},
		"modify to no object": {[]*fake{says("a", modify(`[1]`))}, CallOutcome{Verdict: extension.Deny, Args: args, By: "a", Reason: "a changed the arguments"}},
		"modify to nothing":   {[]*fake{says("a", modify(``))}, CallOutcome{Verdict: extension.Deny, Args: args, By: "a", Reason: "invalid"}},
		"nonsense":            {[]*fake{says("a", extension.CallDecision{Verdict: "perhaps"})}, CallOutcome{Verdict: extension.Allow, Args: args}},
		"huge":                {[]*fake{says("a", modify(`{"a":"`+strings.Repeat("x", maxText)+`"}`))}, CallOutcome{Verdict: extension.Allow, Args: args}},
		"no reason":           {[]*fake{says("a", extension.CallDecision{Verdict: extension.Deny})}, CallOutcome{Verdict: extension.Deny, Args: args, By: "a", Reason: "no reason given"}},
	} {
		t.Run(name, func(t *testing.T) { wantOutcome(t, decide(newWorld(t), string(args), nil, c.list...), c.want) })
	}
}

func TestDenyEndsTheChain(t *testing.T) {
	w := newWorld(t)
	asked := false
	last := decider(compiled("last"), func(extension.ToolCallInput) (extension.CallDecision, error) {
		asked = true
		return extension.CallDecision{}, nil
	})
	out := decide(w, `{}`, nil, says("no", extension.CallDecision{Verdict: extension.Deny, Reason: "no"}), last)
	if out.Verdict != extension.Deny || asked {
		t.Errorf("%+v, asked %v", out, asked)
	}
}

func TestChangedArgumentsAreValidated(t *testing.T) {
	w := newWorld(t)
	validate := func(args json.RawMessage) error {
		if bytes.Contains(args, []byte("bad")) {
			return errors.New("/x: must not be bad")
		}
		return nil
	}
	out := decide(w, `{}`, validate, says("good", modify(`{"x":"fine"}`)), says("evil", modify(`{"x":"bad"}`)))
	wantOutcome(t, out, CallOutcome{
		Verdict: extension.Deny, Args: json.RawMessage(`{"x":"fine"}`), ChangedBy: []string{"good"}, By: "evil",
		Reason: "evil changed the arguments into invalid ones: /x: must not be bad",
	})
}

func TestLaterHooksSeeTheChangeAndEarlierOnesAreAskedAgain(t *testing.T) {
	w := newWorld(t)
	var first, last []string
	a := decider(compiled("a"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
		first = append(first, string(in.Args))
		if strings.Contains(string(in.Args), "2") {
			return modify(`{"x":3}`), nil // too late for that
		}
		return extension.CallDecision{}, nil
	})
	c := decider(compiled("c"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
		last = append(last, string(in.Args))
		return extension.CallDecision{}, nil
	})
	out := decide(w, `{"x":1}`, nil, a, says("b", modify(`{"x":2}`)), c)
	wantOutcome(t, out, CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"x":2}`), ChangedBy: []string{"b"}})
	if !slices.Equal(first, []string{`{"x":1}`, `{"x":2}`}) || !slices.Equal(last, []string{`{"x":2}`}) {
		t.Errorf("first saw %q, last %q", first, last)
	}
	if got := w.outcomes(); !slices.Equal(got, []string{"a tool_call ignored"}) {
		t.Error(got)
	}
}

func TestAChangeCanBeDeniedByAnEarlierHook(t *testing.T) {
	guard := func(v extension.Verdict) *fake {
		return decider(compiled("guard"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
			if strings.Contains(string(in.Args), "/etc") {
				return extension.CallDecision{Verdict: v, Reason: "outside"}, nil
			}
			return extension.CallDecision{}, nil
		})
	}
	changed := json.RawMessage(`{"path":"/etc/passwd"}`)
	out := decide(newWorld(t), `{"path":"notes"}`, nil, guard(extension.Deny), says("rewriter", modify(string(changed))))
	wantOutcome(t, out, CallOutcome{Verdict: extension.Deny, Args: changed, ChangedBy: []string{"rewriter"}, By: "guard", Reason: "outside"})
	out = decide(newWorld(t), `{"path":"notes"}`, nil, guard(extension.Ask), says("rewriter", modify(string(changed))))
	wantOutcome(t, out, CallOutcome{Verdict: extension.Ask, Args: changed, ChangedBy: []string{"rewriter"}, By: "guard", Reason: "outside"})
}

func TestAHookCantChangeArgumentsInPlace(t *testing.T) {
	w := newWorld(t)
	var kept json.RawMessage
	sly := decider(compiled("sly"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
		copy(in.Args, `{"x":9}`)
		return extension.CallDecision{}, errors.New("half-way")
	})
	keeper := decider(compiled("keeper"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
		kept = json.RawMessage(`{"x":2}`)
		return extension.CallDecision{Verdict: extension.Modify, Args: kept}, nil
	})
	late := decider(compiled("late"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
		copy(kept, `{"x":7}`)
		return extension.CallDecision{}, nil
	})
	args := json.RawMessage(`{"x":1}`)
	out := decide(w, string(args), nil, sly, keeper, late)
	wantOutcome(t, out, CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"x":2}`), ChangedBy: []string{"keeper"}})
}

func TestFailingHooksAreNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		var saw json.RawMessage
		list := []*fake{
			decider(compiled("panics"), func(extension.ToolCallInput) (extension.CallDecision, error) { panic(errors.New("ouch")) }),
			decider(compiled("fails"), func(extension.ToolCallInput) (extension.CallDecision, error) {
				return modify(`{"x":9}`), errors.New("no")
			}),
			decider(compiled("hangs"), func(extension.ToolCallInput) (extension.CallDecision, error) {
				<-release
				return extension.CallDecision{Verdict: extension.Deny}, nil
			}),
			decider(compiled("works"), func(in extension.ToolCallInput) (extension.CallDecision, error) {
				saw = in.Args
				return extension.CallDecision{}, nil
			}),
		}
		start := time.Now()
		out := decide(w, `{"x":1}`, nil, list...)
		wantOutcome(t, out, CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"x":1}`)})
		if string(saw) != `{"x":1}` || time.Since(start) != 10*time.Second {
			t.Errorf("saw %s after %s", saw, time.Since(start))
		}
		want := []string{"panics tool_call panic", "fails tool_call error", "hangs tool_call deadline"}
		if got := w.outcomes(); !slices.Equal(got, want) {
			t.Error(got)
		}
	})
}

func TestAnEnforcingExtensionFailsClosed(t *testing.T) {
	for name, fn := range map[string]func(extension.ToolCallInput) (extension.CallDecision, error){
		"panic": func(extension.ToolCallInput) (extension.CallDecision, error) { panic("ouch") },
		"error": func(extension.ToolCallInput) (extension.CallDecision, error) {
			return extension.CallDecision{}, errors.New("no")
		},
		"nonsense": func(extension.ToolCallInput) (extension.CallDecision, error) {
			return extension.CallDecision{Verdict: "hm"}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := decider(compiled("strict"), fn)
			f.d.Enforcing = true
			out := decide(w, `{}`, nil, f)
			wantOutcome(t, out, CallOutcome{Verdict: extension.Deny, Args: json.RawMessage(`{}`), By: "strict", Reason: "strict"})
		})
	}
	t.Run("not built", func(t *testing.T) {
		w := newWorld(t)
		f := compiled("strict", extension.HookToolCall).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			return nil, errors.New("no key")
		})
		f.d.Enforcing = true
		w.install(f)
		turn := w.turn(w.session(f), extension.Agent{})
		defer turn.Release()
		wantOutcome(t, turn.ToolCall(w.ctx, "t", json.RawMessage(`{}`), nil), CallOutcome{Verdict: extension.Deny, Args: json.RawMessage(`{}`), By: "strict", Reason: "no key"})
		other := w.turn(w.session(), extension.Agent{}) // where it is off it has no say
		defer other.Release()
		wantOutcome(t, other.ToolCall(w.ctx, "t", json.RawMessage(`{}`), nil), CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{}`)})
	})
}

func TestACallerThatLeavesBlamesNobody(t *testing.T) {
	w := newWorld(t)
	entered, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	f := external("slow")
	f.d.Hooks = []extension.HookKind{extension.HookToolCall}
	f.gives(&extension.Instance{Hooks: extension.Hooks{ToolCall: func(ctx context.Context, _ extension.Call, _ extension.ToolCallInput) (extension.CallDecision, error) {
		entered <- struct{}{}
		<-release
		return extension.CallDecision{}, nil
	}}})
	w.mustInstall(f)
	turn := w.turn(w.session(f), extension.Agent{})
	defer turn.Release()
	for range 2 * maxFaults {
		ctx, cancel := context.WithCancel(w.ctx)
		go func() { <-entered; cancel() }()
		turn.ToolCall(ctx, "t", json.RawMessage(`{}`), nil)
	}
	gone, cancel := context.WithCancel(w.ctx)
	cancel()
	turn.ToolCall(gone, "t", json.RawMessage(`{}`), nil) // asks nobody: nobody waits at entered
	if state, _ := w.hub.State("slow"); state != StateOK || len(w.outcomes()) != 0 {
		t.Errorf("%s %q", state, w.outcomes())
	}
}

// model is the plain statement of the chain.
func model(args string, plan [][]extension.CallDecision) (verdict extension.Verdict, final string, changed []string) {
	verdict, final = extension.Allow, args
	asks := make([]int, len(plan))
	next := func(i int) extension.CallDecision {
		d := plan[i][min(asks[i], len(plan[i])-1)]
		asks[i]++
		return d
	}
	for i := range plan {
		d := next(i)
		switch d.Verdict {
		case extension.Deny:
			return extension.Deny, final, changed
		case extension.Ask:
			verdict = extension.Ask
		case extension.Modify:
			if string(d.Args) == final {
				continue
			}
			if string(d.Args) == "bad" {
				return extension.Deny, final, changed
			}
			final = string(d.Args)
			changed = append(changed, fmt.Sprintf("x%02d", i))
			for j := range i {
				switch next(j).Verdict {
				case extension.Deny:
					return extension.Deny, final, changed
				case extension.Ask:
					verdict = extension.Ask
				}
			}
		}
	}
	return verdict, final, changed
}

func TestTheChainFollowsTheModel(t *testing.T) {
	seen := map[extension.Verdict]int{}
	changes := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		decision := rapid.Custom(func(r *rapid.T) extension.CallDecision {
			switch rapid.IntRange(0, 9).Draw(r, "verdict") {
			case 0:
				return extension.CallDecision{Verdict: extension.Deny}
			case 1:
				return extension.CallDecision{Verdict: extension.Ask}
			case 2, 3, 4:
				return modify(rapid.SampledFrom([]string{`{"v":0}`, `{"v":1}`, `{"v":2}`, `{"v":3}`, "bad"}).Draw(r, "args"))
			}
			return extension.CallDecision{}
		})
		plan := rapid.SliceOfN(rapid.SliceOfN(decision, 1, 3), 0, 6).Draw(rt, "plan")
		var list []*fake
		for i := range plan {
			asks := 0
			list = append(list, decider(compiled(fmt.Sprintf("x%02d", i)), func(extension.ToolCallInput) (extension.CallDecision, error) {
				d := plan[i][min(asks, len(plan[i])-1)]
				asks++
				return d, nil
			}))
		}
		got := decide(w, `{"v":0}`, nil, list...)
		verdict, final, changed := model(`{"v":0}`, plan)
		if got.Verdict != verdict || string(got.Args) != final || !slices.Equal(got.ChangedBy, dedupe(changed)) {
			rt.Fatalf("%+v (%s); want %s %s %v", got, got.Args, verdict, final, changed)
		}
		seen[got.Verdict]++
		changes += len(changed)
	})
	if seen[extension.Allow] == 0 || seen[extension.Deny] == 0 || seen[extension.Ask] == 0 || changes == 0 {
		t.Errorf("not everything happened: %v, %d changes", seen, changes)
	}
}

func dedupe(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
