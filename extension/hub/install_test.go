package hub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func names(list []extension.Declaration) (out []string) {
	for _, d := range list {
		out = append(out, d.Name)
	}
	return out
}

func TestAMinimalExtensionIsListed(t *testing.T) {
	w := newWorld(t)
	f := compiled("plain")
	w.mustInstall(f)
	w.mustInstall(f)
	if f.built.Load() != 1 || len(w.hub.Declarations()) != 1 {
		t.Errorf("%d instances, %v", f.built.Load(), names(w.hub.Declarations()))
	}
	w.during(w.session(f), extension.Agent{}, func(turn *Turn) {
		if len(turn.Tools()) != 0 || !slices.Equal(turn.Active(), []string{"plain"}) {
			t.Errorf("%v %v", turn.Tools(), turn.Active())
		}
	})
	if state, _ := w.hub.State("plain"); state != StateOK {
		t.Error(state)
	}
	if state, _ := w.hub.State("other"); state != StateUnknown {
		t.Error(state)
	}
}

func TestOrderIsCompiledInThenByName(t *testing.T) {
	w := newWorld(t)
	w.mustInstall(external("zeta"), compiled("second"), external("alpha"), compiled("first"))
	w.mustInstall(external("kappa"), compiled("third"))
	if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"second", "first", "third", "alpha", "kappa", "zeta"}) {
		t.Error(got)
	}
}

func TestAFailureStaysAlone(t *testing.T) {
	w := newWorld(t)
	bad := compiled("bad").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		return nil, errors.New("no such thing")
	})
	crash := compiled("crash").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) { panic("ouch") })
	a := compiled("a", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{tool("ta", "")}})
	b := compiled("b", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{tool("tb", "")}})
	results := w.install(a, bad, crash, b)
	if results[0].Err != nil || results[3].Err != nil {
		t.Error(results)
	}
	wantError(t, results[1].Err, "bad", "no such thing")
	wantError(t, results[2].Err, "crash", "panicked", "ouch")
	if f := w.hub.Failures(); len(f) != 2 || f["bad"] == "" || !strings.Contains(f["crash"], "panicked") {
		t.Error(f)
	}
	w.during(w.session(a, bad, crash, b), extension.Agent{}, func(turn *Turn) {
		if got := toolNames(turn); !slices.Equal(got, []string{"a:ta", "b:tb"}) {
			t.Error(got)
		}
	})
	again := compiled("bad")
	if r := w.install(again); r[0].Err != nil || w.hub.Failures()["bad"] != "" {
		t.Errorf("a later success must clear the failure: %v %v", r, w.hub.Failures())
	}
	if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"a", "bad", "crash", "b"}) {
		t.Errorf("the order must stay: %v", got)
	}
}

func TestGoexitCountsAsPanic(t *testing.T) {
	w := newWorld(t)
	done := make(chan struct{})
	f := compiled("exit").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		defer close(done)
		(&testing.T{}).SkipNow()
		return nil, nil
	})
	r := w.install(f)
	<-done
	wantError(t, r[0].Err, "panicked")
}

func TestInstantiationHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release, late := make(chan struct{}), make(chan struct{})
		hang := compiled("hang").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			<-release // whatever the context says
			return &extension.Instance{Shutdown: func(context.Context) error { close(late); return nil }}, nil
		})
		good := compiled("good")
		start := time.Now()
		results := w.install(hang, good)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %s", took)
		}
		wantError(t, results[0].Err, "hang", "10s")
		if results[1].Err != nil {
			t.Error(results[1].Err)
		}
		close(release)
		<-late // what came too late is shut down
		if state, _ := w.hub.State("hang"); state != StateFailed {
			t.Error(state)
		}
	})
}

func TestInstantiationsThatWaitForEachOtherFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := make(chan struct{}), make(chan struct{})
		meet := func(mine, theirs chan struct{}) func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			return func(ctx context.Context, _ extension.ScopeContext) (*extension.Instance, error) {
				close(mine)
				select {
				case <-theirs:
					return &extension.Instance{}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
		w.mustInstall(compiled("a").builds(meet(a, b)), compiled("b").builds(meet(b, a)))
	})
}

