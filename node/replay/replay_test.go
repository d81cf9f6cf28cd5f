package replay_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders"
)

func TestFromLogToLive(t *testing.T) {
	w := newWorld(t)
	one, two := ref("one", "1"), ref("two", "1")
	id, other := w.session(one, two), w.session(one)
	w.shelf.trust(id, one, 5)
	w.ensure(id)
	w.ensure(other)
	w.wantState(id, "one", loaders.StateTrusted)
	w.wantState(id, "two", loaders.StatePending)
	w.wantState(other, "one", loaders.StatePending)
	w.wantSays(id, "one", "1 kv=5")
	w.wantSays(id, "two", "")
	w.wantSays(other, "one", "") // trust in one session is none in another
	if got := w.noticed(); !slices.Equal(got, []string{"two pending", "one pending"}) {
		t.Errorf("noticed %q", got)
	}
	if run := w.m.Running(); len(run) != 1 || !slices.Equal(run[id], []string{"one"}) {
		t.Errorf("running: %v", run)
	}
	if !w.any[id] || w.builds.Load() != 1 {
		t.Errorf("any %v, %d builds", w.any, w.builds.Load())
	}
	empty := w.session()
	w.ensure(empty)
	if any, told := w.any[empty]; !told || any {
		t.Error("a session without code must be told of too: the last start may have known of some")
	}
	if err := w.m.Ensure(t.Context(), crdt.DocID{9}); !errors.Is(err, crdt.ErrUnknownDoc) {
		t.Errorf("a document that is not here: %v", err)
	}
}

func TestNothingChangedCostsOneLook(t *testing.T) {
	w := newWorld(t)
	one, two := ref("one", "1"), ref("two", "1")
	id := w.session(one, two)
	w.shelf.trust(id, one, 0)
	w.ensure(id)
	views, resolves := w.views.Load(), w.shelf.resolves.Load()
	for range 10 {
		w.ensure(id)
	}
	if n := w.views.Load() - views; n != 10 {
		t.Errorf("%d looks at the log for ten times", n)
	}
	if n := w.shelf.resolves.Load() - resolves; n != 0 {
		t.Errorf("%d questions although nothing changed", n)
	}
	w.noticed()
	w.shelf.trust(id, two, 0) // the control
	w.ensure(id)
	w.wantSays(id, "two", "1 kv=0")
	if w.builds.Load() != 2 {
		t.Errorf("%d builds: what runs was built again", w.builds.Load())
	}
}

func TestTrustLostEndsBeforeChangedReturns(t *testing.T) {
	w := newWorld(t)
	one := ref("one", "1")
	a, b := w.session(one), w.session(one)
	for _, id := range []crdt.DocID{a, b} {
		w.shelf.trust(id, one, 0)
		w.ensure(id)
		w.wantSays(id, "one", "1 kv=0")
	}
	turn, err := w.hub.Turn(t.Context(), hub.TurnKey{Session: a})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	w.shelf.untrust(a, one)
	w.changed()
	if _, ok := turn.Tool("one__say"); ok {
		t.Error("a turn in progress still has the tool")
	}
	w.wantSays(a, "one", "")
	w.wantSays(b, "one", "1 kv=0")
	if n := w.alive["one 1"]; n != 1 {
		t.Errorf("%d instances; want that of the other session", n)
	}
	// Also where the log can't be read, and where the client who said so is gone.
	w.shelf.untrust(b, one)
	gone, cancel := context.WithCancel(t.Context())
	w.lock(func() { w.blind = errors.New("no disk") })
	if err := w.m.Changed(gone); err == nil {
		t.Error("no word of the disk")
	}
	cancel()
	w.lock(func() { w.blind = nil })
	w.wantSays(b, "one", "")
}

func TestAnotherReferenceAndOff(t *testing.T) {
	w := newWorld(t)
	old, fresh := ref("one", "1"), ref("one", "2")
	id := w.session(old)
	w.shelf.trust(id, old, 0)
	w.ensure(id)
	w.toggle(id, activation.Activated, fresh)
	w.ensure(id)
	w.wantState(id, "one", loaders.StatePending)
	w.wantSays(id, "one", "")
	if n := w.alive["one 1"]; n != 0 {
		t.Errorf("%d instances of what was replaced", n)
	}
	w.shelf.trust(id, fresh, 3)
	w.changed()
	w.wantSays(id, "one", "2 kv=3")
	w.toggle(id, activation.Activated, old) // and back, which is trusted still
	w.ensure(id)
	w.wantSays(id, "one", "1 kv=0")
	w.toggle(id, activation.Deactivated, old)
	w.ensure(id)
	if len(w.m.States(id)) != 0 || len(w.hub.InstalledIn(id)) != 0 || w.any[id] {
		t.Errorf("switched off: %v, installed %v, any %v", w.m.States(id), w.hub.InstalledIn(id), w.any[id])
	}
}

