package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// another is a second version of an extension.
func another(f *fake) *fake {
	return newFake(f.d.Name, extension.GitRef(f.d.Name, "https://example.org/"+f.d.Name, strings.Repeat("2", 40)), f.d.Hooks)
}

func TestWordsOfASessionsOwn(t *testing.T) {
	w := newWorld(t)
	f := commands(external("f"), "todo", "note")
	g := commands(external("g"), "note")
	w.mustInstall(g)
	session, other := w.session(f, g), w.session(f, g)
	w.bindTo(session, f)
	call := func(id crdt.DocID, word string) (string, error) {
		return w.hub.Command(w.ctx, id, extension.Agent{}, word, "x")
	}
	if got, err := call(session, "todo"); got != "f per_session  x" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if got, err := call(session, "note"); got != "f per_session  x" || err != nil { // session before global
		t.Errorf("%q %v", got, err)
	}
	if got, err := call(other, "note"); got != "g global  x" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := call(other, "todo"); !errors.Is(err, ErrUnknownCommand) {
		t.Error(err)
	}
	want := []CommandInfo{{"todo", "f", "/todo [what]"}, {"note", "f", "/note [what]"}}
	if got := w.hub.Commands(session); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, id := range []crdt.DocID{other, {}} {
		if got := w.hub.Commands(id); !slices.Equal(got, []CommandInfo{{"note", "g", "/note [what]"}}) {
			t.Errorf("%q", got)
		}
	}
	var not *NotLiveError
	w.toggle(session, activation.Activated, another(f))
	if _, err := call(session, "todo"); !errors.As(err, &not) || not.Owner != "f" || not.Reason != otherVersion {
		t.Error(err)
	}
	w.mustInstall(another(f)) // and that version brings no command
	if _, err := call(session, "todo"); !errors.As(err, &not) || not.Owner != "f" || !strings.Contains(not.Reason, "does not bring the command") {
		t.Error(err)
	}
	var off *InactiveError
	w.toggle(session, activation.Deactivated, f)
	if _, err := call(session, "todo"); !errors.As(err, &off) || off.Owner != "f" {
		t.Error(err)
	}
	w.unbind(session, "f")
	if _, err := call(session, "todo"); !errors.Is(err, ErrUnknownCommand) {
		t.Error(err)
	}
}

func TestCapabilitiesWithinASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		needs := extension.Request{Kind: extension.CapMemory, Provider: "bank"}
		guest := asks(external("guest"), needs)
		guest.d.Requires, guest.d.Requests = []extension.Request{needs}, nil
		bank := memories(external("bank"), nil)
		own := asks(external("own"), needs) // of the whole peer: the session's provider is not for it
		own.d.Requires, own.d.Requests = []extension.Request{needs}, nil
		w.install(own)
		session, other := w.session(guest, bank, own), w.session(guest, bank)
		w.bindTo(session, guest)
		w.bindTo(other, guest)
		state := func(id crdt.DocID, want State) {
			t.Helper()
			if got, reason, whole := w.hub.StateIn("guest", guest.d.Ref, id, crdt.DocID{}); got != want || !whole {
				t.Errorf("%s (%s), whole %v; want %s", got, reason, whole, want)
			}
			if got := w.hub.FailuresIn(id)["guest"]; (got != "") != (want == StateFailed) || want == StateFailed && !strings.Contains(got, "memory of bank") {
				t.Errorf("failures: %q", got)
			}
		}
		state(session, StateFailed)
		w.bindTo(session, bank)
		state(session, StateOK)
		state(other, StateFailed)
		if got, _ := w.hub.State("own"); got != StateFailed || w.hub.Failures()["own"] == "" {
			t.Error(got)
		}
		w.during(session, extension.Agent{}, func(turn *Turn) {
			if got, err := run(w, turn, "ask_guest", "bank"); got != "bank per_session" || err != nil {
				t.Errorf("%q %v", got, err)
			}
			if id, err := turn.Resolver().Messenger("bank").Send(w.ctx, session, "hi", "message"); id != "bank per_session hi" || err != nil {
				t.Error(id, err)
			}
			if out, err := turn.Resolver().Cap("bank/echo", "")(w.ctx, "op", json.RawMessage(`1`)); string(out) != `1` || err != nil {
				t.Error(string(out), err)
			}
		})
		w.during(other, extension.Agent{}, func(turn *Turn) {
			if turn.Resolver().Memory("bank") != nil || len(turn.Tools()) != 0 {
				t.Error("found in another session")
			}
		})
		w.unbind(session, "bank")
		state(session, StateFailed)
		w.during(session, extension.Agent{}, func(turn *Turn) {
			if len(turn.Tools()) != 0 {
				t.Error("what it needs is gone")
			}
		})
		w.mustInstall(memories(external("bank"), nil)) // one of the peer serves every session
		state(session, StateOK)
		state(other, StateOK)
		if err := w.hub.Remove(w.ctx, "bank"); err != nil {
			t.Error(err)
		}
		state(other, StateFailed)
	})
}

