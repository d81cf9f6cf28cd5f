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

// commands is an extension whose instances answer words with their own name and scope.
func commands(f *fake, words ...string) *fake {
	f.d.Hooks = []extension.HookKind{extension.HookCommand}
	f.d.Commands = words
	return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		i := &extension.Instance{}
		for _, word := range words {
			i.Commands = append(i.Commands, extension.Command{
				Name: word, Usage: "/" + word + " [what]",
				Run: func(_ context.Context, c extension.Call, args string) (string, error) {
					if c.Depth != 0 || c.Lent.Settings == nil || c.Lent.Caps == nil || c.Lent.Tools == nil {
						return "", errors.New("not all was lent")
					}
					return f.d.Name + " " + where(s) + " " + c.Agent.Name + " " + args, nil
				},
			})
		}
		return i, nil
	})
}

func TestCommands(t *testing.T) {
	w := newWorld(t)
	a := commands(compiled("a"), "todo", "quit", "groups")
	b := commands(external("b"), "todo", "note").at(extension.Global, extension.PerAgent)
	c := commands(external("c"), "note", "memory").at(extension.PerSession)
	w.mustInstall(a, b, c)
	session, agent := w.session(a, b, c), w.agent("nova")
	for line, want := range map[string]string{
		"todo  x  y ": "a global nova x  y", // what is compiled in keeps its word
		"note":        "c per_session nova",
	} {
		word, args, _ := strings.Cut(line, " ")
		if got, err := w.hub.Command(w.ctx, session, agent, word, args); strings.TrimSpace(got) != want || err != nil {
			t.Errorf("/%s: %q, %v; want %q", line, got, err, want)
		}
	}
	w.toggle(session, activation.Deactivated, c)
	if got, _ := w.hub.Command(w.ctx, session, agent, "note", ""); got != "b per_agent nova " {
		t.Errorf("%q", got)
	}
	for _, word := range []string{"quit", "groups", "memory", "nothing", ""} {
		if _, err := w.hub.Command(w.ctx, session, agent, word, ""); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("/%s: %v", word, err)
		}
	}
	want := []CommandInfo{{"todo", "a", "/todo [what]"}, {"note", "b", "/note [what]"}}
	if got := w.hub.Commands(crdt.DocID{}); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestACommandWhoseOwnerIsOff(t *testing.T) {
	w := newWorld(t)
	f := commands(compiled("schedule"), "schedule")
	w.mustInstall(f)
	session, agent := w.session(f), w.agent("nova")
	w.toggle(agent.ID, activation.Deactivated, f)
	if _, err := w.hub.Command(w.ctx, session, agent, "schedule", ""); err != nil {
		t.Errorf("an agent's opt-out does not touch commands: %v", err)
	}
	w.toggle(session, activation.Deactivated, f)
	_, err := w.hub.Command(w.ctx, session, agent, "schedule", "list")
	var off *InactiveError
	want := "/schedule is provided by the 'schedule' extension, which is not active on this session. Use `/extensions add schedule` to enable it."
	if !errors.As(err, &off) || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestACommandThatIsNotLive(t *testing.T) {
	w := newWorld(t)
	broken := commands(compiled("broken"), "broken").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		return nil, errors.New("no disk")
	})
	crashes := commands(external("crashes"), "crashes")
	crashes.gives(&extension.Instance{Commands: []extension.Command{{Name: "crashes", Run: func(context.Context, extension.Call, string) (string, error) { panic("ouch") }}}})
	other := commands(external("other"), "other")
	w.install(broken, crashes, other)
	session := w.session(broken, crashes, newFake("other", extension.GitRef("other", "https://example.org/fork", strings.Repeat("2", 40)), nil))
	not := func(word string, state State, parts ...string) {
		t.Helper()
		_, err := w.hub.Command(w.ctx, session, extension.Agent{}, word, "")
		var e *NotLiveError
		if !errors.As(err, &e) || e.State != state || e.Owner != word {
			t.Errorf("/%s: %v", word, err)
		}
		wantError(t, err, parts...)
	}
	not("broken", StateFailed, "broken", "no disk")
	not("other", StateFailed, "another version")
	for range maxFaults {
		_, err := w.hub.Command(w.ctx, session, extension.Agent{}, "crashes", "")
		wantError(t, err, "/crashes", "panicked", "ouch")
	}
	not("crashes", StateSuspended, "ouch")
}

