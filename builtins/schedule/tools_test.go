package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/routine"
)

func TestAdd(t *testing.T) {
	w := newWorld(t, "chaz", "nova")
	w.says("Added schedule daily of chaz", `cron "0 9 * * *" UTC`, "2026-08-06T09:00:00Z, in 1h53m20s", "pinned to this session",
		"at most 5 fires, until 2026-09-01T00:00:00Z", "task: sweep the floor", "schedule_modify", "schedule_remove")(
		w.tool("schedule_add", `{"id":"daily","cron":"0 9 * * *","task":"sweep the floor","max_fires":5,"expires_at":"2026-09-01T02:00:00+02:00"}`))
	want := map[string]string{
		"trigger": `{"expr":"0 9 * * *","kind":"cron"}`, "prompt": `"sweep the floor"`,
		"target":  `{"kind":"pinned","session_db_id":"` + w.session.String() + `"}`,
		"enabled": "true", "max_failures": "3", "consecutive_failures": "0", "fire_count": "0", "max_fires": "5",
		"expires_at": `"2026-09-01T00:00:00Z"`, "created_at": `"2026-08-06T07:06:40Z"`,
	}
	if got := w.stored("chaz", "daily"); !maps.Equal(got, want) {
		t.Errorf("stored %v", got)
	}
	if r := w.decoded("chaz", "daily"); !r.Enabled || r.MaxFires != 5 || r.MaxFailures != 3 || !r.Created.Equal(time.UnixMilli(start)) {
		t.Errorf("decoded %+v", r)
	}

	w.says("of nova", "every 1m0s", "a fresh session", "limits: none")(
		w.tool("schedule_add", `{"id":"poll","every_secs":60,"task":"look","agent":"nova","target":"fresh"}`))
	if got := w.stored("nova", "poll"); got["target"] != `{"kind":"fresh"}` || got["trigger"] != `{"delay_secs":60,"kind":"interval"}` {
		t.Errorf("stored %v", got)
	}
	w.says("pinned to this session")(w.tool("schedule_add", `{"id":"odd","every_secs":30.0,"task":"look","target":"FRESH?"}`))
	w.says("of nova")(w.tool("schedule_add", map[string]any{"id": "byid", "every_secs": 30, "task": "x", "agent": w.agents["nova"].String()}))
	w.says("Added")(w.tool("schedule_add", `{"id":"six","cron":"*/10 * * * * *","every_secs":null,"max_fires":null,"task":"x"}`))
}

