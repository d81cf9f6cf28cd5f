package sim

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// stories are scenarios in the form that people write.
func stories() map[string]string {
	return map[string]string{
		"a year off": `{
			"name": "a-year-off", "peers": [{"name": "anna"}, {"name": "laptop", "clock": {"offset": "-8760h"}}],
			"steps": [
				{"do": "wait"},
				{"at": "10s", "do": "on", "peer": "anna", "name": "notes"},
				{"do": "wait"},
				{"do": "off", "peer": "laptop", "name": "notes"},
				{"do": "wait"},
				{"do": "expect", "expect": {"inactive": ["notes"], "agree": true}},
				{"do": "post", "peer": "laptop", "text": "hello from last year"}
			],
			"expect": [{"agree": true, "inactive": ["notes"], "entries": 1, "stored_on": 2, "scratch": true}]
		}`,
		"opposite switches": `{
			"name": "opposite-switches", "peers": [{"name": "anna"}, {"name": "ben"}, {"name": "cleo"}],
			"steps": [
				{"do": "on", "peer": "anna", "name": "notes"},
				{"do": "wait"},
				{"do": "clock", "peer": "anna", "to": "2030-01-01T00:00:00Z"},
				{"do": "clock", "peer": "ben", "to": "2030-01-01T00:00:00Z"},
				{"do": "clock", "peer": "cleo", "to": "2030-01-01T00:00:00Z"},
				{"do": "partition", "groups": [["anna"], ["ben", "cleo"]]},
				{"do": "on", "peer": "anna", "name": "calc"},
				{"do": "off", "peer": "ben", "name": "notes"},
				{"do": "off", "peer": "ben", "name": "calc"},
				{"do": "on", "peer": "anna", "name": "notes", "version": "2.0.0"},
				{"do": "expect", "expect": {"peers": ["anna"], "active": ["notes", "calc"]}},
				{"do": "expect", "expect": {"peers": ["anna", "ben"], "agree": false}},
				{"do": "heal"}
			],
			"expect": [{"agree": true}]
		}`,
		"poisoned clock": `{
			"name": "poisoned-clock", "peers": [{"name": "anna"}, {"name": "robot", "clock": {"at": "2099-01-01T00:00:00Z"}}],
			"steps": [
				{"do": "wait"}, {"do": "on", "peer": "robot", "name": "notes"}, {"do": "wait"},
				{"do": "off", "peer": "anna", "name": "notes"},
				{"do": "expect", "expect": {"peers": ["anna"], "inactive": ["notes"]}}
			],
			"expect": [{"agree": true, "inactive": ["notes"]}]
		}`,
		"never online together": `{
			"name": "never-online-together", "peers": [{"name": "anna"}, {"name": "ben", "role": "admin"}, {"name": "cleo"}],
			"links": [{"between": ["anna", "cleo"], "down": true}],
			"steps": [
				{"do": "wait"},
				{"do": "partition", "peer": "ben"},
				{"do": "on", "peer": "anna", "name": "notes"},
				{"do": "post", "peer": "cleo", "text": "anybody?"},
				{"do": "wait"},
				{"do": "heal", "peer": "ben", "with": "anna"}, {"do": "wait"}, {"do": "partition", "peer": "ben", "with": "anna"},
				{"do": "heal", "peer": "ben", "with": "cleo"}, {"do": "wait"}, {"do": "partition", "peer": "ben", "with": "cleo"},
				{"do": "heal", "peer": "ben", "with": "anna"}
			],
			"expect": [{"agree": true, "active": ["notes"], "entries": 1}]
		}`,
		"restore": `{
			"name": "restore-from-backup", "peers": [{"name": "anna"}, {"name": "ben"}],
			"steps": [
				{"do": "post", "peer": "anna", "text": "one"}, {"do": "wait"}, {"do": "backup", "peer": "anna"},
				{"do": "post", "peer": "anna", "text": "two"}, {"do": "wait"},
				{"do": "restore", "peer": "anna", "for": "2s"},
				{"do": "wait", "for": "1m"},
				{"do": "post", "peer": "anna", "text": "three"}
			],
			"expect": [{"agree": true, "entries": 3, "stored_on": 2}]
		}`,
		"joins and strangers": `{
			"name": "joins", "peers": [{"name": "anna"}, {"name": "ben", "role": "none"}, {"name": "mallory", "role": "none"}],
			"steps": [
				{"do": "post", "peer": "anna", "text": "secret"},
				{"do": "wait"},
				{"do": "expect", "expect": {"peers": ["ben", "mallory"], "has": false}},
				{"do": "join", "peer": "ben", "with": "anna", "role": "write"},
				{"do": "wait"},
				{"do": "post", "peer": "ben", "text": "thanks"}
			],
			"expect": [{"peers": ["mallory"], "has": false}, {"peers": ["anna", "ben"], "entries": 2, "agree": true}]
		}`,
		"rough night": `{
			"name": "rough-night", "peers": [{"name": "anna"}, {"name": "ben"}, {"name": "eve", "role": "read", "rogue": true}],
			"latency": "80ms", "jitter": "40ms",
			"steps": [
				{"do": "wait"}, {"do": "start", "peer": "anna"}, {"do": "set", "peer": "ben", "name": "notes", "text": "loud"},
				{"do": "disk_full", "peer": "ben", "for": "3s"}, {"do": "post", "peer": "anna", "text": "a"},
				{"do": "crash", "peer": "ben", "for": "1s"}, {"at": "30s", "do": "block", "peer": "anna", "with": "ben", "for": "60s"},
				{"do": "drift", "peer": "ben", "ppm": 300}, {"do": "jump", "peer": "ben", "by": "-1h"}, {"do": "correct", "peer": "ben"},
				{"do": "post", "peer": "ben", "text": "b"}, {"do": "stop", "peer": "anna"}, {"do": "restart", "peer": "anna"},
				{"do": "evict", "peer": "ben"}, {"do": "compact", "peer": "ben"}, {"do": "reset", "peer": "anna", "with": "ben"}
			],
			"expect": [{"peers": ["anna", "ben"], "agree": true, "entries": 2}]
		}`,
	}
}

