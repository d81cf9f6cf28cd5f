package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extPendingCmd struct {
	Session string `placeholder:"S" help:"Only of this session."`
}

// Run lists what waits for a decision. It contacts nobody.
func (c *extPendingCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtPendingList, control.ExtPendingParams{Session: c.Session}, func(p *page, all control.List[control.ExtPending]) {
		if len(all) == 0 {
			p.line(plain, "Nothing waits for a decision.")
			return
		}
		var rows []row
		for _, x := range all {
			r := row{cells: []string{
				x.Name, shortRef(x.RefText), sessionNames(x.Sessions), quarantine(orID(x.ByName, shortPeer(x.By))), a.when(x.At),
				yesNo(x.BytesHere), strings.ReplaceAll(x.State, "_", " "),
			}}
			if x.Reason != "" {
				r.below = []string{x.Reason}
			}
			rows = append(rows, r)
		}
		p.table("", []string{"NAME", "REFERENCE", "ON IN", "SWITCHED ON BY", "WHEN", "HERE", "STATE"}, rows)
		first := all[0]
		words := []string{"ext", "show", first.Name}
		if len(first.Sessions) > 0 {
			words = append(words, "--session", orID(first.Sessions[0].Name, shortDoc(first.Sessions[0].ID)))
		}
		p.line(dim, "Look before you decide: %s", commandLine(words...))
	})
}

// shortRef is a reference cut in its middle: both ends tell references apart.
func shortRef(ref string) string {
	const most, head, tail = 40, 25, 14
	r := []rune(clean(ref))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}

type extListCmd struct{}

// Run lists what was decided on or runs.
func (extListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtList, control.ExtListParams{}, func(p *page, all control.List[control.ExtHere]) {
		if len(all) == 0 {
			p.line(plain, "Nothing from outside was decided about here. What waits: chaz-peer ext pending")
			return
		}
		var rows []row
		for _, x := range all {
			where := sessionNames(x.Sessions)
			if x.Everywhere {
				where = "everywhere"
			}
			_, look := extState(x.State)
			r := row{style: look, cells: []string{
				x.Name, x.Version, shortRef(x.RefText), cut(x.Key, 10), strings.ReplaceAll(x.State, "_", " "), where, a.when(x.Since), strconv.Itoa(x.Instances),
			}}
			if x.Reason != "" {
				r.below = append(r.below, x.Reason)
			}
			for _, c := range x.Caps {
				r.below = append(r.below, c.Words)
			}
			rows = append(rows, r)
		}
		p.table("", []string{"NAME", "VERSION", "REFERENCE", "KEY", "STATE", "WHERE", "SINCE", "RUNNING"}, rows)
	})
}

type extAuditCmd struct {
	N int `short:"n" name:"last" default:"50" placeholder:"N" help:"Only the newest so many; 0: all that are kept (default 50)."`
}

// Run prints the journal.
func (c *extAuditCmd) Run(ctx context.Context, a *app) error {
	if c.N < 0 {
		return &exit{exitUsage, fmt.Errorf("--last %d is below zero", c.N)}
	}
	return ask(ctx, a, control.ExtAudit, control.ExtAuditParams{N: c.N}, func(p *page, all control.List[control.ExtEvent]) {
		if len(all) == 0 {
			p.line(plain, "The journal is empty.")
			return
		}
		var rows []row
		for _, x := range all {
			r := row{cells: []string{a.when(x.At), x.What, x.Name, shortRef(x.Ref), cut(x.Key, 10), orID(x.SessionName, shortDoc(x.Session))}}
			if x.Detail != "" {
				r.below = []string{x.Detail}
			}
			rows = append(rows, r)
		}
		p.table("", []string{"WHEN", "WHAT", "NAME", "REFERENCE", "KEY", "SESSION"}, rows)
	})
}

type extLogsCmd struct {
	Name    string `arg:"" help:"The extension."`
	Session string `required:"" placeholder:"S" help:"The session it runs in."`
	N       int    `short:"n" name:"last" default:"0" placeholder:"N" help:"Only the newest so many lines (default all that are kept)."`
}

// Run prints what an extension has written.
func (c *extLogsCmd) Run(ctx context.Context, a *app) error {
	if c.N < 0 {
		return &exit{exitUsage, fmt.Errorf("--last %d is below zero", c.N)}
	}
	q := control.ExtLogsParams{Session: c.Session, Name: c.Name, N: c.N}
	return ask(ctx, a, control.ExtLogs, q, func(p *page, all control.List[control.ExtLogLine]) {
		if len(all) == 0 {
			p.line(plain, "%s has written nothing.", clean(c.Name))
		}
		for _, l := range all {
			p.line(levelStyle(l.Level), "%-6s %s", clean(l.Level), clean(l.Text))
		}
	})
}

func levelStyle(level string) style {
	switch level {
	case "error":
		return bad
	case "warn":
		return warn
	case "debug", "trace":
		return dim
	}
	return plain
}

type extGCCmd struct {
	DryRun bool `help:"Drop nothing; say what would be."`
}

// Run drops what nothing needs.
func (c *extGCCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtGC, control.ExtGCParams{DryRun: c.DryRun}, func(p *page, r control.ExtCollected) {
		did := "Dropped"
		if r.DryRun {
			did = "Would drop"
		}
		p.line(plain, "%s %s, %s.", did, plural(int64(r.Blocks), "block"), bytesWords(r.Bytes))
		p.line(plain, "Kept %s, which a session names or somebody trusts here:", plural(int64(len(r.Kept)), "package"))
		for _, cid := range r.Kept {
			p.line(dim, "  %s", clean(cid))
		}
	})
}
