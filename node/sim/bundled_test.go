package sim

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"
)

// days are what scenario files may say and Go's durations may not.
var days = regexp.MustCompile(`(-?\d+)d\b`)

// bundledScenario reads a scenario file as the program does, without its checks.
func bundledScenario(t *testing.T, name string) *Scenario {
	t.Helper()
	text, err := os.ReadFile("../../docs/examples/scenarios/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = days.ReplaceAllFunc(text, func(d []byte) []byte {
		n, err := strconv.Atoi(string(d[:len(d)-1]))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strconv.Itoa(24*n) + "h")
	})
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBundledScenariosNoticeABrokenRule breaks the rule that a bundled scenario is about.
func TestBundledScenariosNoticeABrokenRule(t *testing.T) {
	lab := newLab(t)
	for name, mutant := range map[string]string{
		"same-millisecond":  "tiebreak removed",
		"opposite-switches": "arrival order",
		"poisoned-2099":     "arrival order",
	} {
		s := bundledScenario(t, name)
		broken := mutants()[mutant]
		if r := play(t, lab, Options{Scenario: s, rules: broken}); r.Failure == nil {
			t.Errorf("%s holds with the rule broken: %s", name, mutant)
		} else {
			t.Logf("%s, %s: %.160s", name, mutant, r.Failure)
		}
		if r := play(t, lab, Options{Scenario: s}); r.Failure != nil {
			t.Errorf("%s, the control: %v", name, r.Failure)
		}
	}
}
