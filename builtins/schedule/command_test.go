package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestCommandAdd(t *testing.T) {
	w := newWorld(t, "chaz", "my agent")
	w.says("Added schedule daily of chaz", `cron "0 0 9 * * MON-FRI" UTC`, "pinned to this session", "task: sweep the floor", "/schedule rm")(
		w.slash("add daily 0 0 9 * * MON-FRI chaz sweep the floor"))
	for args, want := range map[string]string{
		`add q5 "0 9 * * *" chaz x`:                                    `cron "0 9 * * *" UTC`,
		`add q6 '30 0 9 * * *' chaz x`:                                 `cron "30 0 9 * * *" UTC`,
		"  add \t sp  0 0 9 * * *  chaz  x ":                           `cron "0 0 9 * * *" UTC`,
		`add "two words" "0 9 * * *" "my agent" say "hi" now`:          `Added schedule "two words" of my agent`,
		`add byid "0 9 * * *" ` + w.agents["my agent"].String() + ` x`: "of my agent",
	} {
		w.says("Added", want)(w.slash(args))
	}
	w.says(`task: say "hi" now`)(w.slash(`list "my agent"`))
	w.says(`Removed schedule "two words" of my agent`)(w.slash(`rm "two words" "my agent"`))
}

func TestCommandAddReplaces(t *testing.T) {
	w := newWorld(t, "chaz")
	w.says()(w.tool("schedule_add", `{"id":"a","every_secs":60,"task":"old","max_fires":2,"target":"fresh"}`))
	w.put("chaz", "a", map[string]string{"enabled": "false", "consecutive_failures": "3", "last_error": `"x"`, "fire_count": "2", "last_completed_at": `"2026-01-01T00:00:00Z"`})
	w.clock.Advance(time.Second)
	w.says("Replaced schedule a of chaz", "limits: none", "next fire", "task: new")(w.slash("add a 0 0 9 * * * chaz new"))
	f := w.stored("chaz", "a")
	if f["prompt"] != `"new"` || f["max_fires"] != "" || f["last_error"] != "" || f["fire_count"] != "0" || f["enabled"] != "true" || f["created_at"] != `"2026-08-06T07:06:41Z"` {
		t.Errorf("stored %v", f)
	}
}

func TestCommandRefuses(t *testing.T) {
	w := newWorld(t, "chaz")
	verbs := "/schedule list|/schedule add|/schedule remove|rm"
	for args, want := range map[string]string{
		"": verbs, "help": verbs, "List": verbs, "add-x": verbs, "\x00": verbs, "\xff": verbs, `"list"`: verbs,
		"add": "/schedule add", "add x": "/schedule add", "add x 0 0 9 * * * chaz": "something is missing",
		"add x 0 9 * * * chaz sweep the floor": `day of week: "chaz" is not a value|six fields|in quotes`,
		`add x "0 9 * *" chaz t`:               "has 4 fields",
		`add x "" chaz t`:                      "has 0 fields",
		`add x "0 0 30 2 *" chaz t`:            "never fires",
		`add x "0 9 * * * chaz t`:              "not closed",
		`add x "0 9 * * *"chaz t`:              "must be a blank",
		`add x 0 0 9 "* * *" chaz t`:           "whole cron in quotes",
		`add a/b 0 0 9 * * * chaz t`:           "no slash",
		"add a\x07 0 0 9 * * * chaz t":         "control character",
		"add a\xff 0 0 9 * * * chaz t":         "control character",
		"add a 0 0 9 * * * chaz t\x00":         "U+0000",
		`add a 0 0 9 * * * nobody t`:           `find agent "nobody"`,
		"rm":                                   "/schedule remove",
		"rm a b c":                             "/schedule remove",
		"rm none":                              "chaz has none|/schedule list",
		"remove none chaz":                     "chaz has none",
		"rm none nobody":                       `find agent "nobody"`,
		"list a b":                             "/schedule list [agent]",
		"list nobody":                          `find agent "nobody"`,
		`list "`:                               "not closed",
	} {
		t.Run("", func(t *testing.T) { w.refuses(strings.Split(want, "|")...)(w.slash(args)) })
	}
	for _, id := range []string{"x", "a"} {
		if left := w.stored("chaz", id); len(left) != 0 {
			t.Errorf("something was written: %v", left)
		}
	}
}

func TestCommandList(t *testing.T) {
	w := newWorld(t, "chaz", "nova")
	w.newAgent("elsewhere", false)
	w.update(w.session, func(tx *crdt.Tx) error {
		if err := crdt.AttachAgent(tx, crdt.AttachedAgent{ID: crdt.DocID{7}, Name: "far\x1b away"}); err != nil {
			return err
		}
		return tx.Set(crdt.MetaStore, crdt.MetaHost, w.agents["nova"].String())
	})
	w.says()(w.slash("add a 0 0 9 * * * nova x"))
	w.says()(w.slash("add b 0 0 9 * * * elsewhere x"))
	got, err := w.slash("list")
	must(t, err)
	want := `chaz: no schedules
nova (host):
  a: cron "0 0 9 * * *" UTC; next 2026-08-06T09:00:00Z; fired 0 times; pinned to this session; task: x
far away: its schedules can't be reached here`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	w.says("elsewhere:\n  b: ")(w.slash("list elsewhere"))
	w.says("chaz: no schedules")(w.slash("list chaz"))
}

func TestCommandListWithoutRoster(t *testing.T) {
	w := newWorld(t)
	w.says("No agent is attached", "/agent add")(w.slash("list"))
	w.newAgent("chaz", false)
	w.self = "chaz"
	w.says("chaz: no schedules")(w.slash("list"))
	w.session = crdt.DocID{9}
	w.refuses("list agents of the session", "not found")(w.slash("list"))
}
