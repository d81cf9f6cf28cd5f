package routine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// part is one element of a list, as a test makes it: the values from, from+step, … up to.
type part struct{ from, to, step int }

type oracleField []part

func (f oracleField) admits(n int) bool {
	for _, p := range f {
		for v := p.from; v <= p.to; v += p.step {
			if v == n {
				return true
			}
		}
	}
	return false
}

func (f oracleField) full(from, to int) bool {
	for n := from; n <= to; n++ {
		if !f.admits(n) {
			return false
		}
	}
	return true
}

func drawField(t *rapid.T, name string, low, high int) (oracleField, string) {
	if rapid.IntRange(0, 2).Draw(t, name+" free") == 0 {
		return oracleField{{low, high, 1}}, "*"
	}
	var f oracleField
	var texts []string
	for range rapid.IntRange(1, 3).Draw(t, name+" items") {
		a := rapid.IntRange(low, high).Draw(t, name)
		b := rapid.IntRange(a, high).Draw(t, name+" to")
		step := rapid.IntRange(1, high-low+1).Draw(t, name+" step")
		switch rapid.IntRange(0, 3).Draw(t, name+" form") {
		case 0:
			f, texts = append(f, part{a, a, 1}), append(texts, fmt.Sprint(a))
		case 1:
			f, texts = append(f, part{a, b, 1}), append(texts, fmt.Sprintf("%d-%d", a, b))
		case 2:
			f, texts = append(f, part{a, b, step}), append(texts, fmt.Sprintf("%d-%d/%d", a, b, step))
		case 3:
			f, texts = append(f, part{low, high, step}), append(texts, fmt.Sprintf("*/%d", step))
		}
	}
	return f, strings.Join(texts, ",")
}

// oracle reads a wall clock second by second.
type oracle struct {
	fields [6]oracleField
	zone   *time.Location
}

func (o oracle) matches(wall int64) bool {
	t := time.Unix(wall, 0).UTC()
	if !o.fields[0].admits(t.Second()) || !o.fields[1].admits(t.Minute()) || !o.fields[2].admits(t.Hour()) || !o.fields[4].admits(int(t.Month())) {
		return false
	}
	day, week := o.fields[3].admits(t.Day()), o.fields[5].admits(int(t.Weekday()))
	if !o.fields[3].full(1, 31) && !o.fields[5].full(0, 6) {
		return day || week
	}
	return day && week
}

// next steps through the seconds after now up to end. A second is a tick if it shows a matching
// time that was not shown before, or if a matching time was skipped by the jump to it.
func (o oracle) next(now, end int64) (int64, bool) {
	shown := func(sec int64) int64 {
		_, offset := time.Unix(sec, 0).In(o.zone).Zone()
		return sec + int64(offset)
	}
	latest := shown(now)
	for sec := now - 30*3600; sec < now; sec++ {
		latest = max(latest, shown(sec))
	}
	for sec := now + 1; sec <= end; sec++ {
		for wall := latest + 1; wall <= shown(sec); wall++ {
			if o.matches(wall) {
				return sec, true
			}
		}
		latest = max(latest, shown(sec))
	}
	return 0, false
}

// shifts are the days on which a zone changes its clocks, and some ordinary ones.
func shifts() []struct{ zone, day string } {
	return []struct{ zone, day string }{
		{"Europe/Berlin", "2026-03-29"},
		{"Europe/Berlin", "2026-10-25"},
		{"America/New_York", "2026-03-08"},
		{"America/New_York", "2026-11-01"},
		{"Australia/Lord_Howe", "2026-04-05"},
		{"Australia/Lord_Howe", "2026-10-04"}, // half an hour
		{"America/Sao_Paulo", "2018-11-04"},
		{"America/Sao_Paulo", "2018-02-18"}, // at midnight
		{"Africa/Casablanca", "2026-02-15"},
		{"Africa/Casablanca", "2026-03-22"},
		{"Pacific/Apia", "2011-12-30"}, // a day that never was
		{"Asia/Kolkata", "2026-05-01"},
		{"", "2024-02-29"},
		{"", "1969-12-31"}, // ordinary
	}
}

