package routine

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNextOfIntervalAndOneShot(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	hour := every(time.Hour)
	at := must(Once(now.Add(time.Minute)))
	past := must(Once(now.Add(-48 * time.Hour)))
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name    string
		trigger Trigger
		state   State
		want    time.Duration // from now
	}{
		{"interval, never fired: creation + delay", hour, State{Created: ago(10 * time.Minute)}, 50 * time.Minute},
		{"interval, creation unknown", hour, State{}, time.Hour},
		{"interval: completion + delay", hour, State{Created: ago(time.Hour * 9), LastCompleted: ago(20 * time.Minute)}, 40 * time.Minute},
		{"interval, overdue by many: now, once", hour, State{LastCompleted: ago(100 * time.Hour)}, 0},
		{"interval, a failure also waits the delay", hour, State{LastCompleted: now, Failures: 2}, time.Hour},
		{"interval, clock went back a year", hour, State{LastCompleted: now.AddDate(1, 0, 0)}, time.Hour},
		{"interval, clock went forward a year", hour, State{LastCompleted: now.AddDate(-1, 0, 0)}, 0},
		{"one-shot ahead", at, State{}, time.Minute},
		{"one-shot missed: now", past, State{}, 0},
		{"one-shot, first retry", past, State{LastCompleted: now, Failures: 1}, 30 * time.Second},
		{"one-shot, second retry", past, State{LastCompleted: now, Failures: 2}, time.Minute},
		{"one-shot, fifth retry", past, State{LastCompleted: now, Failures: 5}, 8 * time.Minute},
		{"one-shot, sixth retry", past, State{LastCompleted: now, Failures: 6}, 10 * time.Minute},
		{"one-shot, absurd failures", past, State{LastCompleted: now, Failures: 1 << 62}, 10 * time.Minute},
		{"one-shot, retry overdue", past, State{LastCompleted: ago(time.Hour), Failures: 1}, 0},
		{"one-shot, retry after the clock went back", past, State{LastCompleted: now.AddDate(1, 0, 0), Failures: 1}, 30 * time.Second},
		{"one-shot moved ahead after a failure", at, State{LastCompleted: ago(time.Hour), Failures: 1}, time.Minute},
	} {
		got, ok := Next(c.trigger, c.state, now)
		if !ok || !got.Equal(now.Add(c.want)) {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, now.Add(c.want))
		}
	}
	if _, ok := Next(Trigger{}, State{}, now); ok {
		t.Error("no trigger fires")
	}
}

// Whatever the row and the clock say, the next fire is not before now, and for a cron trigger it
// does not depend on the row at all.
func TestNextNeverLiesInThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		year := int64(366 * 24 * time.Hour / time.Second)
		base := int64(1_800_000_000)
		moment := func(name string) time.Time {
			if rapid.Bool().Draw(t, name+" unknown") {
				return time.Time{}
			}
			return time.Unix(base+rapid.Int64Range(-year, year).Draw(t, name), 0)
		}
		trigger := rapid.SampledFrom([]Trigger{
			cronOf("*/7 3-9 * * *"), every(time.Second), every(MaxDelay), every(90 * time.Minute),
			must(Once(time.Unix(base, 0))), must(Once(time.Unix(base+year, 0))),
		}).Draw(t, "trigger")
		s := State{moment("created"), moment("completed"), rapid.IntRange(0, 50).Draw(t, "failures")}
		now := time.Unix(base+rapid.Int64Range(-year, year).Draw(t, "now"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns"))
		at, ok := Next(trigger, s, now)
		if !ok || at.Before(now) {
			t.Fatalf("%v %+v at %v: %v %v", trigger, s, now, at, ok)
		}
		switch trigger.Kind() {
		case KindCron:
			if other, _ := Next(trigger, State{}, now); !at.After(now) || !other.Equal(at) {
				t.Fatalf("cron: %v, without state %v, now %v", at, other, now)
			}
		case KindInterval:
			if at.After(now.Add(trigger.delay)) {
				t.Fatalf("interval %v waits until %v, now %v", trigger, at, now)
			}
		case KindOneShot:
			if at.After(later(trigger.at, now.Add(retryMax))) {
				t.Fatalf("one-shot %v waits until %v, now %v", trigger, at, now)
			}
		}
	})
}

// The monotonic part of a time never leaks into a plan: a comparison with it would not see a jump.
func TestNextHasNoMonotonicPart(t *testing.T) {
	now := time.Now()
	if now == now.Round(0) {
		t.Fatal("the clock of the test has none either")
	}
	for _, trigger := range []Trigger{every(time.Second), onceIn(0), cronOf("* * * * *")} {
		for _, s := range []State{{}, {LastCompleted: now, Failures: 1}} {
			if at, _ := Next(trigger, s, now); at != at.Round(0) {
				t.Errorf("%v: %v has a monotonic part", trigger, at)
			}
		}
	}
}
