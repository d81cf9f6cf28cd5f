package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// bindTo installs extensions for one session.
func (w *world) bindTo(session crdt.DocID, list ...*fake) {
	w.t.Helper()
	for _, f := range list {
		if err := w.hub.InstallIn(w.ctx, session, f); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) unbind(session crdt.DocID, name string) {
	w.t.Helper()
	if err := w.hub.RemoveIn(w.ctx, session, name); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnExtensionOfOneSession(t *testing.T) {
	w := newWorld(t)
	f := w.version("f", "1", extension.Global, extension.PerAgent, extension.PerSession)
	session, other := w.session(f), w.session(f)
	w.bindTo(session, f)
	if f.built.Load() != 0 {
		t.Error("instances are built at the first need")
	}
	agent := w.agent("nova")
	w.during(session, agent, func(turn *Turn) {
		if got := toolNames(turn); !slices.Equal(got, []string{"f:f__t"}) || f.built.Load() != 1 {
			t.Errorf("%v, built %d times", got, f.built.Load())
		}
	})
	if got := w.answers(other, "f"); got != "" {
		t.Errorf("another session has it too: %q", got)
	}
	list := w.hub.InstalledIn(session)
	if len(list) != 1 || list[0].Name != "f" || !slices.Equal(list[0].Scopes, []extension.Scope{extension.PerSession}) || !list[0].Ref.Equal(f.d.Ref) {
		t.Errorf("%+v", list)
	}
	if len(w.hub.InstalledIn(other)) != 0 || len(w.hub.Declarations()) != 0 {
		t.Error("it is installed elsewhere")
	}
	if len(f.d.Scopes) != 3 {
		t.Error("the declaration of the extension itself was changed")
	}
	w.toggle(session, activation.Deactivated, f)
	if got := w.answers(session, "f"); got != "" {
		t.Errorf("it is off: %q", got)
	}
	w.toggle(session, activation.Activated, w.version("f", "2"))
	w.during(session, agent, func(turn *Turn) {
		if len(turn.Tools()) != 0 || !slices.Equal(turn.Active(), []string{"f"}) || turn.members[0].reason != otherVersion {
			t.Error("another version is on")
		}
	})
}

func TestTheSessionsOwnComesBeforeThatOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		whole := w.version("f", "1", extension.Global, extension.PerSession)
		w.mustInstall(whole, w.version("f", "2"))
		session, other := w.session(whole), w.session(whole)
		w.answers(session, "f")
		own := newFake("f", whole.d.Ref, whole.d.Hooks).gives(&extension.Instance{Tools: []extension.Tool{tool("f__t", "own")}})
		w.bindTo(session, own)
		synctest.Wait()
		w.wantNotes("1 per_session shutdown") // one instance for each name
		if a, b := w.answers(session, "f"), w.answers(other, "f"); a != "own" || b != "1" {
			t.Errorf("%q %q", a, b)
		}
		w.toggle(session, activation.Activated, w.version("f", "2")) // a version that only the peer has
		if got := w.answers(session, "f"); got != "2" {
			t.Errorf("%q", got)
		}
		w.toggle(session, activation.Activated, whole)
		w.unbind(session, "f")
		if got := w.answers(session, "f"); got != "1" {
			t.Errorf("the peer's is left: %q", got)
		}
	})
}

func TestReplacingInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one, two := w.version("f", "1"), w.version("f", "2")
		session := w.session(one)
		w.bindTo(session, one)
		turn := w.turn(session, extension.Agent{})
		w.toggle(session, activation.Activated, two)
		w.bindTo(session, two)
		synctest.Wait()
		w.wantNotes()
		if got, err := run(w, turn, "f__t", ""); got != "1" || err != nil {
			t.Errorf("a turn in progress keeps its set: %q, %v", got, err)
		}
		if got := w.answers(session, "f"); got != "2" {
			t.Errorf("the next one has the other: %q", got)
		}
		turn.Release()
		synctest.Wait()
		w.wantNotes("1 per_session shutdown")
		w.bindTo(session, w.version("f", "2")) // the same reference with other powers
		synctest.Wait()
		w.wantNotes("2 per_session shutdown")
		if len(w.hub.InstalledIn(session)) != 1 {
			t.Error(w.hub.InstalledIn(session))
		}
	})
}