func TestAddRefuses(t *testing.T) {
	w := newWorld(t, "chaz")
	w.says("Added")(w.tool("schedule_add", `{"id":"daily","cron":"0 9 * * *","task":"t"}`))
	before := w.stored("chaz", "daily")
	for args, want := range map[string]string{
		`{"id":"daily","cron":"0 10 * * *","task":"t"}`:                                  "schedule_modify|schedule_remove|chaz has one",
		`{"id":"x","cron":"0 9 * *","task":"t"}`:                                         "has 4 fields",
		`{"id":"x","cron":"0 25 * * *","task":"t"}`:                                      "hour: 25 is not from 0 to 23",
		`{"id":"x","cron":"* * * * NEVER","task":"t"}`:                                   `day of week: "NEVER" is not a value`,
		`{"id":"x","cron":"","task":"t"}`:                                                "has 0 fields",
		`{"id":"x","cron":"0 0 30 2 *","task":"t"}`:                                      "never fires",
		`{"id":"x","task":"t"}`:                                                          "cron or every_secs",
		`{"id":"x","cron":"0 9 * * *","every_secs":60,"task":"t"}`:                       "not both",
		`{"id":"x","every_secs":29,"task":"t"}`:                                          `"29" is not a whole number of at least 30`,
		`{"id":"x","every_secs":0,"task":"t"}`:                                           "at least 30",
		`{"id":"x","every_secs":-60,"task":"t"}`:                                         "at least 30",
		`{"id":"x","every_secs":60.5,"task":"t"}`:                                        "whole number",
		`{"id":"x","every_secs":"60","task":"t"}`:                                        "whole number",
		`{"id":"x","every_secs":99999999999,"task":"t"}`:                                 "over the limit",
		`{"id":"x","every_secs":1e999,"task":"t"}`:                                       "whole number",
		`{"id":"x","every_secs":60}`:                                                     "task|blank",
		`{"id":"x","every_secs":60,"task":" \n\t"}`:                                      "task|blank",
		`{"id":"x","every_secs":60,"task":"a\u0000b"}`:                                   "U+0000",
		`{"id":"x","every_secs":60,"task":"a\u001b[2Jb"}`:                                "U+001B",
		`{"id":"x","every_secs":60,"task":"t","max_fires":0}`:                            "max_fires|not a positive whole number",
		`{"id":"x","every_secs":60,"task":"t","max_fires":-1}`:                           "max_fires|not a positive whole number",
		`{"id":"x","every_secs":60,"task":"t","max_fires":1.5}`:                          "max_fires|not a positive whole number",
		`{"id":"x","every_secs":60,"task":"t","max_fires":"3"}`:                          "max_fires|not a positive whole number",
		`{"id":"x","every_secs":60,"task":"t","max_fires":99999999999999999999}`:         "max_fires|not a positive whole number",
		`{"id":"x","every_secs":60,"task":"t","expires_at":"tomorrow"}`:                  "expires_at|RFC 3339",
		`{"id":"x","every_secs":60,"task":"t","expires_at":""}`:                          "expires_at|RFC 3339",
		`{"id":"x","every_secs":60,"task":"t","expires_at":"2026-08-06 08:00:00"}`:       "expires_at|RFC 3339",
		`{"id":"x","every_secs":60,"task":"t","expires_at":"2026-08-06T07:06:40Z"}`:      "not in the future",
		`{"id":"x","every_secs":60,"task":"t","expires_at":"9999-12-31T23:59:59-14:00"}`: "expires_at|RFC 3339",
		`{"id":"x","every_secs":60,"task":"t","agent":"nobody"}`:                         `find agent "nobody"|/agents`,
		`{"id":"","every_secs":60,"task":"t"}`:                                           "1 to 128 bytes",
		`{"id":"a/b","every_secs":60,"task":"t"}`:                                        "no slash",
		`{"id":"../trigger","every_secs":60,"task":"t"}`:                                 "no slash",
		`{"id":" a","every_secs":60,"task":"t"}`:                                         "no blank at its ends",
		`{"id":"a\u0007","every_secs":60,"task":"t"}`:                                    "control character",
		`{"id":"a\u202eb","every_secs":60,"task":"t"}`:                                   "control character",
		`{"id":"a\nb","every_secs":60,"task":"t"}`:                                       "control character",
		`{"id":"a\"b","every_secs":60,"task":"t"}`:                                       "double quote",
		"{\"id\":\"a\xff\",\"every_secs\":60,\"task\":\"t\"}":                            "control character",
		`{"id":7,"every_secs":60,"task":"t"}`:                                            "read arguments",
		`[]`:                                                                             "read arguments",
		``:                                                                               "read arguments",
	} {
		t.Run("", func(t *testing.T) {
			_, err := w.tool("schedule_add", args)
			w.refuses(strings.Split(want, "|")...)("", err)
			if !errors.Is(err, extension.ErrArgument) && !errors.Is(err, extension.ErrNoAgent) {
				t.Errorf("%v is no fault of the arguments", err)
			}
			if left := w.stored("chaz", "x"); len(left) != 0 {
				t.Errorf("something was written: %v", left)
			}
		})
	}
	if after := w.stored("chaz", "daily"); !maps.Equal(before, after) {
		t.Errorf("the duplicate changed %v to %v", before, after)
	}
	// The same arguments without their fault pass.
	w.says("Added")(w.tool("schedule_add", `{"id":"x","every_secs":60,"task":"t","max_fires":3,"expires_at":"2026-08-06T07:06:41Z"}`))
}

