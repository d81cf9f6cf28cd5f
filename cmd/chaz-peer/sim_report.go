package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// reportPage is the report as a template: one file, in well-formed XML, without a script and without
// anything from a network.
//
//go:embed sim_report.html
var reportPage string

// simView is one run to be drawn.
type simView struct {
	title  string
	story  *simStory // nil: a plan from a seed
	result *sim.Result
	note   string // how it came to be drawn
}

// viewsMost bounds a report.
const viewsMost = 30

// views lists what a report draws: failures first, then all stories, or one run as a sample.
func (c *simCmd) views(ctx context.Context, a *app, jobs []simJob, t *tally, closer []*sim.Result) ([]simView, error) {
	var out []simView
	for i, r := range closer {
		f := t.failed[i]
		v := simView{title: fmt.Sprintf("Seed %d", f.Seed), story: f.job.story, result: &f.Result}
		if r != nil && r.Failure != nil {
			v.result = r
		}
		if v.story != nil {
			v.title = v.story.name()
		} else if n := v.result.Steps; v.result != &f.Result {
			v.note = fmt.Sprintf("This is the shortest way to the failure that was found: %s of the %d of the plan.", plural(int64(n), "step"), c.Steps)
		}
		out = append(out, v)
	}
	for _, j := range jobs {
		failed := slices.ContainsFunc(t.failed, func(f played) bool { return f.job.order == j.order })
		if failed || len(out) >= viewsMost {
			continue
		}
		r, err := c.drawn(ctx, a, j, t)
		if err != nil {
			return nil, err
		}
		v := simView{title: fmt.Sprintf("Seed %d", r.Seed), story: j.story, result: r}
		if j.story != nil {
			v.title = j.story.name()
		} else if t.sum.Seeds > 1 {
			v.note = "Nothing failed. This is the first run, as a sample."
		}
		out = append(out, v)
	}
	return out, nil
}

// drawn is the first run of a job with its timeline.
func (c *simCmd) drawn(ctx context.Context, a *app, j simJob, t *tally) (*sim.Result, error) {
	if p, ok := t.drawn[j.order]; ok {
		return &p.Result, nil
	}
	o := j.options
	o.Timeline = true
	var found *sim.Result
	err := a.engine.Play(ctx, simRequest{Options: o, First: j.first, Count: 1}, func(r simReply) error {
		if r.Result != nil {
			found = r.Result
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("draw seed %d: %w", j.first, err)
	}
	return found, nil
}

// reportData is what the template is given.
type reportData struct {
	Title, Verdict, Class, Version string
	Summary                        string
	Views                          []reportView
	Faults                         []reportCount
	Checks                         []reportCount
}

type reportCount struct {
	Name, Words string
	Count       int
}

type reportView struct {
	ID, Title, Note, Class string
	About                  []string // paragraphs
	Failure                *reportFailure
	Held                   string
	Names, Lanes           template.HTML
	Expect, Idle           []string
	End                    []reportEnd
	Events                 []reportEvent
	Start                  string
	Repro                  string
}

type reportFailure struct{ Where, Promise, Detail, Hint string }

type reportEnd struct {
	Name, Clock, Offset, Active string
	Entries                     string
	Differs                     bool
}

type reportEvent struct {
	N                        int
	After, Peer, Clock, What string
	Class                    string
}

// reportHTML is the report as a file.
func reportHTML(views []simView, sum *sim.Summary, version string) ([]byte, error) {
	d := reportData{Title: "chaz-peer sim", Version: clean(version), Class: "good", Verdict: "Everything held."}
	d.Summary = fmt.Sprintf("%s, %s with an effect, %s.", plural(int64(sum.Seeds), "run"), plural(int64(sum.Steps), "step"), plural(int64(sum.Messages), "message"))
	if sum.Failed > 0 {
		d.Class, d.Verdict = "bad", fmt.Sprintf("%d of %s failed.", sum.Failed, plural(int64(sum.Seeds), "run"))
	}
	if len(views) == 1 {
		d.Title = clean(views[0].title) + " – chaz-peer sim"
	}
	for i, v := range views {
		d.Views = append(d.Views, drawView(i, v))
	}
	for _, f := range sim.Faults() {
		if n := sum.Faults[string(f)]; n > 0 {
			d.Faults = append(d.Faults, reportCount{Name: string(f), Count: n})
		}
	}
	for _, i := range append(sim.Invariants(), sim.Expected) {
		if n := sum.Invariants[string(i)]; n > 0 {
			d.Checks = append(d.Checks, reportCount{string(i), promise(i), n})
		}
	}
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return nil, fmt.Errorf("draw report: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("draw report: %w", err)
	}
	return b.Bytes(), nil
}

func drawView(i int, v simView) reportView {
	r := v.result
	out := reportView{ID: fmt.Sprintf("run-%d", i+1), Title: clean(v.title), Note: clean(v.note), Class: "good"}
	if v.story != nil {
		for part := range strings.SplitSeq(cleanText(v.story.About), "\n\n") {
			out.About = append(out.About, strings.Join(strings.Fields(part), " "))
		}
		for i := range v.story.Expect {
			out.Expect = append(out.Expect, expected(&v.story.Expect[i]))
		}
	}
	if f := r.Failure; f != nil {
		detail := cutText(strings.TrimSpace(cleanText(f.Detail)), 1500)
		out.Class, out.Failure = "bad", &reportFailure{whereOf(f, v.story), wanted(f, v.story), detail, hintOf(detail)}
		out.Repro = clean(f.Repro)
	} else {
		out.Held = fmt.Sprintf("%s with an effect, %s of true time, every check held.", plural(int64(r.Steps), "step"), since(r.TrueTime))
	}
	if r.Timeline == nil {
		return out
	}
	t := r.Timeline
	if v.story != nil {
		out.Idle = idleSteps(v.story.Scenario, r)
	}
	out.Start = clockText(t.Start)
	p := newPicture(r, v.story)
	out.Names, out.Lanes = p.draw()
	for _, l := range t.Peers {
		out.End = append(out.End, endOf(t, l))
	}
	for _, e := range p.events {
		x := reportEvent{N: e.n, After: since(e.at - t.Start), Peer: "all", What: e.long, Class: e.class}
		if e.lane >= 0 {
			x.Peer, x.Clock = clean(t.Peers[e.lane].Name), clockText(e.own)
		}
		out.Events = append(out.Events, x)
	}
	return out
}

// endOf is what a peer held at the end, and whether that differs from what the first one held.
func endOf(t *sim.Timeline, l sim.Lane) reportEnd {
	b, first := lastBelief(l, 0), lastBelief(t.Peers[0], 0)
	e := reportEnd{Name: clean(l.Name), Clock: clockText(lastClock(l)), Offset: offsetText(lastClock(l), t.End), Active: clean(believed(b)), Entries: "–"}
	if b != nil {
		e.Entries = fmt.Sprint(b.Entries)
		e.Differs = first != nil && !l.Rogue && (!slices.Equal(b.Active, first.Active) || b.Entries != first.Entries)
	}
	return e
}

// hintOf explains how the lab writes what somebody believes, if it does.
func hintOf(detail string) string {
	if !believes.MatchString(detail) {
		return ""
	}
	return "In brackets: what is on, with the first digits of the row that says so; with a minus, what is off."
}

var believes = regexp.MustCompile(`\[(|[^\]]*(@|-)[^\]]*)\]`)
