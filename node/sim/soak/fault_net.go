package soak

import (
	"context"
	"errors"
	"time"
)

// networks are the faults of the relay. They last while faults of daemons are played.
func networks() []trouble {
	return []trouble{
		{FaultPartition, func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
			in, out := s.groups()
			s.c.say("nothing passes between %s and %s", names(in), names(out))
			return s.cutting(ctx, func(off bool) {
				for _, p := range in {
					for _, q := range out {
						s.c.air.cut(p.n, q.n, off)
					}
				}
			})
		}},
		{FaultOneWay, func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
			p, q := s.two()
			s.c.say("nothing passes from %s to %s", p.name, q.name)
			return s.cutting(ctx, func(off bool) { s.c.air.set(p.n, q.n, func(y *way) { y.blocked = off }) })
		}},
		{FaultLoss, all("a quarter of all packets is lost", func(c Carried) int64 { return c.Lost }, func(y *way) { y.loss = 0.25 })},
		{FaultDuplicate, all("a third of all packets comes twice", func(c Carried) int64 { return c.Twice }, func(y *way) { y.twice = 0.3 })},
		{FaultDelay, all("all packets are late, by 100 to 400 ms", func(c Carried) int64 { return c.Late }, func(y *way) {
			y.delay, y.jitter = 100*time.Millisecond, 300*time.Millisecond
		})},
		{FaultReset, func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
			p, q := s.two()
			n := s.c.relay.reset(p.n, q.n)
			s.c.say("%d connections between %s and %s end", n, p.name, q.name)
			return func(context.Context) error { return nil }, func() bool { return n > 0 }, rest(ctx, s.span(0, 2*time.Second, 2*time.Second))
		}},
		{FaultFlap, func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
			p, q := s.two()
			s.c.say("the link between %s and %s flaps", p.name, q.name)
			before, step := s.c.air.counts().Blocked, s.span(100*time.Millisecond, 600*time.Millisecond, time.Second)
			var err error
			for i := range 12 {
				s.c.air.cut(p.n, q.n, i%2 == 0)
				if err = rest(ctx, step); err != nil {
					break
				}
			}
			s.c.air.cut(p.n, q.n, false)
			return func(context.Context) error { return nil }, func() bool { return s.c.air.counts().Blocked > before }, err
		}},
	}
}

// pauses is the partition where there is no relay: each daemon is told to cut those of the other side off.
func pauses() []trouble {
	return []trouble{{FaultPartition, func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
		in, out := s.groups()
		s.c.say("%s and %s pause each other", names(in), names(out))
		each := func(ctx context.Context, off bool) error {
			for _, p := range in {
				for _, q := range out {
					if err := errors.Join(p.pause(ctx, q, off), q.pause(ctx, p, off)); err != nil {
						return err
					}
				}
			}
			return nil
		}
		err := each(ctx, true)
		if err == nil {
			err = rest(ctx, s.span(time.Second, 5*time.Second, 45*time.Second))
		}
		return func(ctx context.Context) error { return each(ctx, false) }, always, err
	}}}
}

// cutting cuts until it is stopped, for a while at least.
func (s *soak) cutting(ctx context.Context, cut func(off bool)) (func(context.Context) error, func() bool, error) {
	before := s.c.air.counts().Blocked
	cut(true)
	seen := func() bool { return s.c.air.counts().Blocked > before }
	stop := func(context.Context) error { cut(false); return nil }
	return stop, seen, rest(ctx, s.span(time.Second, 5*time.Second, 45*time.Second))
}

// all changes every way in both directions.
func all(words string, count func(Carried) int64, change func(*way)) func(context.Context, *soak) (func(context.Context) error, func() bool, error) {
	return func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
		s.c.say("%s", words)
		before := count(s.c.air.counts())
		each := func(fn func(*way)) {
			for _, p := range s.c.peers {
				for _, q := range s.c.peers {
					if p != q {
						s.c.air.set(p.n, q.n, fn)
					}
				}
			}
		}
		each(change)
		stop := func(context.Context) error {
			each(func(y *way) { *y = way{blocked: y.blocked} })
			return nil
		}
		return stop, func() bool { return count(s.c.air.counts()) > before }, rest(ctx, s.span(time.Second, 3*time.Second, 6*time.Second))
	}
}
