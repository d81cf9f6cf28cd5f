package replay_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

var (
	propertyNames    = []string{"one", "two", "wide", "widest"}
	propertyVersions = []string{"1", "2"}
)

// wantAll holds what runs in a session against what its log has on and the decisions say.
func (w *world) wantAll(id crdt.DocID, after string) {
	w.t.Helper()
	on := map[string]extension.Ref{}
	err := w.repo.View(context.Background(), id, func(v *crdt.View) error {
		for _, a := range v.Index(activation.IndexName).(*activation.Log).ReadActive() {
			on[a.Name] = a.Ref
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range propertyNames {
		want := ""
		if r, is := on[name]; is && w.shelf.trusted(id, r) {
			want = fmt.Sprintf("%s kv=%d", r.Field("sha")[:1], w.shelf.answer(id, name, r).Caps.KV)
		}
		if got := w.says(id, name); got != want {
			w.t.Errorf("after %s: %s in %s says %q; want %q", after, name, id.Short(), got, want)
		}
		if st, told := w.m.States(id)[name]; told == on[name].IsZero() || told && !st.Ref.Equal(on[name]) {
			w.t.Errorf("after %s: the state of %s is %+v; the log has %v on", after, name, st, on[name])
		}
		if live := slices.Contains(w.m.Running()[id], name); live != (want != "") {
			w.t.Errorf("after %s: %s counts as running: %v", after, name, live)
		}
	}
}

// What runs is what the log has on and somebody here trusts, whatever happened before.
func TestWhatRunsIsOnAndTrusted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		sessions := []crdt.DocID{w.session(), w.session(), w.session()}
		places := append([]crdt.DocID{everywhere}, sessions...)
		var done []string
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			id := rapid.SampledFrom(sessions).Draw(rt, "session")
			where := rapid.SampledFrom(places).Draw(rt, "where")
			x := ref(rapid.SampledFrom(propertyNames).Draw(rt, "name"), rapid.SampledFrom(propertyVersions).Draw(rt, "version"))
			step := rapid.SampledFrom([]string{"on", "on", "off", "trust", "trust", "trust", "untrust", "lose", "bring", "drop", "ensure"}).Draw(rt, "step")
			switch step {
			case "on":
				w.toggle(id, activation.Activated, x)
			case "off":
				w.toggle(id, activation.Deactivated, x)
			case "trust":
				w.shelf.trust(where, x, int64(rapid.IntRange(0, 2).Draw(rt, "kv")))
			case "untrust":
				w.shelf.untrust(where, x)
			case "lose":
				w.shelf.lose(x)
			case "bring":
				w.shelf.bring(x)
			case "drop":
				w.m.Drop(t.Context(), id)
			}
			if step != "drop" {
				w.ensure(id) // the others lag behind
			}
			done = append(done, step+" "+x.Name()+x.Field("sha")[:1])
		}
		w.changed()
		for _, id := range sessions {
			w.ensure(id)
		}
		for _, id := range sessions {
			w.wantAll(id, fmt.Sprint(done))
		}
		for _, id := range sessions {
			w.m.Drop(t.Context(), id)
		}
		if n := len(w.hub.Declarations()); n != 0 || len(w.m.Running()) != 0 {
			t.Errorf("after %v and the end of all sessions %d are installed, %v run", done, n, w.m.Running())
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// Looks, decisions, changes of the log and ends of sessions at the same time; whoever took trust back finds
// it gone when he was told so.
func TestAllAtOnce(t *testing.T) {
	w := newWorld(t)
	mine, wide := ref("mine", "1"), ref("widemine", "1")
	sessions := []crdt.DocID{w.session(mine, wide), w.session(mine, wide), w.session(mine, wide)}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { w.disturb(rand.New(rand.NewSource(int64(i))), sessions, stop) })
	}
	for i := range 60 {
		id := sessions[i%len(sessions)]
		w.shelf.trust(id, mine, int64(i))
		w.shelf.trust(everywhere, wide, int64(i))
		w.ensure(id)
		w.shelf.untrust(id, mine)
		w.shelf.untrust(everywhere, wide)
		w.changed()
		for _, id := range sessions {
			w.wantSays(id, "mine", "")
			w.wantSays(id, "widemine", "")
		}
	}
	close(stop)
	wg.Wait()
	for _, id := range sessions {
		w.ensure(id)
		w.wantAll(id, "everything at once")
	}
}

// disturb does anything that does not touch the extensions "mine".
func (w *world) disturb(rng *rand.Rand, sessions []crdt.DocID, stop <-chan struct{}) {
	ctx := context.Background()
	for {
		select {
		case <-stop:
			return
		default:
		}
		id := sessions[rng.Intn(len(sessions))]
		x := ref(propertyNames[rng.Intn(len(propertyNames))], propertyVersions[rng.Intn(len(propertyVersions))])
		where := everywhere
		if rng.Intn(2) == 0 {
			where = id
		}
		switch rng.Intn(7) {
		case 0:
			w.toggle(id, activation.Activated, x)
		case 1:
			w.toggle(id, activation.Deactivated, x)
		case 2:
			w.shelf.trust(where, x, int64(rng.Intn(3)))
		case 3:
			w.shelf.untrust(where, x)
		case 4:
			w.m.Drop(ctx, id)
		case 5:
			_ = w.m.Changed(ctx)
		default:
			_ = w.m.Ensure(ctx, id)
		}
	}
}