func TestOtherPowersAreBuiltAnew(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"one", "wide"} {
		x := ref(name, "1")
		id := w.session(x)
		where := id
		if name == "wide" {
			where = everywhere
		}
		w.shelf.trust(where, x, 9)
		w.ensure(id)
		w.wantSays(id, name, "1 kv=9")
		w.shelf.trust(where, x, 2)
		w.changed()
		w.wantSays(id, name, "1 kv=2")
	}
}

// What can't be built does not leave an older version, or more powers, behind.
func TestWhatCanNotBeBuiltIsGone(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"one", "wide", "wall"} {
		old, fresh := ref(name, "1"), ref(name, "2")
		id := w.session(old)
		where := id
		if name == "wide" {
			where = everywhere
		}
		w.shelf.trust(where, old, 9)
		w.ensure(id)
		w.lock(func() {
			w.broken[old.String()], w.broken[fresh.String()] = errors.New("no memory"), errors.New("no memory")
		})
		w.shelf.trust(where, old, 2) // less
		w.changed()
		w.wantState(id, name, loaders.StateInvalid)
		w.wantSays(id, name, "")
		if why := w.refused(id); (why != "") != (name == "wall") {
			t.Errorf("%s: calls are refused: %q", name, why)
		}
		w.lock(func() { delete(w.broken, old.String()) })
		w.shelf.trust(where, old, 3)
		w.changed()
		w.wantSays(id, name, "1 kv=3")
		w.shelf.trust(where, fresh, 9)
		w.toggle(id, activation.Activated, fresh)
		w.ensure(id)
		w.wantSays(id, name, "")
		if n := w.alive[name+" 1"]; n != 0 {
			t.Errorf("%d instances of the old version", n)
		}
	}
}

func TestEnforcingBlocksUntilItRuns(t *testing.T) {
	w := newWorld(t)
	wall := ref("wall", "1")
	id := w.session(wall, ref("one", "1"))
	w.ensure(id)
	if why := w.refused(id); why != "the rules are not here: pending" {
		t.Errorf("refused: %q", why)
	}
	w.shelf.trust(id, wall, 0)
	w.changed()
	if why := w.refused(id); why != "" {
		t.Errorf("it runs, and calls are refused: %q", why)
	}
	w.shelf.untrust(id, wall)
	w.changed()
	if w.refused(id) == "" {
		t.Error("it does not run any more, and calls pass")
	}
	w.m.Drop(t.Context(), id)
	if why := w.refused(id); why != "" {
		t.Errorf("the session was dropped: %q", why)
	}
	w.ensure(id)
	if w.refused(id) == "" {
		t.Error("it is open again, and calls pass")
	}
	w.toggle(id, activation.Deactivated, wall)
	w.ensure(id)
	if why := w.refused(id); why != "" {
		t.Errorf("it is off: %q", why)
	}
}

func TestDecisionsThatMoveWhileItIsBuilt(t *testing.T) {
	w := newWorld(t)
	one := ref("one", "1")
	id := w.session(one)
	w.shelf.trust(id, one, 0)
	w.lock(func() { w.midway = func(string) { w.shelf.untrust(id, one) } })
	w.ensure(id)
	w.wantState(id, "one", loaders.StatePending)
	w.wantSays(id, "one", "")
	if w.installs != 0 {
		t.Error("what lost its trust while it was built was installed")
	}
	w.lock(func() { w.midway, w.placing = nil, func() { w.shelf.untrust(id, one) } })
	w.shelf.trust(id, one, 0)
	w.ensure(id)
	w.wantState(id, "one", loaders.StatePending)
	w.wantSays(id, "one", "")
	if w.installs != 1 {
		t.Errorf("%d installs: the control", w.installs)
	}
	w.lock(func() { w.placing = nil })
	// A decision that never rests is looked at only so often.
	w.lock(func() {
		w.midway = func(string) { w.shelf.trust(id, one, w.shelf.grants[grantKey{id, one.String()}]+1) }
	})
	w.shelf.trust(id, one, 0)
	before := w.builds.Load()
	w.ensure(id)
	if n := w.builds.Load() - before; n < 2 || n > 100 {
		t.Errorf("%d builds", n)
	}
	w.lock(func() { w.midway = nil })
	w.ensure(id)
	w.wantState(id, "one", loaders.StateTrusted)
}

