package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// tool declares a tool. Every one here is low risk and never asks.
func tool[A any](name, description, parameters string, run func(ctx context.Context, c extension.Call, a A) (string, error)) extension.Tool {
	return extension.Tool{
		Name: name, Description: description, Parameters: json.RawMessage(parameters),
		Policy: extension.Policy{Risk: extension.LowRisk, Approval: extension.NeverAsk},
		Run:    extension.Typed(run),
	}
}

// fields are the parameters that schedule_add and schedule_modify share.
type fields struct {
	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Cron     *string         `json:"cron"`
	Every    json.RawMessage `json:"every_secs"`
	Task     *string         `json:"task"`
	Target   *string         `json:"target"`
	Enabled  *bool           `json:"enabled"`
	MaxFires json.RawMessage `json:"max_fires"`
	Expires  *string         `json:"expires_at"`
}

// change checks what was given. zone is that of the cron trigger it may replace.
func (f fields) change(c extension.Call, zone string, now time.Time) (ch change, err error) {
	switch {
	case f.Cron != nil && given(f.Every):
		return ch, refuse("set trigger: give cron or every_secs, not both")
	case f.Cron != nil:
		ch.trigger, err = cronTrigger(*f.Cron, zone, now)
	case given(f.Every):
		ch.trigger, err = everyTrigger(f.Every)
	}
	if err != nil {
		return ch, err
	}
	if ch.task, ch.enabled = f.Task, f.Enabled; f.Task != nil {
		if err := checkTask(*f.Task); err != nil {
			return ch, err
		}
	}
	if f.Target != nil {
		to, err := targetOf(*f.Target, c.Session)
		if err != nil {
			return ch, err
		}
		ch.target = &to
	}
	if given(f.MaxFires) {
		if ch.maxFires, err = maxFires(f.MaxFires); err != nil {
			return ch, err
		}
	}
	if f.Expires != nil {
		ch.expires, err = expiry(*f.Expires, now)
	}
	return ch, err
}

func (d *desk) addTool() extension.Tool {
	return tool("schedule_add", "Give an agent a task that it does by the clock, again and again. Give either cron or every_secs.", `{
		"type": "object",
		"properties": {
			"id": {"type": "string", "description": "A short name of your choice; one agent has each id once."},
			"cron": {"type": "string", "description": "When, in UTC: minute hour day-of-month month day-of-week, or six fields with the second first. For example: 0 9 * * MON-FRI"},
			"every_secs": {"type": "integer", "minimum": 30, "description": "Instead of cron: so many seconds after the last time it was done."},
			"task": {"type": "string", "description": "What the agent is told to do."},
			"agent": {"type": "string", "description": "Name or id of the agent; you, if not given."},
			"target": {"type": "string", "description": "pinned (default): in this session. fresh: in a new session each time."},
			"max_fires": {"type": "integer", "minimum": 1, "description": "Stop after it was done so many times."},
			"expires_at": {"type": "string", "description": "Stop at this time (RFC 3339)."}
		},
		"required": ["id", "task"],
		"additionalProperties": false
	}`, d.add)
}

func (d *desk) add(ctx context.Context, c extension.Call, f fields) (string, error) {
	if err := checkID(f.ID); err != nil {
		return "", err
	}
	if f.Cron == nil && !given(f.Every) {
		return "", refuse("add schedule %s: say when with cron or every_secs", f.ID)
	}
	if f.Task == nil {
		f.Task = new(string) // blank, which is refused
	}
	if f.Target == nil {
		f.Target = new(string) // pinned
	}
	f.Enabled = nil // a new one is on
	now := d.now()
	ch, err := f.change(c, "", now)
	if err != nil {
		return "", err
	}
	a, err := d.agent(ctx, c, f.Agent)
	if err != nil {
		return "", err
	}
	w, err := d.create(ctx, a, f.ID, ch, false)
	if err == errTaken {
		return "", refuse("add schedule %s: %s has one of this id; change it with schedule_modify or delete it with schedule_remove", f.ID, clean(a.Name, maxName))
	}
	if err != nil {
		return "", noAgent(f.Agent, err)
	}
	return w.confirm(c, "Added", now, "schedule_list shows it, schedule_modify changes it, schedule_remove deletes it."), nil
}

