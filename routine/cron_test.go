package routine

import (
	"strings"
	"testing"
	"time"
)

func TestCronAccepts(t *testing.T) {
	from := time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC) // a Wednesday
	for _, c := range []struct{ expr, zone, next string }{
		{"* * * * *", "", "2026-03-04T10:21:00Z"},
		{"* * * * * *", "", "2026-03-04T10:20:31Z"},
		{"0 9 * * *", "", "2026-03-05T09:00:00Z"},
		{"30 0 9 * * *", "", "2026-03-05T09:00:30Z"},
		{"*/15 * * * *", "", "2026-03-04T10:30:00Z"},
		{"5/20 * * * *", "", "2026-03-04T10:25:00Z"},
		{"10-20/5 * * * *", "", "2026-03-04T11:10:00Z"},
		{"0 8,12,20 * * *", "", "2026-03-04T12:00:00Z"},
		{"0 0 1 jan *", "", "2027-01-01T00:00:00Z"},
		{"0 0 1 Feb-Apr,Dec *", "", "2026-04-01T00:00:00Z"},
		{"0 0 * * mon", "", "2026-03-09T00:00:00Z"},
		{"0 0 * * MON-FRI", "", "2026-03-05T00:00:00Z"},
		{"0 0 * * SAT-SUN", "", "2026-03-07T00:00:00Z"},
		{"0 0 * * 0", "", "2026-03-08T00:00:00Z"},
		{"0 0 * * 7", "", "2026-03-08T00:00:00Z"},
		{"0 0 0 * * 1", "", "2026-03-09T00:00:00Z"},
		{"0 0 * * 5-7", "", "2026-03-06T00:00:00Z"},
		{"0 0 * * 6-7/1", "", "2026-03-07T00:00:00Z"},
		{"0 0 13 * FRI", "", "2026-03-06T00:00:00Z"},    // either day field
		{"0 0 13 * *", "", "2026-03-13T00:00:00Z"},      // one is free
		{"0 0 1-31 * FRI", "", "2026-03-06T00:00:00Z"},  // every day of the month is free too
		{"0 0 */2 * MON", "", "2026-03-05T00:00:00Z"},   // a step restricts
		{"0 0 13 * 0-6", "", "2026-03-13T00:00:00Z"},    // every weekday is free
		{"0 0 29 2 *", "", "2028-02-29T00:00:00Z"},      // leap years only
		{" \t0  9\t* * * ", "", "2026-03-05T09:00:00Z"}, // blanks
		{"0 9 * * *", "Asia/Tokyo", "2026-03-05T00:00:00Z"},
		{"0 9 * * *", "America/New_York", "2026-03-04T14:00:00Z"},
		{"0 9 * * *", "Asia/Kathmandu", "2026-03-05T03:15:00Z"},
	} {
		trigger, err := Cron(c.expr, c.zone)
		if err != nil {
			t.Errorf("%q %q: %v", c.expr, c.zone, err)
			continue
		}
		got, ok := Next(trigger, State{}, from)
		if !ok || got.Format(time.RFC3339) != c.next {
			t.Errorf("%q %q: next is %v %v, want %s", c.expr, c.zone, got, ok, c.next)
		}
	}
}

func TestSundayIsTheFirstDayAndTheLast(t *testing.T) {
	for expr, want := range map[string]field{
		"* * * * SAT-SUN": 1<<6 | 1, "* * * * 6-7": 1<<6 | 1, "* * * * SUN-MON": 1 | 1<<1, "* * * * 0-7": 1<<7 - 1,
		"* * * * SUN": 1, "* * * * 7": 1, "* * * * 7/1": 1, "* * * * FRI-SUN/2": 1<<5 | 1,
	} {
		if got := must(parseCron(expr, "")).weekday; got != want {
			t.Errorf("%q admits %b, want %b", expr, got, want)
		}
	}
}

