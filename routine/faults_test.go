package routine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Each test here is named after a way in which a routine engine has failed its users.

func TestEqualIDsOfTwoSessionsAreTwoRoutines(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.start()
		for _, s := range []string{"a", "b"} {
			if err := p.Add(t.Context(), Session(s), NewRoutine("daily", cronOf("0 9 * * *"), "ok", json.RawMessage(`"`+s+`"`))); err != nil {
				t.Fatal(err)
			}
		}
		pass(24 * time.Hour)
		count := map[string]int{}
		for _, f := range p.calls.fires() {
			count[f.scope.String()+f.load]++
		}
		same(t, "fires", count, map[string]int{`session:a"a"`: 1, `session:b"b"`: 1})
	})
}

func TestReloadsNeverFireTwice(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.rows.add(Session("s"), NewRoutine("cron", cronOf("*/10 * * * *"), "ok", json.RawMessage(`"cron"`)))
		p.rows.add(Session("s"), NewRoutine("interval", every(10*time.Minute), "ok", json.RawMessage(`"interval"`)))
		p.rows.add(Session("s"), NewRoutine("once", onceIn(15*time.Minute), "ok", json.RawMessage(`"once"`)))
		p.start()
		// Reloads at all times, also at the very instants at which something is due, and in crowds.
		for range 6 * 61 {
			pass(10 * time.Second)
			for range 5 {
				go func() { _ = p.Reload(context.Background(), Session("s")) }()
			}
			if err := p.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		count := map[string]int{}
		for _, f := range p.calls.fires() {
			count[f.load]++
		}
		same(t, "fires", count, map[string]int{`"cron"`: 6, `"interval"`: 6, `"once"`: 1})
		p.mu.Lock()
		same(t, "entries in the heap", len(p.due), 2)
		p.mu.Unlock()
	})
}

// A reload between the instant of a tick and the moment the engine wakes does not lose the tick.
func TestReloadAtTheTickDoesNotLoseIt(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		key := p.rows.add(Global(), NewRoutine("r", cronOf("0 9 * * *"), "ok", nil))
		p.start()
		p.clock.jump(9*time.Hour + time.Second) // it is due, the engine sleeps for minutes
		p.rows.edit(key, func(f map[string]string) { f[FieldFailures] = "1" })
		if err := p.Reload(t.Context(), Global()); err != nil {
			t.Fatal(err)
		}
		info, _ := p.Get(key)
		same(t, "still due", info.Next.Format(time.DateTime), "2000-01-01 09:00:00")
		pass(maxSleep)
		same(t, "fires", len(p.calls.fires()), 1)
	})
}

func TestSlowHandlerDoesNotStopTheOthers(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.calls.on("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		slow := p.rows.add(Global(), NewRoutine("slow", cronOf("* * * * *"), "slow", json.RawMessage(`"slow"`)))
		p.rows.add(Global(), NewRoutine("quick", cronOf("* * * * *"), "ok", json.RawMessage(`"quick"`)))
		p.start()
		pass(9*time.Minute + 30*time.Second)
		count := map[string]int{}
		for _, f := range p.calls.fires() {
			count[f.load]++
		}
		same(t, "fires: none overlaps itself", count, map[string]int{`"slow"`: 1, `"quick"`: 9})
		pass(2 * time.Minute)
		row, _ := p.rows.get(slow)
		same(t, "the deadline is a failure", fmt.Sprint(row.Failures, " ", row.LastError), "1 the handler passed its deadline of 10m0s")
		pass(time.Minute)
		slows := 0
		for _, f := range p.calls.fires() {
			if f.load == `"slow"` {
				slows++
			}
		}
		same(t, "it was cancelled and fires again", slows, 2)
	})
}

