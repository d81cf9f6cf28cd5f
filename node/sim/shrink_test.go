package sim

import (
	"context"
	"strings"
	"testing"
)

// TestShrink: of sixty steps those stay that a failure needs, and the repro line plays it again.
func TestShrink(t *testing.T) {
	lab := newLab(t)
	for _, name := range []string{"no prev", "missing signature check"} {
		opt := Options{Core: CoreNever, rules: mutants()[name]}
		for opt.Seed = mutantFirst; play(t, lab, opt).Failure == nil; opt.Seed++ {
			if opt.Seed == mutantFirst+mutantSeeds {
				t.Fatalf("%s: not noticed", name)
			}
		}
		before := play(t, lab, opt)
		short, r, err := lab.Shrink(context.Background(), opt)
		if err != nil || r.Failure == nil || r.Failure.Invariant != before.Failure.Invariant {
			t.Fatalf("%s: %v, %v", name, r.Failure, err)
		}
		if len(short.Keep) > 6 || len(short.Faults) > 6 {
			t.Errorf("%s: %d steps and %d classes of faults are left: %s", name, len(short.Keep), len(short.Faults), short.Repro())
		}
		if again := play(t, lab, short); again.TraceHash != r.TraceHash || again.Failure == nil {
			t.Errorf("%s: the short list does not show it again", name)
		}
		if line := r.Failure.Repro; strings.Count(line, "\n") > 0 || !strings.Contains(line, " --keep ") {
			t.Errorf("%s: repro %q", name, line)
		}
		t.Logf("%s: %s", name, r.Failure.Repro)
	}
	opt := Options{Seed: 1, Core: CoreNever, Steps: 10}
	if _, r, err := lab.Shrink(context.Background(), opt); err != nil || r.Failure != nil {
		t.Errorf("a run that does not fail: %v, %v", r.Failure, err)
	}
}

func TestRepro(t *testing.T) {
	for want, opt := range map[string]Options{
		"chaz-peer sim --replay 7 --peers 3 --steps 60":                                {Seed: 7},
		"chaz-peer sim --replay 7 --peers 5 --steps 9 --core always":                   {Seed: 7, Peers: 5, Steps: 9, Core: CoreAlways},
		"chaz-peer sim --replay 7 --peers 3 --steps 60 --faults crash,loss --keep 1,4": {Seed: 7, Faults: []Fault{FaultCrash, FaultLoss}, Keep: []int{1, 4}},
		"chaz-peer sim --replay 7 --peers 3 --steps 60 --faults none --keep none":      {Seed: 7, Faults: []Fault{}, Keep: []int{}},
		"": {Peers: 1},
	} {
		if got := opt.Repro(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