func TestACommandHasADeadlineAndItsErrorsAreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f := commands(external("f"), "hang", "fail")
		f.gives(&extension.Instance{Commands: []extension.Command{
			{Name: "hang", Run: func(ctx context.Context, _ extension.Call, _ string) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}},
			{Name: "fail", Run: func(context.Context, extension.Call, string) (string, error) { return "", errors.New("no such note") }},
		}})
		w.mustInstall(f)
		session := w.session(f)
		start := time.Now()
		_, err := w.hub.Command(w.ctx, session, extension.Agent{}, "hang", "")
		wantError(t, err, "1m0s")
		if time.Since(start) != time.Minute {
			t.Error(time.Since(start))
		}
		for range 2 * maxFaults {
			_, err := w.hub.Command(w.ctx, session, extension.Agent{}, "fail", "")
			wantError(t, err, "no such note")
		}
		if state, _ := w.hub.State("f"); state != StateOK {
			t.Errorf("an error is an answer: %s", state)
		}
	})
}

func TestRoutines(t *testing.T) {
	w := newWorld(t)
	var got extension.Fire
	f := compiled("f").gives(&extension.Instance{Routine: func(_ context.Context, fire extension.Fire) error {
		got = fire
		if string(fire.Payload) == "1" {
			panic("ouch")
		}
		return errors.New("busy")
	}})
	broken := compiled("broken").builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		return nil, errors.New("no disk")
	})
	session := compiled("session").at(extension.PerSession).gives(&extension.Instance{Routine: func(context.Context, extension.Fire) error { return nil }})
	w.install(f, compiled("mute"), broken, session)
	fire := func(ext, payload string) error {
		return w.hub.Routine(w.ctx, ext, extension.Fire{Routine: "r", Scope: "global", Payload: []byte(payload)})
	}
	wantError(t, fire("f", `{"a":1}`), "busy") // it is on in no session, and fires
	if string(got.Payload) != `{"a":1}` || got.Routine != "r" {
		t.Errorf("%+v", got)
	}
	wantError(t, fire("f", `1`), "panicked")
	wantError(t, fire("nobody", ``), "nobody")
	wantError(t, fire("mute", ``), "mute", "routine")
	wantError(t, fire("session", ``), "session", "routine") // only Global instances handle fires
	wantError(t, fire("broken", ``), "broken", "no disk")
	if w.entry("f").global.live.holds != 0 {
		t.Error("the instance is still held")
	}
}

func TestARoutineHasTheDeadlineOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		w.mustInstall(compiled("f").gives(&extension.Instance{Routine: func(context.Context, extension.Fire) error { <-release; return nil }}))
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Minute)
		defer cancel()
		start := time.Now()
		if err := w.hub.Routine(ctx, "f", extension.Fire{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Minute {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	var access extension.SettingsAccess
	f := compiled("f").at(extension.PerSession)
	f.d.Settings = map[string]any{"limit": 5, "none": nil, "list": []string{"a"}}
	f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		access = s.(extension.SessionContext).Settings
		return &extension.Instance{}, nil
	})
	w.mustInstall(f)
	session := w.session(f)
	w.during(session, extension.Agent{}, func(*Turn) {})
	want := func(key, value string) {
		t.Helper()
		if got, err := access.Get(w.ctx, key); string(got) != value || err != nil {
			t.Errorf("%s is %q, %v; want %q", key, got, err, value)
		}
	}
	set := func(key string, value any) {
		t.Helper()
		if err := access.Set(w.ctx, key, value); err != nil {
			t.Error(err)
		}
	}
	want("limit", "5")
	want("none", "")
	want("list", `["a"]`)
	want("other", "")
	set("limit", 7)
	set("a/b", "c")
	w.set(session, "g/limit", 9) // somebody else's
	want("limit", "7")
	want("a/b", `"c"`)
	w.set(session, "f/limit", nil)
	want("limit", "5") // null is not set
	set("limit", 8)
	set("limit", nil)
	want("limit", "5")
	if err := access.Set(w.ctx, "", 1); err == nil {
		t.Error("an empty key")
	}
	err := w.repo.View(w.ctx, session, func(v *crdt.View) error {
		if _, there := v.Record(crdt.SettingsStore, "f/limit"); there {
			t.Error("the override is still there")
		}
		if text, _ := v.Record(crdt.SettingsStore, "f/a/b"); text != `"c"` {
			t.Error(text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
