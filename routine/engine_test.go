package routine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCronFiresAtItsTicksWithItsPayload(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.start()
		r := NewRoutine("r", cronOf("*/20 * * * *"), "ok", json.RawMessage(`{"n":1}`))
		if err := p.Add(t.Context(), Session("s"), r); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		same(t, "fires", p.calls.times(), "[00:20:00 00:40:00 01:00:00]")
		f := p.calls.fires()[0]
		same(t, "call", f.ext+" "+f.scope.String()+" "+f.load, `ok session:s {"n":1}`)
		row, _ := p.rows.get(Key{Session("s"), "r"})
		same(t, "last completion", row.LastCompleted.Format("15:04:05"), "01:00:00")
		info, _ := p.Get(Key{Session("s"), "r"})
		same(t, "next", info.Next.Format("15:04:05"), "01:20:00")
	})
}

func TestIntervalWaitsAfterCompletion(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.calls.on("slow", func(context.Context) error { time.Sleep(4 * time.Second); return nil })
		p.rows.add(Global(), NewRoutine("r", every(10*time.Second), "slow", nil))
		p.start()
		pass(50 * time.Second)
		// 10 s after it was first seen, then 10 s after each end.
		same(t, "fires", p.calls.times(), "[00:00:10 00:00:24 00:00:38]")
	})
}

func TestMissedTicksAreSkippedAndMissedIntervalsCollapse(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		interval := NewRoutine("interval", every(time.Minute), "ok", nil)
		interval.LastCompleted = time.Now().Add(-100 * time.Hour)
		p.rows.add(Global(), interval)
		p.rows.add(Global(), NewRoutine("cron", cronOf("30 * * * *"), "ok", nil))
		pass(45 * time.Minute) // nobody runs; 00:30 passes
		p.start()
		same(t, "fires", p.calls.times(), "[00:45:00]")
		pass(50 * time.Second)
		same(t, "fires", p.calls.times(), "[00:45:00]")
	})
}

func TestAddRefuses(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.start()
		ctx, good := t.Context(), NewRoutine("r", every(time.Minute), "ok", nil)
		if err := p.Add(ctx, Agent("a"), good); !errors.Is(err, ErrAgentRow) {
			t.Errorf("agent scope: %v", err)
		}
		if err := p.Add(ctx, Global(), NewRoutine("r", cronOf("0 0 30 2 *"), "ok", nil)); err == nil || p.rows.count() != 0 {
			t.Errorf("a trigger that never fires: %v, %d writes", err, p.rows.count())
		}
		if err := p.Add(ctx, Global(), good); err != nil {
			t.Fatal(err)
		}
		row, _ := p.rows.get(Key{Global(), "r"})
		same(t, "the creation is written", row.Created, time.Now().UTC())
		if err := p.Add(ctx, Global(), good); !errors.Is(err, ErrExists) {
			t.Errorf("twice: %v", err)
		}
		if err := p.Add(ctx, Session("s"), good); err != nil {
			t.Errorf("the same id in a session: %v", err)
		}
		p.rows.failNext("put", 1)
		if err := p.Add(ctx, Global(), NewRoutine("lost", every(time.Minute), "ok", nil)); !errors.Is(err, errDisk) {
			t.Errorf("no disk: %v", err)
		}
		if _, ok := p.Get(Key{Global(), "lost"}); ok {
			t.Error("a routine that was not written is there")
		}
	})
}

