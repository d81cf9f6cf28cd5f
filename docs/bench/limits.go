package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// measureLimits lets a guest compute with our limits, without any, and with the runtime's own means of
// stopping a guest, in turn.
func measureLimits(ctx context.Context, o *options, g guests, t *table) error {
	progress("the price of limits")
	module, err := os.ReadFile(g.work)
	if err != nil {
		return err
	}
	e, err := engine.New(ctx, engine.Config{})
	if err != nil {
		return err
	}
	ours, err1 := openPool(ctx, e, module, engineLimits())
	none, err2 := sdkPlugin(ctx, module, 0)
	watched, err3 := sdkPlugin(ctx, module, 5*time.Minute)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	means := [2]pairs{{ours: ones(o.computations), base: ones(o.computations)}, {ours: ones(o.computations), base: ones(o.computations)}}
	var rows [2][]row
	for _, work := range []string{"loop 30000000", "sha256 8", "json 300"} {
		run := func(call func() error) (float64, error) {
			t0 := time.Now()
			err := call()
			return float64(time.Since(t0)), err
		}
		var p [2]pairs
		for i := range o.computations + 1 {
			plain, err1 := run(func() error { _, _, err := none.Call("work", []byte(work)); return err })
			limited, err2 := run(func() error { _, err := ours.Call(ctx, "work", []byte(work)); return err })
			closing, err3 := run(func() error { _, _, err := watched.Call("work", []byte(work)); return err })
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			if i == 0 {
				continue // nobody pays for the first call
			}
			p[0].add(limited, plain)
			p[1].add(closing, plain)
			means[0].ours[i-1] *= math.Cbrt(limited / plain)
			means[1].ours[i-1] *= math.Cbrt(closing / plain)
		}
		name := strings.Fields(work)[0]
		rows[0] = append(rows[0], row{what: "T3 a guest that computes, all limits on", against: "no limits", size: name, pairs: p[0], unit: inTime})
		rows[1] = append(rows[1], row{what: "T3 a guest that computes, the runtime's own stop (CloseOnContextDone)", against: "no limits", size: name, pairs: p[1], unit: inTime})
	}
	rows[0] = append(rows[0], row{what: "T3 geometric mean, all limits on", against: "no limits", size: "of the three", pairs: means[0], unit: inTimes, aim: 1.35})
	rows[1] = append(rows[1], row{what: "T3 geometric mean, the runtime's own stop", against: "no limits", size: "of the three", pairs: means[1], unit: inTimes})
	for _, list := range rows {
		for _, r := range list {
			t.add(r)
		}
	}
	return errors.Join(none.Close(ctx), watched.Close(ctx), e.Close(ctx))
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// measureKills times how long a guest that never ends goes on, for each way of not ending.
func measureKills(ctx context.Context, o *options, t *table) error {
	progress("stopping guests")
	e, err := engine.New(ctx, engine.Config{})
	if err != nil {
		return err
	}
	modules := endless()
	for _, name := range []string{"loop", "tree of calls", "start function", "growing memory"} {
		for _, ms := range []int64{50, 100, 500} {
			limits := engineLimits()
			limits.Deadline = ms
			pool, err := openPool(ctx, e, modules[name], limits)
			if err != nil {
				return err
			}
			var p pairs
			for range o.kills {
				t0 := time.Now()
				if _, err := pool.Call(ctx, "run", nil); !errors.Is(err, engine.ErrDeadline) {
					return fmt.Errorf("stop a guest (%s): %w", name, err)
				}
				p.add(float64(time.Since(t0)), float64(ms)*1e6)
			}
			t.add(row{what: "T4 a guest is stopped after", against: "its deadline", size: fmt.Sprintf("%s, %d ms", name, ms), pairs: p, unit: inTime, aim: 1.2})
			if err := pool.Close(ctx); err != nil {
				return err
			}
		}
	}
	return e.Close(ctx)
}

// measureBeside times calls of one session while the guest of another spins, against the same calls
// while nothing else runs, in turns of a few hundred.
func measureBeside(ctx context.Context, o *options, g guests, t *table) error {
	progress("calls beside a guest that spins")
	b, err := newBed(ctx, place(o, "beside"), nil)
	if err != nil {
		return err
	}
	module, err := os.ReadFile(g.plugin)
	if err != nil {
		return err
	}
	ref, err := b.pack(ctx, "plugin", module)
	if err != nil {
		return err
	}
	x, err1 := b.load(ctx, ref, extension.GuestLimits{})
	bad, err2 := b.load(ctx, ref, extension.GuestLimits{DeadlineMS: 60_000, FuelPerCall: 1 << 60})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	doc, turn, err1 := b.seat(ctx, x)
	other, badTurn, err2 := b.seat(ctx, bad)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	good, err1 := newCaller(&heldAudit{}, doc, turn, "plugin__vowels")
	spins, err2 := newCaller(&heldAudit{}, other, badTurn, "plugin__vowels")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	const rounds = 10
	var p pairs
	for range rounds {
		alone, err := timeCalls(ctx, good, o.calls/rounds)
		if err != nil {
			return err
		}
		spinning, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			_, _ = spins.call(spinning, []byte(`{"text":"spin"}`)) // it ends when it is told to
			close(done)
		}()
		runtime.Gosched()
		time.Sleep(20 * time.Millisecond) // it has begun
		beside, err := timeCalls(ctx, good, o.calls/rounds)
		stop()
		<-done
		if err != nil {
			return err
		}
		p.ours, p.base = append(p.ours, beside...), append(p.base, alone...)
	}
	t.add(row{what: "T4 a tool call while a guest of another session spins", against: "the same call alone", size: "Go plugin", pairs: p, unit: inTime, aim: 3, aim99: 3})
	turn.Release()
	badTurn.Release()
	return b.close()
}

func timeCalls(ctx context.Context, c caller, n int) ([]float64, error) {
	out := make([]float64, 0, n)
	for range n {
		t0 := time.Now()
		if _, err := c.call(ctx, mustArgs()); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(t0)))
	}
	return out, nil
}
