package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

const scenarioFolder = "../../docs/examples/scenarios"

// bundled are the scenario files that come with the program.
func bundled(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scenarioFolder, "*.yaml"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	return files
}

// Every bundled scenario is explained, does in full what it says, and holds whatever keys and latencies
// the seed draws.
func TestBundledScenariosHold(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 1
	}
	labor, err := sim.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(labor.Close)
	for _, file := range bundled(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, faults := parseStory(text)
			if len(faults) > 0 {
				t.Fatal(joinFaults(faults))
			}
			if s.Name == "" || s.About == "" || len(s.Expect) == 0 || !strings.HasPrefix(string(text), "# ") {
				t.Error("it has no name, no explanation, or expects nothing")
			}
			for seed := range uint64(seeds) {
				r, err := labor.Run(t.Context(), sim.Options{Seed: seed, Scenario: s, Timeline: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Failure != nil {
					t.Errorf("seed %d: %v", seed, r.Failure)
				}
				if idle := idleSteps(s, &r); len(idle) > 0 {
					t.Errorf("seed %d: no effect: %v", seed, idle)
				}
			}
		})
	}
}

// An expectation turned round fails: the bundled ones are not empty words.
func TestBundledScenariosCanFail(t *testing.T) {
	for _, file := range bundled(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := parseStory(text)
		last := &s.Expect[len(s.Expect)-1]
		last.Active, last.Inactive = last.Inactive, last.Active
		r, err := sim.Run(t.Context(), sim.Options{Scenario: s})
		if err != nil || r.Failure == nil || r.Failure.Invariant != sim.Expected {
			t.Errorf("%s with the opposite expected: %v, %v", file, r.Failure, err)
		}
	}
}

func TestScenarioFaultsNameTheLine(t *testing.T) {
	const good = "name: x\npeers: [{name: a}, {name: b, role: admin}]\n"
	for text, want := range map[string]string{
		"":                                       "0 peers, want 2 to 26",
		"- a":                                    "line 1: want lines of the form key: value",
		"name: [":                                "line 1: ",
		good + "stepz: []":                       `line 3: unknown key "stepz", did you mean "steps"?`,
		good + "name: y":                         "line 3: name is given twice, first in line 1",
		good + "seed: -1":                        "line 3: seed: \"-1\" is no seed",
		good + "latency: fast":                   "line 3: latency: \"fast\" is not a duration",
		good + "steps: [on]":                     "line 3: steps: want a list of blocks with the keys at, do, peer",
		good + "steps:\n  - {peer: a}":           "line 4: steps: a step without do",
		good + "steps:\n  - {do: onn}":           `line 4: steps: do: unknown action "onn", did you mean "on"?`,
		good + "steps:\n  - {do: wait, peer: a}": "line 4: steps: wait has no use for peer, it takes for",
		good + "steps:\n  - do: on\n    peer: c\n    name: n":                           `line 5: steps: peer: unknown peer "c"`,
		good + "steps:\n  - {do: on, peer: a, name: fs}":                                "line 4: step 1 (on): ",
		good + "steps:\n  - {do: wait}\n  - {do: jump, peer: a}":                        "line 5: step 2 (jump): by how much?",
		good + "steps:\n  - {do: clock, peer: a, to: noon}":                             "line 4: step 1 (clock): ",
		good + "steps:\n  - {do: drift, peer: a, ppm: 1e9}":                             "line 4: steps: ppm: ",
		good + "steps:\n  - {at: 2s, do: wait}\n  - {at: 1s, do: wait}":                 "line 5: step 2 (wait): ",
		good + "steps:\n  - {do: partition, groups: [[a]]}":                             "line 4: steps: groups: want at least two groups",
		good + "steps:\n  - {do: partition}":                                            "line 4: step 1 (partition): ",
		good + "steps:\n  - {do: expect}":                                               "line 4: step 1 (expect): nothing to expect",
		good + "steps:\n  - {do: expect, expect: {entires: 1}}":                         `line 4: steps: expect: unknown key "entires", did you mean "entries"?`,
		good + "steps:\n  - {do: grant, peer: a, with: b, role: owner}":                 `line 4: steps: role: unknown role "owner"`,
		good + "links: [{between: [a]}]":                                                "line 3: links: between: want two peers",
		good + "links:\n  - {between: [a, a]}":                                          "line 4: link 1: a has no link to itself",
		good + "expect:\n  - {entries: -1}":                                             "line 4: expect: entries: want a whole number from 0",
		good + "expect:\n  - {agree: maybe}":                                            "line 4: expect: agree: want true or false",
		good + "expect:\n  - {peers: [c]}":                                              `line 4: expect: peers: unknown peer "c"`,
		"peers:\n  - {name: a}\n  - {name: a}":                                          "line 3: peer 2: ",
		"peers:\n  - {name: a}\n  - {name: b, role: boss}":                              `line 3: peers: role: unknown role "boss"`,
		"peers:\n  - {name: a}\n  - {name: b, role: owner}":                             "line 3: peer b: ",
		"peers:\n  - {name: a}\n  - {name: b, rogue: true}":                             "line 3: peer b: a rogue is a reader",
		"peers:\n  - {name: a, clok: {offset: 1h}}\n  - {name: b}":                      `line 2: peers: unknown key "clok", did you mean "clock"?`,
		"peers:\n  - {name: a}\n  - {name: b, clock: {at: soon}}":                       "line 3: peer b: ",
		"peers:\n  - {name: a}":                                                         "1 peers, want 2 to 26",
		strings.Repeat("# \n", maxConfig):                                               "larger than",
		"name: x\n---\nname: y":                                                         "a second document",
		good + "steps:\n  - {do: on, peer: a, name: n}\n  - {do: off, peer: b, by: 1s}": "off has no use for by",
	} {
		s, faults := parseStory([]byte(text))
		if got := joinFaults(faults); s != nil || !strings.Contains(got, want) {
			t.Errorf("%.120q:\n got %s\nwant %s", text, got, want)
		}
	}
	if s, faults := parseStory([]byte(good)); s == nil {
		t.Errorf("the control: %v", faults)
	}
}

