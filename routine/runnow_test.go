package routine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A run by hand that waits for a place ends with the engine, also if no place becomes free.
func TestRunNowThatWaitsForAPlaceEndsWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 1 })
		free := make(chan struct{})
		p.calls.on("deaf", func(context.Context) error { <-free; return nil })
		p.rows.add(Global(), NewRoutine("deaf", onceIn(time.Minute), "deaf", nil))
		by := p.rows.add(Global(), NewRoutine("by hand", cronOf("0 0 1 1 *"), "ok", nil))
		p.start()
		pass(time.Minute)
		hand := make(chan error, 1)
		go func() { hand <- p.RunNow(context.Background(), by) }()
		synctest.Wait()
		p.cancel()
		synctest.Wait()
		select {
		case err := <-hand:
			if !errors.Is(err, ErrStopped) {
				t.Errorf("run by hand: %v", err)
			}
		default:
			t.Error("the run by hand still waits")
		}
		close(free)
		if err := <-p.ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if _, ok := p.rows.get(Key{Global(), "deaf"}); ok {
			t.Error("a success at the end is not written")
		}
		if err := p.RunNow(context.Background(), by); !errors.Is(err, ErrStopped) {
			t.Errorf("afterwards: %v", err)
		}
		same(t, "fires", len(p.calls.fires()), 1)
	})
}

func TestRunNowReturnsAtTheDeadline(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		free := make(chan struct{})
		p.calls.on("deaf", func(context.Context) error { <-free; return nil })
		key := p.rows.add(Global(), NewRoutine("r", cronOf("0 12 * * *"), "deaf", nil))
		p.start()
		if err := p.RunNow(t.Context(), key); !errors.Is(err, ErrDeadline) {
			t.Errorf("run: %v", err)
		}
		if err := p.RunNow(t.Context(), key); !errors.Is(err, ErrRunning) {
			t.Errorf("while it is deaf: %v", err)
		}
		close(free)
	})
}

func TestRunNowCancelled(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.calls.on("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		key := p.rows.add(Global(), NewRoutine("r", cronOf("0 12 * * *"), "slow", nil))
		p.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.RunNow(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("run: %v", err)
		}
		synctest.Wait()
		row, _ := p.rows.get(key)
		same(t, "failures", row.Failures, 0)
		info, _ := p.Get(key)
		if info.Running || info.Next.IsZero() {
			t.Errorf("afterwards: %+v", info)
		}
	})
}

func TestRunNow(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.start()
		ctx := t.Context()
		add := func(id string, trigger Trigger, ext string, change func(*Routine)) Key {
			r := NewRoutine(id, trigger, ext, nil)
			if change != nil {
				change(&r)
			}
			key := p.rows.add(Global(), r)
			if err := p.Reload(ctx, Global()); err != nil {
				t.Fatal(err)
			}
			return key
		}
		cron := add("cron", cronOf("0 12 * * *"), "ok", nil)
		if err := p.RunNow(ctx, cron); err != nil {
			t.Error(err)
		}
		info, _ := p.Get(cron)
		same(t, "next", info.Next.Format("15:04"), "12:00")
		same(t, "successes", info.Routine.Fires, 1)

		off := add("off", cronOf("0 12 * * *"), "bad", func(r *Routine) { r.Enabled = false })
		if err := p.RunNow(ctx, off); err == nil || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("the handler's error: %v", err)
		}
		row, _ := p.rows.get(off)
		same(t, "a disabled one stays so", row.Enabled, false)
		same(t, "and counts", row.Failures, 1)

		once := add("once", onceIn(time.Hour), "ok", nil)
		if err := p.RunNow(ctx, once); err != nil {
			t.Error(err)
		}
		if err := p.RunNow(ctx, once); !errors.Is(err, ErrNotFound) {
			t.Errorf("a one-shot that was run: %v", err)
		}
		away := add("away", cronOf("0 12 * * *"), "ok", func(r *Routine) { r.Home = "there" })
		before := p.rows.count()
		if err := p.RunNow(ctx, away); !errors.Is(err, ErrNotHome) || p.rows.count() != before {
			t.Errorf("another home: %v, %d writes", err, p.rows.count()-before)
		}
		info, _ = p.Get(away)
		same(t, "skips are of fires that came due", info.Skips, 0)
		same(t, "next", info.Next.Format("15:04"), "12:00")
		spent := add("spent", cronOf("0 12 * * *"), "ok", func(r *Routine) { r.MaxFires, r.Fires = 1, 1 })
		if err := p.RunNow(ctx, spent); err == nil || !strings.Contains(err.Error(), "retired") {
			t.Errorf("a retired one: %v", err)
		}
		newer := add("newer", cronOf("0 12 * * *"), "ok", func(r *Routine) { _ = r.Trigger.UnmarshalJSON([]byte(`{"kind":"lunar"}`)) })
		if err := p.RunNow(ctx, newer); err == nil || !strings.Contains(err.Error(), "unreadable") {
			t.Errorf("an unreadable one: %v", err)
		}
		same(t, "fires", len(p.calls.fires()), 3)
	})
}

// A run by hand that is refused at the instant of a tick does not swallow the tick.
func TestRefusedRunNowDoesNotLoseATick(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		key := p.rows.add(Global(), NewRoutine("r", cronOf("0 9 * * *"), "ok", nil))
		p.start()
		p.clock.jump(9*time.Hour + time.Second)
		p.rows.failNext("read", 1)
		if err := p.RunNow(t.Context(), key); !errors.Is(err, errDisk) {
			t.Errorf("run: %v", err)
		}
		pass(time.Second)
		same(t, "fires", len(p.calls.fires()), 1)
	})
}

func TestRunNowWithoutRun(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		key := p.rows.add(Session("s"), NewRoutine("r", cronOf("0 12 * * *"), "ok", nil))
		if err := p.RunNow(t.Context(), key); err != nil {
			t.Error(err)
		}
		row, _ := p.rows.get(key)
		same(t, "the outcome is written", row.Fires, 1)
	})
}

func TestRunNowNeverOverlaps(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		gate := make(chan struct{})
		p.calls.on("gate", func(ctx context.Context) error { <-gate; return nil })
		key := p.rows.add(Global(), NewRoutine("r", cronOf("* * * * *"), "gate", nil))
		p.start()
		pass(time.Minute)
		if err := p.RunNow(t.Context(), key); !errors.Is(err, ErrRunning) {
			t.Errorf("while it runs: %v", err)
		}
		close(gate)
		synctest.Wait()
		if err := p.RunNow(t.Context(), key); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
