package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// simResult is the answer in JSON. Its shape is a promise.
type simResult struct {
	Seeds      int            `json:"seeds"`
	Failed     int            `json:"failed"`
	Steps      int            `json:"steps"`
	Seconds    float64        `json:"seconds"`
	Faults     map[string]int `json:"faults"`
	Invariants map[string]int `json:"invariants"`
	Repro      []string       `json:"repro"` // a command for each failed run
}

// How many failures are looked at closely: in the answer for a person, and in a report.
const (
	tellFailures = 3
	drawFailures = 3
)

// verdict prints what the runs showed, and writes the report.
func (c *simCmd) verdict(ctx context.Context, a *app, jobs []simJob, t *tally) error {
	looks := 0
	switch {
	case c.Report != "":
		looks = drawFailures
	case !a.json:
		looks = 1
	}
	closer, err := c.lookCloser(ctx, a, t, looks)
	if err != nil {
		return err
	}
	s := t.sum
	out := simResult{s.Seeds, s.Failed, s.Steps, s.Seconds, s.Faults, s.Invariants, []string{}}
	for _, p := range t.failed {
		out.Repro = append(out.Repro, p.Failure.Repro)
	}
	if err := a.show(out, func(p *page) { c.tell(p, jobs, t, closer) }); err != nil || c.Report == "" {
		return err
	}
	views, err := c.views(ctx, a, jobs, t, closer)
	if err != nil {
		return err
	}
	html, err := reportHTML(views, t.sum, a.engine.Version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Report, html, 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if !a.json {
		fmt.Fprintf(a.out, "\nA picture of it is in %s.\n", c.Report)
	}
	return nil
}

// lookCloser plays the first failures again, with what a report is drawn from and, for runs from
// seeds, by the shortest list of steps that fails in the same way. Its answers are nil where that
// failed: then there is only what was seen before.
func (c *simCmd) lookCloser(ctx context.Context, a *app, t *tally, most int) ([]*sim.Result, error) {
	var out []*sim.Result
	for _, p := range t.failed[:min(most, len(t.failed))] {
		if p.gone {
			out = append(out, nil) // it would take another process down
			continue
		}
		bar := a.progress(fmt.Sprintf("failed: looking for a shorter way to seed %d, for at most %s;", p.Seed, shortenTime))
		bar.show(progressOf(len(out), 0, "found before"))
		var found *sim.Result
		o := p.job.options
		o.Timeline = true
		err := a.engine.Play(ctx, simRequest{Options: o, First: p.Seed, Count: 1, Shorten: p.job.story == nil}, func(r simReply) error {
			if r.Result != nil {
				found = r.Result
			}
			return nil
		})
		bar.end()
		var gone *aborted
		if err != nil && !errors.As(err, &gone) {
			return nil, err
		}
		if found != nil && found.Failure != nil {
			found.Failure.Repro = p.job.again(found.Failure.Repro, p.Seed)
		}
		out = append(out, found)
	}
	return out, nil
}

// tell is the verdict for a person.
func (c *simCmd) tell(p *page, jobs []simJob, t *tally, closer []*sim.Result) {
	switch {
	case t.sum.Seeds == 1:
		c.tellOne(p, jobs[0], t)
	case len(c.Scenario) > 0:
		c.tellStories(p, jobs, t)
	default:
		c.tellRuns(p, t)
	}
	for i, f := range t.failed[:min(len(t.failed), tellFailures)] {
		var short *sim.Result
		if i < len(closer) {
			short = closer[i]
		}
		tellFailure(p, f, short)
	}
	if more := len(t.failed) - tellFailures; more > 0 {
		p.line(plain, "\n%s more failed; --json lists a command for each.", plural(int64(more), "run"))
	}
}

func (c *simCmd) tellRuns(p *page, t *tally) {
	s := t.sum
	runs := fmt.Sprintf("%s, %d peers, %d steps each", plural(int64(s.Seeds), "run"), c.Peers, c.Steps)
	if s.Failed == 0 {
		p.line(good, "Held: %s.", runs)
	} else {
		p.line(bad, "Failed: %d of %s.", s.Failed, runs)
	}
	p.line(dim, "%d steps had an effect, %d messages arrived; %.1f s, %.0f runs/s.", s.Steps, s.Messages, s.Seconds, float64(s.Seeds)/max(s.Seconds, 0.001))
	p.line(plain, "\nFaults that struck")
	counts := make([]string, 0, len(s.Faults))
	for _, f := range slices.Sorted(maps.Keys(s.Faults)) {
		if n := s.Faults[f]; n > 0 || slices.Contains(c.Faults, sim.Fault(f)) {
			counts = append(counts, fmt.Sprintf("%-13s%8d", f, n))
		}
	}
	sideBySide(p, counts, 3)
	p.line(plain, "\nChecks")
	rows := []row{}
	for _, i := range sim.Invariants() {
		rows = append(rows, row{cells: []string{string(i), fmt.Sprint(s.Invariants[string(i)]), promise(i)}})
	}
	p.table("  ", []string{"CHECK", "TIMES", "WHAT HOLDS"}, rows)
	if never := c.neverMet(t); len(never) > 0 && s.Seeds < enoughSeeds {
		p.line(warn, "\nNever met in so few runs: %s. With %d runs that would be a failure.", strings.Join(never, ", "), enoughSeeds)
	}
}

// sideBySide prints short texts side by side, to be read downwards.
func sideBySide(p *page, cells []string, n int) {
	rows := (len(cells) + n - 1) / n
	for i := range rows {
		var line []string
		for j := i; j < len(cells); j += rows {
			line = append(line, cells[j])
		}
		p.line(plain, "  %s", strings.Join(line, "    "))
	}
}

func (c *simCmd) tellStories(p *page, jobs []simJob, t *tally) {
	for _, j := range jobs {
		failed := 0
		for _, f := range t.failed {
			failed += b2i(f.job.order == j.order)
		}
		name := j.story.name()
		switch {
		case failed == 0 && j.count == 1:
			p.line(good, "held    %s", name)
		case failed == 0:
			p.line(good, "held    %s, with %d seeds", name, j.count)
		case j.count == 1:
			p.line(bad, "FAILED  %s", name)
		default:
			p.line(bad, "FAILED  %s, with %d of %d seeds", name, failed, j.count)
		}
		if run, ok := t.drawn[j.order]; ok {
			tellIdle(p, j.story, &run.Result)
		}
	}
}

// name is what a story is called towards people.
func (s *simStory) name() string {
	if s.Name == "" {
		return clean(s.file)
	}
	return clean(s.Name)
}

// tellOne tells of a run that was played alone, whole.
func (c *simCmd) tellOne(p *page, j simJob, t *tally) {
	run, drawn := t.drawn[j.order]
	what := fmt.Sprintf("seed %d", j.first)
	if j.story != nil {
		what = j.story.name()
		p.line(bold, "%s", what)
		for l := range strings.Lines(j.story.About) {
			p.line(plain, "  %s", clean(l))
		}
		p.line(plain, "")
	}
	if drawn {
		tellEvents(p, run.Timeline)
		tellEnd(p, run.Timeline)
		tellIdle(p, j.story, &run.Result)
	}
	if t.sum.Failed > 0 {
		p.line(bad, "\nFailed: %s.", what)
		return
	}
	p.line(good, "\nHeld: %s; %s of true time.", what, since(run.TrueTime))
	if j.story != nil {
		for i := range j.story.Expect {
			p.line(plain, "  as expected, %s", expected(&j.story.Expect[i]))
		}
	}
}

// tellIdle warns of steps that did nothing: the story is not the one that was meant.
func tellIdle(p *page, s *simStory, r *sim.Result) {
	if s == nil {
		return
	}
	for _, step := range idleSteps(s.Scenario, r) {
		p.line(warn, "  no effect: %s", step)
	}
}
