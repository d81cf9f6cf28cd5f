package replay_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// running runs the manager in a bubble of fake time until the test is over.
func running(t *testing.T, fn func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.m.Run(ctx) }()
		fn(t, w)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

func (w *world) wantFetched(want ...string) {
	w.t.Helper()
	if got := w.fetched(); !slices.Equal(got, want) {
		w.t.Errorf("fetched %q; want %q", got, want)
	}
}

func TestBytesComeWhenAPeerAppears(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one, two := ref("one", "1"), ref("two", "1")
		id := w.session(one, two)
		w.shelf.lose(one)
		w.shelf.lose(two)
		w.shelf.trust(id, one, 0) // and nobody decided on two
		w.m.Touch(id)
		pass(time.Second)
		w.wantFetched("one")
		w.wantState(id, "one", loaders.StateUnavailable)
		w.wantState(id, "two", loaders.StatePending)
		w.lock(func() { w.peers = true })
		w.m.Retry()
		pass(time.Second)
		w.wantFetched("one")
		w.wantSays(id, "one", "1 kv=0")
		w.m.Retry()
		pass(time.Hour)
		w.wantFetched() // nothing is missing
		w.wantState(id, "two", loaders.StatePending)
	})
}

func TestFetchesAreBounded(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one := ref("one", "1")
		id := w.session(one)
		w.shelf.lose(one)
		w.shelf.trust(id, one, 0)
		w.m.Touch(id)
		pass(time.Second)
		w.wantFetched("one")
		for range 50 { // a busy session is no reason to ask again
			w.m.Touch(id)
			pass(10 * time.Millisecond)
		}
		w.wantFetched()
		for range 1000 { // peers that come and go
			w.m.Retry()
			pass(time.Millisecond)
		}
		pass(time.Second)
		if n := len(w.fetched()); n < 2 || n > 7 {
			t.Errorf("%d fetches in a second of 1,000 peers", n)
		}
		pass(24 * time.Hour) // without a sign: again after 15 s, twice that, …, 10 min
		if n := len(w.fetched()); n < 100 || n > 160 {
			t.Errorf("%d fetches in a day of silence", n)
		}
	})
}

// A peer that has what it says and not what was meant is not asked all the time.
func TestAFetchThatChangesNothing(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one := ref("one", "1")
		id := w.session(one)
		w.shelf.lose(one)
		w.shelf.trust(id, one, 0)
		w.lock(func() { w.peers = true })
		w.shelf.change(func() { w.shelf.rotten = one.String() })
		w.m.Touch(id)
		pass(time.Minute)
		if n := len(w.fetched()); n == 0 || n > 4 {
			t.Errorf("%d fetches in a minute", n)
		}
	})
}

func TestWhatAPersonWaitsFor(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one, two := ref("one", "1"), ref("two", "1")
		id := w.session(one, two)
		w.shelf.lose(one)
		w.shelf.lose(two)
		w.m.Touch(id)
		pass(time.Minute)
		w.wantFetched() // nobody asked
		w.m.Want(id, one)
		pass(time.Second)
		w.wantFetched("one")
		w.lock(func() { w.peers = true })
		w.m.Retry()
		pass(time.Second)
		w.wantFetched("one")
		w.wantSays(id, "one", "") // it is here, and trusted by nobody
		w.wantState(id, "one", loaders.StatePending)
		if w.m.States(id)["one"].Manifest == nil {
			t.Error("the bytes are not shown")
		}
		pass(time.Hour)
		w.wantFetched()
		fresh := w.session(ref("three", "1"))
		w.shelf.lose(ref("three", "1"))
		w.m.Want(fresh, ref("three", "1")) // of a session that was not looked at yet
		pass(time.Second)
		w.wantFetched("three")
	})
}

func TestRunFollowsTheLog(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one := ref("one", "1")
		open, closed := w.session(one), w.session(one)
		w.lock(func() { w.closed[closed] = true })
		for _, id := range []crdt.DocID{open, closed} {
			w.shelf.trust(id, one, 0)
			w.m.Touch(id)
		}
		w.m.Touch(crdt.DocID{9}) // which is not here
		synctest.Wait()
		w.wantSays(open, "one", "1 kv=0")
		w.wantSays(closed, "one", "")
		w.ensure(closed) // somebody works in it all the same
		w.wantSays(closed, "one", "1 kv=0")
		// Closed again during a look, while others wait to look at it.
		w.lock(func() {
			w.midway = func(string) {
				w.lock(func() { w.midway = nil })
				go w.m.Drop(context.Background(), closed)
				pass(time.Millisecond)
				go func() { _ = w.m.Changed(context.Background()) }()
				w.m.Touch(closed)
				pass(time.Millisecond)
			}
		})
		w.shelf.trust(closed, one, 1)
		w.ensure(closed)
		synctest.Wait()
		w.wantSays(closed, "one", "")
		for _, id := range []crdt.DocID{open, closed} {
			w.toggle(id, activation.Deactivated, one)
			w.m.Touch(id)
		}
		synctest.Wait()
		if n := len(w.m.Running()); n != 0 {
			t.Errorf("%d sessions run something", n)
		}
	})
}

// A peer that never answers keeps nobody from switching off.
func TestASlowPeerDoesNotHoldTheLog(t *testing.T) {
	running(t, func(t *testing.T, w *world) {
		one, two := ref("one", "1"), ref("two", "1")
		id := w.session(one, two)
		w.shelf.trust(id, one, 0)
		w.shelf.trust(id, two, 0)
		w.shelf.lose(two)
		slow := make(chan struct{})
		w.lock(func() { w.slow = slow })
		w.m.Touch(id)
		synctest.Wait()
		w.wantFetched("two")
		w.wantSays(id, "one", "1 kv=0")
		w.toggle(id, activation.Deactivated, one)
		w.m.Touch(id)
		synctest.Wait()
		if n := len(w.m.Running()); n != 0 {
			t.Error("it runs until the slow peer has answered")
		}
		close(slow)
	})
}
