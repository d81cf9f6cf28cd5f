package soak

import (
	"context"
	"slices"
	"time"
)

// later has something done when the story has come that far.
func (g *stage) later(after time.Duration, do func(context.Context) error) {
	if after <= 0 {
		return
	}
	u := undo{g.now + after, do}
	i, _ := slices.BinarySearchFunc(g.undo, u, func(a, b undo) int {
		if a.at <= b.at {
			return -1 // behind those that are due at the same time
		}
		return 1
	})
	g.undo = slices.Insert(g.undo, i, u)
}

// pass lets true time pass up to a point of the story, doing on the way what is due.
func (g *stage) pass(ctx context.Context, to time.Duration) error {
	for len(g.undo) > 0 && g.undo[0].at <= to {
		u := g.undo[0]
		g.undo = g.undo[1:]
		if err := g.forward(ctx, u.at-g.now); err != nil {
			return err
		}
		if err := u.do(ctx); err != nil {
			return err
		}
	}
	return g.forward(ctx, to-g.now)
}

// breath is what daemons get to exchange what they have, of a time that is not waited for.
const breath = 10 * time.Second

// forward waits, or, where that would take too long, turns all clocks and lets the daemons catch up.
func (g *stage) forward(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	g.now += d
	if d <= longest {
		return rest(ctx, d)
	}
	g.c.say("%s pass", d)
	for i, p := range g.c.peers {
		p.skew = shifted(p.skew, d)
		if !p.up() {
			continue
		}
		if g.full[i] {
			g.c.say("%s goes on with the clock it has: a full disk lets no daemon stop in order", p.name)
			continue
		}
		if err := p.stop(); err != nil {
			return err
		}
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	now := g.now
	_ = g.quiet(ctx, min(d, breath)) // what can't catch up is what the story is about
	g.now = now
	return ctx.Err()
}

// shifted adds without wrapping around.
func shifted(skew, by time.Duration) time.Duration {
	sum := skew + by
	if by > 0 && sum < skew {
		return 1<<63 - 1
	}
	if by < 0 && sum > skew {
		return -1 << 63
	}
	return sum
}