func TestInvalidManifests(t *testing.T) {
	w := newWorld(t)
	noName := compiled("x")
	noName.d.Name = ""
	results := w.install(noName, compiled("good"))
	wantError(t, results[0].Err, "name")
	if !results[0].Fatal || Fatal(results) == nil || results[1].Err != nil {
		t.Error(results)
	}
	hostOnly := external("rogue").provides(extension.CapSettings)
	thief := external("fs")
	results = w.install(hostOnly, thief, external("honest"))
	wantError(t, results[0].Err, "rogue", "settings")
	wantError(t, results[1].Err, "reserved")
	if results[2].Err != nil || Fatal(results) != nil {
		t.Error(results)
	}
	if f := w.hub.Failures(); f["rogue"] == "" || f["fs"] == "" || f["honest"] != "" {
		t.Error(f)
	}
	if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"good", "honest"}) {
		t.Error(got)
	}
	twin := newFake("good", extension.GitRef("other", "https://example.org/x", "1"), nil)
	wantError(t, w.install(twin)[0].Err, "other")
	if state, reason := w.hub.State("good"); state != StateOK || len(w.hub.Failures()) != 2 {
		t.Errorf("an invalid manifest says nothing about the healthy extension of that name: %s %s", state, reason)
	}
	if hostOnly.built.Load()+thief.built.Load() != 0 {
		t.Error("an extension with an invalid manifest was built")
	}
}

func TestDuplicateNames(t *testing.T) {
	w := newWorld(t)
	fires := 0
	hook := &extension.Instance{Hooks: extension.Hooks{AgentEnd: func(context.Context, extension.Call) error { fires++; return nil }}}
	first := compiled("twin", extension.HookAgentEnd).gives(hook)
	second := compiled("twin", extension.HookAgentEnd).gives(hook)
	results := w.install(first, second)
	wantError(t, results[1].Err, "twin")
	if results[0].Err != nil || len(w.hub.Failures()) != 0 || second.built.Load() != 0 {
		t.Error(results, w.hub.Failures())
	}
	w.during(w.session(first), extension.Agent{}, func(turn *Turn) { turn.AgentEnd(w.ctx) })
	if fires != 1 {
		t.Errorf("%d fires", fires)
	}
	other := newFake("twin", extension.BuiltinRef("twin", "9.9.9"), nil)
	wantError(t, w.install(other)[0].Err, "twin", "installed already")
}

func TestUnknownAPIAndNilExtension(t *testing.T) {
	w := newWorld(t)
	future := compiled("future")
	future.d.API = 99
	odd := compiled("odd").at("per_moon")
	results := w.hub.Install(w.ctx, []extension.Extension{future, odd, nil, panicky{}})
	wantError(t, results[0].Err, "99")
	wantError(t, results[1].Err, "per_moon")
	wantError(t, results[2].Err, "no extension")
	wantError(t, results[3].Err, "panicked")
	if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"future", "odd"}) || future.built.Load() != 0 {
		t.Error(got)
	}
}

type panicky struct{ *fake }

func (panicky) Declaration() extension.Declaration { panic("no") }

func TestUndeclaredEndpointsAreRefused(t *testing.T) {
	memory := &extension.Instance{Memory: noMemory{}}
	for what, c := range map[string]struct {
		f     *fake
		parts []string
	}{
		"tool":           {compiled("x").gives(&extension.Instance{Tools: []extension.Tool{tool("t", "")}}), []string{"x", "global", "tool"}},
		"hook":           {compiled("x", extension.HookTool).gives(&extension.Instance{Hooks: extension.Hooks{AgentEnd: func(context.Context, extension.Call) error { return nil }}}), []string{"agent_end"}},
		"command kind":   {compiled("x").gives(&extension.Instance{Commands: []extension.Command{{Name: "c"}}}), []string{"command"}},
		"command":        {compiled("x", extension.HookCommand).gives(&extension.Instance{Commands: []extension.Command{{Name: "c"}}}), []string{"/c"}},
		"capability":     {compiled("x").gives(memory), []string{"memory"}},
		"tool name":      {compiled("x", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{tool("a b", "")}}), []string{"a b"}},
		"tool function":  {compiled("x", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{{Name: "t"}}}), []string{"function"}},
		"tool schema":    {compiled("x", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{{Name: "t", Run: tool("", "").Run, Parameters: []byte(`[]`)}}}), []string{"JSON"}},
		"no instance":    {compiled("x").gives(nil), []string{"no instance"}},
		"other endpoint": {compiled("x").gives(&extension.Instance{StatusSegment: func(context.Context) (map[string]string, error) { return nil, nil }}), []string{"status_segment"}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			wantError(t, w.install(c.f)[0].Err, c.parts...)
		})
	}
	w := newWorld(t)
	w.mustInstall(compiled("x").gives(memory).provides(extension.CapMemory)) // the same, declared
	ended := 0
	wantError(t, w.install(compiled("y").gives(&extension.Instance{
		Memory: noMemory{}, Shutdown: func(context.Context) error { ended++; return nil },
	}))[0].Err, "memory")
	if ended != 1 {
		t.Errorf("what is refused is shut down once, not %d times", ended)
	}
}

