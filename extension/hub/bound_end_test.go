package hub

import (
	"context"
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

func TestOrderWithASessionsOwn(t *testing.T) {
	w := newWorld(t)
	beta, alpha, gamma := external("beta"), external("alpha"), external("gamma")
	zed, yps := compiled("zed"), compiled("yps")
	w.mustInstall(zed, beta, yps)
	session := w.session(gamma, alpha, beta, yps, zed)
	w.bindTo(session, gamma, alpha)
	w.during(session, extension.Agent{}, func(turn *Turn) {
		if got := turn.Active(); !slices.Equal(got, []string{"zed", "yps", "alpha", "beta", "gamma"}) {
			t.Error(got)
		}
	})
	if got := names(w.hub.InstalledIn(session)); !slices.Equal(got, []string{"alpha", "gamma"}) {
		t.Error(got)
	}
}

func TestASessionsOwnTakesNoNames(t *testing.T) {
	w := newWorld(t)
	owner := compiled("owner", extension.HookTool, extension.HookCommand).gives(&extension.Instance{Tools: []extension.Tool{tool("mine", "owner")}})
	owner.d.Commands = []string{"mine"}
	w.mustInstall(owner)
	thief := external("thief", extension.HookTool, extension.HookCommand).gives(&extension.Instance{Tools: []extension.Tool{
		tool("mine", "thief"), tool("shell", "thief"), tool("thief__t", "thief"),
	}})
	thief.d.Commands = []string{"mine", "memory", "help"}
	session := w.session(thief)
	w.bindTo(session, thief)
	w.during(session, extension.Agent{}, func(turn *Turn) {
		if got := toolNames(turn); !slices.Equal(got, []string{"thief:thief__t"}) {
			t.Error(got)
		}
	})
	if got := w.hub.Commands(session); len(got) != 1 || got[0].Owner != "owner" {
		t.Error(got)
	}
	twin := newFake("owner", extension.GitRef("owner", "https://example.org/x", strings.Repeat("1", 40)), nil)
	wantError(t, w.hub.InstallIn(w.ctx, session, twin), "owner", "compiled in")
	// One that comes later is compiled in all the same: what has its name ends.
	late := external("late")
	w.toggle(session, activation.Activated, late)
	w.bindTo(session, late)
	w.mustInstall(external("late"), external("keeps"))
	w.mustInstall(compiled("late"))
	if got := names(w.hub.InstalledIn(session)); !slices.Equal(got, []string{"thief"}) {
		t.Error(got)
	}
	if got := names(w.hub.Declarations()); !slices.Equal(got, []string{"owner", "late", "keeps"}) {
		t.Error(got)
	}
}

func TestWhatIsNotInstalledInASession(t *testing.T) {
	w := newWorld(t)
	session, agent := w.session(), w.agent("nova")
	bad := external("bad").provides(extension.CapSettings)
	for what, c := range map[string]struct {
		in    crdt.DocID
		x     extension.Extension
		parts []string
	}{
		"nothing":            {session, nil, []string{"no extension"}},
		"a panic":            {session, panicky{}, []string{"panicked"}},
		"an invalid one":     {session, bad, []string{"bad", "settings"}},
		"a reserved name":    {session, external("fs"), []string{"reserved"}},
		"a compiled-in one":  {session, compiled("in"), []string{"in", "compiled in"}},
		"no such session":    {crdt.DocID{9}, external("f"), []string{"install \"f\" in session"}},
		"an agent's session": {agent.ID, external("f"), []string{"no session"}},
		"a default": {session, func() *fake {
			f := external("f")
			f.d.Settings = map[string]any{"k": func() {}}
			return f
		}(), []string{"default of setting"}},
	} {
		t.Run(what, func(t *testing.T) { wantError(t, w.hub.InstallIn(w.ctx, c.in, c.x), c.parts...) })
	}
	if len(w.hub.bound) != 0 {
		t.Error("something was registered")
	}
	w.bindTo(session, external("good"))
	if err := w.hub.Close(w.ctx); err != nil {
		t.Error(err)
	}
	if err := w.hub.InstallIn(w.ctx, session, external("late")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestEachSessionsOwnGetsItsHandles(t *testing.T) {
	var asked []string
	w := newWorldWith(t, crdt.SystemClock{}, func(c *Config) {
		c.PeerFor = func(d extension.Declaration) *extension.Peer {
			asked = append(asked, d.Ref.Field("sha")[:1])
			return &extension.Peer{SkillDirs: []string{d.Ref.Field("sha")[:1]}}
		}
	})
	var got []string
	handles := func(sha string) *fake {
		return w.version("f", sha).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			got = append(got, s.Handles().SkillDirs...)
			return &extension.Instance{}, nil
		})
	}
	one, two := handles("1"), handles("2")
	a, b := w.session(one), w.session(two)
	w.bindTo(a, one)
	w.bindTo(b, two)
	w.answers(b, "f")
	w.answers(a, "f")
	if !slices.Equal(asked, []string{"1", "2"}) || !slices.Equal(got, []string{"2", "1"}) {
		t.Error(asked, got)
	}
}

func TestASessionsEndDropsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		own := func() *fake {
			f := external("f", extension.HookSessionStart, extension.HookSessionShutdown, extension.HookAgentEnd)
			return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
				return w.observed("f", s), nil
			})
		}
		closed, forgotten, open := w.session(own()), w.session(own()), w.session(own())
		for _, id := range []crdt.DocID{closed, forgotten, open} {
			w.bindTo(id, own())
			w.hub.Block(id, "strict", "pending")
		}
		idle := w.session()
		w.bindTo(idle, own()) // without an instance
		w.running(t)
		if err := w.hub.SessionStart(w.ctx, closed); err != nil {
			t.Fatal(err)
		}
		w.wantNotes("f per_session start")
		if err := w.hub.SessionShutdown(w.ctx, closed); err != nil {
			t.Fatal(err)
		}
		w.wantNotes("f per_session end", "f per_session shutdown")
		w.during(forgotten, extension.Agent{}, func(*Turn) {})
		for _, id := range []crdt.DocID{forgotten, idle} {
			if err := w.repo.Forget(w.ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
		for id, want := range map[crdt.DocID]int{closed: 0, forgotten: 0, idle: 0, open: 1} {
			if got := len(w.hub.InstalledIn(id)); got != want {
				t.Errorf("%d left; want %d", got, want)
			}
		}
		w.hub.mu.Lock()
		if len(w.hub.bound) != 1 || len(w.hub.blocks) != 2 || w.hub.blocks[forgotten] != nil {
			t.Errorf("%d bindings, blocks %v", len(w.hub.bound), w.hub.blocks)
		}
		w.hub.mu.Unlock()
		w.during(closed, extension.Agent{}, func(turn *Turn) {
			if len(turn.Active()) != 0 {
				t.Error(turn.Active())
			}
		})
	})
}

func TestADocumentThatWentBeforeTheHubRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		session := w.session()
		w.bindTo(session, external("f"))
		w.hub.Block(session, "f", "pending")
		if err := w.repo.Forget(w.ctx, session); err != nil {
			t.Fatal(err)
		}
		w.running(t)
		if len(w.hub.InstalledIn(session)) != 0 {
			t.Error("it is still there")
		}
		if _, _, blocked := w.hub.blocked(session); blocked {
			t.Error("still blocked")
		}
	})
}

// TestCloseEndsOneNameInAllSessionsAtTheSameTime: the entries of many sessions are as many as these,
// and must not be waited for one after the other.
func TestCloseEndsOneNameInAllSessionsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 6 {
			f := external("f").gives(&extension.Instance{Shutdown: func(ctx context.Context) error {
				w.note("shutdown")
				<-ctx.Done()
				return nil
			}})
			session := w.session(f)
			w.bindTo(session, f)
			w.during(session, extension.Agent{}, func(*Turn) {})
		}
		start := time.Now()
		if err := w.hub.Close(w.ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 10*time.Second || len(w.noted()) != 6 {
			t.Errorf("took %s", took)
		}
	})
}