func TestCronRefuses(t *testing.T) {
	for _, c := range []struct{ expr, zone, why string }{
		{"", "", "0 fields"},
		{"   ", "", "0 fields"},
		{"* * * *", "", "4 fields"},
		{"* * * * * * *", "", "7 fields"},
		{"@daily", "", "1 fields"},
		{"TZ=UTC * * * * *", "", "second"},
		{"60 * * * *", "", "minute: 60 is not from 0 to 59"},
		{"60 * * * * *", "", "second: 60"},
		{"* 24 * * *", "", "hour: 24"},
		{"* * 0 * *", "", "day of month: 0"},
		{"* * 32 * *", "", "day of month: 32"},
		{"* * * 0 *", "", "month: 0"},
		{"* * * 13 *", "", "month: 13"},
		{"* * * * 8", "", "day of week: 8"},
		{"* * * MON *", "", `month: "MON" is not a value`},
		{"* * * * JAN", "", `day of week: "JAN"`},
		{"* * * * MONDAY", "", "not a value"},
		{"-1 * * * *", "", "not a value"},
		{"+1 * * * *", "", "not a value"},
		{"1.5 * * * *", "", "not a value"},
		{"1e1 * * * *", "", "not a value"},
		{"001 * * * *", "", "not a value"},
		{"99999999999999999999 * * * *", "", "not a value"},
		{"١ * * * *", "", "not a value"},
		{"*/0 * * * *", "", "step"},
		{"*/-1 * * * *", "", "step"},
		{"*/61 * * * *", "", "step"},
		{"*/ * * * *", "", "step"},
		{"*/2/2 * * * *", "", "step"},
		{"5- * * * *", "", "not a value"},
		{"-5 * * * *", "", "not a value"},
		{"5-4 * * * *", "", "backward"},
		{"1-2-3 * * * *", "", "not a value"},
		{"* * * * FRI-MON", "", "backward"},
		{"*-5 * * * *", "", "not a value"},
		{"** * * * *", "", "not a value"},
		{"1,,2 * * * *", "", "not a value"},
		{", * * * *", "", "not a value"},
		{"* * L * *", "", "not a value"},
		{"* * ? * *", "", "not a value"},
		{"* * 15W * *", "", "not a value"},
		{"* * * * 5#3", "", "not a value"},
		{"* * * * *\n", "", "not a value"},
		{"* * * * \x00", "", "not a value"},
		{strings.Repeat("1,", 400) + "1 * * * *", "", "longer than"},
		{"* * * * *", "Nowhere/Land", "no such IANA zone"},
		{"* * * * *", "Local", "every machine"},
		{"* * * * *", "localtime", "every machine"},
		{"* * * * *", "../../etc/passwd", "no such IANA zone"},
		{"* * * * *", "/etc/passwd", "no such IANA zone"},
		{"* * * * *", strings.Repeat("A", 65), "longer than"},
	} {
		_, err := Cron(c.expr, c.zone)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q %q: error %v, want one with %q", c.expr, c.zone, err, c.why)
		}
	}
}

// An expression that is well formed but never comes true parses, has no next fire and can't be
// added.
func TestCronWithoutFutureTickIsRefusedWhenAdded(t *testing.T) {
	now := time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 30-31 2 *"} {
		trigger := must(Cron(expr, ""))
		if at, ok := Next(trigger, State{}, now); ok {
			t.Errorf("%q fires at %v", expr, at)
		}
		if err := NewRoutine("x", trigger, "ok", nil).Check(now); err == nil || !strings.Contains(err.Error(), "never fires") {
			t.Errorf("%q: check says %v", expr, err)
		}
	}
	// The positive control has the longest gap there is: 2100 is no leap year.
	at, ok := Next(must(Cron("0 0 29 2 *", "")), State{}, now)
	if !ok || at.Format(time.DateOnly) != "2104-02-29" {
		t.Errorf("29 February after 2096: %v %v", at, ok)
	}
	if err := NewRoutine("x", must(Cron("0 0 29 2 *", "")), "ok", nil).Check(now); err != nil {
		t.Error(err)
	}
}

func FuzzParseCron(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 30 9 * * MON-FRI", "*/5 1-3,7 29 FEB 7", "0 0 30 2 *", "5/7 * * * * sat-sun", "@daily", "* * ? * L"} {
		for _, zone := range []string{"", "Europe/Berlin", "Pacific/Apia"} {
			f.Add(seed, zone, int64(1_700_000_000))
		}
	}
	f.Fuzz(func(t *testing.T, expr, zone string, sec int64) {
		trigger, err := Cron(expr, zone)
		if err != nil {
			return
		}
		at := time.Unix(sec%(1<<36), 0)
		for range 5 {
			next, ok := Next(trigger, State{}, at)
			if !ok {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q %q: the tick after %v is %v", expr, zone, at, next)
			}
			at = next
		}
	})
}
