package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

const (
	usageList   = "`/schedule list [agent]`"
	usageAdd    = "`/schedule add <id> <cron> <agent> <task>` (cron: six fields with the second first, or five or six in quotes)"
	usageRemove = "`/schedule remove <id> [agent]` (or rm)"
)

// command is /schedule.
func (d *desk) command(ctx context.Context, c extension.Call, args string) (string, error) {
	verb, rest := strings.TrimSpace(strings.ToValidUTF8(args, "\uFFFD")), ""
	if i := strings.IndexFunc(verb, unicode.IsSpace); i >= 0 {
		verb, rest = verb[:i], verb[i:]
	}
	switch verb {
	case "list":
		return d.listCommand(ctx, c, rest)
	case "add":
		return d.addCommand(ctx, c, rest)
	case "remove", "rm":
		return d.removeCommand(ctx, c, rest)
	}
	return "", refuse("use /schedule: there are %s, %s, %s", usageList, usageAdd, usageRemove)
}

func (d *desk) addCommand(ctx context.Context, c extension.Call, rest string) (string, error) {
	id, rest, _, err := word(rest)
	if err != nil {
		return "", err
	}
	expr, rest, quoted, err := cronWords(rest)
	if err != nil {
		return "", err
	}
	ref, task, _, err := word(rest)
	if err != nil {
		return "", err
	}
	if task = strings.TrimSpace(task); task == "" {
		return "", refuse("add schedule: something is missing; write %s", usageAdd)
	}
	if err := errors.Join(checkID(id), checkTask(task)); err != nil {
		return "", err
	}
	now := d.now()
	trigger, err := cronTrigger(expr, "", now)
	if err != nil && !quoted {
		return "", refuse("%v; without quotes a cron has six fields, the second first: put one with five in quotes", err)
	}
	if err != nil {
		return "", err
	}
	to, err := targetOf(pinned, c.Session)
	if err != nil {
		return "", err
	}
	a, err := d.agent(ctx, c, ref)
	if err != nil {
		return "", err
	}
	w, err := d.create(ctx, a, id, change{trigger: trigger, task: &task, target: &to}, true)
	if err != nil {
		return "", noAgent(ref, err)
	}
	verb := "Added"
	if w.replaced {
		verb = "Replaced"
	}
	return w.confirm(c, verb, now, "`/schedule list` shows all, `/schedule rm` removes one."), nil
}

func (d *desk) removeCommand(ctx context.Context, c extension.Call, rest string) (string, error) {
	id, rest, _, err := word(rest)
	if err != nil {
		return "", err
	}
	ref, rest, _, err := word(rest)
	if err != nil {
		return "", err
	}
	if id == "" || rest != "" {
		return "", refuse("remove schedule: write %s", usageRemove)
	}
	return d.drop(ctx, c, fields{ID: id, Agent: ref})
}

func (d *desk) listCommand(ctx context.Context, c extension.Call, rest string) (string, error) {
	ref, rest, _, err := word(rest)
	if err != nil {
		return "", err
	}
	if rest != "" {
		return "", refuse("list schedules: write %s", usageList)
	}
	if ref != "" {
		a, err := d.agent(ctx, c, ref)
		if err != nil {
			return "", err
		}
		lines, err := d.lines(ctx, c, a, ref)
		return section(clean(a.Name, maxName), lines), err
	}
	roster, host, err := d.roster(ctx, c)
	if err != nil {
		return "", err
	}
	if len(roster) == 0 {
		return "No agent is attached to this session. `/agent add <name or id>` attaches one, `/schedule list <agent>` shows the schedules of any.", nil
	}
	var out []string
	for _, r := range roster {
		title := clean(r.Name, maxName)
		if r.ID == host {
			title += " (host)"
		}
		lines, err := d.listed(ctx, c, r)
		if errors.Is(err, extension.ErrNoAgent) {
			out = append(out, title+": its schedules can't be reached here")
			continue
		}
		if err != nil {
			return "", err
		}
		out = append(out, section(title, lines))
	}
	return strings.Join(out, "\n"), nil
}

func (d *desk) listed(ctx context.Context, c extension.Call, r crdt.AttachedAgent) ([]string, error) {
	a, err := d.agent(ctx, c, r.ID.String())
	if err != nil {
		return nil, err
	}
	return d.lines(ctx, c, a, r.Name)
}

func section(title string, lines []string) string {
	if len(lines) == 0 {
		return title + ": no schedules"
	}
	return title + ":\n  " + strings.Join(lines, "\n  ")
}

// roster lists the agents of the session; where none is attached, the one that answers there.
func (d *desk) roster(ctx context.Context, c extension.Call) (list []crdt.AttachedAgent, host crdt.DocID, err error) {
	if d.sessions != nil && !c.Session.IsZero() {
		doc, err := d.sessions.Open(ctx, c.Session.String())
		if err != nil {
			return nil, host, fmt.Errorf("list agents of the session: %w", err)
		}
		err = doc.View(ctx, func(v *crdt.View) error {
			s := crdt.SessionView{View: v}
			list, host = s.Agents(), s.Host()
			return nil
		})
		if err != nil {
			return nil, host, fmt.Errorf("list agents of the session: %w", err)
		}
	}
	if len(list) == 0 && !c.Agent.ID.IsZero() {
		list = []crdt.AttachedAgent{{ID: c.Agent.ID, Name: c.Agent.Name}}
	}
	return list, host, nil
}
