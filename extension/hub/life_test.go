package hub

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// running runs the hub beside the test, inside a synctest bubble.
func (w *world) running(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- w.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	synctest.Wait()
}

func TestInstancesAreBuiltAtTheFirstNeedAndShared(t *testing.T) {
	w := newWorld(t)
	f := w.watched("f", extension.Global, extension.PerAgent, extension.PerSession)
	w.mustInstall(f)
	w.wantNotes("f global built")
	one, two := w.session(f), w.session(f)
	nova, chaz := w.agent("nova"), w.agent("chaz")
	w.during(one, nova, func(*Turn) {})
	if got := w.noted(); len(got) != 2 {
		t.Errorf("a session and an agent instance: %q", got)
	}
	w.during(one, nova, func(*Turn) {})
	w.wantNotes()
	w.during(two, nova, func(*Turn) {}) // two sessions share the agent's
	w.wantNotes("f per_session built")
	w.during(one, chaz, func(*Turn) {}) // two agents share the session's
	w.wantNotes("f per_agent built")
}

func TestNobodyDeclaresAScope(t *testing.T) {
	w := newWorld(t)
	f := compiled("f", extension.HookCommand)
	f.d.Commands = []string{"f"}
	f.gives(&extension.Instance{Commands: []extension.Command{{Name: "f", Run: func(context.Context, extension.Call, string) (string, error) { return "", nil }}}})
	w.mustInstall(f)
	session, agent := w.session(f), w.agent("nova")
	if _, err := w.hub.Command(w.ctx, session, agent, "f", ""); err != nil {
		t.Fatal(err)
	}
	if n := w.docs.viewed(agent.ID); n != 0 {
		t.Errorf("the agent's document was opened %d times for a command", n)
	}
	w.during(session, agent, func(*Turn) {})
	if n := w.docs.viewed(agent.ID); n != 1 { // its opt-outs count
		t.Errorf("the agent's document was opened %d times for a turn", n)
	}
	w.during(w.session(), agent, func(*Turn) {}) // nothing is on
	if n := w.docs.viewed(agent.ID); n != 1 {
		t.Errorf("the agent's document was opened for a session without extensions")
	}
	if n := len(w.hub.docs); n != 0 {
		t.Errorf("%d documents are known", n)
	}
}

func TestAnAgentThatIsNotHostedHere(t *testing.T) {
	w := newWorld(t)
	f := w.watched("f", extension.Global, extension.PerAgent)
	w.mustInstall(f)
	w.noted()
	far := newRepo(t, 2, w.clock)
	defer far.Close()
	id, err := far.Create(w.ctx, crdt.Agent, func(*crdt.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	toggleIn(t, far, id, activation.Deactivated, f)
	session := w.session(f)
	check := func() {
		t.Helper()
		w.during(session, extension.Agent{ID: id}, func(turn *Turn) {
			if !slices.Equal(turn.Active(), []string{"f"}) {
				t.Error("the opt-outs of an agent that is not hosted here do not count")
			}
		})
		w.wantNotes()
	}
	check() // not known here at all
	grantTo(t, far, id, w.repo.Self(), crdt.Read)
	copyDoc(t, far, w.repo, id)
	check() // known, not writable
	grantTo(t, far, id, w.repo.Self(), crdt.Write)
	copyDoc(t, far, w.repo, id)
	w.during(session, extension.Agent{ID: id}, func(turn *Turn) {
		if len(turn.Active()) != 0 {
			t.Error("now they count")
		}
	})
	toggleIn(t, far, id, activation.Activated, f)
	copyDoc(t, far, w.repo, id)
	w.during(session, extension.Agent{ID: id}, func(*Turn) {})
	w.wantNotes("f per_agent built")
}

func TestOneAttemptForAllWhoWait(t *testing.T) {
	w := newWorld(t)
	started, release := make(chan struct{}), make(chan struct{})
	f := compiled("f").at(extension.PerSession)
	f.builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		close(started) // a second attempt would panic
		<-release
		return &extension.Instance{}, nil
	})
	w.mustInstall(f)
	session := w.session(f)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { w.during(session, extension.Agent{}, func(*Turn) {}) })
	}
	<-started
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.hub.Turn(ctx, TurnKey{Session: session}); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves need not wait: %v", err)
	}
	close(release)
	wg.Wait()
	if f.built.Load() != 1 {
		t.Errorf("built %d times", f.built.Load())
	}
}

func TestWhoLeavesWhileWaitingHoldsNothing(t *testing.T) {
	w := newWorld(t)
	started, release := make(chan struct{}), make(chan struct{})
	ready := w.watched("ready", extension.PerSession)
	slow := compiled("slow").at(extension.PerSession).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		close(started)
		<-release
		return &extension.Instance{}, nil
	})
	w.mustInstall(ready, slow)
	session := w.session(ready)
	w.during(session, extension.Agent{}, func(*Turn) {})
	w.toggle(session, activation.Activated, slow)
	ctx, cancel := context.WithCancel(w.ctx)
	go func() { <-started; cancel() }()
	if _, err := w.hub.Turn(ctx, TurnKey{Session: session}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.noted()
	if err := w.hub.SessionShutdown(w.ctx, session); err != nil {
		t.Error(err)
	}
	w.wantNotes("ready per_session shutdown")
	close(release)
}

func TestASettingThatChangesWhileTheInstanceIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := make(chan struct{})
		f := compiled("f", extension.HookTool).at(extension.PerSession)
		f.d.ReadAtBuild = []string{"banks"}
		f.builds(func(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error) {
			banks, err := s.(extension.SessionContext).Settings.Get(ctx, "banks")
			if banks == nil {
				<-first
			}
			return &extension.Instance{Tools: []extension.Tool{tool("t", string(banks))}, Shutdown: func(context.Context) error { w.note("shutdown %s", banks); return nil }}, err
		})
		w.mustInstall(f)
		session := w.session(f)
		old := make(chan *Turn)
		go func() { old <- w.turn(session, extension.Agent{}) }()
		synctest.Wait()
		w.set(session, "f/banks", 1)
		fresh := w.turn(session, extension.Agent{})
		close(first)
		for _, turn := range []*Turn{<-old, fresh} { // both work with the new settings
			if got, err := run(w, turn, "t", ""); got != "1" || err != nil {
				t.Errorf("%q %v", got, err)
			}
			turn.Release()
		}
		synctest.Wait()
		w.wantNotes("shutdown ") // the one that was built with the old ones
	})
}

func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fails := true
		f := compiled("f", extension.HookTool).at(extension.PerSession).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			if fails {
				return nil, errors.New("no luck")
			}
			return &extension.Instance{Tools: []extension.Tool{tool("t", "")}}, nil
		})
		sibling := compiled("sibling").at(extension.PerSession)
		w.mustInstall(f, sibling)
		session, other := w.session(f, sibling), w.session(f)
		use := func(s crdt.DocID) int { w.during(s, extension.Agent{}, func(*Turn) {}); return int(f.built.Load()) }
		if first, second := use(session), use(session); first != 1 || second != 1 {
			t.Errorf("tried at once again: %d", f.built.Load())
		}
		if use(other) != 2 {
			t.Error("another session has a wait of its own")
		}
		for i, wait := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
			time.Sleep(wait*time.Second - time.Millisecond)
			if n := use(session); n != 2+i {
				t.Errorf("tried after less than %d s", wait)
			}
			time.Sleep(time.Millisecond)
			if n := use(session); n != 3+i {
				t.Errorf("not tried after %d s", wait)
			}
		}
		if state, reason, whole := w.hub.StateIn("f", f.d.Ref, session, crdt.DocID{}); state != StateFailed || reason != "no luck" || whole {
			t.Error(state, reason, whole)
		}
		fails = false
		time.Sleep(5 * time.Minute)
		w.during(session, extension.Agent{}, func(turn *Turn) {
			if len(turn.Tools()) != 1 {
				t.Error("it is back")
			}
		})
		if state, _, _ := w.hub.StateIn("f", f.d.Ref, session, crdt.DocID{}); state != StateOK || sibling.built.Load() != 1 {
			t.Error(state)
		}
	})
}

func TestAClockThatJumpsEndsNoWaitForEver(t *testing.T) {
	clock := crdt.NewManualClock(1786000000000)
	w := newWorldWith(t, clock, func(*Config) {})
	f := compiled("f").at(extension.PerSession).builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		return nil, errors.New("no luck")
	})
	good := w.watched("good", extension.PerSession)
	w.mustInstall(f, good)
	session := w.session(f, good)
	w.during(session, extension.Agent{}, func(*Turn) {})
	clock.Advance(-365 * 24 * time.Hour)
	w.during(session, extension.Agent{}, func(*Turn) {})
	if f.built.Load() != 2 {
		t.Error("a clock that went back a year must not make the wait a year longer")
	}
	var wg sync.WaitGroup
	w.hub.sweep(w.ctx, &wg)
	clock.Advance(30 * time.Minute)
	w.noted()
	w.hub.sweep(w.ctx, &wg)
	wg.Wait()
	w.wantNotes("good per_session shutdown")
	w.during(session, extension.Agent{}, func(*Turn) {})
	clock.Advance(365 * 24 * time.Hour)
	w.noted()
	w.hub.sweep(w.ctx, &wg)
	wg.Wait()
	w.wantNotes("good per_session shutdown")
}

func TestGlobalInstancesAreTriedAgainInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var tries []time.Duration
		start := time.Now()
		f := compiled("f").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			tries = append(tries, time.Since(start))
			if len(tries) < 4 {
				return nil, errors.New("not yet")
			}
			return &extension.Instance{}, nil
		})
		w.running(t)
		w.install(f)
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second}
		if !slices.Equal(tries, want) {
			t.Errorf("tried at %v; want %v", tries, want)
		}
		if state, _ := w.hub.State("f"); state != StateOK {
			t.Error(state)
		}
	})
}

func TestIdleInstancesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := w.watched("f", extension.Global, extension.PerAgent, extension.PerSession)
		w.mustInstall(f)
		session, agent := w.session(f), w.agent("nova")
		w.running(t)
		turn := w.turn(session, agent)
		w.noted()
		time.Sleep(2 * time.Hour) // in use
		turn.Release()
		time.Sleep(30*time.Minute - time.Second)
		synctest.Wait()
		w.wantNotes()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := w.noted(); len(got) != 2 || slices.Contains(got, "f global shutdown") {
			t.Errorf("%q", got)
		}
		if len(w.hub.docs) != 0 || len(w.hub.ending) != 0 {
			t.Error("something is left")
		}
		w.during(session, agent, func(*Turn) {})
		if got := w.noted(); len(got) != 2 {
			t.Errorf("the next need builds anew: %q", got)
		}
	})
}

func TestSwitchesEndInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := w.watched("f", extension.Global, extension.PerAgent, extension.PerSession)
		w.mustInstall(f)
		session, agent := w.session(f), w.agent("nova")
		w.running(t)
		w.during(session, agent, func(*Turn) {})
		w.noted()
		w.toggle(session, activation.Deactivated, f)
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
		w.toggle(session, activation.Activated, f)
		w.during(session, agent, func(*Turn) {})
		w.wantNotes("f per_session built")
		w.toggle(agent.ID, activation.Deactivated, f)
		synctest.Wait()
		w.wantNotes("f per_agent shutdown")
		// A turn in progress keeps what it has.
		turn := w.turn(session, extension.Agent{})
		w.toggle(session, activation.Deactivated, f)
		synctest.Wait()
		turn.AgentEnd(w.ctx)
		w.wantNotes("f per_session agent_end")
		w.during(session, extension.Agent{}, func(next *Turn) {
			if len(next.Active()) != 0 {
				t.Error("the next dispatch does not have it")
			}
		})
		turn.Release()
		turn.Release()
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
	})
}

func TestASettingReadAtBuildEndsTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := w.watched("f", extension.PerSession)
		f.d.ReadAtBuild = []string{"banks"}
		w.mustInstall(f)
		session := w.session(f)
		use := func() { w.during(session, extension.Agent{}, func(*Turn) {}) }
		use()
		w.noted()
		w.set(session, "f/other", 1)
		use()
		w.wantNotes()
		w.set(session, "f/banks", []string{"x"})
		use() // without Run: the next turn sees it
		synctest.Wait()
		got := w.noted()
		slices.Sort(got)
		if !slices.Equal(got, []string{"f per_session built", "f per_session shutdown"}) {
			t.Errorf("%q", got)
		}
		w.running(t)
		w.set(session, "f/banks", []string{"y"})
		synctest.Wait()
		w.wantNotes("f per_session shutdown")
	})
}

func TestSessionsStartAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.watched("a", extension.Global, extension.PerSession)
		b := w.watched("b", extension.PerSession)
		off := w.watched("off", extension.Global, extension.PerSession)
		w.mustInstall(a, b, off)
		session := w.session(a, b)
		w.noted()
		start := func() {
			if err := w.hub.SessionStart(w.ctx, session); err != nil {
				t.Error(err)
			}
		}
		end := func() {
			if err := w.hub.SessionShutdown(w.ctx, session); err != nil {
				t.Error(err)
			}
		}
		start()
		got := w.noted()
		slices.Sort(got[:2])
		if !slices.Equal(got, []string{"a per_session built", "b per_session built", "a per_session start", "b per_session start"}) {
			t.Errorf("%q", got)
		}
		start()
		w.wantNotes()
		end()
		synctest.Wait()
		w.wantNotes("a per_session end", "b per_session end", "b per_session shutdown", "a per_session shutdown")
		end()
		w.wantNotes()
		if len(w.hub.docs)+len(w.hub.ending)+len(w.hub.open) != 0 {
			t.Error("something is left")
		}
	})
}

func TestATurnThatClosesItsOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.watched("a", extension.PerSession), w.watched("b", extension.PerSession)
		w.mustInstall(a, b)
		session := w.session(a, b)
		turn := w.turn(session, extension.Agent{})
		w.noted()
		if err := w.hub.SessionShutdown(w.ctx, session); err != nil { // must not wait for the turn
			t.Error(err)
		}
		turn.AgentEnd(w.ctx)
		w.wantNotes("a per_session agent_end", "b per_session agent_end")
		turn.Release()
		synctest.Wait()
		w.wantNotes("b per_session shutdown", "a per_session shutdown")
	})
}
