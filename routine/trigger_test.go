package routine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestTriggerWireForms(t *testing.T) {
	for _, c := range []struct{ wire, text string }{
		{`{"kind":"cron","expr":"0 9 * * *"}`, `cron "0 9 * * *" UTC`},
		{`{"kind":"cron","expr":"0 0 9 * * mon","tz":"Europe/Berlin"}`, `cron "0 0 9 * * mon" Europe/Berlin`},
		{`{"kind":"interval","delay_secs":3600}`, "every 1h0m0s"},
		{`{"kind":"one_shot","fire_at":"2030-01-02T03:04:05Z"}`, "once at 2030-01-02T03:04:05Z"},
	} {
		strict, err := ParseTrigger([]byte(c.wire))
		if err != nil {
			t.Errorf("%s: %v", c.wire, err)
			continue
		}
		var read Trigger
		if err := json.Unmarshal([]byte(c.wire), &read); err != nil || read.Fault() != nil || !read.Equal(strict) {
			t.Errorf("%s: %v %v", c.wire, err, read.Fault())
		}
		for _, x := range []Trigger{strict, read} {
			same(t, "wire", string(must(json.Marshal(x))), c.wire)
			same(t, "text", x, c.text)
		}
	}
	all := []Trigger{
		cronOf("0 9 * * *"), cronOf("0 8 * * *"), must(Cron("0 9 * * *", "Europe/Berlin")),
		every(time.Minute), every(time.Hour), must(Once(time.Unix(1, 0))), must(Once(time.Unix(2, 0))),
	}
	for i, a := range all {
		for j, b := range all {
			if a.Equal(b) != (i == j) {
				t.Errorf("%v equals %v: %v", a, b, a.Equal(b))
			}
		}
	}
	zoned := must(ParseTrigger([]byte(`{"kind":"one_shot","fire_at":"2030-01-02T05:04:05+02:00"}`)))
	same(t, "instant in UTC", zoned, "once at 2030-01-02T03:04:05Z")
}

func TestTriggerRefuses(t *testing.T) {
	for _, c := range []struct{ wire, why string }{
		{``, "parse trigger"},
		{`null`, "does not know the kind"},
		{`7`, "parse trigger"},
		{`{}`, "does not know the kind"},
		{`{"kind":"lunar","phase":1}`, `does not know the kind "lunar"`},
		{`{"kind":"cron"}`, `it needs "expr"`},
		{`{"kind":"cron","expr":"nonsense"}`, "fields"},
		{`{"kind":"cron","expr":5}`, "parse cron trigger"},
		{`{"kind":"cron","expr":"* * * * *","timezone":"UTC"}`, "unknown field"},
		{`{"kind":"cron","expr":"* * * * *","delay_secs":5}`, "no key of another kind"},
		{`{"kind":"interval"}`, `it needs "delay_secs"`},
		{`{"kind":"interval","delay_secs":0}`, "delay_secs is 0"},
		{`{"kind":"interval","delay_secs":-5}`, "delay_secs is -5"},
		{`{"kind":"interval","delay_secs":1.5}`, "parse interval trigger"},
		{`{"kind":"interval","delay_secs":9223372036854775807}`, "delay_secs is 9223372036854775807"},
		{`{"kind":"interval","delay_secs":99999999999999999999}`, "parse interval trigger"},
		{`{"kind":"interval","delay_secs":60,"tz":"UTC"}`, "no key of another kind"},
		{`{"kind":"one_shot"}`, `it needs "fire_at"`},
		{`{"kind":"one_shot","fire_at":"tomorrow"}`, "parse one_shot trigger"},
		{`{"kind":"one_shot","fire_at":"2030-02-30T00:00:00Z"}`, "parse one_shot trigger"},
		{`{"kind":"cron","expr":"` + strings.Repeat(" ", 5000) + `"}`, "longer than"},
	} {
		if _, err := ParseTrigger([]byte(c.wire)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.60s: error %v, want one with %q", c.wire, err, c.why)
		}
	}
	for _, d := range []time.Duration{0, -time.Second, 999 * time.Millisecond, 1500 * time.Millisecond, MaxDelay + time.Second} {
		if _, err := Every(d); err == nil {
			t.Errorf("every %v is accepted", d)
		}
	}
	if _, err := Every(time.Second); err != nil {
		t.Error(err)
	}
	if _, err := Once(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); err == nil {
		t.Error("a one-shot in the year 10000 is accepted")
	}
}

// What a newer version wrote, or nobody can read, comes back whole and never fires.
func TestUnknownTriggersSurvive(t *testing.T) {
	for _, wire := range []string{
		`{"kind":"lunar","phase":{"of":"moon"},"n":1.50}`,
		`{"kind":"cron","expr":"61 * * * *"}`,
		`{"kind":"interval","delay_secs":0}`,
		`[1,2]`, `"cron"`, `7`, `null`, `{}`,
	} {
		var read Trigger
		// A row reads its trigger as a value, where null too reaches the method.
		if err := read.UnmarshalJSON([]byte(wire)); err != nil {
			t.Errorf("%s: %v", wire, err)
		}
		if read.Fault() == nil {
			t.Errorf("%s has no fault", wire)
		}
		if _, ok := Next(read, State{}, time.Unix(0, 0)); ok {
			t.Errorf("%s fires", wire)
		}
		same(t, "written back", string(must(json.Marshal(read))), wire)
		if read.Equal(cronOf("* * * * *")) || !read.Equal(read) {
			t.Errorf("%s: equality", wire)
		}
	}
	// An unknown key of a known kind is kept and does not hinder.
	wire := `{"kind":"interval","delay_secs":60,"note":"hi"}`
	var read Trigger
	if err := json.Unmarshal([]byte(wire), &read); err != nil || read.Fault() != nil {
		t.Fatal(err, read.Fault())
	}
	same(t, "written back", string(must(json.Marshal(read))), wire)
}

func FuzzReadTrigger(f *testing.F) {
	f.Add([]byte(`{"kind":"cron","expr":"0 9 * * *","tz":"Europe/Berlin"}`))
	f.Add([]byte(`{"kind":"interval","delay_secs":3600}`))
	f.Add([]byte(`{"kind":"one_shot","fire_at":"2030-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"kind":"lunar"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var read Trigger
		if json.Unmarshal(raw, &read) != nil || read.Fault() != nil {
			return
		}
		back, err := json.Marshal(read)
		var again Trigger
		if err != nil || json.Unmarshal(back, &again) != nil || !again.Equal(read) {
			t.Fatalf("%s: written back as %s, %v", raw, back, err)
		}
		strict, err := ParseTrigger(raw)
		if err != nil {
			return
		}
		canonical, err := json.Marshal(strict)
		if err != nil || json.Unmarshal(canonical, &again) != nil || !again.Equal(read) {
			t.Fatalf("%s: canonical form %s, %v", raw, canonical, err)
		}
	})
}