// A client that hangs up does not end what runs, and what failed for it is not remembered.
func TestAClientThatHangsUp(t *testing.T) {
	w := newWorld(t)
	one, two := ref("one", "1"), ref("two", "1")
	id := w.session(one)
	w.shelf.trust(id, one, 0)
	w.shelf.trust(id, two, 0)
	w.ensure(id)
	ctx, cancel := context.WithCancel(t.Context())
	w.lock(func() { w.midway = func(string) { cancel() } })
	w.toggle(id, activation.Activated, two)
	if err := w.m.Ensure(ctx, id); err != nil {
		t.Error(err)
	}
	w.lock(func() { w.midway = nil })
	w.wantSays(id, "one", "1 kv=0")
	w.wantSays(id, "two", "1 kv=0")
}

func TestAFailureOfTheMachineIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	one := ref("one", "1")
	id := w.session(one)
	w.shelf.trust(id, one, 0)
	w.shelf.mu.Lock()
	w.shelf.failed = true
	w.shelf.mu.Unlock()
	w.ensure(id)
	w.wantState(id, "one", loaders.StateUnavailable)
	w.shelf.mu.Lock()
	w.shelf.failed = false
	w.shelf.mu.Unlock()
	w.ensure(id)
	w.wantSays(id, "one", "1 kv=0")
}

func TestDropEndsAll(t *testing.T) {
	w := newWorld(t)
	one, wide := ref("one", "1"), ref("wide", "1")
	a, b := w.session(one, wide), w.session(wide)
	w.shelf.trust(a, one, 0)
	w.shelf.trust(everywhere, wide, 0)
	w.ensure(a)
	w.ensure(b)
	w.m.Drop(t.Context(), a)
	w.m.Drop(t.Context(), a)
	w.m.Drop(t.Context(), crdt.DocID{7})
	if len(w.hub.InstalledIn(a)) != 0 || len(w.m.States(a)) != 0 {
		t.Errorf("installed %v, states %v", w.hub.InstalledIn(a), w.m.States(a))
	}
	w.wantSays(b, "wide", "1 kv=0")
	w.m.Drop(t.Context(), b)
	if len(w.hub.Declarations()) != 0 || len(w.m.Running()) != 0 {
		t.Errorf("the last one is gone: %v, %v", w.hub.Declarations(), w.m.Running())
	}
	w.ensure(a)
	w.wantSays(a, "one", "1 kv=0")
	w.wantSays(a, "wide", "1 kv=0")
}

func TestWideIsSharedAndGoesWithTheLast(t *testing.T) {
	w := newWorld(t)
	wide := ref("wide", "1")
	a, b, c := w.session(wide), w.session(wide), w.session(wide)
	w.shelf.trust(everywhere, wide, 4)
	for _, id := range []crdt.DocID{a, b, c} {
		w.ensure(id)
		w.wantSays(id, "wide", "1 kv=4")
	}
	if n := w.alive["wide 1"]; n != 1 {
		t.Errorf("%d instances for three sessions", n)
	}
	w.toggle(a, activation.Deactivated, wide)
	w.ensure(a)
	w.wantSays(a, "wide", "")
	w.wantSays(b, "wide", "1 kv=4")
	// What one session alone is granted, it has for itself.
	w.shelf.trust(b, wide, 1)
	w.changed()
	w.wantSays(b, "wide", "1 kv=1")
	w.wantSays(c, "wide", "1 kv=4")
	w.shelf.trust(everywhere, wide, 2)
	w.changed()
	w.wantSays(b, "wide", "1 kv=1")
	w.wantSays(c, "wide", "1 kv=2")
	w.shelf.untrust(b, wide)
	w.changed()
	w.wantSays(b, "wide", "1 kv=2")
	w.shelf.untrust(everywhere, wide)
	w.changed()
	w.wantSays(b, "wide", "")
	w.wantSays(c, "wide", "")
	if len(w.hub.Declarations()) != 0 || w.alive["wide 1"] != 0 {
		t.Errorf("left: %v, %d instances", w.hub.Declarations(), w.alive["wide 1"])
	}
}