// Whatever the lab's form of a scenario can say, a file can say.
func TestScenarioFileSaysEverything(t *testing.T) {
	yes, no, two := true, false, 2
	want := sim.Scenario{
		Name: "all of it", About: "first line\nsecond line", Seed: 18446744073709551615, Latency: 5e6, Jitter: 1e6,
		Peers: []sim.ScenarioPeer{
			{Name: "a", Role: "owner", Clock: sim.ScenarioClock{Offset: -86_400e9, At: "2099-01-01T00:00:00Z", DriftPPM: -200}},
			{Name: "b", Role: "read", Rogue: true},
			{Name: "c", Clock: sim.ScenarioClock{At: "-9223372036854775808"}},
		},
		Links: []sim.ScenarioLink{{Between: [2]string{"a", "b"}, Latency: 2e9, Jitter: 3e9, Down: true}},
		Steps: []sim.Step{
			{At: 1e9, Do: sim.DoOn, Peer: "a", Name: "notes", Version: "1.0"},
			{Do: sim.DoPartition, Groups: [][]string{{"a"}, {"b", "c"}}, For: 60e9},
			{Do: sim.DoGrant, Peer: "a", With: "c", Role: "admin"},
			{Do: sim.DoPost, Peer: "a", Text: "42"},
			{Do: sim.DoJump, Peer: "c", By: -50e6},
			{Do: sim.DoClock, Peer: "c", To: "max"},
			{Do: sim.DoDrift, Peer: "c", PPM: -7},
			{Do: sim.DoExpect, Expect: &sim.Expect{Peers: []string{"a"}, Has: &yes}},
		},
		Expect: []sim.Expect{{
			Peers: []string{"a", "c"}, Active: []string{"notes"}, Inactive: []string{"x", "y"}, Entries: &two, Has: &yes, Agree: &no, StoredOn: &two, Scratch: true,
		}},
	}
	got, faults := parseStory([]byte(`
steps:
  - {at: 1s, do: on, peer: a, name: notes, version: 1.0}
  - {do: partition, groups: [[a], [b, c]], for: 1m}
  - {do: grant, peer: a, with: c, role: admin}
  - {do: post, peer: a, text: 42}
  - {do: jump, peer: c, by: -50ms}
  - {do: clock, peer: c, to: max}
  - {do: drift, peer: c, ppm: -7}
  - do: expect
    expect:
      peers: a
      has: true
name: all of it
about: |
  first line
  second line
seed: 18446744073709551615
latency: 5ms
jitter: 1ms
peers:
  - {name: a, role: owner, clock: {offset: -1d, at: 2099-01-01, drift_ppm: -200}}
  - {name: b, role: read, rogue: true}
  - {name: c, clock: {at: -9223372036854775808}}
links:
  - {between: [a, b], latency: 2s, jitter: 3s, down: true}
expect:
  - peers: [a, c]
    active: [notes]
    inactive: [x, y]
    entries: 2
    has: true
    agree: false
    stored_on: 2
    scratch: true
`))
	if len(faults) > 0 {
		t.Fatal(joinFaults(faults))
	}
	x, _ := json.Marshal(got)
	y, _ := json.Marshal(want)
	if string(x) != string(y) {
		t.Errorf("got  %s\nwant %s", x, y)
	}
}