func (d *desk) modifyTool() extension.Tool {
	return tool("schedule_modify", "Change a schedule of an agent. Only what you give changes.", `{
		"type": "object",
		"properties": {
			"id": {"type": "string", "description": "Id of the schedule."},
			"agent": {"type": "string", "description": "Name or id of the agent that has it; you, if not given."},
			"cron": {"type": "string", "description": "When: minute hour day-of-month month day-of-week, or six fields with the second first. UTC, unless the schedule has a time zone."},
			"every_secs": {"type": "integer", "minimum": 30, "description": "Instead of cron: so many seconds after the last time it was done."},
			"task": {"type": "string", "description": "What the agent is told to do."},
			"target": {"type": "string", "description": "pinned: in this session. fresh: in a new session each time."},
			"enabled": {"type": "boolean", "description": "false switches it off, true on; on also forgets its failures."},
			"max_fires": {"type": "integer", "minimum": 1, "description": "Stop after it was done so many times, the past ones included."},
			"expires_at": {"type": "string", "description": "Stop at this time (RFC 3339)."}
		},
		"required": ["id"],
		"additionalProperties": false
	}`, d.change)
}

func (d *desk) change(ctx context.Context, c extension.Call, f fields) (string, error) {
	if f.Cron == nil && !given(f.Every) && f.Task == nil && f.Target == nil && f.Enabled == nil && !given(f.MaxFires) && f.Expires == nil {
		return "", refuse("modify schedule %.60q: nothing to change; give at least one of cron, every_secs, task, target, enabled, max_fires, expires_at (and agent, if it is another agent's)", f.ID)
	}
	a, err := d.agent(ctx, c, f.Agent)
	if err != nil {
		return "", err
	}
	now := d.now()
	w, err := d.modify(ctx, a, f.ID, func(r record) (change, error) { return f.change(c, r.zone, now) })
	if err != nil {
		return "", noAgent(f.Agent, err)
	}
	return w.confirm(c, "Changed", now, "schedule_list shows all."), nil
}

func (d *desk) removeTool() extension.Tool {
	return tool("schedule_remove", "Delete a schedule of an agent.", `{
		"type": "object",
		"properties": {
			"id": {"type": "string", "description": "Id of the schedule."},
			"agent": {"type": "string", "description": "Name or id of the agent that has it; you, if not given."}
		},
		"required": ["id"],
		"additionalProperties": false
	}`, d.drop)
}

func (d *desk) drop(ctx context.Context, c extension.Call, f fields) (string, error) {
	a, err := d.agent(ctx, c, f.Agent)
	if err != nil {
		return "", err
	}
	if err := d.remove(ctx, a, f.ID); err != nil {
		return "", noAgent(f.Agent, err)
	}
	return fmt.Sprintf("Removed schedule %s of %s.", shownID(f.ID), clean(a.Name, maxName)), nil
}

func (d *desk) listTool() extension.Tool {
	return tool("schedule_list", "List the schedules of an agent: when, what, how often done, failures.", `{
		"type": "object",
		"properties": {
			"agent": {"type": "string", "description": "Name or id of the agent; you, if not given."}
		},
		"additionalProperties": false
	}`, d.list)
}

func (d *desk) list(ctx context.Context, c extension.Call, f fields) (string, error) {
	a, err := d.agent(ctx, c, f.Agent)
	if err != nil {
		return "", err
	}
	lines, err := d.lines(ctx, c, a, f.Agent)
	if err != nil {
		return "", err
	}
	if len(lines) == 0 {
		return clean(a.Name, maxName) + " has no schedules. schedule_add makes one.", nil
	}
	return "Schedules of " + clean(a.Name, maxName) + ":\n- " + strings.Join(lines, "\n- "), nil
}

func (d *desk) onceTool() extension.Tool {
	return tool("schedule_once", "Wake yourself up once, in this session, to do a task later.", `{
		"type": "object",
		"properties": {
			"after_seconds": {"type": "integer", "minimum": 30, "maximum": 2592000, "description": "In how many seconds; 30 days at most."},
			"task": {"type": "string", "description": "What you are told to do then."}
		},
		"required": ["after_seconds", "task"],
		"additionalProperties": false
	}`, d.once)
}

func (d *desk) once(ctx context.Context, c extension.Call, a struct {
	After json.RawMessage `json:"after_seconds"`
	Task  string          `json:"task"`
},
) (string, error) {
	secs, ok := whole(a.After)
	if !ok || secs < minAfter || secs > maxAfter {
		return "", refuse("check after_seconds: %.40q is not a whole number from %d to %d", a.After, minAfter, maxAfter)
	}
	if err := checkTask(a.Task); err != nil {
		return "", err
	}
	w, err := d.wake(ctx, c, time.Duration(secs)*time.Second, a.Task)
	if err != nil {
		return "", noAgent("", err)
	}
	at, _ := w.record.next(w.record.Created)
	return fmt.Sprintf("You are woken up once at %s, in %d seconds, in this session. The id is %s; schedule_remove calls it off.", stamp(at), secs, w.record.ID), nil
}
