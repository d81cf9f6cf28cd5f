package soak

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Fault is a class of things that go wrong. The words are keys of a report.
type Fault string

// The faults of processes, disks and clocks.
const (
	FaultKill     Fault = "kill"          // SIGKILL
	FaultKillBusy Fault = "kill_in_write" // SIGKILL with writes under way
	FaultKillNew  Fault = "kill_in_start" // SIGKILL again while it comes back
	FaultFreeze   Fault = "freeze"        // SIGSTOP, and SIGCONT later
	FaultRestart  Fault = "restart"       // SIGTERM
	FaultClock    Fault = "clock_jump"    // it comes back with another clock
	FaultFull     Fault = "disk_full"
)

// The faults of the network.
const (
	FaultPartition Fault = "partition" // nothing passes between two groups
	FaultOneWay    Fault = "one_way"   // nothing passes in one direction
	FaultLoss      Fault = "loss"
	FaultDuplicate Fault = "duplicate"
	FaultDelay     Fault = "delay" // with jitter: packets overtake each other
	FaultReset     Fault = "reset" // connections end, and addresses change
	FaultFlap      Fault = "flap"  // a link goes up and down
)

// trouble makes a fault and undoes it. Work on one daemon is never under way twice.
type trouble struct {
	fault Fault
	// start makes it. It reports by seen whether it had an effect: called when it is over.
	start func(ctx context.Context, s *soak) (stop func(ctx context.Context) error, seen func() bool, err error)
}

func always() bool { return true }

// processes are the faults of a daemon. Each is over when it returns.
func processes() []trouble {
	return []trouble{
		{FaultKill, once(func(ctx context.Context, s *soak) error {
			d := s.any()
			s.c.say("kill %s", d.name)
			d.kill()
			return s.again(ctx, d)
		})},
		{FaultFreeze, once(func(ctx context.Context, s *soak) error {
			d, long := s.any(), s.span(time.Second, 6*time.Second, 35*time.Second)
			s.c.say("freeze %s for %s", d.name, long)
			d.freeze()
			err := rest(ctx, long)
			d.thaw()
			return err
		})},
		{FaultRestart, once(func(ctx context.Context, s *soak) error {
			d := s.any()
			s.c.say("stop %s", d.name)
			if err := d.stop(); err != nil {
				return err
			}
			return s.again(ctx, d)
		})},
		{FaultClock, once(func(ctx context.Context, s *soak) error {
			d := s.any()
			d.skew = lies[s.rng.IntN(len(lies))]
			s.c.say("stop %s, its clock is off by %s from now on", d.name, d.skew)
			if err := d.stop(); err != nil {
				return err
			}
			return s.again(ctx, d)
		})},
		{FaultKillBusy, killBusy},
		{FaultKillNew, once(func(ctx context.Context, s *soak) error {
			d := s.any()
			s.c.say("kill %s, and twice more while it starts", d.name)
			for range 3 {
				d.kill()
				if _, err := d.spawn(); err != nil {
					return err
				}
				if err := rest(ctx, time.Duration(s.rng.Int64N(int64(startTime)))); err != nil {
					return err
				}
			}
			d.kill()
			return d.start(ctx)
		})},
	}
}

// startTime is about how long a daemon takes to start.
const startTime = 120 * time.Millisecond

// lies are what clocks are off by.
var lies = [...]time.Duration{
	0, -50 * time.Millisecond, 90 * time.Second, 2 * time.Hour, -3 * 24 * time.Hour, 400 * 24 * time.Hour, -30 * 365 * 24 * time.Hour, 70 * 365 * 24 * time.Hour,
}

func once(do func(context.Context, *soak) error) func(context.Context, *soak) (func(context.Context) error, func() bool, error) {
	return func(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
		return func(context.Context) error { return nil }, always, do(ctx, s)
	}
}

// again brings a daemon back after a moment.
func (s *soak) again(ctx context.Context, d *daemon) error {
	if err := rest(ctx, s.span(0, 2*time.Second, 8*time.Second)); err != nil {
		return err
	}
	return d.start(ctx)
}

// busyAcks is how many writes of one daemon are acknowledged before it is killed in the middle of more.
const busyAcks = 20

// killBusy kills a daemon while several clients write to it.
func killBusy(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
	d := s.any()
	s.c.say("kill %s in the middle of its writes", d.name)
	acks, cut := s.burst(ctx, d, busyAcks, d.kill)
	seen := func() bool { return acks >= busyAcks && cut > 0 }
	return func(context.Context) error { return nil }, seen, s.again(ctx, d)
}

// disks are the faults of small disks. Each is over when it returns.
func disks() []trouble { return []trouble{{FaultFull, fullDisk}} }

// fullDisk fills the disk of a daemon, which must refuse writes and live, or at least come back.
func fullDisk(ctx context.Context, s *soak) (func(context.Context) error, func() bool, error) {
	nothing := func(context.Context) error { return nil }
	d, leave := s.c.small(), []int64{0, 8 << 20}[s.rng.IntN(2)]
	s.c.say("fill the disk of %s but for %d bytes", d.name, leave)
	if err := d.small.fill(leave); err != nil {
		return nil, nil, err
	}
	refused := s.refused(ctx, d)
	err := rest(ctx, s.span(0, 3*time.Second, 3*time.Second))
	if s.rng.IntN(2) == 0 {
		s.c.say("kill %s, whose disk is full", d.name)
		d.kill()
	}
	if err = errors.Join(err, d.small.room()); err == nil && !d.up() {
		err = d.start(ctx)
	}
	if err == nil {
		err = s.writes(ctx, d)
	}
	return nothing, func() bool { return refused }, err
}

// refused writes until a write is refused.
func (s *soak) refused(ctx context.Context, d *daemon) bool {
	for i := range 20 {
		if !s.post(ctx, d, fmt.Sprintf("round %d, %s, to a full disk %d", s.report.Rounds, d.name, i)) {
			return true
		}
	}
	return false
}

// writes is an error unless the daemon takes writes again, soon after there is room.
func (s *soak) writes(ctx context.Context, d *daemon) error {
	const soon = 30 * time.Second
	for start := time.Now(); time.Since(start) < soon; {
		if s.post(ctx, d, fmt.Sprintf("round %d, %s, room again after %s", s.report.Rounds, d.name, time.Since(start))) {
			return nil
		}
		if err := rest(ctx, lookAgain); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s refuses writes %s after there is room on its disk; its log: %s", d.name, soon, d.tail(5))
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