func TestEveryActionHasItsKeys(t *testing.T) {
	known := takes()
	for a := range sim.Actions() {
		if _, ok := known[a]; !ok {
			t.Errorf("nothing says what %s takes", a)
		}
		if w, ok := wordings()[string(a)]; !ok && a != sim.DoWait && a != sim.DoExpect {
			t.Errorf("no words for %s: %v", a, w)
		}
	}
	keys := keyNames((&storyReader{}).stepKeys())
	for a, list := range known {
		if _, ok := sim.Actions()[a]; !ok {
			t.Errorf("%s is no action", a)
		}
		for _, k := range list {
			if !slices.Contains(keys, k) {
				t.Errorf("%s takes %s, which is no key", a, k)
			}
		}
	}
	for _, i := range append(sim.Invariants(), sim.Expected) {
		if promise(i) == "" {
			t.Errorf("no words for the check %s", i)
		}
	}
}

func TestSimTellsAStory(t *testing.T) {
	r := lab(t, nil).do("sim", "--scenario", scenarioFolder+"/opposite-switches.yaml")
	if r.code != 0 {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	golden(t, "sim_story", r.out)

	wrong := writeStory(t, "name: wrong\npeers: [{name: a}, {name: b}]\nsteps:\n  - {do: wait}\n  - {do: on, peer: a, name: notes, version: 1.0.0}\n"+
		"  - {do: wait}\n  - {do: upgrade, peer: b, name: maps, version: 1.0.0}\nexpect:\n  - {inactive: [notes]}\n")
	r = lab(t, nil).do("sim", "--scenario", wrong)
	if r.code != exitError {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	golden(t, "sim_wrong", strings.ReplaceAll(r.out, filepath.Dir(wrong), "DIR"))
	_, line, _ := strings.Cut(r.out, "again:        chaz-peer ")
	line, _, _ = strings.Cut(line, "\n")
	if want := fmt.Sprintf("sim --replay 0 --scenario '%s'", wrong); line != want {
		t.Errorf("again: %q, want %q", line, want)
	}
}

func TestSimPlaysAFolder(t *testing.T) {
	r := lab(t, nil).do("sim", "--scenario", scenarioFolder, "--json")
	if want := fmt.Sprintf(`{"seeds":%d,"failed":0,`, len(bundled(t))); r.code != 0 || !strings.HasPrefix(r.out, want) {
		t.Errorf("exit %d, %.100s%s", r.code, r.out, r.err)
	}
	r = lab(t, nil).do("sim", "--scenario", scenarioFolder+"/drift.yaml", "--scenario", scenarioFolder+"/full-disk.yaml", "--seeds", "3", "--first", "9")
	if r.code != 0 || r.out != "held    drift, with 3 seeds\nheld    full disk, with 3 seeds\n" {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

// FuzzScenario: whatever is in a file, it is refused with words or it is a scenario that makes sense.
func FuzzScenario(f *testing.F) {
	for _, file := range bundled(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, faults := parseStory(text)
		if (s == nil) != (len(faults) > 0) {
			t.Fatalf("%v and %v", s, faults)
		}
		if s == nil {
			return
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sim.ParseScenario(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

// The page about the lab names every key, action, fault and check, and shows what is really printed.
func TestSimPageIsComplete(t *testing.T) {
	b, err := os.ReadFile("../../docs/sim.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	r := &storyReader{}
	var words []string
	for _, list := range [][]string{keyNames(storyKeys()), keyNames(clockKeys()), keyNames(r.linkKeys()), keyNames(r.stepKeys()), keyNames(r.expectKeys())} {
		words = append(words, list...)
	}
	for a, list := range takes() {
		line := fmt.Sprintf("| `%s` | %s |", a, strings.Join(list, ", "))
		if !strings.Contains(page, line) {
			t.Errorf("no line begins with %q", line)
		}
	}
	for _, f := range sim.Faults() {
		words = append(words, "`"+string(f)+"`")
	}
	for _, i := range sim.Invariants() {
		words = append(words, string(i), promise(i))
	}
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("%s is not mentioned", w)
		}
	}
	for _, file := range bundled(t) {
		if !strings.Contains(page, "(examples/scenarios/"+filepath.Base(file)+")") {
			t.Errorf("%s is not listed", file)
		}
	}
	shown, err := os.ReadFile("testdata/golden/sim_story.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page, string(shown)) {
		t.Error("the story it shows is not what is printed")
	}
}
