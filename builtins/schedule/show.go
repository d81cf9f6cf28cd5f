package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Bounds of what is shown, in characters, and of how many schedules.
const (
	maxName   = 64
	maxShown  = 1000
	maxReason = 300
	maxRows   = 200
)

// confirm tells what was written, in lines.
func (w written) confirm(c extension.Call, verb string, now time.Time, what string) string {
	r := w.record
	var b strings.Builder
	fmt.Fprintf(&b, "%s schedule %s of %s.", verb, shownID(r.ID), clean(w.agent.Name, maxName))
	fmt.Fprintf(&b, "\ntrigger: %s", r.trigger())
	at, inert := r.next(now)
	if inert != "" {
		fmt.Fprintf(&b, "\nIt does not fire now: %s", clean(inert, maxReason))
	} else {
		fmt.Fprintf(&b, "\nnext fire: %s, in %s", stamp(at), at.Sub(now).Round(time.Second))
	}
	fmt.Fprintf(&b, "\ntarget: %s\nlimits: %s\ntask: %s\n%s", r.place(c.Session), r.limits(), clean(r.prompt, maxShown), what)
	return b.String()
}

func (r record) trigger() string {
	if r.Trigger.Fault() != nil {
		return "unreadable trigger"
	}
	return r.Trigger.String()
}

func (r record) place(here crdt.DocID) string {
	switch {
	case r.target.Kind == fresh:
		return "a fresh session each time"
	case r.target.Session == "":
		return "unreadable target"
	case r.target.Session == here.String():
		return "pinned to this session"
	}
	return "pinned to session " + clean(r.target.Session, maxName)
}

func (r record) limits() string {
	var out []string
	if r.MaxFires > 0 {
		out = append(out, fmt.Sprintf("at most %d fires", r.MaxFires))
	}
	if !r.Expires.IsZero() {
		out = append(out, "until "+stamp(r.Expires))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// line is one schedule in a list.
func (r record) line(here crdt.DocID, now time.Time) string {
	out := []string{r.trigger()}
	at, inert := r.next(now)
	if !r.Enabled && !strings.HasPrefix(inert, "disabled") {
		out = append(out, "disabled")
	}
	if inert != "" {
		out = append(out, clean(inert, maxReason))
	} else {
		out = append(out, "next "+stamp(at))
	}
	if r.MaxFires > 0 || !r.Expires.IsZero() {
		out = append(out, r.limits())
	}
	out = append(out, "fired "+times(r.Fires))
	if r.Failures > 0 {
		out = append(out, fmt.Sprintf("failed %s in a row: %s", times(r.Failures), clean(r.LastError, maxReason)))
	}
	out = append(out, r.place(here), "task: "+clean(r.prompt, maxShown))
	return shownID(r.ID) + ": " + strings.Join(out, "; ")
}

// lines lists the schedules of an agent by id, each on its line.
func (d *desk) lines(ctx context.Context, c extension.Call, a extension.Agent, ref string) ([]string, error) {
	all, err := d.admin.Schedules(ctx, a)
	if err != nil {
		return nil, noAgent(ref, err)
	}
	return rows(all, c.Session, d.now()), nil
}

func rows(all map[string]map[string]json.RawMessage, here crdt.DocID, now time.Time) []string {
	ids := slices.Sorted(maps.Keys(all))
	out := make([]string, 0, min(len(ids), maxRows+1))
	for i, id := range ids {
		if i == maxRows {
			out = append(out, fmt.Sprintf("… and %d more", len(ids)-maxRows))
			break
		}
		out = append(out, read(id, all[id]).line(here, now))
	}
	return out
}

// stamp is a time to the second; finer only where there is something finer.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// shownID is an id as it can be typed again.
func shownID(id string) string {
	switch {
	case checkID(id) != nil: // somebody else's, not to be typed
		return strconv.Quote(clean(id, maxID))
	case strings.ContainsFunc(id, unicode.IsSpace):
		return `"` + id + `"`
	}
	return id
}

// clean makes a text of anybody one line of at most so many characters, without control and
// formatting characters.
func clean(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most] // cut before the work; more can't be shown
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
