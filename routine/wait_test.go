package routine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// gauge counts how many are inside at once.
type gauge struct{ now, most, total atomic.Int32 }

func (g *gauge) in() {
	g.total.Add(1)
	for n := g.now.Add(1); ; {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (g *gauge) out() { g.now.Add(-1) }

func TestAtMostEightAtATimeInDueOrder(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		var g gauge
		p.calls.on("busy", func(context.Context) error {
			g.in()
			defer g.out()
			time.Sleep(time.Minute)
			return nil
		})
		for i := range 30 {
			// Ids run against the due order.
			r := NewRoutine(fmt.Sprintf("r%02d", 99-i), onceIn(time.Second+time.Duration(i)*time.Millisecond), "busy", json.RawMessage(fmt.Sprint(i)))
			p.rows.add(Global(), r)
		}
		p.start()
		pass(time.Hour)
		same(t, "fires", g.total.Load(), 30)
		same(t, "at a time", g.most.Load(), DefaultMaxConcurrent)
		last := -1
		for i, f := range p.calls.fires() {
			var n int
			if err := json.Unmarshal([]byte(f.load), &n); err != nil || n/8 != i/8 || n < last-8 {
				t.Fatalf("fire %d is of routine %s", i, f.load)
			}
			last = n
		}
	})
}

func TestEqualDueTimesGoByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 1 })
		for _, s := range []Scope{Agent("a"), Session("b"), Session("a"), Global()} {
			for _, id := range []string{"2", "1", "3"} {
				p.rows.add(s, NewRoutine(id, onceIn(time.Minute), "ok", json.RawMessage(id)))
			}
		}
		p.start()
		pass(time.Minute)
		var got []string
		for _, f := range p.calls.fires() {
			got = append(got, f.scope.String()+":"+f.load)
		}
		same(t, "order", got, "[global:1 global:2 global:3 session:a:1 session:a:2 session:a:3 session:b:1 session:b:2 session:b:3 agent:a:1 agent:a:2 agent:a:3]")
		p.halt()
	})
}

// session is something that only one may use.
type session struct{ slot chan struct{} }

func newSession() session { return session{make(chan struct{}, 1)} }

func (s session) take(ctx context.Context) error {
	select {
	case s.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s session) leave() { <-s.slot }

// turn is a handler that runs one turn in a session.
func (s session) turn(g *gauge, d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		got := false
		err := Wait(ctx, func(ctx context.Context) error {
			err := s.take(ctx)
			got = err == nil
			return err
		})
		if got {
			defer s.leave()
		}
		if err != nil {
			return err
		}
		g.in()
		defer g.out()
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Fires that wait for a busy session hold no place, do not reach their deadline meanwhile, and are
// not lost.
func TestBusySessionDelaysFiresAndHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 2 })
		s, g := newSession(), &gauge{}
		p.calls.on("turn", s.turn(g, time.Minute))
		for i := range 10 {
			p.rows.add(Session("s"), NewRoutine(fmt.Sprint("wakeup-", i), onceIn(time.Minute), "turn", nil))
		}
		p.rows.add(Global(), NewRoutine("quick", cronOf("* * * * *"), "ok", json.RawMessage(`"quick"`)))
		p.start()
		if err := s.take(t.Context()); err != nil { // a person is talking
			t.Fatal(err)
		}
		pass(30*time.Minute + time.Second)
		quick := 0
		for _, f := range p.calls.fires() {
			if f.load == `"quick"` {
				quick++
			}
		}
		same(t, "others fire meanwhile", quick, 30)
		same(t, "turns", g.total.Load(), 0)
		s.leave()
		pass(11 * time.Minute)
		same(t, "turns", g.total.Load(), 10)
		same(t, "at a time", g.most.Load(), 1)
		rows, _ := p.rows.Rows(t.Context(), Session("s"))
		same(t, "one-shots left", len(rows), 0)
		p.halt()
	})
}

// After the wait the cap still holds.
func TestReturningFromWaitTakesAPlaceAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 3 })
		open := make(chan struct{})
		var g gauge
		p.calls.on("door", func(ctx context.Context) error {
			if err := Wait(ctx, func(context.Context) error { <-open; return nil }); err != nil {
				return err
			}
			g.in()
			defer g.out()
			time.Sleep(time.Minute)
			return nil
		})
		for i := range 20 {
			p.rows.add(Global(), NewRoutine(fmt.Sprint(i), onceIn(time.Minute), "door", nil))
		}
		p.start()
		pass(time.Hour)
		same(t, "all wait", len(p.calls.fires()), 20)
		close(open)
		pass(time.Hour)
		same(t, "ran", g.total.Load(), 20)
		same(t, "at a time", g.most.Load(), 3)
		p.mu.Lock()
		same(t, "places", p.free, 3)
		p.mu.Unlock()
		p.halt()
	})
}

