package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// bell is an extension whose routine handler notes what it gets; the payload "broken" fails, "crack"
// panics.
type bell struct {
	mu   sync.Mutex
	rang []string // payloads
}

func (b *bell) Declaration() extension.Declaration {
	return extension.Declaration{Manifest: extension.Manifest{Name: "bell", Ref: extension.BuiltinRef("bell", "1.0.0")}}
}

func (b *bell) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	return &extension.Instance{Routine: func(_ context.Context, f extension.Fire) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rang = append(b.rang, string(f.Payload))
		switch string(f.Payload) {
		case `"broken"`:
			return errors.New("the rope tore")
		case `"crack"`:
			panic("the bell cracked")
		}
		return nil
	}}, nil
}

func (b *bell) count(payload string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.rang {
		if p == payload {
			n++
		}
	}
	return n
}

// bells are two peers in a session, each with a bell.
func bells(t *testing.T) (a, b *peer, here, there *bell) {
	t.Helper()
	here, there = &bell{}, &bell{}
	a = newPeer(t, "a", node.Config{Extensions: []extension.Extension{here}}).online()
	b = newPeer(t, "b", node.Config{Extensions: []extension.Extension{there}}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	return a, b, here, there
}

func (p *peer) routine(id string) (control.Routine, bool) {
	p.t.Helper()
	return named(ask(p, control.RoutineList, control.RoutineListParams{}), id)
}

func named(all control.List[control.Routine], id string) (control.Routine, bool) {
	i := slices.IndexFunc(all, func(r control.Routine) bool { return strings.HasSuffix(r.ID, ":"+id) })
	if i < 0 {
		return control.Routine{}, false
	}
	return all[i], true
}

func (p *peer) untilRoutine(id, what string, ok func(control.Routine) bool) {
	p.t.Helper()
	until(p, control.RoutineList, control.RoutineListParams{}, what, func(all control.List[control.Routine]) bool {
		r, there := named(all, id)
		return there && ok(r)
	})
}

func every(id, payload string) control.RoutineAddParams {
	return control.RoutineAddParams{ID: id, Session: room, Extension: "bell", Cron: "* * * * * *", Payload: json.RawMessage(payload)}
}

// A session's routine is on every peer that has the session, and fires on the one that made it.
func TestRoutineFiresOnOnePeer(t *testing.T) {
	t.Parallel()
	a, b, here, there := bells(t)
	ask(a, control.RoutineAdd, every("matins", `"by a"`))
	ask(b, control.RoutineAdd, every("vespers", `"by b"`))
	passed := func(r control.Routine) bool { return strings.Contains(r.Reason, "another peer is its home") }
	b.untilRoutine("matins", "passed over", passed)
	a.untilRoutine("vespers", "passed over", passed)
	until(a, control.GetID, control.IDParams{}, "fired", func(control.ID) bool { return here.count(`"by a"`) > 0 && there.count(`"by b"`) > 0 })
	if here.count(`"by b"`) != 0 || there.count(`"by a"`) != 0 {
		t.Errorf("fired away from home: %v, %v", here.rang, there.rang)
	}
	refused(b, control.RoutineRun, control.RoutineParams{Routine: "matins"}, control.CodeConflict, "another peer is the home")

	// A one-shot whose time is over fires once, at home, and is gone everywhere.
	ask(a, control.RoutineAdd, control.RoutineAddParams{ID: "knell", Session: room, Extension: "bell", At: "2020-01-01T00:00:00Z", Payload: json.RawMessage(`"knell"`)})
	for _, p := range []*peer{a, b} {
		until(p, control.RoutineList, control.RoutineListParams{}, "without the one-shot", func(all control.List[control.Routine]) bool {
			_, there := named(all, "knell")
			return !there && here.count(`"knell"`) == 1
		})
	}
	if here.count(`"knell"`) != 1 || there.count(`"knell"`) != 0 {
		t.Errorf("the one-shot fired %d and %d times", here.count(`"knell"`), there.count(`"knell"`))
	}

	// Whoever may write may remove; the home fires it no more.
	ask(b, control.RoutineRemove, control.RoutineParams{Routine: "matins"})
	until(a, control.RoutineList, control.RoutineListParams{}, "without the routine", func(all control.List[control.Routine]) bool {
		_, there := named(all, "matins")
		return !there
	})
	// The switch of the session does not gate it.
	b.cmd("/extensions remove bell", "Deactivated bell")
	before := there.count(`"by b"`)
	until(b, control.GetID, control.IDParams{}, "fired while the extension is off", func(control.ID) bool { return there.count(`"by b"`) > before })
}

// Failures count, switch a routine off at the third, and all that outlives a restart and is seen by
// the other peer.
func TestFailingRoutineStaysOff(t *testing.T) {
	t.Parallel()
	a, b, here, _ := bells(t)
	yearly := func(id, session, payload string) control.RoutineAddParams {
		return control.RoutineAddParams{ID: id, Session: session, Extension: "bell", Cron: "0 0 0 1 1 *", Payload: json.RawMessage(payload)}
	}
	all := map[string]string{"torn": "the rope tore", "cracked": "the bell cracked", "own": "the rope tore"}
	ask(a, control.RoutineAdd, yearly("torn", room, `"broken"`))
	ask(a, control.RoutineAdd, yearly("cracked", room, `"crack"`))
	ask(a, control.RoutineAdd, yearly("own", "", `"broken"`))
	ask(a, control.RoutineAdd, yearly("good", "", `"ding"`))
	if r, _ := a.routine("own"); r.ID != "global:own" || !r.Enabled || r.Next == nil {
		t.Errorf("%+v", r)
	}
	ask(a, control.RoutineRun, control.RoutineParams{Routine: "good"})
	for range 3 {
		for id, why := range all {
			refused(a, control.RoutineRun, control.RoutineParams{Routine: id}, control.CodeInternal, why)
		}
	}
	off := func(p *peer, ids ...string) {
		t.Helper()
		for _, id := range ids {
			p.untilRoutine(id, "off", func(r control.Routine) bool {
				return !r.Enabled && r.Failures == 3 && strings.Contains(r.LastError, all[id]) && r.Next == nil
			})
		}
		if r, _ := p.routine("good"); p == a && (!r.Enabled || r.Failures != 0 || r.Next == nil) {
			t.Errorf("the good one: %+v", r)
		}
	}
	off(a, "torn", "cracked", "own")
	off(b, "torn", "cracked")
	if _, there := b.routine("own"); there {
		t.Error("a routine of one peer is on another")
	}
	a.again(here)
	off(a, "torn", "cracked", "own")

	// A fire by hand that works ends the row of failures; a person's word switches it on again.
	if here.count(`"broken"`) != 6 || here.count(`"crack"`) != 3 || here.count(`"ding"`) != 1 {
		t.Errorf("%v", here.rang)
	}
	refused(a, control.RoutineAdd, yearly("own", "", "null"), control.CodeConflict)
	ask(a, control.RoutineRemove, control.RoutineParams{Routine: "global:own"})
	refused(a, control.RoutineRemove, control.RoutineParams{Routine: "own"}, control.CodeNotFound)
	if _, there := a.routine("own"); there {
		t.Error("still there")
	}
}

// What can't be a routine is refused; a target that is not there is an error of the fire.
func TestRoutineRefusals(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{&bell{}, versioned("mute", "1.0.0")}})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	for _, q := range []control.RoutineAddParams{
		{},
		{Cron: "* * * *"},
		{Cron: "* * * * * * *"},
		{Cron: "61 * * * * *"},
		{Cron: "0 0 0 30 2 *"},
		{Cron: "@daily"},
		{Cron: "0 9 * * *", TZ: "Elsinore"},
		{Cron: "0 9 * * *", EverySecs: 5},
		{EverySecs: -1},
		{At: "tomorrow"},
	} {
		q.ID, q.Extension = "bad", "bell"
		if _, err := try(p, control.RoutineAdd, q); err == nil {
			t.Errorf("%+v was taken", q)
		}
	}
	if all := ask(p, control.RoutineList, control.RoutineListParams{}); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	refused(p, control.RoutineAdd, control.RoutineAddParams{ID: "nobody", Extension: "nobody", EverySecs: 3600},
		control.CodeNotFound, "nobody")
	ask(p, control.RoutineAdd, control.RoutineAddParams{ID: "mute", Extension: "mute", EverySecs: 3600})
	refused(p, control.RoutineRun, control.RoutineParams{Routine: "mute"}, control.CodeInternal, "mute", "routine")
	// A one-shot that fired by hand is done.
	ask(p, control.RoutineAdd, control.RoutineAddParams{ID: "once", Extension: "bell", At: "2999-01-01T00:00:00Z"})
	ask(p, control.RoutineRun, control.RoutineParams{Routine: "once"})
	if _, there := p.routine("once"); there {
		t.Error("a one-shot is there after it fired")
	}
}

// A session that is closed here, or forgotten, fires nothing any more.
func TestRoutinesOfAClosedSession(t *testing.T) {
	t.Parallel()
	for _, online := range []bool{false, true} {
		for _, forget := range []bool{false, true} {
			p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{&bell{}}})
			if online {
				p.online()
			}
			id := ask(p, control.SessionNew, control.SessionNewParams{Name: room}).ID
			ask(p, control.RoutineAdd, control.RoutineAddParams{ID: "yearly", Session: room, Extension: "bell", Cron: "0 0 0 1 1 *"})
			if _, there := p.routine("yearly"); !there {
				t.Fatal("it is not there")
			}
			if forget {
				ask(p, control.SessionForget, control.SessionForgetParams{Session: id, Force: true})
			} else {
				ask(p, control.SessionClose, control.SessionParams{Session: id})
				ask(p, control.SessionPost, control.SessionPostParams{Session: id, Content: "somebody still writes"})
			}
			until(p, control.RoutineList, control.RoutineListParams{}, "without the routine", func(all control.List[control.Routine]) bool { return len(all) == 0 })
		}
	}
}
