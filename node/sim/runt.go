package sim

import "context"

// TB is what [RunT] needs of a test.
type TB interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// RunT plays a scenario in a test and fails it when an invariant or an expectation does not hold.
func RunT(t TB, s *Scenario) Result {
	t.Helper()
	return RunOptions(t, Options{Scenario: s})
}

// RunOptions is RunT for a plan from a seed, or for a subject of one's own.
func RunOptions(t TB, opt Options) Result {
	t.Helper()
	r, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if r.Failure != nil {
		t.Fatalf("%v\nagain: %s", r.Failure, r.Failure.Repro)
	}
	return r
}
