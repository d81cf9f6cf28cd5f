package soak

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// A story with most of what daemons can play: opposite switches across a partition, between clocks that
// are days apart, a crash, a joiner, a night.
const story = `{
	"name": "opposite switches and a night",
	"peers": [{"name": "laptop", "clock": {"offset": "48h"}}, {"name": "server", "role": "admin"}, {"name": "late", "role": "none", "clock": {"at": "1999-12-31T23:00:00Z"}}],
	"latency": "5ms", "jitter": "5ms",
	"steps": [
		{"do": "on", "peer": "laptop", "name": "notes", "version": "1.0.0"},
		{"do": "post", "peer": "laptop", "text": "hello"},
		{"do": "wait"},
		{"do": "partition", "groups": [["laptop"], ["server", "late"]]},
		{"do": "off", "peer": "laptop", "name": "notes"},
		{"do": "off", "peer": "server", "name": "notes"},
		{"do": "on", "peer": "server", "name": "notes"},
		{"do": "post", "peer": "server", "text": "alone"},
		{"do": "expect", "expect": {"peers": ["laptop"], "inactive": ["notes"], "entries": 1}},
		{"do": "expect", "expect": {"peers": ["server"], "active": ["notes"], "entries": 2}},
		{"do": "expect", "expect": {"peers": ["laptop", "server"], "agree": false}},
		{"do": "crash", "peer": "laptop"},
		{"do": "expect", "expect": {"peers": ["late"], "has": false}},
		{"at": "8h", "do": "restart", "peer": "laptop"},
		{"do": "heal"},
		{"do": "grant", "peer": "server", "with": "late", "role": "write"},
		{"do": "post", "peer": "late", "text": "thanks"},
		{"do": "jump", "peer": "late", "by": "-1h"},
		{"do": "wait"}
	],
	"expect": [{"agree": true, "entries": 3, "OUTCOME": ["notes"], "stored_on": 3, "scratch": true}]
}`