func TestDeadlineStartsAfterTheWait(t *testing.T) {
	for _, c := range []struct {
		turn time.Duration
		want string
	}{{9 * time.Minute, "0 "}, {11 * time.Minute, "1 the handler passed its deadline of 10m0s"}} {
		world(t, func(t *testing.T, p *peer) {
			s := newSession()
			p.calls.on("turn", s.turn(&gauge{}, c.turn))
			key := p.rows.add(Session("s"), NewRoutine("r", cronOf("0 * * * *"), "turn", nil))
			p.start()
			pass(59 * time.Minute)
			if err := s.take(t.Context()); err != nil {
				t.Fatal(err)
			}
			pass(30 * time.Minute)
			s.leave()
			pass(15 * time.Minute)
			row, _ := p.rows.get(key)
			same(t, fmt.Sprint("a turn of ", c.turn), fmt.Sprint(row.Failures, " ", row.LastError), c.want)
			same(t, "fires", len(p.calls.fires()), 1)
		})
	}
}

func TestEditDuringAWaitVoidsTheFire(t *testing.T) {
	for name, edit := range map[string]func(map[string]string){
		"removed":  func(f map[string]string) { clear(f) },
		"disabled": func(f map[string]string) { f[FieldEnabled] = "false" },
		"moved":    func(f map[string]string) { f[FieldTrigger] = `{"kind":"cron","expr":"0 0 1 1 *"}` },
		"away":     func(f map[string]string) { f[FieldHome] = `"there"` },
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, p *peer) {
				s, g := newSession(), &gauge{}
				p.calls.on("turn", s.turn(g, time.Minute))
				key := p.rows.add(Session("s"), NewRoutine("r", onceIn(time.Minute), "turn", nil))
				if err := s.take(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.start()
				pass(2 * time.Minute)
				p.rows.edit(key, edit)
				before := p.rows.count()
				s.leave()
				pass(time.Hour)
				same(t, "turns", g.total.Load(), 0)
				same(t, "writes", p.rows.count()-before, 0)
				if err := s.take(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A row that can't be read after the wait does not lose the fire.
func TestUnreadableRowAfterAWait(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		s, g := newSession(), &gauge{}
		p.calls.on("turn", s.turn(g, time.Minute))
		p.rows.add(Session("s"), NewRoutine("r", cronOf("0 * * * *"), "turn", nil))
		p.start()
		pass(59 * time.Minute)
		if err := s.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		p.rows.failNext("read", 1)
		s.leave()
		pass(2 * time.Minute)
		same(t, "turns", g.total.Load(), 1)
	})
}

func TestWaitThatFailsOrPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 2 })
		p.calls.on("fails", func(ctx context.Context) error {
			return Wait(ctx, func(context.Context) error { return errLuck })
		})
		p.calls.on("panics", func(ctx context.Context) error {
			return Wait(ctx, func(context.Context) error { panic("oh dear") })
		})
		p.calls.on("twice", func(ctx context.Context) error { // of two waits at once one counts
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					_ = Wait(ctx, func(context.Context) error { time.Sleep(time.Second); return nil })
				})
			}
			all.Wait()
			return Wait(ctx, func(inner context.Context) error {
				return Wait(inner, func(context.Context) error {
					p.mu.Lock()
					defer p.mu.Unlock()
					if p.free > 2 {
						t.Errorf("%d places are free, there are 2", p.free)
					}
					return nil
				})
			})
		})
		for _, ext := range []string{"fails", "panics", "twice"} {
			p.rows.add(Global(), NewRoutine(ext, cronOf("* * * * *"), ext, nil))
		}
		p.start()
		pass(90 * time.Second)
		for ext, want := range map[string]string{"fails": "no luck", "panics": "the handler panicked: oh dear", "twice": ""} {
			row, _ := p.rows.get(Key{Global(), ext})
			same(t, ext, row.LastError, want)
		}
		pass(10 * time.Minute)
		p.mu.Lock()
		same(t, "places", p.free, 2)
		p.mu.Unlock()
		p.halt()
		if err := Wait(t.Context(), func(context.Context) error { return errLuck }); !errors.Is(err, errLuck) {
			t.Errorf("outside of a fire: %v", err)
		}
	})
}

