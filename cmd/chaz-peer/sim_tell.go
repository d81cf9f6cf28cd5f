package main

import (
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

func progressOf(done, total int, unit string) control.Progress {
	return control.Progress{Done: int64(done), Total: int64(total), Unit: unit}
}

// tellEvents prints what happened, as a table.
func tellEvents(p *page, t *sim.Timeline) {
	var rows []row
	for _, e := range eventsOf(t) {
		who, clock := "", ""
		if e.lane >= 0 {
			who, clock = t.Peers[e.lane].Name, clockText(e.own)
		}
		r := row{cells: []string{since(e.at - t.Start), who, clock, cutText(e.long, 100)}}
		if e.class == classFail {
			r.style = bad
		}
		rows = append(rows, r)
	}
	p.table("  ", []string{"AFTER", "PEER", "ITS CLOCK", "WHAT HAPPENED"}, rows)
}

// tellEnd prints what each peer held when it was over.
func tellEnd(p *page, t *sim.Timeline) {
	var rows []row
	for _, l := range t.Peers {
		b := lastBelief(l, 0)
		entries := "-"
		if b != nil {
			entries = fmt.Sprint(b.Entries)
		}
		rows = append(rows, row{cells: []string{l.Name, offsetText(lastClock(l), t.End), entries, believed(b)}})
	}
	p.line(plain, "\nAt the end")
	p.table("  ", []string{"PEER", "ITS CLOCK IS", "ENTRIES", "BELIEVES ACTIVE"}, rows)
}

func lastClock(l sim.Lane) int64 {
	if len(l.Clock) == 0 {
		return 0
	}
	return l.Clock[len(l.Clock)-1].Own
}

// failureLines is how much of a failure's detail is shown: a panic has a long stack.
const failureLines = 12

// tellFailure tells of one failure and how to see it again. short is a shorter way to it, if one was
// looked for.
func tellFailure(p *page, f played, short *sim.Result) {
	x := f.Failure
	what := fmt.Sprintf("seed %d", f.Seed)
	if f.job.story != nil {
		what = f.job.story.name() + ", " + what
	}
	p.line(bad, "\n%s: %s", what, whereOf(x, f.job.story))
	p.line(plain, "  should hold:  %s", wanted(x, f.job.story))
	lines := strings.Split(strings.TrimRight(cleanText(x.Detail), "\n"), "\n")
	for i, l := range lines[:min(len(lines), failureLines)] {
		label := "              "
		if i == 0 {
			label = "  but:         "
		}
		p.line(plain, "%s %s", label, cutText(l, 300))
	}
	p.line(bold, "  again:        %s", x.Repro)
	if short == nil || short.Failure == nil || f.job.story != nil || short.Failure.Repro == x.Repro {
		return
	}
	p.line(bold, "  shorter:      %s", short.Failure.Repro)
	if short.Timeline != nil {
		p.line(plain, "\nThe shorter way, %s:", plural(int64(short.Steps), "step"))
		tellEvents(p, short.Timeline)
		tellEnd(p, short.Timeline)
	}
}

// cutText shortens a text at a whole character.
func cutText(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