func parse(t *testing.T, text string) sim.Scenario {
	t.Helper()
	s, err := sim.ParseScenario([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

func TestScenario(t *testing.T) {
	exe, dir := world(t)
	// On the laptop, whose clock is two days ahead, it was switched off last by all stamps.
	s := parse(t, strings.ReplaceAll(story, "OUTCOME", "inactive"))
	if err := RunScenario(t.Context(), exe, filepath.Join(dir, "right"), s, os.Stderr); err != nil {
		t.Fatal(err)
	}
}

// A story whose expectation does not hold fails, and says where and why.
func TestScenarioFails(t *testing.T) {
	exe, dir := world(t)
	s := parse(t, `{"name": "wrong", "peers": [{"name": "a"}, {"name": "b"}, {"name": "c", "role": "none"}], "steps": [
		{"do": "on", "peer": "a", "name": "notes"}, {"do": "wait"}, {"do": "post", "peer": "b", "text": "x"}, {"do": "wait"}, {"do": "expect", "expect": {}}]}`)
	g, err := newStage(exe, dir, &s, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.c.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := g.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range s.Steps {
		if err := g.play(t.Context(), &s.Steps[i]); err != nil {
			t.Fatal(err)
		}
	}
	yes, no, one, two, three := true, false, 1, 2, 3
	for want, e := range map[string]sim.Expect{
		"":                            {Active: []string{"notes"}, Entries: &one, StoredOn: &two, Agree: &yes, Scratch: true},
		"c does not have the session": {Peers: []string{"c"}},
		"c has the session: false":    {Peers: []string{"c"}, Has: &yes},
		"b has the session: true":     {Peers: []string{"b"}, Has: &no},
		"other is not active on a":    {Active: []string{"other"}},
		"notes is active on a":        {Inactive: []string{"notes"}},
		"a has 1 entries, want 2":     {Entries: &two},
		"a knows of 2 copies":         {StoredOn: &three},
		"all have the same":           {Agree: &no},
	} {
		err := g.expect(t.Context(), &e)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
	g.c.peers[1].kill()
	if err := g.expect(t.Context(), &sim.Expect{Peers: []string{"b"}}); err == nil {
		t.Error("a daemon that does not run meets an expectation")
	}
	if err := g.quiet(t.Context(), settleIn); err != nil {
		t.Errorf("what does not run disturbs the quiet: %v", err)
	}
}

func TestPlayable(t *testing.T) {
	with := func(peer, step string) string {
		return `{"name": "x", "peers": [{"name": "a"}, {"name": "b"` + peer + `}], "steps": [{"do": "post", "peer": "a", "text": "x"}, {"peer": "a", ` + step + `}]}`
	}
	for text, want := range map[string]string{
		with(``, `"do": "post", "text": "y"`):                                        "",
		with(``, `"do": "on", "name": "notes", "version": "1.0.0"`):                  "",
		with(``, `"do": "jump", "by": "-3h"`):                                        "",
		with(``, `"do": "upgrade", "name": "notes", "version": "2.0.0"`):             "step 2 (upgrade)",
		with(``, `"do": "evict"`):                                                    "step 2 (evict)",
		with(``, `"do": "drift", "ppm": 7`):                                          "step 2 (drift)",
		with(`, "clock": {"drift_ppm": 7}`, `"do": "post", "text": "y"`):             "peer b: the clock",
		with(`, "clock": {"drift_ppm": 7}`, `"do": "set", "name": "n", "text": "1"`): "step 2 (set)",
	} {
		s := parse(t, text)
		err := Playable(&s)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if want == "" {
			continue
		}
		if again := RunScenario(t.Context(), "/nowhere", t.TempDir(), s, nil); again == nil || again.Error() != err.Error() {
			t.Errorf("%s is played: %v", text, again)
		}
	}
	if err := Playable(&sim.Scenario{Name: "nobody"}); err == nil {
		t.Error("a scenario without peers can be played")
	}
}

// Clocks do not wrap around, whatever a story does to them.
func TestShifted(t *testing.T) {
	const least, most = time.Duration(-1 << 63), time.Duration(1<<63 - 1)
	for _, c := range []struct{ skew, by, want time.Duration }{
		{time.Hour, time.Minute, time.Hour + time.Minute},
		{most, time.Second, most},
		{least, -time.Second, least},
		{least, most, -1},
		{most - 5, 10, most},
	} {
		if got := shifted(c.skew, c.by); got != c.want {
			t.Errorf("%d by %d is %d, want %d", c.skew, c.by, got, c.want)
		}
	}
	if showing("min", 0) != least || showing("max", 0) != most {
		t.Error("the ends of the clock are not where a duration ends")
	}
	if off := showing("2099-01-01T00:00:00Z", time.Hour) - time.Until(time.Date(2099, 1, 1, 1, 0, 0, 0, time.UTC)); off.Abs() > time.Second {
		t.Errorf("a clock that shows 2099 is wrong by %s", off)
	}
}

// What is due comes in the order of its times, and in the order of its steps at equal ones.
func TestLater(t *testing.T) {
	g := &stage{c: &cluster{log: io.Discard}}
	var got []int
	for n, after := range []time.Duration{30, 10, 20, 10, 0} {
		g.later(after*time.Millisecond, func(context.Context) error { got = append(got, n); return nil })
	}
	if err := g.pass(t.Context(), 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int{1, 3, 2}) || len(g.undo) != 1 || g.now != 20*time.Millisecond {
		t.Errorf("done: %v, %d to do, at %s", got, len(g.undo), g.now)
	}
}

// The links that a step names.
func TestPairs(t *testing.T) {
	s := parse(t, `{"name": "x", "peers": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "steps": [
		{"do": "partition", "groups": [["a"], ["b", "c"]]}, {"do": "partition", "peer": "c", "with": "a"},
		{"do": "partition", "peer": "b"}, {"do": "heal"}]}`)
	g := &stage{s: &s, number: map[string]int{"a": 0, "b": 1, "c": 2}}
	for i, want := range [][][2]int{{{0, 1}, {0, 2}}, {{2, 0}}, {{0, 1}, {1, 2}}, {{0, 1}, {0, 2}, {1, 2}}} {
		if got := g.pairs(&s.Steps[i]); !slices.Equal(got, want) {
			t.Errorf("step %d: %v, want %v", i+1, got, want)
		}
	}
}