// The end of the engine reaches handlers that run, that wait, and that wait for a place.
func TestRunReturnsWhenAllHandlersAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 1 })
		s, open := newSession(), make(chan struct{})
		var ended atomic.Int32
		note := func(do func(context.Context) error) func(context.Context) error {
			return func(ctx context.Context) error {
				defer ended.Add(1)
				return do(ctx)
			}
		}
		p.calls.on("waits", note(s.turn(&gauge{}, time.Minute)))
		p.calls.on("queues", note(func(ctx context.Context) error {
			return Wait(ctx, func(context.Context) error { <-open; return nil })
		}))
		p.calls.on("runs", note(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		if err := s.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, ext := range []string{"waits", "queues", "runs"} {
			p.rows.add(Global(), NewRoutine(ext, onceIn(time.Minute+time.Duration(i)*time.Second), ext, nil))
		}
		by := p.rows.add(Global(), NewRoutine("by hand", cronOf("0 0 1 1 *"), "runs", nil))
		p.start()
		pass(2 * time.Minute)
		close(open) // it needs the place that "runs" has
		hand := make(chan error, 1)
		go func() { hand <- p.RunNow(context.Background(), by) }()
		synctest.Wait()
		same(t, "under way", len(p.calls.fires()), 3)
		p.halt()
		// The one by hand may have got the place just before the engine knew that it stops.
		same(t, "ended", int(ended.Load()), len(p.calls.fires()))
		if err := <-hand; !errors.Is(err, ErrStopped) {
			t.Errorf("run by hand: %v", err)
		}
		if err := p.RunNow(context.Background(), by); !errors.Is(err, ErrStopped) {
			t.Errorf("run by hand afterwards: %v", err)
		}
		rows, _ := p.rows.Rows(t.Context(), Global())
		same(t, "rows left: nothing was lost", len(rows), 4)
		for _, r := range rows {
			same(t, r.ID+": failures", r.Failures, 0)
		}
	})
}

// A handler that returns while something of it still waits leaves no place taken.
func TestWaitThatOutlivesItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 1 })
		late := make(chan error, 10)
		p.calls.on("hasty", func(ctx context.Context) error {
			left := make(chan struct{})
			go func() {
				late <- Wait(ctx, func(context.Context) error { close(left); time.Sleep(time.Second); return nil })
			}()
			<-left
			return nil
		})
		p.rows.add(Global(), NewRoutine("r", cronOf("* * * * *"), "hasty", nil))
		p.start()
		pass(3*time.Minute + 10*time.Second)
		same(t, "fires", len(p.calls.fires()), 3)
		for range 3 {
			if err := <-late; !errors.Is(err, ErrVoid) {
				t.Errorf("wait: %v", err)
			}
		}
		p.mu.Lock()
		same(t, "places", p.free, 1)
		p.mu.Unlock()
		p.halt()
	})
}

// alone fails the test when the engine calls its store from two goroutines at once.
type alone struct {
	*rows
	busy atomic.Bool
}

func (a *alone) Row(ctx context.Context, key Key) (Routine, bool, error) {
	defer a.enter()()
	return a.rows.Row(ctx, key)
}

func (a *alone) Rows(ctx context.Context, s Scope) ([]Routine, error) {
	defer a.enter()()
	return a.rows.Rows(ctx, s)
}

func (a *alone) Update(ctx context.Context, key Key, o Outcome) error {
	defer a.enter()()
	return a.rows.Update(ctx, key, o)
}

func (a *alone) enter() func() {
	if a.busy.Swap(true) {
		a.t.Error("two calls of the store at once")
	}
	time.Sleep(time.Millisecond) // slow enough for others to come
	return func() { a.busy.Store(false) }
}

func TestStoreIsUsedFromOneGoroutineAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRows(t)
		a := &alone{rows: s}
		p := newPeer(t, "here", s, func(c *Config) { c.Store = a })
		for i := range 20 {
			s.add(Global(), NewRoutine(fmt.Sprint(i), cronOf("* * * * * *"), "ok", nil))
		}
		p.start()
		for range 60 {
			pass(time.Second)
			go func() { _ = p.Reload(context.Background(), Global()) }()
		}
		pass(time.Second)
		if n := len(p.calls.fires()); n < 1000 {
			t.Errorf("only %d fires", n)
		}
		if strings.Contains(p.log.String(), "not written") {
			t.Error(p.log.String())
		}
		p.halt()
	})
}