func TestRemoveAndList(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.start()
		for _, s := range []Scope{Session("b"), Global(), Session("a")} {
			for _, id := range []string{"2", "1"} {
				if err := p.Add(t.Context(), s, NewRoutine(id, every(time.Minute), "ok", nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.rows.add(Agent("x"), NewRoutine("9", every(time.Minute), "ok", nil))
		if err := p.Reload(t.Context(), Agent("x")); err != nil {
			t.Fatal(err)
		}
		names := func() (out []string) {
			for _, i := range p.List() {
				out = append(out, i.Key.String())
			}
			return out
		}
		same(t, "list", names(), "[global:1 global:2 session:a:1 session:a:2 session:b:1 session:b:2 agent:x:9]")
		for range 2 { // the second time there is nothing left to remove
			for _, i := range p.List()[1:] {
				if err := p.Remove(t.Context(), i.Key); err != nil {
					t.Error(err)
				}
			}
		}
		if err := p.Remove(t.Context(), Key{Session("nobody"), "nothing"}); err != nil {
			t.Error(err)
		}
		same(t, "list", names(), "[global:1]")
		pass(time.Minute)
		same(t, "fires", len(p.calls.fires()), 1)
	})
}

func TestInertRowsAreListedWithTheirReason(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		row := func(id string, change func(*Routine)) {
			r := NewRoutine(id, cronOf("* * * * *"), "ok", nil)
			change(&r)
			p.rows.add(Session("s"), r)
		}
		row("1 fine", func(*Routine) {})
		row("2 off", func(r *Routine) { r.Enabled = false })
		row("3 failed", func(r *Routine) { r.Enabled, r.Failures, r.LastError = false, 3, "no luck" })
		row("4 expired", func(r *Routine) { r.Expires = time.Now() })
		row("5 done", func(r *Routine) { r.MaxFires, r.Fires = 2, 2 })
		row("6 newer", func(r *Routine) { _ = r.Trigger.UnmarshalJSON([]byte(`{"kind":"lunar"}`)) })
		key := p.rows.add(Session("s"), NewRoutine("7 broken", cronOf("* * * * *"), "ok", nil))
		p.rows.edit(key, func(f map[string]string) { f[FieldMaxFailures] = `"many"` })
		before := p.rows.count()
		p.start()
		pass(time.Minute)
		var got []string
		for _, i := range p.List() {
			got = append(got, i.Key.ID+": "+i.Inert)
			if (i.Inert == "") == i.Next.IsZero() {
				t.Errorf("%s: inert %q, next %v", i.Key, i.Inert, i.Next)
			}
		}
		same(t, "list", strings.Join(got, "\n"), strings.Join([]string{
			"1 fine: ",
			"2 off: disabled",
			"3 failed: disabled after 3 failures: no luck",
			"4 expired: retired: it expired at 2000-01-01T00:00:00Z",
			"5 done: retired: it fired 2 of 2 times",
			`6 newer: unreadable: parse trigger: this version does not know the kind "lunar"`,
			"7 broken: unreadable: field max_failures: json: cannot unmarshal string into Go value of type int",
		}, "\n"))
		same(t, "fires", len(p.calls.fires()), 1)
		same(t, "writes: the outcome of the one that fired", p.rows.count()-before, 1)
	})
}

func TestLimitsRetire(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		counted := NewRoutine("counted", cronOf("* * * * *"), "ok", nil)
		counted.MaxFires = 2
		expiring := NewRoutine("expiring", cronOf("* * * * *"), "ok", nil)
		expiring.Expires = time.Now().Add(150 * time.Second)
		p.rows.add(Agent("a"), counted)
		p.rows.add(Agent("a"), expiring)
		p.start()
		pass(10 * time.Minute)
		same(t, "fires", p.calls.times(), "[00:01:00 00:01:00 00:02:00 00:02:00]")
		for _, id := range []string{"counted", "expiring"} {
			row, ok := p.rows.get(Key{Agent("a"), id})
			if !ok || row.Enabled || row.Fires != 2 {
				t.Errorf("%s: there %v, enabled %v, fires %d", id, ok, row.Enabled, row.Fires)
			}
		}
	})
}

func TestUnloadStopsAScope(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.rows.add(Session("s"), NewRoutine("r", cronOf("* * * * *"), "ok", nil))
		p.rows.add(Session("o"), NewRoutine("r", cronOf("* * * * *"), "ok", nil))
		p.start()
		pass(time.Minute)
		p.Unload(Session("s"))
		pass(2 * time.Minute)
		count := map[Scope]int{}
		for _, f := range p.calls.fires() {
			count[f.scope]++
		}
		same(t, "fires", count, map[Scope]int{Session("s"): 1, Session("o"): 3})
		same(t, "listed", len(p.List()), 1)
	})
}

// An unknown extension and a missing handler are the dispatcher's to name; the engine keeps the
// text.
func TestDispatchErrorIsAFailure(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		key := p.rows.add(Global(), NewRoutine("r", cronOf("* * * * *"), "ghost", nil))
		p.start()
		pass(time.Minute)
		row, _ := p.rows.get(key)
		same(t, "row", fmt.Sprint(row.Failures, " ", row.LastError), `1 dispatch routine: there is no extension "ghost"`)
	})
}