func TestLargeTexts(t *testing.T) {
	w := newWorld(t, "chaz")
	big := strings.Repeat("x", 1<<20)
	for _, args := range []map[string]any{
		{"id": big, "every_secs": 60, "task": "t"},
		{"id": "x", "every_secs": 60, "task": big},
		{"id": "x", "cron": big, "task": "t"},
		{"id": "x", "every_secs": 60, "task": "t", "agent": big},
		{"id": "x", "every_secs": 60, "task": "t", "expires_at": big},
		{"id": "x", "every_secs": big, "task": "t"},
		{"id": "x", "every_secs": 60, "task": "t", "max_fires": big},
	} {
		w.refuses()(w.tool("schedule_add", args))
	}
	w.refuses("check task", "1048576")(w.tool("schedule_once", map[string]any{"after_seconds": 30, "task": big}))
	w.refuses("find schedule")(w.tool("schedule_remove", map[string]any{"id": big}))
	w.refuses("find schedule")(w.tool("schedule_modify", map[string]any{"id": big, "task": "t"}))
	for _, args := range []string{big, "add " + big, "add x 0 0 0 * * * chaz " + big, "rm " + big, "list " + big, "add x " + strings.Repeat(`"`, 100_001)} {
		w.refuses()(w.slash(args))
	}
	// The longest that passes is stored whole and shown cut.
	task := strings.Repeat("é\"", 16<<10/3)
	w.says("Added")(w.tool("schedule_add", map[string]any{"id": strings.Repeat("i", 128), "every_secs": 60, "task": task}))
	var got string
	must(t, json.Unmarshal([]byte(w.stored("chaz", strings.Repeat("i", 128))["prompt"]), &got))
	if got != task {
		t.Error("the task was not stored whole")
	}
	if list, err := w.tool("schedule_list", `{}`); err != nil || len(list) > 4000 || !strings.HasSuffix(list, "…") {
		t.Errorf("list of %d bytes, %v", len(list), err)
	}
}

func TestModify(t *testing.T) {
	w := newWorld(t, "chaz", "nova")
	w.says()(w.tool("schedule_add", `{"id":"a","cron":"0 9 * * *","task":"one","agent":"nova"}`))
	w.refuses("find schedule", "chaz has none")(w.tool("schedule_modify", `{"id":"a","task":"two"}`))
	w.refuses("cron, every_secs, task, target, enabled, max_fires, expires_at")(w.tool("schedule_modify", `{"id":"a","agent":"nova"}`))
	w.refuses("cron, every_secs, task, target, enabled, max_fires, expires_at")(w.tool("schedule_modify", `{"id":"a","task":null,"max_fires":null}`))
	before := w.stored("nova", "a")
	for args, want := range map[string]string{
		`"cron":"bad"`: "has 1 fields", `"cron":"0 0 31 2 *"`: "never fires", `"every_secs":5`: "at least 30",
		`"cron":"0 9 * * *","every_secs":60`: "not both", `"task":""`: "blank", `"max_fires":0`: "positive", `"expires_at":"2020-01-01T00:00:00Z"`: "not in the future",
	} {
		w.refuses(want)(w.tool("schedule_modify", `{"id":"a","agent":"nova",`+args+`}`))
	}
	if after := w.stored("nova", "a"); !maps.Equal(before, after) {
		t.Errorf("refused changes changed %v to %v", before, after)
	}
	w.says("Changed schedule a of nova", "every 2m0s", "task: one")(w.tool("schedule_modify", `{"id":"a","agent":"nova","every_secs":120}`))
	w.says("fresh", "task: two", "at most 9 fires, until 2027-")(
		w.tool("schedule_modify", `{"id":"a","agent":"nova","task":"two","target":"fresh","max_fires":9,"expires_at":"2027-01-01T00:00:00Z"}`))
	w.says("does not fire now: disabled")(w.tool("schedule_modify", `{"id":"a","agent":"nova","enabled":false}`))
	if r := w.decoded("nova", "a"); r.Enabled || r.MaxFires != 9 || r.Trigger.String() != "every 2m0s" {
		t.Errorf("decoded %+v", r)
	}
}