// TestTrustThatIsTakenBack: nothing of the session's extension is left, in a turn in progress neither;
// the call in flight is waited for. Another session goes on.
func TestTrustThatIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		entered, release := make(chan struct{}), make(chan struct{})
		slow := w.version("f", "1")
		hooks := 0
		slow.d.Hooks = append(slow.d.Hooks, extension.HookAgentEnd)
		slow.gives(&extension.Instance{
			Tools: []extension.Tool{{Name: "f__t", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
				entered <- struct{}{}
				<-release
				w.note("call over")
				return "", nil
			}}},
			Hooks:    extension.Hooks{AgentEnd: func(context.Context, extension.Call) error { hooks++; return nil }},
			Shutdown: func(context.Context) error { w.note("shutdown"); return nil },
		})
		fast := w.version("f", "2")
		session, other := w.session(slow), w.session(fast)
		w.bindTo(session, slow)
		w.bindTo(other, fast)
		turn, beside := w.turn(session, extension.Agent{}), w.turn(other, extension.Agent{})
		defer turn.Release()
		defer beside.Release()
		turn.AgentEnd(w.ctx)
		b, _ := turn.Tool("f__t")
		go func() { _, _ = b.Tool.Run(w.ctx, b.Call, nil) }()
		<-entered
		removed := make(chan error)
		go func() { removed <- w.hub.RemoveIn(w.ctx, session, "f") }()
		synctest.Wait()
		if _, err := b.Tool.Run(w.ctx, b.Call, nil); !errors.Is(err, errEnded) {
			t.Errorf("a tool that was looked up before can still be called: %v", err)
		}
		if turn.AgentEnd(w.ctx); len(turn.Tools()) != 0 || hooks != 1 {
			t.Errorf("the turn still has %v, hooks ran %d times", toolNames(turn), hooks)
		}
		w.wantNotes()
		close(release)
		if err := <-removed; err != nil {
			t.Error(err)
		}
		w.wantNotes("call over", "shutdown")
		if got, err := run(w, beside, "f__t", ""); got != "2" || err != nil {
			t.Errorf("another session: %q %v", got, err)
		}
		if a, b := w.answers(session, "f"), w.answers(other, "f"); a != "" || b != "2" {
			t.Errorf("%q %q", a, b)
		}
		wantError(t, w.hub.RemoveIn(w.ctx, session, "f"), "remove extension", "not installed there")
	})
}

func TestARemovalEndsEarlierInstancesThatTurnsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one, two, whole := w.version("f", "1"), w.version("f", "2"), w.version("g", "1", extension.PerSession)
		w.mustInstall(whole)
		session := w.session(one, whole)
		w.bindTo(session, one)
		turn := w.turn(session, extension.Agent{})
		defer turn.Release()
		w.running(t)
		w.toggle(session, activation.Deactivated, whole)
		w.bindTo(session, two)
		synctest.Wait()
		w.wantNotes() // the turn holds both
		w.unbind(session, "f")
		w.wantNotes("1 per_session shutdown")
		if err := w.hub.Remove(w.ctx, "g"); err != nil {
			t.Error(err)
		}
		w.wantNotes("1 per_session shutdown")
		if got := turn.Tools(); len(got) != 0 {
			t.Error(got)
		}
		three := w.session(one)
		w.bindTo(three, one)
		last := w.turn(three, extension.Agent{})
		defer last.Release()
		if err := w.hub.SessionShutdown(w.ctx, three); err != nil {
			t.Error(err)
		}
		w.wantNotes()
		w.unbind(three, "f") // closed, but not out of the turn
		w.wantNotes("1 per_session shutdown")
	})
}

func TestARemovalInASessionHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		entered, release := make(chan struct{}), make(chan struct{})
		f := w.version("f", "1").gives(&extension.Instance{Tools: []extension.Tool{{Name: "f__t", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
			close(entered)
			<-release
			return "", nil
		}}}})
		session := w.session(f)
		w.bindTo(session, f)
		turn := w.turn(session, extension.Agent{})
		defer turn.Release()
		b, _ := turn.Tool("f__t")
		go func() { _, _ = b.Tool.Run(w.ctx, b.Call, nil) }()
		<-entered
		wantError(t, w.hub.RemoveIn(w.ctx, session, "f"), "remove extension f from session", "in progress")
		close(release)
	})
}

// TestWhoChoseItBeforeTheRemovalBuildsNothing: the removal comes between the look at the log and the
// look at the instances.
func TestWhoChoseItBeforeTheRemovalBuildsNothing(t *testing.T) {
	w := newWorld(t)
	own, whole := w.version("own", "1"), w.version("whole", "1", extension.Global, extension.PerSession)
	w.mustInstall(whole)
	session := w.session(own, whole)
	w.bindTo(session, own)
	k := TurnKey{Session: session}
	for i, remove := range []func(){
		func() {},
		func() { w.unbind(session, "own") },
		func() {
			if err := w.hub.Remove(w.ctx, "whole"); err != nil {
				t.Error(err)
			}
		},
	} {
		w.hub.mu.Lock()
		cat := w.hub.catalogOf(session)
		w.hub.mu.Unlock()
		c, err := w.hub.choose(w.ctx, cat, k, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		remove()
		built := own.built.Load() + whole.built.Load()
		members, err := w.hub.gather(w.ctx, c, k)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if gone := m.reason != ""; gone != m.ent.removed || gone && m.at[0] != nil {
				t.Errorf("%s: %q", m.ent.name(), m.reason)
			}
		}
		w.hub.release(members)
		if now := own.built.Load() + whole.built.Load(); (i == 0) == (now == built) {
			t.Errorf("built %d more", now-built)
		}
	}
}
