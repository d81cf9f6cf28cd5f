package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/routine"
)

// errTaken: the agent has a schedule of this id.
var errTaken = fmt.Errorf("there is one of this id: %w", extension.ErrArgument)

// tries bounds how often a write is done again because others write the same schedule.
const tries = 4

// agent finds an agent; "" is the one of the call.
func (d *desk) agent(ctx context.Context, c extension.Call, ref string) (extension.Agent, error) {
	a, err := d.admin.Resolve(ctx, c, ref)
	return a, noAgent(ref, err)
}

// noAgent puts one text in the place of every reason why there is no agent, so that a caller can't
// tell an agent out of its reach from one that does not exist.
func noAgent(ref string, err error) error {
	switch {
	case errors.Is(err, extension.ErrNoAgent) && ref == "":
		return fmt.Errorf("find the agent that speaks here: %w whose schedules can be reached here; name another one", extension.ErrNoAgent)
	case errors.Is(err, extension.ErrNoAgent):
		return fmt.Errorf("find agent %.60q: %w whose schedules can be reached here; `/agents` shows those attached", ref, extension.ErrNoAgent)
	case errors.Is(err, extension.ErrAmbiguous):
		return refuse("find agent %.60q: several have this name; give the id, which `/agents` shows", ref)
	}
	return err
}

// written is a schedule after a change of it.
type written struct {
	agent    extension.Agent
	record   record
	replaced bool
}

// create writes a whole schedule. One of the same id is errTaken, or with replace overwritten.
func (d *desk) create(ctx context.Context, a extension.Agent, id string, ch change, replace bool) (written, error) {
	now := d.now()
	fields := ch.whole(now)
	row, err := preview(id, fields)
	if err != nil {
		return written{}, fmt.Errorf("add schedule %s: %w", id, err)
	}
	if _, inert := row.next(now); inert != "" {
		return written{}, refuse("add schedule %s: it would never fire: %s", id, inert)
	}
	for range tries {
		var there bool
		if _, there, err = d.get(ctx, a, id); err != nil {
			return written{}, err
		}
		if there && !replace {
			return written{}, errTaken
		}
		if err = d.admin.PutSchedule(ctx, a, id, fields, !there); err == nil {
			return written{a, row, there}, nil
		}
		// Somebody made or removed it in between: look again. Anything else is an error for good.
		_, after, look := d.get(ctx, a, id)
		if look != nil || after == there {
			break
		}
	}
	return written{}, fmt.Errorf("add schedule %s: %w", id, err)
}

// modify changes fields of a schedule. make sees the record as it is.
func (d *desk) modify(ctx context.Context, a extension.Agent, id string, make func(record) (change, error)) (written, error) {
	before, there, err := d.get(ctx, a, id)
	if err != nil {
		return written{}, err
	}
	if !there {
		return written{}, unknown(a, id)
	}
	ch, err := make(before)
	if err != nil {
		return written{}, err
	}
	err = d.admin.PutSchedule(ctx, a, id, ch.edits(), false)
	if errors.Is(err, extension.ErrNotFound) {
		return written{}, unknown(a, id)
	}
	if err != nil {
		return written{}, fmt.Errorf("modify schedule %s: %w", id, err)
	}
	after, there, err := d.get(ctx, a, id)
	if err == nil && !there {
		err = unknown(a, id)
	}
	return written{agent: a, record: after}, err
}

func (d *desk) remove(ctx context.Context, a extension.Agent, id string) error {
	// Only ids that are there reach the host, whatever a caller wrote.
	_, there, err := d.get(ctx, a, id)
	if err != nil {
		return err
	}
	if there {
		there, err = d.admin.RemoveSchedule(ctx, a, id)
	}
	if err != nil {
		return fmt.Errorf("remove schedule %s: %w", id, err)
	}
	if !there {
		return unknown(a, id)
	}
	return nil
}

func (d *desk) get(ctx context.Context, a extension.Agent, id string) (record, bool, error) {
	all, err := d.admin.Schedules(ctx, a)
	if err != nil {
		return record{}, false, fmt.Errorf("read schedules: %w", err)
	}
	fields, there := all[id]
	return read(id, fields), there, nil
}

func unknown(a extension.Agent, id string) error {
	return fmt.Errorf("find schedule %.60q: %s has none of this id (%w); schedule_list and `/schedule list` show those there are",
		id, clean(a.Name, maxName), extension.ErrNotFound)
}

// wake makes a one-shot of the agent that speaks, pinned to its session.
func (d *desk) wake(ctx context.Context, c extension.Call, after time.Duration, task string) (written, error) {
	a, err := d.agent(ctx, c, "")
	if err != nil {
		return written{}, err
	}
	to, err := targetOf(pinned, c.Session)
	if err != nil {
		return written{}, err
	}
	now := d.now()
	at, err := routine.Once(now.Add(after))
	if err != nil {
		return written{}, refuse("%v", err)
	}
	// Two in one millisecond take the next free ids.
	for i := range 100 {
		id := routine.NewID("wakeup", now.Add(time.Duration(i)*time.Millisecond))
		w, err := d.create(ctx, a, id, change{trigger: &at, task: &task, target: &to}, false)
		if err != errTaken {
			return w, err
		}
	}
	return written{}, errors.New("add wake-up: too many were made in this moment; try again")
}