func TestEnableForgetsFailures(t *testing.T) {
	w := newWorld(t, "chaz")
	w.says()(w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"one"}`))
	w.put("chaz", "a", map[string]string{"enabled": "false", "consecutive_failures": "3", "last_error": `"no\nmodel"`, "fire_count": "4"})
	w.says("disabled after 3 failures: no model", "fired 4 times", "failed 3 times in a row: no model")(w.tool("schedule_list", `{}`))
	w.says()(w.tool("schedule_modify", `{"id":"a","task":"other"}`))
	if f := w.stored("chaz", "a"); f["consecutive_failures"] != "3" || f["last_error"] == "" {
		t.Errorf("another change forgot the failures: %v", f)
	}
	w.says()(w.tool("schedule_modify", `{"id":"a","enabled":false}`))
	if f := w.stored("chaz", "a"); f["consecutive_failures"] != "3" {
		t.Errorf("switching off forgot the failures: %v", f)
	}
	w.says("next fire")(w.tool("schedule_modify", `{"id":"a","enabled":true}`))
	if f := w.stored("chaz", "a"); f["enabled"] != "true" || f["consecutive_failures"] != "0" || f["last_error"] != "" || f["fire_count"] != "4" {
		t.Errorf("stored %v", f)
	}
	w.put("chaz", "a", map[string]string{"max_fires": "4"})
	w.says("retired: it fired 4 of 4 times")(w.tool("schedule_modify", `{"id":"a","enabled":true}`))
	w.says("next fire")(w.tool("schedule_modify", `{"id":"a","max_fires":5}`))
}

func TestModifyKeepsTheZone(t *testing.T) {
	w := newWorld(t, "chaz")
	w.says()(w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"one"}`))
	w.put("chaz", "a", map[string]string{"trigger": `{"kind":"cron","expr":"0 9 * * *","tz":"Europe/Berlin"}`})
	w.says(`cron "0 10 * * *" Europe/Berlin`, "2026-08-06T08:00:00Z")(w.tool("schedule_modify", `{"id":"a","cron":"0 10 * * *"}`))
}

func TestRemoveAndList(t *testing.T) {
	w := newWorld(t, "chaz", "nova")
	w.says("chaz has no schedules", "schedule_add")(w.tool("schedule_list", `{}`))
	for _, id := range []string{"b", "a", "a b"} {
		w.says()(w.tool("schedule_add", map[string]any{"id": id, "every_secs": 60, "task": "do " + id}))
	}
	got, err := w.tool("schedule_list", `{"agent":"chaz"}`)
	must(t, err)
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "- a: every 1m0s; next 2026-08-06T07:07:40Z; fired 0 times; pinned to this session; task: do a") ||
		!strings.HasPrefix(lines[2], `- "a b": `) || !strings.HasPrefix(lines[3], "- b: ") {
		t.Errorf("got\n%s", got)
	}
	w.says("nova has no schedules")(w.tool("schedule_list", `{"agent":"nova"}`))
	w.refuses("nova has none", "schedule_list")(w.tool("schedule_remove", `{"id":"a","agent":"nova"}`))
	for _, id := range []string{"", "/", "a/trigger", "a/", "none"} {
		w.refuses("chaz has none")(w.tool("schedule_remove", map[string]any{"id": id}))
	}
	w.says("Removed schedule a of chaz")(w.tool("schedule_remove", `{"id":"a"}`))
	w.refuses("chaz has none")(w.tool("schedule_remove", `{"id":"a"}`))
	if left := w.stored("chaz", "a"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if len(w.stored("chaz", "a b")) == 0 || len(w.stored("chaz", "b")) == 0 {
		t.Error("others were removed too")
	}
}

