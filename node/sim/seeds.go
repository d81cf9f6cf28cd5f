package sim

import (
	"context"
	"slices"
)

// Summary is what many runs showed together: the form of "sim --json".
type Summary struct {
	Seeds      int            `json:"seeds"`
	Failed     int            `json:"failed"`
	Steps      int            `json:"steps"`
	Messages   int            `json:"messages"`
	Seconds    float64        `json:"seconds"` // for the caller to fill: nothing here reads a clock
	Faults     map[string]int `json:"faults"`
	Invariants map[string]int `json:"invariants"`
	Repro      []string       `json:"repro"` // a command for each failed seed
	Failures   []Failure      `json:"failures,omitempty"`
}

// NewSummary returns the summary of no runs: every fault and invariant of the menu at zero.
func NewSummary() *Summary {
	s := &Summary{Faults: map[string]int{}, Invariants: map[string]int{}, Repro: []string{}}
	for _, f := range Faults() {
		s.Faults[string(f)] = 0
	}
	for _, i := range Invariants() {
		s.Invariants[string(i)] = 0
	}
	return s
}

// Add counts a run.
func (s *Summary) Add(r Result) {
	s.Merge(&Summary{Seeds: 1, Steps: r.Steps, Messages: r.Messages, Faults: r.Faults, Invariants: r.Invariants})
	if r.Failure != nil {
		s.Failed++
		s.Repro = append(s.Repro, r.Failure.Repro)
		s.Failures = append(s.Failures, *r.Failure)
	}
}

// Merge adds the runs of another summary, of another process for example.
func (s *Summary) Merge(o *Summary) {
	s.Seeds += o.Seeds
	s.Failed += o.Failed
	s.Steps += o.Steps
	s.Messages += o.Messages
	for k, n := range o.Faults {
		s.Faults[k] += n
	}
	for k, n := range o.Invariants {
		s.Invariants[k] += n
	}
	s.Repro = append(s.Repro, o.Repro...)
	s.Failures = append(s.Failures, o.Failures...)
}

// Vacuous lists what the runs of these options should have met and never did: faults that were to be
// played, invariants that were to be checked. A lab with such a list has proved nothing.
func (s *Summary) Vacuous(opt Options) []string {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range opt.Faults {
		if s.Faults[string(f)] == 0 {
			out = append(out, string(f))
		}
	}
	for _, i := range Invariants() {
		if s.Invariants[string(i)] == 0 && (i != I5 || opt.Core != CoreNever) {
			out = append(out, string(i))
		}
	}
	slices.Sort(out)
	return out
}

// RunSeeds plays n runs, with the seeds from opt.Seed on. before, if given, is called with each seed
// before it is played, so that an abort of the process names its seed; after with its result. It stops
// early when ctx ends, and then returns what was done so far beside the error.
func (l *Lab) RunSeeds(ctx context.Context, opt Options, n int, before func(seed uint64), after func(Result)) (*Summary, error) {
	s := NewSummary()
	for i := range n {
		one := opt
		one.Seed += uint64(i)
		if before != nil {
			before(one.Seed)
		}
		r, err := l.Run(ctx, one)
		if err != nil {
			return s, err
		}
		s.Add(r)
		if after != nil {
			after(r)
		}
	}
	return s, nil
}
