package routine

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var errLuck = errors.New("no luck")

func TestSettle(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	row := func(trigger Trigger, failures, limit int) Routine {
		r := NewRoutine("r", trigger, "ok", nil)
		r.Failures, r.MaxFailures, r.LastError = failures, limit, "old"
		return r
	}
	limited := row(cronOf("* * * * *"), 0, 3)
	limited.MaxFires, limited.Fires = 2, 1
	once := must(Once(at))
	for _, c := range []struct {
		name string
		row  Routine
		err  error
		want Outcome
	}{
		{"cron, success", row(cronOf("* * * * *"), 2, 3), nil, Outcome{Fires: 1}},
		{"cron, failure below the limit", row(cronOf("* * * * *"), 1, 3), errLuck, Outcome{Failures: 2, LastError: "no luck"}},
		{"cron, failure at the limit", row(cronOf("* * * * *"), 2, 3), errLuck, Outcome{Failures: 3, LastError: "no luck", Disable: true}},
		{"cron, no limit", row(cronOf("* * * * *"), 1000, 0), errLuck, Outcome{Failures: 1001, LastError: "no luck"}},
		{"cron, no further tick", row(cronOf("0 0 30 2 *"), 0, 3), nil, Outcome{Fires: 1, Disable: true}},
		{"interval, success", row(every(time.Minute), 2, 3), nil, Outcome{Fires: 1}},
		{"interval, failure at the limit", row(every(time.Minute), 0, 1), errLuck, Outcome{Failures: 1, LastError: "no luck", Disable: true}},
		{"one-shot, success", row(once, 2, 3), nil, Outcome{Fires: 1, Delete: true}},
		{"one-shot, failure below the limit", row(once, 0, 3), errLuck, Outcome{Failures: 1, LastError: "no luck"}},
		{"one-shot, failure at the limit", row(once, 2, 3), errLuck, Outcome{Failures: 3, LastError: "no luck", Disable: true}},
		{"one-shot, no limit", row(once, 9, 0), errLuck, Outcome{Failures: 10, LastError: "no luck"}},
		{"last of its fires", limited, nil, Outcome{Fires: 2, Disable: true}},
		{"a failed fire does not count", limited, errLuck, Outcome{Failures: 1, LastError: "no luck", Fires: 1}},
	} {
		c.want.LastCompleted = at
		if got := Settle(c.row, c.err, at); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestLastErrorIsCutAtARune(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", maxError), strings.Repeat("x", maxError+1), strings.Repeat("x", 255) + "é" + "tail", strings.Repeat("語", 100), "a\xffb", strings.Repeat("\xff", 300)} {
		got := cut(text)
		if len(got) > maxError || !utf8.ValidString(got) || utf8.ValidString(text) && len(text) > maxError && len(got) < maxError-3 {
			t.Errorf("%.20q…: %d bytes, valid %v", text, len(got), utf8.ValidString(got))
		}
	}
	same(t, "before the é", cut(strings.Repeat("x", 255)+"é"), strings.Repeat("x", 255))
}

func TestDecode(t *testing.T) {
	good := map[string]string{FieldTrigger: `{"kind":"interval","delay_secs":60}`, FieldTarget: `{"extension":"ok"}`}
	with := func(key, text string) map[string]string {
		m := maps.Clone(good)
		m[key] = text
		return m
	}
	r, ok := Decode("a", good)
	if !ok || r.Fault != "" || !r.Enabled || r.MaxFailures != 3 || string(r.Target.Payload) != "null" {
		t.Errorf("defaults: %+v %v", r, ok)
	}
	if _, ok := Decode("a", map[string]string{FieldTarget: good[FieldTarget], FieldEnabled: "true"}); ok {
		t.Error("leftovers without a trigger are a row")
	}
	for _, key := range []string{FieldTarget, FieldName, FieldEnabled, FieldMaxFailures, FieldFailures, FieldLastError, FieldLastCompleted, FieldCreated, FieldHome, FieldExpires, FieldMaxFires, FieldFires} {
		for _, text := range []string{`[1]`, `{`, `{"a":`} {
			r, ok := Decode("a", with(key, text))
			if !ok || !strings.Contains(r.Fault, key) {
				t.Errorf("%s = %s: fault %q, ok %v", key, text, r.Fault, ok)
			}
			if why := r.Inert(time.Now()); !strings.HasPrefix(why, "unreadable: ") {
				t.Errorf("%s = %s: inert %q", key, text, why)
			}
		}
	}
	r, _ = Decode("a", with(FieldTrigger, `{"kind":"lunar"}`))
	if why := r.Inert(time.Now()); !strings.Contains(why, "lunar") || r.Fault != "" {
		t.Errorf("unknown trigger: inert %q, fault %q", why, r.Fault)
	}
	r, _ = Decode("a", with(FieldFailures, "-7"))
	same(t, "negative failures", r.Failures, 0)
	r, _ = Decode("a", with("colour", "not even JSON"))
	same(t, "an unknown field is no fault", r.Fault, "")
	r, _ = Decode("a", with(FieldLastError, `"`+strings.Repeat("x", 999)+`"`))
	same(t, "a long error of another peer", len(r.LastError), maxError)
}

func drawRoutine(t *rapid.T) Routine {
	r := NewRoutine("id", every(time.Minute), "ok", json.RawMessage(`{"a":[1,"<&>"]}`))
	moment := func(name string) time.Time {
		if rapid.Bool().Draw(t, "no "+name) {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).UTC()
	}
	r.Name, r.Home = rapid.String().Draw(t, "name"), rapid.StringMatching(`[a-z]*`).Draw(t, "home")
	r.LastError = cut(rapid.String().Draw(t, "error"))
	r.Enabled = rapid.Bool().Draw(t, "enabled")
	r.MaxFailures, r.Failures = rapid.IntRange(0, 9).Draw(t, "limit"), rapid.IntRange(0, 9).Draw(t, "failures")
	r.MaxFires, r.Fires = rapid.IntRange(0, 9).Draw(t, "max fires"), rapid.IntRange(0, 9).Draw(t, "fires")
	r.LastCompleted, r.Created, r.Expires = moment("completed"), moment("created"), moment("expires")
	return r
}

func asText(r Routine) string {
	raw := must(json.Marshal(r))
	return string(raw) + r.ID
}

// A row comes back as it was written, as fields and as one object, and an outcome written field by
// field gives the row that the engine keeps.
func TestRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRoutine(t)
		fields := r.Fields()
		back, ok := Decode(r.ID, fields)
		if !ok || asText(back) != asText(r) || back.Fault != "" {
			t.Fatalf("fields %v gave %s, want %s", fields, asText(back), asText(r))
		}
		var whole Routine
		if err := json.Unmarshal(must(json.Marshal(r)), &whole); err != nil || asText(whole) != asText(r) {
			t.Fatalf("object gave %s %v, want %s", asText(whole), err, asText(r))
		}
		var failure error
		if rapid.Bool().Draw(t, "fails") {
			failure = errors.New(rapid.String().Draw(t, "failure"))
		}
		o := Settle(r, failure, time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, "at"), 5))
		for key, text := range o.Fields() {
			if fields[key] = text; text == "" {
				delete(fields, key)
			}
		}
		back, _ = Decode(r.ID, fields)
		if want := r.apply(o); asText(back) != asText(want) {
			t.Fatalf("outcome %+v gave %s, want %s", o, asText(back), asText(want))
		}
		if !r.Enabled && back.Enabled {
			t.Fatal("an outcome switched a routine on")
		}
	})
}