func TestOnce(t *testing.T) {
	w := newWorld(t, "chaz", "nova")
	w.says("2026-08-06T07:07:10Z", "in 30 seconds", "wakeup-1786000000000", "schedule_remove")(w.tool("schedule_once", `{"after_seconds":30,"task":"look"}`))
	f := w.stored("chaz", "wakeup-1786000000000")
	if f["trigger"] != `{"fire_at":"2026-08-06T07:07:10Z","kind":"one_shot"}` || !strings.Contains(f["target"], w.session.String()) {
		t.Errorf("stored %v", f)
	}
	// A second one in the same millisecond is another one.
	w.says("wakeup-1786000000001", "2592000 seconds")(w.tool("schedule_once", `{"after_seconds":2592000,"task":"look","agent":"nova"}`))
	w.says("once at 2026-08-06T07:07:10Z", "wakeup-1786000000001: once at 2026-09-05T07:06:40Z")(w.tool("schedule_list", `{}`))
	for args, want := range map[string]string{
		`{"after_seconds":29,"task":"x"}`: "from 30 to 2592000", `{"after_seconds":2592001,"task":"x"}`: "from 30 to 2592000",
		`{"after_seconds":-1,"task":"x"}`: "from 30", `{"after_seconds":30.5,"task":"x"}`: "whole number", `{"task":"x"}`: "whole number",
		`{"after_seconds":"60","task":"x"}`: "whole number", `{"after_seconds":60,"task":" "}`: "blank", `{"after_seconds":60}`: "blank",
	} {
		w.refuses(want)(w.tool("schedule_once", args))
	}
	if n := len(w.stored("nova", "wakeup-1786000000001")); n != 0 {
		t.Error("another agent was woken up")
	}
	if r := w.decoded("chaz", "wakeup-1786000000000"); r.Trigger.Kind() != routine.KindOneShot {
		t.Errorf("decoded %+v", r)
	}
}

func TestWithoutSession(t *testing.T) {
	w := newWorld(t, "chaz")
	w.session = [32]byte{}
	w.refuses("no session here", "fresh")(w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"t"}`))
	w.refuses("no session here")(w.tool("schedule_once", `{"after_seconds":60,"task":"t"}`))
	w.says("fresh")(w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"t","target":"fresh"}`))
	w.says("chaz:", "a fresh session")(w.slash("list"))
}

// A schedule that was removed while somebody changed it leaves fields behind; a new one of the id
// must not take them over.
func TestNewRecordIsWhole(t *testing.T) {
	for _, door := range []string{"tool", "command"} {
		w := newWorld(t, "chaz")
		w.put("chaz", "a", map[string]string{"enabled": "false", "max_fires": "1", "fire_count": "1", "last_error": `"x"`, "consecutive_failures": "9", "expires_at": `"2020-01-01T00:00:00Z"`, "last_completed_at": `"2020-01-01T00:00:00Z"`})
		if door == "tool" {
			w.says("Added", "next fire")(w.tool("schedule_add", `{"id":"a","cron":"0 9 * * *","task":"t"}`))
		} else {
			w.says("Added", "next fire")(w.slash(`add a "0 9 * * *" chaz t`))
		}
		r := w.decoded("chaz", "a")
		if why := r.Inert(w.clock.Now()); why != "" || r.Failures != 0 || r.Fires != 0 || !r.LastCompleted.IsZero() {
			t.Errorf("%s: %s, %+v", door, why, r)
		}
	}
}

// Rows of other peers may hold anything; they are listed and can be repaired and removed.
func TestForeignRows(t *testing.T) {
	w := newWorld(t, "chaz")
	evil := "a\nb\x1b[2J"
	w.put("chaz", "new", map[string]string{"trigger": `{"kind":"moon","phase":"full"}`, "prompt": `7`, "target": `[]`, "enabled": `"yes"`, "max_fires": `{}`})
	w.put("chaz", evil, map[string]string{"trigger": `{"kind":"interval","delay_secs":1}`, "prompt": `"x\ny\u001b[2J\u202e` + strings.Repeat("z", 5000) + `"`, "target": `{"kind":"pinned","session_db_id":"\u001bq"}`, "last_error": `"\u001b\n"`, "consecutive_failures": "2"})
	w.put("chaz", "x/y", map[string]string{"trigger": `null`})
	got, err := w.tool("schedule_list", `{}`)
	must(t, err)
	if strings.Count(got, "\n") != 3 || strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("got %q", got)
	}
	has(t, got, []string{"unreadable trigger", "unreadable target", "every 1s", "new: "})
	w.says("unreadable")(w.slash("list"))
	w.refuses("chaz has one")(w.tool("schedule_add", `{"id":"new","every_secs":60,"task":"t"}`))
	w.says("Replaced", "next fire")(w.slash(`add new "0 9 * * *" chaz t`))
	w.says("Removed")(w.tool("schedule_remove", map[string]any{"id": evil}))
	w.says("Removed")(w.tool("schedule_remove", map[string]any{"id": "x/y"}))
	for i := range 210 {
		w.put("chaz", fmt.Sprintf("n%03d", i), map[string]string{"trigger": `{"kind":"interval","delay_secs":1}`})
	}
	w.says("and 11 more")(w.tool("schedule_list", `{}`))
}

