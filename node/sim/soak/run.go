package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// settleIn is how long daemons may take to agree when all is well again: a silent connection is noticed
// after half a minute, and a peer that was not to be reached is tried again within a minute.
const settleIn = 2 * time.Minute

// roundsPerSession bounds what one session grows to.
const roundsPerSession = 12

// soak is one run.
type soak struct {
	opt     Options
	c       *cluster
	rng     *rand.Rand
	led     *ledger
	deck    []trouble // what comes next
	menu    []trouble
	session string
	report  *Report
	settled []time.Duration
}

// Run plays rounds until the time is over, ctx ends or something is not as it must be. The report is
// there in each case; the error says what was wrong. Everything it started is gone when it returns;
// homes and logs stay in the folder.
func Run(ctx context.Context, opt Options) (*Report, error) {
	start := time.Now()
	r := &Report{Seed: opt.Seed, Faults: map[Fault]int{}, Skipped: map[string]string{}}
	if err := opt.fill(); err != nil {
		r.Failure = err.Error()
		return r, err
	}
	r.Peers = opt.Peers
	s := &soak{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 1)), led: newLedger(), report: r}
	err := s.run(ctx, start.Add(opt.Time))
	r.Seconds, r.Writes, r.Settle = time.Since(start).Seconds(), s.led.count(), summed(s.settled)
	if s.c != nil {
		r.Carried, r.Skipped = s.c.air.counts(), s.c.skipped
	}
	if r.OK = err == nil; !r.OK {
		r.Failure = err.Error()
	}
	return r, err
}

func (s *soak) run(ctx context.Context, end time.Time) (err error) {
	var specs []spec
	for i := range s.opt.Peers {
		specs = append(specs, spec{name: string(rune('a' + i)), skew: lies[s.rng.IntN(len(lies))], small: i == 1})
	}
	if s.c, err = newCluster(s.opt.Exe, s.opt.Dir, true, s.opt.Seed, s.opt.Log, specs); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.c.close()) }()
	s.order()
	if err := s.c.start(ctx); err != nil {
		return err
	}
	for err == nil && time.Now().Before(end) {
		if err = ctx.Err(); err == nil {
			err = s.round(ctx, end)
		}
	}
	if errors.Is(err, context.Canceled) {
		err = nil // asked to stop between two checks
	}
	return err
}

// order puts what this machine allows on the menu.
func (s *soak) order() {
	s.menu = processes()
	if s.c.relay != nil {
		s.menu = append(s.menu, networks()...)
	} else {
		s.menu = append(s.menu, pauses()...)
	}
	if s.c.small() != nil {
		s.menu = append(s.menu, disks()...)
	}
	for _, t := range s.menu {
		s.report.Faults[t.fault] = 0
	}
	for what, why := range s.c.skipped {
		s.c.say("skipped: %s: %s", what, why)
	}
}

// deal draws a few faults, those of the network first. All of the menu come before one comes again.
func (s *soak) deal() []trouble {
	n := 2 + s.rng.IntN(2)
	for len(s.deck) < n {
		for _, i := range s.rng.Perm(len(s.menu)) {
			s.deck = append(s.deck, s.menu[i])
		}
	}
	hand := s.deck[:n]
	s.deck = s.deck[n:]
	var out, later []trouble
	for _, t := range hand {
		switch t.fault {
		case FaultPartition, FaultOneWay, FaultLoss, FaultDuplicate, FaultDelay:
			out = append(out, t)
		default:
			later = append(later, t)
		}
	}
	return append(out, later...)
}