func TestHandlerThatIgnoresItsDeadlineIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, "here", newRows(t), func(c *Config) { c.MaxConcurrent = 1 })
		free := make(chan struct{})
		p.calls.on("deaf", func(context.Context) error { <-free; return nil })
		deaf := p.rows.add(Global(), NewRoutine("deaf", cronOf("*/30 * * * *"), "deaf", json.RawMessage(`"deaf"`)))
		p.rows.add(Global(), NewRoutine("quick", cronOf("*/30 * * * *"), "ok", json.RawMessage(`"quick"`)))
		p.start()
		pass(39 * time.Minute)
		same(t, "fires while the only place is taken", len(p.calls.fires()), 1)
		pass(2 * time.Minute) // the deadline passes
		same(t, "fires afterwards", len(p.calls.fires()), 2)
		pass(time.Hour)
		same(t, "it does not overlap itself", len(p.calls.fires()), 4)
		row, _ := p.rows.get(deaf)
		same(t, "it failed once", row.Failures, 1)
		p.cancel()
		err := <-p.ended
		if err == nil || !strings.HasSuffix(err.Error(), "left behind: global:deaf") {
			t.Errorf("run: %v", err)
		}
		close(free)
		synctest.Wait()
		row, _ = p.rows.get(deaf)
		same(t, "its late success is void", row.Failures, 1)
	})
}

func TestPanickingHandlerIsAFailure(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.calls.on("panic", func(context.Context) error { panic("oh dear") })
		p.calls.on("exit", func(context.Context) error { runtime.Goexit(); return nil })
		p.rows.add(Global(), NewRoutine("panic", cronOf("* * * * *"), "panic", nil))
		p.rows.add(Global(), NewRoutine("exit", cronOf("* * * * *"), "exit", nil))
		p.rows.add(Global(), NewRoutine("quick", cronOf("* * * * *"), "ok", nil))
		p.start()
		pass(2 * time.Minute)
		for id, want := range map[string]string{"panic": "2 the handler panicked: oh dear", "exit": "2 the handler ended without a result", "quick": "0 "} {
			row, _ := p.rows.get(Key{Global(), id})
			same(t, id, fmt.Sprint(row.Failures, " ", row.LastError), want)
		}
	})
}

func TestFailuresAndSwitchOffSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRows(t)
		key := s.add(Global(), NewRoutine("r", cronOf("* * * * *"), "bad", nil))
		fires := 0
		for i := range 5 { // each run sees one tick
			p := newPeer(t, "here", s, nil)
			p.start()
			pass(time.Minute)
			fires += len(p.calls.fires())
			row, _ := s.get(key)
			same(t, "failures", row.Failures, min(i+1, 3))
			same(t, "enabled", row.Enabled, i < 2)
			same(t, "told", p.warnings("switched off"), map[bool]int{true: 1}[i == 2])
			p.halt()
		}
		same(t, "fires", fires, 3)
	})
}

func TestSuccessClearsFailures(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		n := 0
		p.calls.on("moody", func(context.Context) error {
			if n++; n%3 != 0 {
				return errLuck
			}
			return nil
		})
		key := p.rows.add(Global(), NewRoutine("r", cronOf("* * * * *"), "moody", nil))
		p.start()
		pass(2 * time.Minute)
		row, _ := p.rows.get(key)
		same(t, "failures", fmt.Sprint(row.Failures, row.LastError), "2no luck")
		pass(time.Minute)
		row, _ = p.rows.get(key)
		same(t, "after a success", fmt.Sprint(row.Failures, row.LastError), "0")
		pass(time.Hour)
		row, _ = p.rows.get(key)
		same(t, "two of three fail for ever", row.Enabled, true)
	})
}

func TestFailingOneShotIsRetriedThenKept(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		r := NewRoutine("r", onceIn(time.Minute), "bad", nil)
		r.MaxFailures = 7
		key := p.rows.add(Global(), r)
		p.start()
		pass(2 * time.Hour)
		// 30 s, 1, 2, 4, 8 and 10 min apart.
		same(t, "fires", p.calls.times(), "[00:01:00 00:01:30 00:02:30 00:04:30 00:08:30 00:16:30 00:26:30]")
		row, ok := p.rows.get(key)
		if !ok || row.Enabled {
			t.Errorf("the row is kept: %v, enabled %v", ok, row.Enabled)
		}
	})
}

// A one-shot that was missed while nobody ran fires once; one that is done never again.
func TestMissedOneShotFiresOnceAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRows(t)
		key := s.add(Session("s"), NewRoutine("r", onceIn(time.Minute), "ok", nil))
		pass(24 * time.Hour)
		fires := 0
		for range 3 {
			p := newPeer(t, "here", s, nil)
			p.start()
			pass(time.Hour)
			fires += len(p.calls.fires())
			p.halt()
		}
		same(t, "fires", fires, 1)
		if _, ok := s.get(key); ok {
			t.Error("the row is still there")
		}
	})
}