func TestAllowlist(t *testing.T) {
	out, gone := newWorld(t, "chaz", "nova"), newWorld(t, "chaz")
	out.says()(out.tool("schedule_add", `{"id":"a","every_secs":60,"task":"t","agent":"nova"}`))
	nova := out.agents["nova"].String()
	out.admin.allowed = []string{"chaz"}
	gone.admin.allowed = []string{"chaz"}
	type try func(w *world) (string, error)
	tries := map[string]try{}
	for _, ref := range []string{"nova", nova} {
		tries["add "+ref] = func(w *world) (string, error) {
			return w.tool("schedule_add", `{"id":"b","every_secs":60,"task":"t","agent":"`+ref+`"}`)
		}
		tries["duplicate "+ref] = func(w *world) (string, error) {
			return w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"t","agent":"`+ref+`"}`)
		}
		tries["modify "+ref] = func(w *world) (string, error) {
			return w.tool("schedule_modify", `{"id":"a","task":"u","agent":"`+ref+`"}`)
		}
		tries["remove "+ref] = func(w *world) (string, error) { return w.tool("schedule_remove", `{"id":"a","agent":"`+ref+`"}`) }
		tries["list "+ref] = func(w *world) (string, error) { return w.tool("schedule_list", `{"agent":"`+ref+`"}`) }
		tries["/list "+ref] = func(w *world) (string, error) { return w.slash("list " + ref) }
		tries["/add "+ref] = func(w *world) (string, error) { return w.slash("add a 0 0 9 * * * " + ref + " t") }
		tries["/rm "+ref] = func(w *world) (string, error) { return w.slash("rm a " + ref) }
	}
	for name, fn := range tries {
		_, there := fn(out)
		_, missing := fn(gone)
		if there == nil || missing == nil || there.Error() != missing.Error() {
			t.Errorf("%s: out of scope %q, not there %q", name, fmt.Sprint(there), fmt.Sprint(missing))
		}
		if !errors.Is(there, extension.ErrNoAgent) {
			t.Errorf("%s: %v", name, there)
		}
	}
	if f := out.stored("nova", "a"); f["prompt"] != `"t"` {
		t.Errorf("an agent out of scope was changed: %v", f)
	}
	// An agent that is out of scope itself may not even schedule for itself.
	out.self = "nova"
	out.refuses("the agent that speaks here")(out.tool("schedule_once", `{"after_seconds":60,"task":"t"}`))
	out.says("Added")(out.tool("schedule_add", `{"id":"c","every_secs":60,"task":"t","agent":"chaz"}`))
	out.says("chaz:\n  c: ", "nova: its schedules can't be reached here")(out.slash("list"))
	out.admin.allowed = []string{}
	out.refuses("find agent")(out.tool("schedule_list", `{"agent":"chaz"}`))
	out.admin.allowed = nil
	out.says("woken up")(out.tool("schedule_once", `{"after_seconds":60,"task":"t"}`))
}

func TestAmbiguous(t *testing.T) {
	w := newWorld(t, "chaz")
	first := w.agents["chaz"]
	w.newAgent("chaz", false)
	w.agents["chaz"] = first
	w.refuses("several", "give the id")(w.tool("schedule_list", `{"agent":"chaz"}`))
	w.says("no schedules")(w.tool("schedule_list", `{"agent":"`+first.String()+`"}`))
}

// Of several that make one id at the same time, one wins and the others are told.
func TestAddAtTheSameTime(t *testing.T) {
	w := newWorld(t, "chaz")
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() {
			_, results[i] = w.live.Tools[0].Run(context.Background(), w.call(), json.RawMessage(fmt.Sprintf(`{"id":"a","every_secs":60,"task":"%d"}`, i)))
		})
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !strings.Contains(err.Error(), "schedule_modify") {
			t.Errorf("got %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}
