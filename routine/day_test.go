package routine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// due lists when a trigger fires by a clock in a span of it, if each fire takes no time.
func due(t *testing.T, trigger Trigger, created, from, to time.Time) []string {
	out := []string{}
	s := State{Created: created}
	for at := from; ; {
		next, ok := Next(trigger, s, at)
		if !ok {
			t.Fatalf("%v never fires", trigger)
		}
		if !next.Before(to) {
			return out
		}
		out = append(out, next.Format(time.DateTime))
		if s.LastCompleted = next; trigger.Kind() == KindOneShot {
			return out
		}
		at = next
	}
}

// dayRows writes the rows of the day for both homes and lists what is due, by scope and payload.
func dayRows(t *testing.T, s *rows, begin time.Time, skew map[string]time.Duration) map[string][]string {
	triggers := map[string]Trigger{
		"cron":     cronOf("7 * * * *"),
		"berlin":   must(Cron("0 30 9,21 * * *", "Europe/Berlin")),
		"seconds":  cronOf("*/30 */10 * * * *"),
		"interval": every(47 * time.Minute),
		"once":     onceIn(11*time.Hour + 11*time.Minute),
	}
	want := map[string][]string{}
	for home, skew := range skew {
		for name, trigger := range triggers {
			for _, scope := range []Scope{Session("s"), Agent("a")} {
				r := NewRoutine(home+"-"+name, trigger, "ok", json.RawMessage(fmt.Sprintf("%q", home+" "+name)))
				r.Home, r.Created = home, begin.Add(skew)
				s.add(scope, r)
				want[scope.String()+` "`+home+" "+name+`"`] = due(t, trigger, r.Created, begin.Add(skew), begin.Add(skew+24*time.Hour))
			}
		}
	}
	return want
}

// A day of routines over two peers whose clocks are three hours apart and whose rows are the same:
// each due fire happens exactly once, on its home, by its home's clock. On the way rows are read
// again without cease, and each peer restarts.
func TestDayOverTwoPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, skew := newRows(t), map[string]time.Duration{"left": 0, "right": 3 * time.Hour}
		want, got := dayRows(t, s, time.Now().UTC(), skew), map[string][]string{}
		run := func(name string) *peer {
			p := newPeer(t, name, s, nil)
			p.clock.jump(skew[name])
			p.start()
			return p
		}
		collect := func(p *peer) {
			p.halt()
			for _, f := range p.calls.fires() {
				if f.load[1:len(f.peer)+1] != f.peer {
					t.Errorf("%s fired %s", f.peer, f.load)
				}
				key := f.scope.String() + " " + f.load
				got[key] = append(got[key], f.at.Format(time.DateTime))
			}
		}
		left, right := run("left"), run("right")
		for quarter := range 96 {
			pass(15*time.Minute - time.Second)
			for _, p := range []*peer{left, right} {
				for _, scope := range []Scope{Session("s"), Agent("a")} {
					go func() { _ = p.Reload(context.Background(), scope) }()
				}
			}
			synctest.Wait()
			switch quarter {
			case 30:
				collect(left)
				left = run("left")
			case 60:
				collect(right)
				right = run("right")
			}
			pass(time.Second - time.Nanosecond)
		}
		collect(left)
		collect(right)
		fires := 0
		for key, times := range want {
			same(t, key, got[key], times)
			fires += len(times)
		}
		same(t, "routines that fired", len(got), len(want))
		if fires < 500 {
			t.Errorf("only %d fires were due", fires)
		}
	})
}
