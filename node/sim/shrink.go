package sim

import (
	"context"
	"slices"
)

// shrinkRuns bounds the work of one [Lab.Shrink].
const shrinkRuns = 400

// Shrink looks for the shortest list of steps, with the fewest classes of faults, that still breaks the
// same invariant. opt must fail. It returns options with Keep and Faults set and the result of playing
// them; their [Options.Repro] is one line. Scenarios are returned as they are.
func (l *Lab) Shrink(ctx context.Context, opt Options) (Options, Result, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return opt, Result{}, err
	}
	s := &shrinker{lab: l, ctx: ctx, left: shrinkRuns}
	best, err := l.Run(ctx, opt)
	if err != nil || best.Failure == nil || opt.Scenario != nil {
		return opt, best, err
	}
	s.opt, s.best, s.broken = opt, best, best.Failure.Invariant
	if s.opt.Keep == nil {
		s.opt.Keep = numbers(opt.Steps)
	}
	s.prefix()
	s.faults()
	s.steps()
	s.faults()
	return s.opt, s.best, s.err
}

type shrinker struct {
	lab    *Lab
	ctx    context.Context
	left   int
	opt    Options
	best   Result
	broken Invariant
	err    error
}

// try plays other options and keeps them if they break the same.
func (s *shrinker) try(opt Options) bool {
	if s.left == 0 || s.err != nil {
		return false
	}
	s.left--
	r, err := s.lab.Run(s.ctx, opt)
	if err != nil {
		s.err = err
		return false
	}
	if r.Failure == nil || r.Failure.Invariant != s.broken {
		return false
	}
	s.opt, s.best = opt, r
	return true
}

func (s *shrinker) keep(list []int) bool {
	opt := s.opt
	opt.Keep = list
	return s.try(opt)
}

// prefix drops what comes after the failure, then halves of the rest.
func (s *shrinker) prefix() {
	if at := slices.Index(s.opt.Keep, s.best.Failure.Step); at >= 0 {
		s.keep(slices.Clone(s.opt.Keep[:at+1]))
	}
	for cut := len(s.opt.Keep) / 2; cut > 0; cut /= 2 {
		for len(s.opt.Keep) > cut && s.keep(slices.Clone(s.opt.Keep[:len(s.opt.Keep)-cut])) {
			continue
		}
	}
}

// faults switches classes off, one by one.
func (s *shrinker) faults() {
	for _, f := range slices.Clone(s.opt.Faults) {
		opt := s.opt
		opt.Faults = slices.DeleteFunc(slices.Clone(opt.Faults), func(g Fault) bool { return g == f })
		s.try(opt)
	}
}

// steps leaves out runs of steps, shorter and shorter ones.
func (s *shrinker) steps() {
	for size := max(len(s.opt.Keep)/2, 1); ; size /= 2 {
		for at := 0; at < len(s.opt.Keep); {
			if !s.keep(slices.Delete(slices.Clone(s.opt.Keep), at, min(at+size, len(s.opt.Keep)))) {
				at += size
			}
		}
		if size <= 1 {
			return
		}
	}
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