// What the end of the engine cuts short is no failure, and a one-shot comes again.
func TestStopInMidFireIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRows(t)
		once := s.add(Global(), NewRoutine("once", onceIn(time.Minute), "slow", nil))
		cron := s.add(Global(), NewRoutine("cron", cronOf("* * * * *"), "slow", nil))
		before := s.count()
		p := newPeer(t, "here", s, nil)
		p.calls.on("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		p.start()
		pass(time.Minute)
		p.halt()
		same(t, "fires", len(p.calls.fires()), 2)
		same(t, "writes", s.count(), before)
		p = newPeer(t, "here", s, nil)
		p.calls.on("slow", nil)
		p.start()
		p.halt()
		same(t, "the one-shot comes again", len(p.calls.fires()), 1)
		if _, ok := s.get(once); ok {
			t.Error("the one-shot is still there")
		}
		row, _ := s.get(cron)
		same(t, "failures", row.Failures, 0)
	})
}

// An outcome that can't be written keeps the routine from firing until it is.
func TestOutcomeThatCannotBeWritten(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		once := p.rows.add(Global(), NewRoutine("once", onceIn(time.Minute), "ok", nil))
		p.rows.failNext("read", 1)
		p.rows.failNext("update", 3)
		p.start()
		pass(time.Minute)
		for range 180 {
			pass(time.Second)
			if err := p.Reload(t.Context(), Global()); err != nil {
				t.Fatal(err)
			}
		}
		info, _ := p.Get(once)
		same(t, "listed with the reason", info.Inert, "its last outcome could not be written yet")
		// It fired after 30 s, and after another 30 s and a minute the writing failed again.
		if _, ok := p.rows.get(once); !ok {
			t.Error("the row is gone too early")
		}
		pass(time.Minute)
		if _, ok := p.rows.get(once); ok {
			t.Error("the row is still there")
		}
		pass(time.Hour)
		same(t, "fires", len(p.calls.fires()), 1)
		same(t, "told once", p.warnings("is not written"), 1)
		same(t, "told once", p.warnings("can't be read"), 1)
	})
}

func TestUnreadableStoreDelaysAFire(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.rows.add(Global(), NewRoutine("once", onceIn(time.Minute), "ok", nil))
		p.rows.failNext("read", 2)
		p.start()
		pass(time.Hour)
		same(t, "fires", p.calls.times(), "[00:02:30]")
		same(t, "told once", p.warnings("can't be read"), 1)
		p.rows.add(Global(), NewRoutine("cron", cronOf("0 * * * *"), "ok", nil))
		if err := p.Reload(t.Context(), Global()); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Minute)
		for range 2 { // each time is the first time again
			p.rows.failNext("read", 1)
			pass(time.Hour)
		}
		same(t, "fires", p.calls.times(), "[00:02:30 02:00:30 03:00:30]")
		same(t, "told", p.warnings("can't be read"), 3)
	})
}

func TestUnreadableScopeIsTriedAgain(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.rows.add(Session("s"), NewRoutine("r", cronOf("*/3 * * * *"), "ok", nil))
		p.rows.failNext("rows", 2)
		p.start()
		same(t, "listed", len(p.List()), 0)
		pass(13 * time.Minute)
		same(t, "fires", p.calls.times(), "[00:12:00]")
		before := p.rows.reads
		pass(time.Hour)
		same(t, "reads once it was read", p.rows.reads-before, 0)
	})
	world(t, func(t *testing.T, p *peer) {
		p.rows.failNext("scopes", 1)
		if err := p.Run(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("run: %v", err)
		}
		if err := p.Run(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("run again: %v", err)
		}
	})
}