func TestCheck(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	good := NewRoutine("r", every(time.Minute), "ok", nil)
	if err := good.Check(now); err != nil {
		t.Fatal(err)
	}
	if err := NewRoutine(NewID("wakeup", now), must(Once(now.Add(-time.Hour))), "ok", nil).Check(now); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Routine){
		"routine id":             func(r *Routine) { r.ID = "" },
		"no slash":               func(r *Routine) { r.ID = "a/b" },
		"no control character":   func(r *Routine) { r.ID = "a\nb" },
		"128 bytes":              func(r *Routine) { r.ID = strings.Repeat("a", 129) },
		"no space at its ends":   func(r *Routine) { r.ID = " a" },
		"it names no extension":  func(r *Routine) { r.Target.Extension = "" },
		"the payload is not":     func(r *Routine) { r.Target.Payload = json.RawMessage("{") },
		"a limit is negative":    func(r *Routine) { r.MaxFailures = -1 },
		"there is no trigger":    func(r *Routine) { r.Trigger = Trigger{} },
		"never fires":            func(r *Routine) { r.Trigger = cronOf("0 0 31 2 *") },
		"it expired":             func(r *Routine) { r.Expires = now },
		"it fired 2 of 2 times":  func(r *Routine) { r.MaxFires, r.Fires = 2, 2 },
		"field target: whatever": func(r *Routine) { r.Fault = "field target: whatever" },
	} {
		r := good
		spoil(&r)
		if err := r.Check(now); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, got %v", name, err)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, k := range []Key{{Global(), "a"}, {Session("s1"), "a"}, {Agent("a1"), "daily:9"}, {Global(), "x:y"}} {
		back, err := ParseKey(k.String())
		if err != nil || back != k {
			t.Errorf("%v: %v %v", k, back, err)
		}
	}
	for _, bad := range []string{"", "a", "global", "global:", "session:", "session:s", "session::a", "agent:x:", "peer:x:y"} {
		if k, err := ParseKey(bad); err == nil {
			t.Errorf("%q is %v", bad, k)
		}
	}
}
