package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/sim"
)

// simEvent is one thing that happened, in words.
type simEvent struct {
	at, own     int64 // true time and what the peer's clock showed, Unix ms
	lane        int   // -1: the world as a whole
	n           int   // counts from 1, 0: is not numbered
	kind        string
	short, long string
	class       string
}

// eventsOf lists what happened in the order of true time. What is cut or healed at once is one event,
// and so is what happens over and over.
func eventsOf(t *sim.Timeline) []simEvent {
	var out []simEvent
	for i, l := range t.Peers {
		out = append(out, merged(l.Marks, i)...)
	}
	out = append(out, merged(t.Marks, -1)...)
	slices.SortStableFunc(out, func(a, b simEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b2i(a.class == classFail), b2i(b.class == classFail)))
	})
	for i := range out {
		out[i].n = i + 1
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func merged(marks []sim.Mark, lane int) []simEvent {
	words := wordings()
	var out []simEvent
	for i := 0; i < len(marks); {
		m := marks[i]
		w, known := words[m.Kind]
		if !known {
			w = wording{m.Kind, m.Kind + " %s", classWrite}
		}
		text, times := m.Text, 1
		for i++; i < len(marks) && marks[i].Kind == m.Kind && (w.class == classNet || m.Text == marks[i].Text) && marks[i].Step == m.Step; i++ {
			if marks[i].Text == m.Text {
				times++
			} else {
				text += ", " + marks[i].Text
			}
		}
		if lane < 0 && m.Kind == "heal" {
			w = wording{"all healed", "everything that was broken works again", classNet}
		}
		e := simEvent{at: m.At, own: m.Own, lane: lane, kind: m.Kind, short: clean(told(w.short, text)), long: clean(told(w.long, text)), class: w.class}
		if times > 1 {
			e.long += fmt.Sprintf(" (%d times)", times)
		}
		out = append(out, e)
	}
	return out
}

// since is a time after the start, for a person.
func since(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < 0:
		return "-" + since(-ms)
	case d < time.Minute:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0"), ".") + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	d := ms / 1000
	return fmt.Sprintf("%d h %02d min %02d s", d/3600, d/60%60, d%60)
}

// clockText is what a clock shows, to the second.
func clockText(ms int64) string {
	s := crdt.FormatStamp(ms)
	if len(s) == len("2006-01-02T15:04:05.000Z") {
		return s[:10] + " " + s[11:19]
	}
	return s
}

// offsetText says how wrong a clock is.
func offsetText(own, truth int64) string {
	d := own - truth
	if own < 0 && d > 0 || own > truth && d < 0 {
		d = math.MinInt64 // further than can be told
	}
	switch {
	case d == math.MinInt64 || d > 1e15 || d < -1e15:
		return "beyond all calendars"
	case d == 0:
		return "right"
	case d < 0:
		return longSpan(-d) + " behind"
	}
	return longSpan(d) + " ahead"
}

// longSpan is [span], with years.
func longSpan(ms int64) string {
	const year = 365 * 86_400_000
	if ms < 2*year {
		return span(ms)
	}
	return fmt.Sprintf("%.0f years", float64(ms)/year)
}

// lastBelief is what a peer held of a document at the end; nil if it did not have it.
func lastBelief(l sim.Lane, doc int) *sim.Belief {
	for i := len(l.Beliefs) - 1; i >= 0; i-- {
		if l.Beliefs[i].Doc == doc {
			return &l.Beliefs[i]
		}
	}
	return nil
}

// believed is a belief in words.
func believed(b *sim.Belief) string {
	switch {
	case b == nil:
		return "does not have the session"
	case len(b.Active) == 0:
		return "nothing active"
	}
	return strings.Join(b.Active, ", ")
}

// expected is an expectation in words.
func expected(e *sim.Expect) string {
	var parts []string
	who := "all members"
	if len(e.Peers) > 0 {
		who = strings.Join(e.Peers, ", ")
	}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(len(e.Active) > 0, "active: %s", strings.Join(e.Active, ", "))
	add(len(e.Inactive) > 0, "not active: %s", strings.Join(e.Inactive, ", "))
	add(e.Entries != nil, "%s", plural(int64(deref(e.Entries)), "entry"))
	add(e.Has != nil && deref(e.Has), "they have the session")
	add(e.Has != nil && !deref(e.Has), "they do not have the session")
	add(e.Agree != nil && deref(e.Agree), "they have the same")
	add(e.Agree != nil && !deref(e.Agree), "they do not have the same yet")
	add(e.StoredOn != nil, "stored on at least %s", plural(int64(deref(e.StoredOn)), "peer"))
	add(e.Scratch, "a fold from scratch says the same")
	return clean(who + ": " + strings.Join(parts, "; "))
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// idleSteps lists the steps of a scenario that had no effect: their peer was down, did not have the
// session, had no right, or there was nothing to do.
func idleSteps(s *sim.Scenario, r *sim.Result) []string {
	if r.Timeline == nil {
		return nil
	}
	type deed struct {
		step int
		do   sim.Action
	}
	done := map[deed]bool{}
	for _, l := range r.Timeline.Peers {
		for _, m := range l.Marks {
			done[deed{m.Step, sim.Action(m.Kind)}] = true
		}
	}
	var out []string
	for i, step := range s.Steps {
		if r.Failure != nil && i > r.Failure.Step {
			break
		}
		rogue := step.Do == sim.DoPost && done[deed{i, "rogue"}]
		if done[deed{i, step.Do}] || rogue || step.Do == sim.DoWait || step.Do == sim.DoExpect {
			continue
		}
		what := fmt.Sprintf("step %d (%s", i+1, step.Do)
		for _, more := range []string{step.Peer, step.Name, step.Text} {
			if more != "" {
				what += " " + clean(more)
			}
		}
		out = append(out, what+")")
	}
	return out
}