func TestCronAgainstEverySecond(t *testing.T) {
	ticks, empty := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var o oracle
		var texts []string
		bounds := [6][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
		for i, b := range bounds {
			f, text := drawField(t, cronFields()[i].name, b[0], b[1])
			o.fields[i], texts = f, append(texts, text)
		}
		s := rapid.SampledFrom(shifts()).Draw(t, "day")
		o.zone = must(time.LoadLocation(s.zone))
		day := must(time.Parse(time.DateOnly, s.day)).Unix()
		now := day + rapid.Int64Range(-12*3600, 30*3600).Draw(t, "now")
		end := now + 12*3600
		want, ok := o.next(now, end)
		trigger, err := Cron(strings.Join(texts, " "), s.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, has := Next(trigger, State{}, time.Unix(now, rapid.Int64Range(0, 999_999_999).Draw(t, "ns")))
		switch {
		case ok && (!has || got.Unix() != want):
			t.Fatalf("%v: after %v got %v %v, want %v", trigger, time.Unix(now, 0).In(o.zone), got.In(o.zone), has, time.Unix(want, 0).In(o.zone))
		case !ok && has && got.Unix() <= end:
			t.Fatalf("%v: after %v got %v, want none up to %v", trigger, time.Unix(now, 0).In(o.zone), got.In(o.zone), time.Unix(end, 0).In(o.zone))
		case ok:
			ticks++
		default:
			empty++
		}
	})
	if ticks == 0 || empty == 0 {
		t.Errorf("the property saw %d ticks and %d empty spans; it must see both", ticks, empty)
	}
}

// ticksOf lists the ticks of a local day and the next, in UTC.
func ticksOf(expr, zone, day string) []string {
	loc := must(time.LoadLocation(zone))
	start := must(time.ParseInLocation(time.DateOnly, day, loc))
	trigger := must(Cron(expr, zone))
	out := []string{}
	for at := start.Add(-time.Second); ; {
		next, ok := Next(trigger, State{}, at)
		if !ok || !next.Before(start.AddDate(0, 0, 2)) {
			return out
		}
		out = append(out, next.In(loc).Format("02T15:04-0700"))
		at = next
	}
}

func TestDaylightSavingDays(t *testing.T) {
	for _, c := range []struct{ expr, zone, day, want string }{
		// A time that does not exist fires at the first instant after the gap.
		{"30 2 * * *", "Europe/Berlin", "2026-03-29", "[29T03:00+0200 30T02:30+0200]"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-29", "[29T03:00+0200 30T03:00+0200]"},
		{"0,30 2,3 * * *", "Europe/Berlin", "2026-03-29", "[29T03:00+0200 29T03:30+0200 30T02:00+0200 30T02:30+0200 30T03:00+0200 30T03:30+0200]"},
		{"30 2 * * *", "America/New_York", "2026-03-08", "[08T03:00-0400 09T02:30-0400]"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-04", "[04T02:30+1100 05T02:15+1100]"},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-04", "[04T01:00-0200 05T00:00-0200]"},
		// A time that exists twice fires once, the first.
		{"30 2 * * *", "Europe/Berlin", "2026-10-25", "[25T02:30+0200 26T02:30+0100]"},
		{"30 1 * * *", "America/New_York", "2026-11-01", "[01T01:30-0400 02T01:30-0500]"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-05", "[05T01:45+1100 06T01:45+1030]"},
		{"0 1-3 * * *", "Europe/Berlin", "2026-10-25", "[25T01:00+0200 25T02:00+0200 25T03:00+0100 26T01:00+0100 26T02:00+0100 26T03:00+0100]"},
		// Without a zone nothing happens on such a day.
		{"30 2 * * *", "", "2026-03-29", "[29T02:30+0000 30T02:30+0000]"},
	} {
		same(t, fmt.Sprintf("%s %s on %s", c.expr, c.zone, c.day), ticksOf(c.expr, c.zone, c.day), c.want)
	}
}

// Samoa skipped 30 December 2011: what was to fire on it fires when it was over.
func TestDayThatNeverWas(t *testing.T) {
	trigger := must(Cron("0 12 * * *", "Pacific/Apia"))
	at := time.Date(2011, 12, 29, 23, 0, 0, 0, time.UTC) // the 29th, 13:00 there
	for _, want := range []string{"31T00:00+1400", "31T12:00+1400"} {
		at, _ = Next(trigger, State{}, at)
		same(t, "tick", at.In(trigger.cron.zone).Format("02T15:04-0700"), want)
	}
}

// From within the repeated hour the next tick is not the second showing of a time.
func TestRepeatedHourFromWithin(t *testing.T) {
	trigger := must(Cron("30 2 * * *", "Europe/Berlin"))
	second := time.Date(2026, 10, 25, 1, 10, 0, 0, time.UTC) // 02:10 for the second time
	got, _ := Next(trigger, State{}, second)
	same(t, "next", got.Format(time.RFC3339), "2026-10-26T01:30:00Z")
}
