package schedule_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What schedule_add wrote, schedule_list shows and the engine reads.
func TestAddedIsListedAndDecoded(t *testing.T) {
	w := newWorld(t, "chaz")
	added, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[a-z0-9_. -]{1,12}`), rapid.StringN(0, 20, 130)).Draw(t, "id")
		task := rapid.OneOf(rapid.StringMatching(`[a-zA-Z<>&"\\]{1,30}`), rapid.String()).Draw(t, "task")
		args := map[string]any{"id": id, "task": task}
		if rapid.Bool().Draw(t, "interval") {
			args["every_secs"] = rapid.Int64Range(20, 1<<33).Draw(t, "every")
		} else {
			args["cron"] = fmt.Sprintf("%d %d * * %s", rapid.IntRange(0, 60).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour"),
				rapid.SampledFrom([]string{"*", "mon-fri", "7", "SUN", "8"}).Draw(t, "weekday"))
		}
		fires := rapid.IntRange(0, 3).Draw(t, "fires")
		if fires > 0 {
			args["max_fires"] = fires
		}
		in := rapid.Int64Range(-10, 1<<32).Draw(t, "expires")
		expires := time.UnixMilli(start).Add(time.Duration(in) * time.Second).UTC()
		args["expires_at"] = expires.Format(time.RFC3339)
		defer func() { _, _ = w.tool("schedule_remove", map[string]any{"id": id}) }()
		if _, err := w.tool("schedule_add", args); err != nil {
			refused++
			if got := w.stored("chaz", id); id != "" && !strings.Contains(id, "/") && len(got) != 0 {
				t.Fatalf("refused (%v) and written: %v", err, got)
			}
			return
		}
		added++
		r := w.decoded("chaz", id)
		if why := r.Inert(w.clock.Now()); why != "" {
			t.Fatalf("it does not fire: %s", why)
		}
		if r.MaxFires != fires || !r.Expires.Equal(expires) || !r.Enabled || r.MaxFailures != 3 {
			t.Fatalf("decoded %+v", r)
		}
		var prompt string
		if err := json.Unmarshal([]byte(w.stored("chaz", id)["prompt"]), &prompt); err != nil || prompt != task {
			t.Fatalf("prompt %q, task %q, %v", prompt, task, err)
		}
		list, err := w.tool("schedule_list", `{}`)
		if err != nil || strings.Count(list, "\n") != 1 {
			t.Fatalf("list %q, %v", list, err)
		}
		shown := id
		if strings.ContainsFunc(id, func(r rune) bool { return strings.TrimSpace(string(r)) == "" }) {
			shown = `"` + id + `"`
		}
		if !strings.Contains(list, "- "+shown+": "+r.Trigger.String()+"; next ") {
			t.Fatalf("list %q lacks %s, %s", list, shown, r.Trigger)
		}
		if word := strings.Fields(task)[0]; plain(word) && !strings.Contains(list, word) {
			t.Fatalf("list %q lacks %q", list, word)
		}
		// Both front doors speak of the same one.
		if out, err := w.slash("rm " + shown); err != nil {
			t.Fatalf("%q, %v", out, err)
		}
		if left := w.stored("chaz", id); len(left) != 0 {
			t.Fatalf("left %v", left)
		}
	})
	if added < 10 || refused < 10 {
		t.Errorf("%d added, %d refused", added, refused)
	}
}

func plain(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r > '~' })
}

// FuzzCommand: whatever is typed, an answer comes, in valid UTF-8 and of a sane size.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"list", `add "a b" "0 9 * * *" chaz x`, "add a 0 0 9 * * * chaz x", "rm a chaz", `rm '`, "list \"\"", "\xff", "add  \x00"} {
		f.Add(s)
	}
	w := newWorld(f, "chaz")
	f.Fuzz(func(t *testing.T, args string) {
		out, err := w.slash(args)
		if err != nil {
			out = err.Error()
		}
		if out == "" || len(out) > 1<<20 || strings.ContainsRune(out, '\x00') {
			t.Errorf("%q answers %q", args, out)
		}
	})
}

// FuzzTools: whatever the arguments are, what lies in the document afterwards is readable.
func FuzzTools(f *testing.F) {
	for _, s := range []string{`{"id":"a","every_secs":60,"task":"t"}`, `{"id":"a","cron":"0 9 * * *","task":"t","max_fires":1}`, `{"id":"a","enabled":true}`, `{"after_seconds":30,"task":"t"}`, `{"id":"a/b","task":"\u0000"}`} {
		for i := range 5 {
			f.Add(i, s)
		}
	}
	w := newWorld(f, "chaz")
	f.Fuzz(func(t *testing.T, n int, args string) {
		w.t = t
		names := []string{"schedule_add", "schedule_modify", "schedule_remove", "schedule_list", "schedule_once"}
		out, err := w.tool(names[(n%5+5)%5], args)
		if err == nil && out == "" {
			t.Error("no answer")
		}
		list, err := w.tool("schedule_list", `{}`)
		if err != nil || strings.Contains(list, "unreadable") {
			t.Errorf("list %q, %v", list, err)
		}
	})
}