func TestSyncedEditsCountAtOnce(t *testing.T) {
	hourly := `{"kind":"cron","expr":"0 * * * *"}`
	for _, c := range []struct {
		name  string
		edit  func(map[string]string)
		fires string
	}{
		{"untouched", func(map[string]string) {}, "[00:10:00 00:20:00 00:30:00]"},
		{"removed", func(f map[string]string) { clear(f) }, "[00:10:00]"},
		{"disabled", func(f map[string]string) { f[FieldEnabled] = "false" }, "[00:10:00]"},
		{"moved", func(f map[string]string) { f[FieldTrigger] = hourly }, "[00:10:00]"},
		{"expired", func(f map[string]string) { f[FieldExpires] = `"2000-01-01T00:12:00Z"` }, "[00:10:00]"},
		{"made unreadable", func(f map[string]string) { f[FieldTrigger] = `{"kind":"lunar"}` }, "[00:10:00]"},
		{"given to another home", func(f map[string]string) { f[FieldHome] = `"there"` }, "[00:10:00]"},
		{"made faster", func(f map[string]string) { f[FieldTrigger] = `{"kind":"cron","expr":"*/6 * * * *"}` }, "[00:10:00 00:18:00 00:24:00 00:30:00]"},
	} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, engine told %v", c.name, told), func(t *testing.T) {
				world(t, func(t *testing.T, p *peer) {
					key := p.rows.add(Session("s"), NewRoutine("r", cronOf("*/10 * * * *"), "ok", nil))
					p.start()
					pass(15 * time.Minute)
					p.rows.edit(key, c.edit)
					if told {
						if err := p.Reload(t.Context(), Session("s")); err != nil {
							t.Fatal(err)
						}
						if _, ok := p.Get(key); ok != (c.name != "removed") {
							t.Errorf("listed: %v", ok)
						}
					}
					pass(19 * time.Minute)
					want := c.fires
					if !told && c.name == "made faster" { // seen when it was due by the old rule
						want = "[00:10:00 00:24:00 00:30:00]"
					}
					same(t, "fires", p.calls.times(), want)
				})
			})
		}
	}
}

// A fire that somebody else did, or counted, moves an interval although nobody told the engine.
func TestCompletionByAnotherMovesAnInterval(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		key := p.rows.add(Session("s"), NewRoutine("r", every(10*time.Minute), "ok", nil))
		p.start()
		pass(6 * time.Minute)
		p.rows.edit(key, func(f map[string]string) { f[FieldLastCompleted] = `"2000-01-01T00:05:00Z"` })
		pass(10 * time.Minute)
		same(t, "fires", p.calls.times(), "[00:15:00]")
	})
}

// A row that was edited while its handler ran is not overwritten.
func TestEditsDuringAFireStand(t *testing.T) {
	later := `{"kind":"one_shot","fire_at":"2000-01-01T01:00:00Z"}`
	for _, c := range []struct {
		name   string
		fails  bool
		edit   func(map[string]string)
		fires  int
		remain bool
	}{
		{"untouched", false, func(map[string]string) {}, 1, false},
		{"moved", false, func(f map[string]string) { f[FieldTrigger] = later }, 2, false},
		{"disabled", true, func(f map[string]string) { f[FieldEnabled] = "false" }, 1, true},
		{"removed", true, func(f map[string]string) { clear(f) }, 1, false},
		{"made unreadable", true, func(f map[string]string) { f[FieldTrigger] = `{"kind":"lunar"}` }, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			world(t, func(t *testing.T, p *peer) {
				key := p.rows.add(Global(), NewRoutine("r", onceIn(time.Minute), "slow", nil))
				p.calls.on("slow", func(context.Context) error {
					time.Sleep(time.Minute)
					if c.fails {
						return errLuck
					}
					return nil
				})
				p.start()
				pass(90 * time.Second)
				p.rows.edit(key, c.edit)
				if err := p.Reload(t.Context(), Global()); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Hour)
				same(t, "fires", len(p.calls.fires()), c.fires)
				row, ok := p.rows.get(key)
				same(t, "row there", ok, c.remain)
				if c.name == "made unreadable" && (row.Failures != 0 || !row.Enabled) {
					t.Errorf("an unreadable row was written: %+v", row)
				}
			})
		})
	}
}

// A row that goes and comes back while its handler runs is one routine, which does not overlap
// itself and fires on.
func TestRowThatComesBackDuringAFire(t *testing.T) {
	world(t, func(t *testing.T, p *peer) {
		p.calls.on("slow", func(context.Context) error { time.Sleep(150 * time.Second); return nil })
		r := NewRoutine("r", cronOf("* * * * *"), "slow", nil)
		key := p.rows.add(Global(), r)
		p.start()
		pass(70 * time.Second)
		if err := p.Remove(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		same(t, "listed", len(p.List()), 0)
		if err := p.Add(t.Context(), Global(), r); err != nil {
			t.Fatal(err)
		}
		same(t, "listed", len(p.List()), 1)
		pass(8*time.Minute + 30*time.Second)
		same(t, "fires", p.calls.times(), "[00:01:00 00:04:00 00:07:00]")
	})
}
