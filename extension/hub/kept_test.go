package hub

import (
	"context"
	"errors"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// TestWhatIsKeptIsWorthNothing has an extension that keeps all it was lent and uses it after the turn,
// and after its instance has ended.
func TestWhatIsKeptIsWorthNothing(t *testing.T) {
	w := newWorld(t)
	var call extension.Call
	var scope extension.SessionContext
	write := func(d extension.Document) error {
		return d.Update(w.ctx, func(tx *crdt.Tx) error { return tx.Set(crdt.SettingsStore, "keeper/doc", 1) })
	}
	last := errors.New("shutdown was not called")
	x := external("keeper", extension.HookAgentEnd).at(extension.PerSession).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		scope = s.(extension.SessionContext)
		return &extension.Instance{
			Hooks:    extension.Hooks{AgentEnd: func(_ context.Context, c extension.Call) error { call = c; return nil }},
			Shutdown: func(context.Context) error { last = write(scope.Doc); return nil },
		}, nil
	})
	w.mustInstall(x)
	id := w.session(x)
	turn := w.turn(id, extension.Agent{})
	turn.AgentEnd(w.ctx)
	if err := call.Lent.Settings.Set(w.ctx, "k", 1); err != nil {
		t.Fatal("during the turn:", err)
	}
	turn.Release()
	if err := call.Lent.Settings.Set(w.ctx, "k", 2); !errors.Is(err, errEnded) {
		t.Error("after the turn:", err)
	}
	if _, err := call.Lent.Settings.Get(w.ctx, "k"); !errors.Is(err, errEnded) {
		t.Error("after the turn:", err)
	}
	// The instance lives, and so does what it was built with.
	if err := errors.Join(write(scope.Doc), scope.Settings.Set(w.ctx, "k", 3)); err != nil {
		t.Fatal(err)
	}
	w.toggle(id, activation.Deactivated, x)
	if err := w.hub.SessionShutdown(w.ctx, id); err != nil {
		t.Fatal(err)
	}
	if last != nil {
		t.Error("during the shutdown:", last)
	}
	if err := write(scope.Doc); !errors.Is(err, errEnded) {
		t.Error("write after the shutdown:", err)
	}
	if err := scope.Doc.View(w.ctx, func(*crdt.View) error { return nil }); !errors.Is(err, errEnded) {
		t.Error("read after the shutdown:", err)
	}
	if err := scope.Settings.Set(w.ctx, "k", 4); !errors.Is(err, errEnded) {
		t.Error("setting after the shutdown:", err)
	}
	err := w.repo.View(w.ctx, id, func(v *crdt.View) error {
		if text, _ := v.Record(crdt.SettingsStore, "keeper/k"); text != "3" {
			t.Errorf("the setting is %s", text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestARefusedInstanceKeepsNothing is the same for one that never came to live.
func TestARefusedInstanceKeepsNothing(t *testing.T) {
	w := newWorld(t)
	var scope extension.SessionContext
	x := external("keeper").at(extension.PerSession).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		scope = s.(extension.SessionContext)
		return &extension.Instance{Tools: []extension.Tool{tool("keeper__undeclared", "")}}, nil
	})
	w.mustInstall(x)
	id := w.session(x)
	w.turn(id, extension.Agent{}).Release()
	if err := scope.Settings.Set(w.ctx, "k", 1); !errors.Is(err, errEnded) {
		t.Error(err)
	}
}

// TestStatusNamesThatLookTheSame has two names that are one when they are shown.
func TestStatusNamesThatLookTheSame(t *testing.T) {
	w := newWorld(t)
	says := func(name string, texts map[string]string) *fake {
		x := compiled(name).provides(extension.CapStatusSegment)
		return x.gives(&extension.Instance{StatusSegment: func(context.Context) (map[string]string, error) { return texts, nil }})
	}
	first, second := says("first", map[string]string{"mcp": "true"}), says("second", map[string]string{" mcp\n": "false", "\n": "no name"})
	w.mustInstall(first, second)
	id := w.session(first, second)
	got := w.hub.Status(w.ctx, id, extension.Agent{})
	if keys := len(got); got["mcp"] != "true" || keys != 1 {
		t.Errorf("%q; want the first to stand alone", got)
	}
}
