package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

func TestRemovalWaitsForTheCallAndNotForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		entered, release := make(chan struct{}), make(chan struct{})
		f := external("f", extension.HookTool).at(extension.Global, extension.PerSession)
		f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			slow := extension.Tool{Name: "f__" + where(s), Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
				entered <- struct{}{}
				<-release
				w.note("call over")
				return "done", nil
			}}
			return &extension.Instance{Tools: []extension.Tool{slow}, Shutdown: func(context.Context) error { w.note("%s shutdown", where(s)); return nil }}, nil
		})
		w.mustInstall(f)
		turn := w.turn(w.session(f), extension.Agent{})
		b, _ := turn.Tool("f__per_session")
		go func() { _, _ = b.Tool.Run(w.ctx, b.Call, nil) }()
		<-entered
		removed := make(chan error)
		go func() { removed <- w.hub.Remove(w.ctx, "f") }()
		synctest.Wait()
		w.wantNotes("global shutdown") // nothing was running there
		if len(turn.Tools()) != 0 {
			t.Error("the turn still has its tools")
		}
		if _, err := b.Tool.Run(w.ctx, b.Call, nil); err == nil {
			t.Error("a tool that was looked up before can still be called")
		}
		close(release)
		if err := <-removed; err != nil {
			t.Error(err)
		}
		w.wantNotes("call over", "per_session shutdown")
		turn.Release()
		synctest.Wait()
		w.wantNotes()
		if state, _ := w.hub.State("f"); state != StateUnknown || len(w.hub.Declarations()) != 0 {
			t.Error(state)
		}
	})
}

func TestRemovalHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		entered, release := make(chan struct{}), make(chan struct{})
		f := external("f", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{{Name: "f__t", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
			close(entered)
			<-release
			return "", nil
		}}}})
		w.mustInstall(f)
		turn := w.turn(w.session(f), extension.Agent{})
		defer turn.Release()
		b, _ := turn.Tool("f__t")
		go func() { _, _ = b.Tool.Run(w.ctx, b.Call, nil) }()
		<-entered
		wantError(t, w.hub.Remove(w.ctx, "f"), "remove extension f", "in progress")
		close(release)
		wantError(t, w.hub.Remove(w.ctx, "f"), "not installed")
		w.mustInstall(compiled("in"))
		wantError(t, w.hub.Remove(w.ctx, "in"), "compiled in")
	})
}

// version is one of several of an extension, with a tool that answers with its version.
func (w *world) version(name, sha string, scopes ...extension.Scope) *fake {
	f := newFake(name, extension.GitRef(name, "https://example.org/"+name, strings.Repeat(sha, 40)), []extension.HookKind{extension.HookTool})
	return f.at(scopes...).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		return &extension.Instance{
			Tools:    []extension.Tool{tool(name+"__t", sha)},
			Shutdown: func(context.Context) error { w.note("%s %s shutdown", sha, where(s)); return nil },
		}, nil
	})
}

// answers runs the tool of an extension's version in a turn of a session, "" if it has none.
func (w *world) answers(session crdt.DocID, name string) (out string) {
	w.t.Helper()
	w.during(session, extension.Agent{}, func(turn *Turn) {
		b, ok := turn.Tool(name + "__t")
		if !ok {
			return
		}
		var err error
		if out, err = b.Tool.Run(w.ctx, b.Call, nil); err != nil {
			w.t.Error(err)
		}
	})
	return out
}

func TestTwoVersionsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one := w.version("f", "1", extension.Global, extension.PerSession)
		two := w.version("f", "2", extension.Global, extension.PerSession)
		three := w.version("f", "3")
		w.mustInstall(two, one)
		if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"f", "f"}) || !w.hub.Declarations()[0].Ref.Equal(one.d.Ref) {
			t.Errorf("versions of one name are ordered by their references: %v", w.hub.Declarations())
		}
		old, fresh, other := w.session(one), w.session(two), w.session(three)
		for session, want := range map[crdt.DocID]string{old: "1", fresh: "2", other: ""} {
			if got := w.answers(session, "f"); got != want {
				t.Errorf("got %q; want %q", got, want)
			}
		}
		if state, _, _ := w.hub.StateIn("f", three.d.Ref, other, crdt.DocID{}); state != StateUnknown {
			t.Error(state)
		}
		w.running(t)
		w.toggle(old, activation.Activated, two) // the session goes to the other one
		synctest.Wait()
		w.wantNotes("1 per_session shutdown")
		if got := w.answers(old, "f"); got != "2" {
			t.Error(got)
		}
		if err := w.hub.RemoveRef(w.ctx, two.d.Ref); err != nil {
			t.Error(err)
		}
		wantError(t, w.hub.RemoveRef(w.ctx, two.d.Ref), "not installed")
		if got := w.answers(old, "f"); got != "" {
			t.Error(got)
		}
		w.toggle(old, activation.Activated, one)
		if got := w.answers(old, "f"); got != "1" {
			t.Errorf("the other version is as it was: %q", got)
		}
		w.noted()
		if err := w.hub.Remove(w.ctx, "f"); err != nil {
			t.Error(err)
		}
		w.wantNotes("1 per_session shutdown", "1 global shutdown")
	})
}

func TestCloseEndsAllInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		all := []extension.Scope{extension.Global, extension.PerAgent, extension.PerSession}
		a, b := w.watched("a", all...), w.watched("b", all...)
		w.mustInstall(a, b)
		session, agent := w.session(a, b), w.agent("nova")
		w.during(session, agent, func(*Turn) {})
		if err := w.hub.SessionStart(w.ctx, session); err != nil {
			t.Fatal(err)
		}
		w.noted()
		if err := w.hub.Close(w.ctx); err != nil {
			t.Error(err)
		}
		w.wantNotes("a per_session end", "b per_session end",
			"b per_session shutdown", "a per_session shutdown", "b per_agent shutdown", "a per_agent shutdown",
			"b global shutdown", "a global shutdown")
		if err := w.hub.Close(w.ctx); err != nil {
			t.Error(err)
		}
		w.wantNotes()
		if _, err := w.hub.Turn(w.ctx, TurnKey{Session: session}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if r := w.install(compiled("late")); !errors.Is(r[0].Err, ErrClosed) {
			t.Error(r)
		}
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			w.mustInstall(compiled(name).gives(&extension.Instance{Shutdown: func(context.Context) error {
				w.note("%s", name)
				<-release
				return nil
			}}))
		}
		held := w.watched("held", extension.PerSession)
		w.mustInstall(held)
		turn := w.turn(w.session(held), extension.Agent{})
		w.noted()
		start := time.Now()
		wantError(t, w.hub.Close(w.ctx), "1 instances of held")
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("took %s", took)
		}
		synctest.Wait()
		got := w.noted()
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f", "held per_session shutdown"}) {
			t.Errorf("every Shutdown is called once: %q", got)
		}
		turn.Release()
		synctest.Wait()
		w.wantNotes()
	})
}

func TestCloseWaitsForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := w.watched("f", extension.PerSession)
		w.mustInstall(f)
		turn := w.turn(w.session(f), extension.Agent{})
		closed := make(chan error)
		go func() { closed <- w.hub.Close(w.ctx) }()
		synctest.Wait()
		w.noted()
		turn.AgentEnd(w.ctx)
		turn.Release()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		w.wantNotes("f per_session agent_end", "f per_session shutdown")
	})
}

func TestCloseAndABuildInProgress(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorldWith(t, crdt.SystemClock{}, func(c *Config) {
				c.Timings = Timings{Instantiate: time.Hour, Stop: time.Second}
			})
			release := make(chan struct{})
			f := compiled("f").at(extension.PerSession).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
				<-release
				return &extension.Instance{Shutdown: func(context.Context) error { w.note("shutdown"); return nil }}, nil
			})
			w.mustInstall(f)
			session := w.session(f)
			left := make(chan error)
			go func() {
				turn, err := w.hub.Turn(w.ctx, TurnKey{Session: session})
				if err == nil {
					turn.Release()
				}
				left <- err
			}()
			synctest.Wait()
			start := time.Now()
			closed := make(chan error)
			go func() { closed <- w.hub.Close(w.ctx) }()
			synctest.Wait()
			if !hangs {
				close(release)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			if hangs {
				if time.Since(start) != time.Second {
					t.Errorf("took %s", time.Since(start))
				}
				w.wantNotes()
				close(release)
				synctest.Wait()
			}
			w.wantNotes("shutdown") // what comes too late is shut down too; else before Close is over
			if err := <-left; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestASessionThatCantBeRead(t *testing.T) {
	w := newWorld(t)
	f := w.watched("f", extension.Global)
	w.mustInstall(f)
	w.noted()
	nowhere := crdt.DocID{9}
	if err := w.hub.SessionStart(w.ctx, nowhere); !errors.Is(err, crdt.ErrUnknownDoc) {
		t.Error(err)
	}
	if _, err := w.hub.Turn(w.ctx, TurnKey{Session: nowhere}); !errors.Is(err, crdt.ErrUnknownDoc) {
		t.Error(err)
	}
	if _, err := w.hub.Turn(w.ctx, TurnKey{Session: w.agent("nova").ID}); err == nil {
		t.Error("an agent is no session")
	}
	if len(w.hub.open) != 0 {
		t.Error("it counts as open")
	}
	w.wantNotes()
}
