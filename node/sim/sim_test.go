package sim

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func newLab(t testing.TB) *Lab {
	t.Helper()
	lab, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	return lab
}

func play(t testing.TB, lab *Lab, opt Options) Result {
	t.Helper()
	r, err := lab.Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSeeds plays a few hundred runs, in two goroutines that share a lab, and wants every fault of the
// menu to have struck and every invariant to have been checked. With the race detector, which makes a run
// ten times as slow and can find nothing within one, there are fewer and they need not meet everything.
func TestSeeds(t *testing.T) {
	lab, n := newLab(t), 120
	few := testing.Short() || raceDetector
	if few {
		n = 20
	}
	var wg sync.WaitGroup
	parts := make([]*Summary, 2)
	for i := range parts {
		wg.Go(func() {
			var err error
			opt := Options{Seed: uint64(1 + i*n), rules: rules{load: loadFile}}
			if parts[i], err = lab.RunSeeds(t.Context(), opt, n, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := NewSummary()
	for _, s := range parts {
		all.Merge(s)
	}
	for _, f := range all.Failures {
		t.Errorf("%v\nagain: %s", &f, f.Repro)
	}
	if missed := all.Vacuous(Options{}); len(missed) > 0 && !few {
		t.Errorf("never met in %d runs: %v", all.Seeds, missed)
	}
	t.Logf("%d runs, %d steps, %d frames\nfaults %v\nchecks %v", all.Seeds, all.Steps, all.Messages, all.Faults, all.Invariants)
}

// TestManyPeers: a few runs with more peers and steps.
func TestManyPeers(t *testing.T) {
	lab := newLab(t)
	for seed := uint64(1); seed <= 3; seed++ {
		if r := play(t, lab, Options{Seed: seed, Peers: 5, Steps: 120, Core: CoreNever}); r.Failure != nil {
			t.Errorf("seed %d: %v", seed, r.Failure)
		}
	}
}

// TestSameSeedSameTrace: a run depends on its options and on nothing else.
func TestSameSeedSameTrace(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	want := map[uint64]Result{}
	lab := newLab(t)
	for seed := uint64(8); seed < 17; seed++ {
		want[seed] = play(t, lab, Options{Seed: seed})
	}
	runtime.GOMAXPROCS(2)
	other := newLab(t)
	seen := map[string]bool{}
	for seed := uint64(16); seed >= 8; seed-- { // another order, in another lab, with the timeline on
		got := play(t, other, Options{Seed: seed, Timeline: true})
		if got.TraceHash != want[seed].TraceHash || got.Messages != want[seed].Messages || got.TrueTime != want[seed].TrueTime {
			t.Errorf("seed %d: trace %s, %d frames; then %s, %d", seed, want[seed].TraceHash, want[seed].Messages, got.TraceHash, got.Messages)
		}
		seen[got.TraceHash] = true
	}
	if len(seen) != len(want) {
		t.Errorf("%d different traces of %d seeds", len(seen), len(want))
	}
}

// TestFaultsOff: classes that are switched off do not strike, and a run without any is quick to agree.
func TestFaultsOff(t *testing.T) {
	lab := newLab(t)
	for seed := uint64(1); seed <= 4; seed++ {
		r := play(t, lab, Options{Seed: seed, Faults: []Fault{}, Core: CoreNever})
		if r.Failure != nil || len(r.Faults) != 0 {
			t.Errorf("seed %d: faults %v, %v", seed, r.Faults, r.Failure)
		}
		if r.Steps < 10 {
			t.Errorf("seed %d: only %d steps had an effect", seed, r.Steps)
		}
	}
	r := play(t, lab, Options{Seed: 1, Faults: []Fault{FaultJump, FaultReset}, Core: CoreNever})
	for f, n := range r.Faults {
		if f != string(FaultJump) && f != string(FaultReset) || n == 0 {
			t.Errorf("%s struck %d times", f, n)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		opt  Options
		want string
	}{
		"one peer":      {Options{Peers: 1}, "1 peers"},
		"many peers":    {Options{Peers: 27}, "27 peers"},
		"steps":         {Options{Steps: -1}, "-1 steps"},
		"core":          {Options{Core: "maybe"}, `core "maybe"`},
		"fault":         {Options{Faults: []Fault{"rain"}}, `fault "rain"`},
		"empty story":   {Options{Scenario: &Scenario{}}, "0 peers"},
		"nameless peer": {Options{Scenario: &Scenario{Peers: make([]ScenarioPeer, 2)}}, "peer 1"},
	} {
		if _, err := Run(context.Background(), c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
	if _, err := Run(context.Background(), Options{Steps: 1, Core: CoreNever}); err != nil {
		t.Errorf("the control: %v", err)
	}
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(stop, Options{}); err == nil {
		t.Error("a run whose context had ended went on")
	}
}

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]int{"all": len(Faults()), "none": 0, "": 0, "crash,loss": 2, "crash, crash loss": 2} {
		if got, err := ParseFaults(text); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := ParseFaults("crash,rain"); err == nil {
		t.Error("rain was taken for a fault")
	}
}

// TestFailureInSummary: a failure ends a run at once, and the summary tells how to see it again.
func TestFailureInSummary(t *testing.T) {
	lab := newLab(t)
	broken := Options{Seed: 1, Core: CoreNever, rules: mutants()["arrival order"]}
	var begun []uint64
	s, err := lab.RunSeeds(context.Background(), broken, 4, func(seed uint64) { begun = append(begun, seed) }, nil)
	if err != nil || s.Seeds != 4 || len(begun) != 4 || begun[3] != 4 {
		t.Fatalf("%+v, began %v, %v", s, begun, err)
	}
	if s.Failed == 0 || len(s.Repro) != s.Failed || !strings.Contains(s.Repro[0], "chaz-peer sim --replay ") {
		t.Errorf("%d failed: %v", s.Failed, s.Repro)
	}
}