// round makes trouble while clients write, puts all right and checks.
func (s *soak) round(ctx context.Context, end time.Time) error {
	if s.report.Rounds%roundsPerSession == 0 {
		s.led.begin()
		roles := make([]string, len(s.c.peers))
		for i := range roles {
			roles[i] = "write"
		}
		var err error
		if s.session, err = s.c.session(ctx, fmt.Sprintf("talk-%d", s.report.Sessions), roles); err != nil {
			return err
		}
		s.report.Sessions++
	}
	s.report.Rounds++
	s.c.say("round %d of seed %d", s.report.Rounds, s.opt.Seed)
	w := s.c.write(ctx, s.led, s.session, s.opt.Seed, s.report.Rounds)
	err := s.makeTrouble(ctx)
	w.stop()
	if err != nil {
		return err
	}
	took, err := settle(ctx, s.c.peers, s.session, settleIn)
	if err != nil {
		return fmt.Errorf("round %d: %w", s.report.Rounds, err)
	}
	s.settled = append(s.settled, took)
	entries, err := check(ctx, s.c.peers, s.session, s.led)
	if err != nil {
		return fmt.Errorf("round %d: %w", s.report.Rounds, err)
	}
	s.c.say("all agree after %s, on %d entries", took.Round(time.Millisecond), entries)
	if s.report.Rounds%roundsPerSession == 0 || time.Now().After(end) {
		s.report.Entries += entries
	}
	return nil
}

func (s *soak) makeTrouble(ctx context.Context) error {
	type pending struct {
		fault Fault
		stop  func(context.Context) error
		seen  func() bool
	}
	var all []pending
	var errs []error
	for _, t := range s.deal() {
		stop, seen, err := t.start(ctx, s)
		if stop != nil {
			all = append(all, pending{t.fault, stop, seen})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.fault, err))
			break
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		p := all[i]
		if err := p.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.fault, err))
		}
		if p.seen() {
			s.report.Faults[p.fault]++
		}
	}
	for _, d := range s.c.peers {
		if len(errs) == 0 {
			errs = append(errs, d.alive())
		}
	}
	return errors.Join(errs...)
}

// any is a daemon that runs.
func (s *soak) any() *daemon {
	for {
		if d := s.c.peers[s.rng.IntN(len(s.c.peers))]; d.up() {
			return d
		}
	}
}

func (s *soak) two() (*daemon, *daemon) {
	i := s.rng.Perm(len(s.c.peers))
	return s.c.peers[i[0]], s.c.peers[i[1]]
}

// groups splits the daemons in two.
func (s *soak) groups() (in, out []*daemon) {
	at := 1 + s.rng.IntN(len(s.c.peers)-1)
	for k, i := range s.rng.Perm(len(s.c.peers)) {
		if k < at {
			in = append(in, s.c.peers[i])
		} else {
			out = append(out, s.c.peers[i])
		}
	}
	return in, out
}

// span is a time between two bounds, and now and then the rare one.
func (s *soak) span(least, most, rare time.Duration) time.Duration {
	if s.opt.Time >= time.Minute && s.rng.IntN(8) == 0 {
		return rare
	}
	return least + time.Duration(s.rng.Int64N(int64(most-least)))
}

func names(all []*daemon) string {
	var out []string
	for _, d := range all {
		out = append(out, d.name)
	}
	return strings.Join(out, " ")
}

// small is the daemon whose home is on a small disk; nil without one.
func (c *cluster) small() *daemon {
	for _, d := range c.peers {
		if d.small != nil {
			return d
		}
	}
	return nil
}

func (s *soak) post(ctx context.Context, d *daemon, text string) bool {
	api := d.api()
	return api != nil && (&writers{c: s.c, led: s.led, session: s.session}).post(ctx, d, api, text)
}

// burst writes with several clients at once until some writes are acknowledged, then does what comes
// next while they go on; it returns how many were acknowledged and how many not.
func (s *soak) burst(ctx context.Context, d *daemon, least int, next func()) (acks, cut int) {
	const clients = 4
	var done, lost atomic.Int64
	enough := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	api := d.api()
	w := &writers{c: s.c, led: s.led, session: s.session}
	for k := range clients {
		wg.Go(func() {
			for i := range 50 * least {
				if !w.post(ctx, d, api, fmt.Sprintf("round %d, %s, client %d, burst %d", s.report.Rounds, d.name, k, i)) {
					lost.Add(1)
					break
				}
				if done.Add(1) == int64(least) {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	all := make(chan struct{})
	go func() { wg.Wait(); close(all) }()
	select {
	case <-enough:
	case <-all:
	}
	next()
	<-all
	return int(done.Load()), int(lost.Load())
}