func parseStory(t testing.TB, text string) *Scenario {
	t.Helper()
	s, err := ParseScenario([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStories(t *testing.T) {
	for name, text := range stories() {
		t.Run(name, func(t *testing.T) {
			s := parseStory(t, text)
			r := RunT(t, s)
			if again := RunT(t, s); again.TraceHash != r.TraceHash {
				t.Error("the same story went differently")
			}
		})
	}
}

// TestStoriesNotice: a story fails when the rule that it is about is broken.
func TestStoriesNotice(t *testing.T) {
	lab := newLab(t)
	for name, broken := range map[string]rules{
		"opposite switches": mutants()["arrival order"],
		"a year off":        {index: foldBy(func(e, best activation.Event) bool { return e.Timestamp < best.Timestamp })},
	} {
		r := play(t, lab, Options{Scenario: parseStory(t, stories()[name]), rules: broken})
		if r.Failure == nil {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
}

// TestExpectations: what does not hold is said, each kind of it.
func TestExpectations(t *testing.T) {
	lab := newLab(t)
	const begin = `{"name": "x", "peers": [{"name": "anna"}, {"name": "ben"}, {"name": "cleo", "role": "none"}], "steps": [
		{"do": "on", "peer": "anna", "name": "notes"}, {"do": "post", "peer": "anna", "text": "x"}, {"do": "wait"}`
	for expect, want := range map[string]string{
		`{"active": ["calc"]}`:              "calc is not active",
		`{"inactive": ["notes"]}`:           "notes is active",
		`{"entries": 2}`:                    "1 entries, want 2",
		`{"stored_on": 3}`:                  "stored on 2 peers, want 3",
		`{"agree": false}`:                  "should not yet",
		`{"peers": ["ben"], "has": false}`:  "has the session",
		`{"peers": ["cleo"], "entries": 1}`: "does not have the session",
		`{"peers": ["anna", "ben"], "agree": true, "active": ["notes"], "entries": 1, "stored_on": 2, "has": true}`: "",
	} {
		s := parseStory(t, begin+`], "expect": [`+expect+`]}`)
		f := play(t, lab, Options{Scenario: s}).Failure
		switch {
		case want == "" && f != nil:
			t.Errorf("%s: %v", expect, f)
		case want != "" && (f == nil || f.Invariant != Expected || !strings.Contains(f.Detail, want)):
			t.Errorf("%s: got %v, want %q", expect, f, want)
		}
	}
	s := parseStory(t, begin+`, {"do": "stop", "peer": "ben"}, {"do": "expect", "expect": {"peers": ["ben"]}}]}`)
	if f := play(t, lab, Options{Scenario: s}).Failure; f == nil || !strings.Contains(f.Detail, "does not run") || f.Peer != "ben" {
		t.Errorf("a stopped peer: %v", f)
	}
}

func TestParseScenarioRefuses(t *testing.T) {
	const peers = `"peers": [{"name": "a"}, {"name": "b"}]`
	for text, want := range map[string]string{
		``:                           "EOF",
		`{} {}`:                      "follows",
		`{"nmae": "x"}`:              "nmae",
		`{"peers": [{"name": "a"}]}`: "1 peers",
		`{"peers": [{"name": "a"}, {"name": "a"}]}`:                                              "taken",
		`{"peers": [{"name": "a"}, {"name": "b c"}]}`:                                            "spaces",
		`{"peers": [{"name": "a", "role": "read"}, {"name": "b"}]}`:                              "owns",
		`{"peers": [{"name": "a"}, {"name": "b", "role": "king"}]}`:                              "role",
		`{"peers": [{"name": "a"}, {"name": "b", "role": "owner"}]}`:                             "role",
		`{"peers": [{"name": "a"}, {"name": "b", "rogue": true}]}`:                               "reader",
		`{"peers": [{"name": "a"}, {"name": "b", "clock": {"at": "noon"}}]}`:                     "noon",
		`{"peers": [{"name": "a"}, {"name": "b", "clock": {"offset": "a year"}}]}`:               "a year",
		`{` + peers + `, "links": [{"between": ["a", "a"]}]}`:                                    "itself",
		`{` + peers + `, "links": [{"between": ["a", "x"]}]}`:                                    `"x"`,
		`{` + peers + `, "steps": [{"do": "dance"}]}`:                                            "no such action",
		`{` + peers + `, "steps": [{"do": "on", "peer": "x", "name": "n"}]}`:                     `no peer "x"`,
		`{` + peers + `, "steps": [{"do": "on", "peer": "a", "name": "web"}]}`:                   "switched",
		`{` + peers + `, "steps": [{"do": "on", "peer": "a"}]}`:                                  "switched",
		`{` + peers + `, "steps": [{"do": "post", "peer": "a"}]}`:                                "no text",
		`{` + peers + `, "steps": [{"do": "grant", "peer": "a", "with": "b", "role": "owner"}]}`: "owner",
		`{` + peers + `, "steps": [{"do": "jump", "peer": "a"}]}`:                                "how much",
		`{` + peers + `, "steps": [{"do": "clock", "peer": "a", "to": "noon"}]}`:                 "noon",
		`{` + peers + `, "steps": [{"do": "drift", "peer": "a", "ppm": -1000000}]}`:              "stand still",
		`{` + peers + `, "steps": [{"do": "partition"}]}`:                                        "from whom",
		`{` + peers + `, "steps": [{"do": "partition", "groups": [["a"], ["x"]]}]}`:              `"x"`,
		`{` + peers + `, "steps": [{"do": "expect"}]}`:                                           "nothing to expect",
		`{` + peers + `, "steps": [{"do": "post", "peer": "a", "text": "x", "expect": {}}]}`:     "belongs",
		`{` + peers + `, "steps": [{"at": "2s", "do": "wait"}, {"at": "1s", "do": "wait"}]}`:     "before",
		`{` + peers + `, "steps": [{"do": "crash", "peer": "a", "for": "-1s"}]}`:                 "negative",
		`{` + peers + `, "expect": [{"peers": ["x"]}]}`:                                          `"x"`,
		`{` + peers + `, "expect": [{"entries": -1}]}`:                                           "negative",
	} {
		if _, err := ParseScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	parseStory(t, `{`+peers+`, "steps": []}`) // the control
}

// TestScenarioRoundTrip: what was read can be written and read again.
func TestScenarioRoundTrip(t *testing.T) {
	for name, text := range stories() {
		s := parseStory(t, text)
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(parseStory(t, string(again)))
		if err != nil || !slices.Equal(again, b) {
			t.Errorf("%s: %s, then %s (%v)", name, again, b, err)
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	for _, text := range stories() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScenario(text)
		if err != nil {
			return
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseScenario(b); err != nil {
			t.Errorf("%s was read, its own form %s is not: %v", text, b, err)
		}
	})
}