type noMemory struct{}

func (noMemory) Search(context.Context, extension.MemoryQuery) ([]extension.MemoryRow, error) {
	return nil, nil
}
func (noMemory) Remember(context.Context, extension.MemoryRow, string) error { return nil }
func (noMemory) Banks(context.Context) ([]extension.BankInfo, error)         { return nil, nil }

func TestRequiredCapabilities(t *testing.T) {
	w := newWorld(t)
	memory := func(provider string) extension.Request {
		return extension.Request{Kind: extension.CapMemory, Provider: provider}
	}
	host := compiled("host").requires(extension.Request{Kind: extension.CapSettings})
	self := external("self").requires(memory("")).provides(extension.CapMemory, extension.CapMessenger)
	chain := external("chain").requires(extension.Request{Kind: extension.CapMessenger})
	named := external("named").requires(memory("nobody"))
	results := w.install(host, self, chain, named)
	if results[0].Err != nil {
		t.Error(results[0].Err)
	}
	wantError(t, results[1].Err, "self", "memory") // its own provision does not count
	wantError(t, results[2].Err, "chain", "messenger")
	wantError(t, results[3].Err, "named", "nobody")
	if self.built.Load()+chain.built.Load()+named.built.Load() != 0 {
		t.Error("what lacks a capability was built")
	}
	provider := external("provider").provides(extension.CapMemory)
	w.mustInstall(provider)
	for _, f := range []*fake{self, chain} { // both have what they need now, and come alive by themselves
		w.waitState(f.d.Name, StateOK)
		if f.built.Load() != 1 {
			t.Errorf("%s was built %d times", f.d.Name, f.built.Load())
		}
	}
	if f := w.hub.Failures(); len(f) != 1 || f["named"] == "" {
		t.Error(f)
	}
	if err := w.hub.Remove(w.ctx, "provider"); err != nil {
		t.Error(err)
	}
	if f := w.hub.Failures(); len(f) != 3 {
		t.Errorf("what depended on it fails again: %v", f)
	}
}

func TestAnotherVersionOfItselfProvidesNothing(t *testing.T) {
	w := newWorld(t)
	memory := extension.Request{Kind: extension.CapMemory}
	old := external("f").provides(extension.CapMemory)
	fresh := another(external("f")).requires(memory)
	w.mustInstall(old)
	wantError(t, w.install(fresh)[0].Err, "f", "memory")
	session := w.session(fresh)
	w.bindTo(session, fresh)
	if got := w.hub.FailuresIn(session); got["f"] == "" {
		t.Error("it provides for itself")
	}
	w.mustInstall(external("g").provides(extension.CapMemory))
	if got := w.hub.FailuresIn(session); len(got)+len(w.hub.Failures()) != 0 {
		t.Error(got, w.hub.Failures())
	}
}

// waitState waits until an extension has a state and, if that is ok, its Global instance.
func (w *world) waitState(name string, want State) {
	w.t.Helper()
	e := w.entry(name)
	for {
		w.hub.mu.Lock()
		var wait chan struct{}
		if e.global != nil {
			wait = e.global.building
		}
		w.hub.mu.Unlock()
		if wait == nil {
			break
		}
		<-wait
	}
	if got, reason := w.hub.State(name); got != want {
		w.t.Errorf("%s is %s (%s); want %s", name, got, reason, want)
	}
}

func TestWithoutHandlesNothingIsBuilt(t *testing.T) {
	w := newWorldWith(t, newWorld(t).clock, func(c *Config) { c.Peer = nil })
	f := compiled("f").at(extension.Global, extension.PerSession, extension.PerAgent)
	w.mustInstall(f)
	w.during(w.session(f), w.agent("a"), func(turn *Turn) {
		if !slices.Equal(turn.Active(), []string{"f"}) {
			t.Error(turn.Active())
		}
	})
	if f.built.Load() != 0 {
		t.Error("built")
	}
}

func TestHandlesAreCutToAnExtension(t *testing.T) {
	cut := &extension.Peer{}
	got := map[string]*extension.Peer{}
	note := func(name string) *fake {
		return external(name).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			got[name] = s.Handles()
			return &extension.Instance{}, nil
		})
	}
	w := newWorldWith(t, newWorld(t).clock, func(c *Config) {
		whole := c.Peer
		c.PeerFor = func(d extension.Declaration) *extension.Peer {
			if d.Name == "cut" {
				return cut
			}
			return whole
		}
	})
	w.mustInstall(note("cut"))
	w.mustInstall(note("whole"))
	if got["cut"] != cut || got["whole"] != w.hub.cfg.Peer {
		t.Error("wrong handles")
	}
}
