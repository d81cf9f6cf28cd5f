package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

type simCmd struct {
	Seeds    int       `placeholder:"N" help:"How many runs, each from a seed of its own. Default: 1000, with --scenario 1 each."`
	First    *uint64   `placeholder:"SEED" help:"The first seed. Default: 1, with --scenario the seed in the file."`
	Peers    int       `default:"3" placeholder:"N" help:"How many peers, 2 to 26 (${default})."`
	Steps    int       `default:"60" placeholder:"N" help:"How many steps each run has (${default})."`
	Faults   faultList `default:"all" placeholder:"LIST" help:"What goes wrong, such as partition,crash,clock_jump; all or none (${default})."`
	Scenario []string  `sep:"none" placeholder:"FILE" help:"Play the story in a file, or those in a folder. May be given several times."`
	Replay   *uint64   `placeholder:"SEED" help:"Play one seed again, tell what happened, and look for a shorter way to the same failure."`
	Keep     *stepList `placeholder:"LIST" help:"With --replay: play only the steps with these numbers, or none."`
	Core     string    `default:"share" enum:"share,always,never" placeholder:"WHEN" help:"Which runs use the real document core: one in eight (share), always, never."`
	Report   string    `placeholder:"FILE" help:"Write a picture of what happened, one HTML file."`
	Real     bool      `help:"Play the stories with real daemons on this machine instead of simulated peers."`
	Jobs     int       `placeholder:"N" help:"How many runs at a time. Default: one for each processor."`
}

// Validate refuses what makes no sense together; kong calls it.
func (c *simCmd) Validate() error {
	switch {
	case c.Peers < 2 || c.Peers > 26:
		return fmt.Errorf("--peers %d: want 2 to 26", c.Peers)
	case c.Steps < 0 || c.Steps > 1_000_000:
		return fmt.Errorf("--steps %d: want 0 to 1000000", c.Steps)
	case c.Seeds < 0 || c.Jobs < 0:
		return errors.New("--seeds and --jobs take numbers above zero")
	case c.Replay != nil && (c.Seeds != 0 || c.First != nil):
		return errors.New("--replay plays one seed: leave out --seeds and --first")
	case c.Real && (len(c.Scenario) == 0 || c.Seeds != 0 || c.First != nil || c.Replay != nil || c.Report != ""):
		return errors.New("--real goes with --scenario alone")
	case c.Keep != nil && (c.Replay == nil || len(c.Scenario) > 0):
		return errors.New("--keep goes with --replay, and not with --scenario")
	}
	return nil
}

// Run plays runs in child processes and gives the verdict.
func (c *simCmd) Run(ctx context.Context, a *app) error {
	stories, err := loadStories(c.Scenario)
	if err != nil {
		return &exit{exitUsage, err}
	}
	if c.Real {
		return c.real(ctx, a, stories)
	}
	jobs, err := c.jobs(stories)
	if err != nil {
		return err
	}
	tally := newTally()
	begin := a.now()
	if err := c.play(ctx, a, jobs, tally); err != nil {
		if !a.json && errors.Is(err, context.Canceled) {
			fmt.Fprintf(a.out, "Stopped after %s, %d failed.\n", plural(int64(tally.sum.Seeds), "run"), tally.sum.Failed)
		}
		return err
	}
	tally.sum.Seconds = a.now().Sub(begin).Seconds()
	slices.SortStableFunc(tally.failed, func(x, y played) int {
		return cmp.Or(cmp.Compare(x.job.order, y.job.order), cmp.Compare(x.Seed, y.Seed))
	})
	if err := c.verdict(ctx, a, jobs, tally); err != nil {
		return err
	}
	return c.outcome(tally)
}

// outcome is the error that says how the runs went, if they did not go well.
func (c *simCmd) outcome(t *tally) error {
	if n := t.sum.Failed; n > 0 {
		return &exit{exitError, fmt.Errorf("%d of %s failed", n, plural(int64(t.sum.Seeds), "run"))}
	}
	if never := c.neverMet(t); len(never) > 0 && t.sum.Seeds >= enoughSeeds {
		return &exit{exitError, fmt.Errorf("the runs prove nothing about what they never met: %s", strings.Join(never, ", "))}
	}
	return nil
}

// enoughSeeds is how many runs should meet every fault and every check.
const enoughSeeds = 1000

// neverMet lists the faults and checks that runs from seeds should have met; scenarios choose theirs.
func (c *simCmd) neverMet(t *tally) []string {
	if len(c.Scenario) > 0 || c.Replay != nil {
		return nil
	}
	return t.sum.Vacuous(c.options().options())
}

// jobs lists what is to be played.
func (c *simCmd) jobs(stories []simStory) ([]simJob, error) {
	if len(stories) == 0 {
		j := simJob{options: c.options(), first: 1, count: cmp.Or(c.Seeds, 1000)}
		return []simJob{c.aim(j)}, nil
	}
	jobs := make([]simJob, len(stories))
	for i, s := range stories {
		j := simJob{options: c.options(), order: i, story: &stories[i], first: s.Seed, count: cmp.Or(c.Seeds, 1)}
		j.options.Scenario = s.Scenario
		jobs[i] = c.aim(j)
	}
	return jobs, nil
}

// aim puts the seeds of the command line into a job.
func (c *simCmd) aim(j simJob) simJob {
	switch {
	case c.Replay != nil:
		j.first, j.count = *c.Replay, 1
	case c.First != nil:
		j.first = *c.First
	}
	return j
}

func (c *simCmd) options() simOptions {
	o := simOptions{Peers: c.Peers, Steps: c.Steps, Core: sim.CoreMode(c.Core), Faults: c.Faults}
	if c.Keep != nil {
		o.Keep = *c.Keep
	}
	return o
}

func (c *simCmd) workers() int { return cmp.Or(c.Jobs, runtime.NumCPU()) }

// faultList is a list of classes of faults.
type faultList []sim.Fault

// UnmarshalText implements the parsing of a flag.
func (l *faultList) UnmarshalText(b []byte) error {
	*l = faultList{}
	known := []string{"all", "none"}
	for _, f := range sim.Faults() {
		known = append(known, string(f))
	}
	for word := range strings.FieldsFuncSeq(string(b), func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(known, word) {
			return errors.New(unknownKey("fault", word, known))
		}
	}
	list, err := sim.ParseFaults(string(b))
	*l = list
	return err
}

// stepList is a list of numbers of steps.
type stepList []int

// UnmarshalText implements the parsing of a flag.
func (l *stepList) UnmarshalText(b []byte) error {
	*l = stepList{}
	if string(b) == "none" {
		return nil
	}
	for word := range strings.SplitSeq(string(b), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 20)
		if err != nil {
			return fmt.Errorf("%q is no list of step numbers", clipText(string(b)))
		}
		*l = append(*l, int(n))
	}
	slices.Sort(*l)
	*l = slices.Compact(*l)
	return nil
}