func TestSuspensionIsThatOfOneSession(t *testing.T) {
	w := newWorld(t)
	crashes := func() *fake {
		return commands(external("f"), "f").gives(&extension.Instance{Commands: []extension.Command{
			{Name: "f", Run: func(_ context.Context, _ extension.Call, args string) (string, error) {
				if args == "crash" {
					panic("ouch")
				}
				return "fine", nil
			}},
		}})
	}
	one, two := crashes(), crashes()
	a, b := w.session(one), w.session(two)
	w.bindTo(a, one)
	w.bindTo(b, two)
	call := func(id crdt.DocID, args string) error {
		_, err := w.hub.Command(w.ctx, id, extension.Agent{}, "f", args)
		return err
	}
	for range maxFaults {
		wantError(t, call(a, "crash"), "ouch")
	}
	var not *NotLiveError
	if err := call(a, ""); !errors.As(err, &not) || not.State != StateSuspended {
		t.Error(err)
	}
	if err := call(b, ""); err != nil {
		t.Errorf("another session is not touched: %v", err)
	}
	state := func(id crdt.DocID, want State) {
		t.Helper()
		if got, _, _ := w.hub.StateIn("f", one.d.Ref, id, crdt.DocID{}); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	state(a, StateSuspended)
	state(b, StateOK)
	state(w.session(one), StateUnknown)
	if w.hub.Resume(b, "f") || w.hub.Resume(crdt.DocID{}, "f") || !w.hub.Resume(a, "f") || w.hub.Resume(a, "f") {
		t.Error("resume")
	}
	state(a, StateOK)
	if err := call(a, ""); err != nil {
		t.Error(err)
	}
	for range maxFaults {
		wantError(t, call(a, "crash"), "ouch")
	}
	w.bindTo(a, one) // every installation begins anew
	if err := call(a, ""); err != nil {
		t.Error(err)
	}
}

func TestAFailedInstanceOfASessionsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var works atomic.Bool
		f := w.version("f", "1").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
			if !works.Load() {
				return nil, errors.New("no luck")
			}
			return &extension.Instance{Tools: []extension.Tool{tool("f__t", "1")}}, nil
		})
		session := w.session(f)
		w.bindTo(session, f)
		w.answers(session, "f")
		if state, reason, whole := w.hub.StateIn("f", f.d.Ref, session, crdt.DocID{}); state != StateFailed || reason != "no luck" || !whole {
			t.Error(state, reason, whole)
		}
		works.Store(true)
		time.Sleep(5 * time.Second)
		if got := w.answers(session, "f"); got != "1" {
			t.Error(got)
		}
		future := external("future")
		future.d.API = 99
		odd := external("odd").at("per_moon")
		w.bindTo(session, future, odd)
		if got := w.hub.FailuresIn(session); len(got) != 2 || !strings.Contains(got["future"], "99") || !strings.Contains(got["odd"], "per_moon") {
			t.Error(got)
		}
	})
}

func TestIdleAndCloseEndASessionsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one, two := w.version("f", "1"), w.version("f", "2")
		a, b := w.session(one), w.session(two)
		w.bindTo(a, one)
		w.bindTo(b, two)
		w.running(t)
		w.answers(a, "f")
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		w.wantNotes("1 per_session shutdown")
		if got := w.answers(a, "f"); got != "1" {
			t.Errorf("the next need builds anew: %q", got)
		}
		w.answers(b, "f")
		if err := w.hub.Close(w.ctx); err != nil {
			t.Error(err)
		}
		got := w.noted()
		slices.Sort(got)
		if !slices.Equal(got, []string{"1 per_session shutdown", "2 per_session shutdown"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestASettingOfASessionsOwn(t *testing.T) {
	w := newWorld(t)
	f := external("f", extension.HookTool)
	f.d.ReadAtBuild, f.d.Settings = []string{"k"}, map[string]any{"k": 1}
	f.builds(func(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		v, err := s.(extension.SessionContext).Settings.Get(ctx, "k")
		return &extension.Instance{Tools: []extension.Tool{tool("f__t", string(v))}}, err
	})
	a, b := w.session(f), w.session(f)
	w.bindTo(a, f)
	w.bindTo(b, f)
	w.set(a, "f/k", 2)
	if x, y := w.answers(a, "f"), w.answers(b, "f"); x != "2" || y != "1" {
		t.Errorf("%q %q", x, y)
	}
	w.set(a, "f/k", 3)
	if x := w.answers(a, "f"); x != "3" {
		t.Errorf("%q", x)
	}
}

// fires is an extension whose instances answer fires with an error that names them.
func fires(f *fake, what string) *fake {
	return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		return &extension.Instance{Routine: func(_ context.Context, fire extension.Fire) error {
			if string(fire.Payload) == "panic" {
				panic("ouch")
			}
			return errors.New(what + " " + where(s))
		}}, nil
	})
}