func TestClockJumps(t *testing.T) {
	year := 365 * 24 * time.Hour
	t.Run("forward a year: all due fire, each once", func(t *testing.T) {
		world(t, func(t *testing.T, p *peer) {
			p.rows.add(Global(), NewRoutine("cron", cronOf("0 12 * * *"), "ok", json.RawMessage(`"cron"`)))
			p.rows.add(Global(), NewRoutine("interval", every(12*time.Hour), "ok", json.RawMessage(`"interval"`)))
			p.rows.add(Global(), NewRoutine("once", onceIn(100*24*time.Hour), "ok", json.RawMessage(`"once"`)))
			p.start()
			pass(time.Second)
			p.clock.jump(year)
			pass(maxSleep)
			count := map[string]int{}
			for _, f := range p.calls.fires() {
				count[f.load]++
			}
			same(t, "fires", count, map[string]int{`"cron"`: 1, `"interval"`: 1, `"once"`: 1})
			info, _ := p.Get(Key{Global(), "cron"})
			same(t, "from then on", info.Next.Format(time.DateTime), "2000-12-31 12:00:00")
		})
	})
	t.Run("backward an hour: later, and not twice", func(t *testing.T) {
		world(t, func(t *testing.T, p *peer) {
			p.rows.add(Global(), NewRoutine("cron", cronOf("0 * * * *"), "ok", nil))
			p.start()
			pass(time.Hour + time.Minute)
			p.clock.jump(-90 * time.Minute)
			pass(85 * time.Minute) // 00:56 again; 01:00 has come before
			same(t, "fires", p.calls.times(), "[01:00:00]")
			pass(70 * time.Minute)
			same(t, "fires", p.calls.times(), "[01:00:00 02:00:00]")
		})
	})
	t.Run("backward a year: planned anew", func(t *testing.T) {
		world(t, func(t *testing.T, p *peer) {
			p.clock.jump(year)
			p.rows.add(Global(), NewRoutine("cron", cronOf("0 12 * * *"), "ok", nil))
			interval := NewRoutine("interval", every(time.Hour), "ok", nil)
			interval.LastCompleted = p.clock.Now()
			p.rows.add(Global(), interval)
			p.start()
			pass(time.Minute)
			p.clock.jump(-year)
			pass(maxSleep)
			// The clock was read 5 minutes after the start.
			for id, want := range map[string]string{"cron": "2000-01-01 12:00:00", "interval": "2000-01-01 01:05:00"} {
				info, _ := p.Get(Key{Global(), id})
				same(t, id, info.Next.Format(time.DateTime), want)
			}
			same(t, "fires", len(p.calls.fires()), 0)
			same(t, "told", p.warnings("went back"), 1)
		})
	})
}

// wild is a clock that stands at an absurd time.
type wild struct{ Clock }

func (wild) Now() time.Time { return time.Date(22222, 1, 1, 0, 0, 0, 0, time.UTC) }

type ancient struct{ Clock }

func (ancient) Now() time.Time { return time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC) }

// What a clock outside the years of RFC 3339 stamps can still be read, and such a clock does not
// make the engine spin.
func TestAbsurdClock(t *testing.T) {
	for _, c := range []struct {
		clock Clock
		stamp string
	}{{wild{&skewed{}}, "9999-12-31"}, {ancient{&skewed{}}, "1970-01-01"}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, "here", newRows(t), func(cfg *Config) { cfg.Clock = c.clock })
			key := p.rows.add(Global(), NewRoutine("r", every(time.Minute), "bad", nil))
			p.rows.add(Global(), NewRoutine("cron", cronOf("* * * * *"), "ok", nil))
			p.start()
			if err := p.RunNow(t.Context(), key); err == nil || !strings.Contains(err.Error(), "no luck") {
				t.Errorf("run: %v", err)
			}
			pass(time.Hour)
			row, ok := p.rows.get(key)
			if !ok || row.Fault != "" || row.Failures != 1 || row.LastCompleted.Format(time.DateOnly) != c.stamp {
				t.Errorf("row %+v", row)
			}
			p.halt()
		})
	}
}
