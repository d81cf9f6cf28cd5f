package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type routineCmds struct {
	List   routineListCmd   `cmd:"" help:"The routines of this peer, its sessions and agents."`
	Add    routineAddCmd    `cmd:"" help:"Add a routine of this peer or of a session: --cron, --every or --at says when."`
	Remove routineRemoveCmd `cmd:"" help:"Remove a routine."`
	Run    routineRunCmd    `cmd:"" help:"Fire a routine once, now."`
}

type routineListCmd struct{}

// Run lists the routines.
func (routineListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.RoutineList, control.RoutineListParams{}, func(p *page, all control.List[control.Routine]) {
		if len(all) == 0 {
			p.line(plain, "No routines.")
			return
		}
		var rows []row
		for _, r := range all {
			rows = append(rows, p.routine(r))
		}
		p.table("", []string{"ROUTINE", "FOR", "WHEN", "NEXT", "STATE"}, rows)
	})
}

func (p *page) routine(r control.Routine) row {
	next := "-"
	if r.Next != nil {
		next = moment(*r.Next)
	}
	out := row{cells: []string{r.ID, r.Extension, whenOf(r.Trigger), next, "good"}}
	switch {
	case r.Reason != "":
		out.cells[4], out.style = r.Reason, dim
	case !r.Enabled:
		out.cells[4], out.style = "off", dim
	case r.Failures > 0:
		out.cells[4], out.style = fmt.Sprintf("failed %d times", r.Failures), warn
	}
	if r.LastError != "" {
		out.below = append(out.below, "last error: "+r.LastError)
	}
	return out
}

// whenOf says a trigger in words; one of a kind that this version does not know as it is.
func whenOf(trigger json.RawMessage) string {
	var t struct {
		Kind  string `json:"kind"`
		Expr  string `json:"expr"`
		TZ    string `json:"tz"`
		Delay int64  `json:"delay_secs"`
		At    string `json:"fire_at"`
	}
	if json.Unmarshal(trigger, &t) != nil {
		return string(trigger)
	}
	switch t.Kind {
	case "cron":
		return strings.TrimSpace(t.Expr + " " + t.TZ)
	case "interval":
		return "every " + (time.Duration(t.Delay) * time.Second).String()
	case "one_shot":
		return "once at " + t.At
	}
	return string(trigger)
}

type routineAddCmd struct {
	Extension string   `arg:"" help:"The extension whose routine handler is called."`
	Session   string   `placeholder:"S" help:"Keep it in this session (else on this peer alone)."`
	ID        string   `name:"id" placeholder:"ID" help:"Its id (else one is made)."`
	Name      string   `placeholder:"N" help:"A name for people."`
	Cron      string   `xor:"when" placeholder:"EXPR" help:"Five or six cron fields, such as '0 9 * * MON-FRI'."`
	TZ        string   `name:"tz" placeholder:"ZONE" help:"The IANA zone of the cron fields (else UTC)."`
	Every     duration `xor:"when" placeholder:"D" help:"This long after each completion, in whole seconds."`
	At        string   `xor:"when" placeholder:"TIME" help:"Once, at an RFC 3339 time."`
	Payload   string   `default:"null" placeholder:"JSON" help:"What the handler gets."`
}

// Run adds a routine.
func (c *routineAddCmd) Run(ctx context.Context, a *app) error {
	if !json.Valid([]byte(c.Payload)) {
		return &exit{exitUsage, fmt.Errorf("--payload is not JSON: %.60s", c.Payload)}
	}
	if every := time.Duration(c.Every); every%time.Second != 0 {
		return &exit{exitUsage, fmt.Errorf("--every: %s is not whole seconds", every)}
	}
	if c.Cron == "" && c.Every == 0 && c.At == "" {
		return &exit{exitUsage, errors.New("when? give one of --cron, --every (1s or more) and --at")}
	}
	q := control.RoutineAddParams{
		ID: c.ID, Name: c.Name, Session: c.Session, Extension: c.Extension, Cron: c.Cron, TZ: c.TZ,
		EverySecs: int64(time.Duration(c.Every) / time.Second), At: c.At, Payload: json.RawMessage(c.Payload),
	}
	return ask(ctx, a, control.RoutineAdd, q, showRoutine)
}

func showRoutine(p *page, r control.Routine) { p.line(plain, "%s", clean(r.ID)) }

type routineArg struct {
	Routine string `arg:"" help:"The routine, as listed."`
}

type routineRemoveCmd struct{ routineArg }

// Run removes a routine.
func (c *routineRemoveCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.RoutineRemove, control.RoutineParams{Routine: c.Routine}, showRoutine)
}

type routineRunCmd struct{ routineArg }

// Run fires a routine and says how it ended.
func (c *routineRunCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.RoutineRun, control.RoutineParams{Routine: c.Routine}, func(p *page, r control.Routine) {
		p.line(good, "%s is done", clean(r.ID))
	})
}