func TestRoutinesOfASession(t *testing.T) {
	w := newWorld(t)
	own, next := fires(external("f"), "own"), fires(another(external("f")), "next")
	whole, in := fires(external("whole"), "whole"), fires(compiled("in").at(extension.Global, extension.PerSession), "in")
	mute := external("mute")
	w.mustInstall(whole, in)
	session, other := w.session(own, mute), w.session(own)
	w.bindTo(session, own, mute)
	fire := func(ext, scope, payload string) error {
		return w.hub.Routine(w.ctx, ext, extension.Fire{Routine: "r", Scope: scope, Payload: []byte(payload)})
	}
	here, there := "session:"+session.String(), "session:"+other.String()
	wantError(t, fire("f", here, ""), "own per_session") // built for it
	if own.built.Load() != 1 {
		t.Error(own.built.Load())
	}
	wantError(t, fire("f", there, ""), "there is no extension", `"f"`)
	wantError(t, fire("f", "global", ""), "there is no extension")
	wantError(t, fire("f", "session:nonsense", ""), "there is no extension")
	wantError(t, fire("mute", here, ""), "mute", "no routine handler")
	wantError(t, fire("in", here, ""), "in global")
	wantError(t, fire("in", "session:"+crdt.DocID{9}.String(), ""), "in global")
	wantError(t, fire("whole", "global", ""), "whole global")
	wantError(t, fire("whole", here, ""), "another version") // the session never had it
	w.toggle(session, activation.Activated, whole)
	w.toggle(session, activation.Deactivated, whole)
	wantError(t, fire("whole", here, ""), "whole global") // off, and fires
	w.toggle(session, activation.Deactivated, own)
	wantError(t, fire("f", here, ""), "own per_session")
	w.toggle(session, activation.Activated, next)
	wantError(t, fire("f", here, ""), "not live", "another version")
	w.mustInstall(next, fires(newFake("f", extension.GitRef("f", "https://example.org/f", strings.Repeat("0", 40)), nil), "last"))
	wantError(t, fire("f", here, ""), "next global")
	wantError(t, fire("f", "agent:x", ""), "last global") // the version that came last
	w.toggle(session, activation.Activated, own)
	for range maxFaults {
		wantError(t, fire("f", here, "panic"), "ouch")
	}
	wantError(t, fire("f", here, ""), "suspended", "ouch")
	wantError(t, fire("f", "session:"+crdt.DocID{9}.String(), ""), "read extensions of session")
	e := w.hub.bound[session].named("f")[0]
	if x := w.hub.docs[session][e].live; x.holds != 0 || w.entry("in").global.live.holds != 0 {
		t.Error("an instance is still held")
	}
	if got := w.audits[0]; got.Session != session || got.Outcome != OutcomePanic {
		t.Errorf("%+v", got)
	}
}

func TestABlockedSession(t *testing.T) {
	w := newWorld(t)
	asked := 0
	f := decider(compiled("f"), func(extension.ToolCallInput) (extension.CallDecision, error) {
		asked++
		return extension.CallDecision{}, nil
	})
	w.mustInstall(f)
	session, other := w.session(f), w.session(f)
	turn, beside := w.turn(session, extension.Agent{}), w.turn(other, extension.Agent{})
	defer turn.Release()
	defer beside.Release()
	args := json.RawMessage(`{"a":1}`)
	check := func(turn *Turn, verdict extension.Verdict, by, reason string, calls int) {
		t.Helper()
		asked = 0
		wantOutcome(t, turn.ToolCall(w.ctx, "t", args, nil), CallOutcome{Verdict: verdict, Args: args, By: by, Reason: reason})
		if asked != calls {
			t.Errorf("hooks were asked %d times", asked)
		}
	}
	check(turn, extension.Allow, "", "", 1)
	w.hub.Block(session, "strict", "strict is\npending trust here")
	check(turn, extension.Deny, "strict", "strict is pending trust here", 0) // in this turn too
	check(beside, extension.Allow, "", "", 1)
	w.hub.Block(session, "hard", "")
	check(turn, extension.Deny, "hard", "no reason given", 0)
	w.hub.Unblock(session, "hard")
	w.hub.Block(session, "strict", "denied")
	check(turn, extension.Deny, "strict", "denied", 0)
	w.hub.Unblock(other, "strict")
	w.hub.Unblock(session, "nobody")
	check(turn, extension.Deny, "strict", "denied", 0)
	if err := w.hub.SessionShutdown(w.ctx, session); err != nil {
		t.Error(err)
	}
	check(turn, extension.Deny, "strict", "denied", 0) // a turn may outlive the closing
	w.hub.Unblock(session, "strict")
	check(turn, extension.Allow, "", "", 1)
	if len(w.hub.blocks) != 0 {
		t.Error(w.hub.blocks)
	}
}
