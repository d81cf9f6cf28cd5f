package schedule

import (
	"encoding/json"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/routine"
)

// firing is the extension whose routine handler fires the schedules of agents.
const firing = "agent_schedule"

// fieldPrompt is the field that a schedule has and a routine has not.
const fieldPrompt = "prompt"

// The kinds of target.
const (
	pinned = "pinned"
	fresh  = "fresh"
)

// target is where the turn runs: always in one session, or in a new one each time.
type target struct {
	Kind    string `json:"kind"`
	Session string `json:"session_db_id,omitempty"`
}

// targetOf reads the word of a caller: fresh, and anything else is pinned to the session.
func targetOf(word string, session crdt.DocID) (target, error) {
	if word == fresh {
		return target{Kind: fresh}, nil
	}
	if session.IsZero() {
		return target{}, refuse("set target: there is no session here to pin to; use target fresh")
	}
	return target{Kind: pinned, Session: session.String()}, nil
}

// record is one schedule as it lies in the agent's document.
type record struct {
	routine.Routine
	prompt string
	target target
	zone   string // of a cron trigger
}

// read takes whatever lies there. What can't be read of the routine is its Fault, of the rest empty.
func read(id string, fields map[string]json.RawMessage) record {
	texts := make(map[string]string, len(fields))
	for k, raw := range fields {
		texts[k] = string(raw)
	}
	texts[routine.FieldTarget] = `{"extension":"` + firing + `"}`
	var r record
	r.Routine, _ = routine.Decode(id, texts)
	_ = json.Unmarshal(fields[fieldPrompt], &r.prompt)
	_ = json.Unmarshal(fields[routine.FieldTarget], &r.target)
	if r.Trigger.Kind() == routine.KindCron {
		var w struct {
			Zone string `json:"tz"`
		}
		_ = json.Unmarshal(fields[routine.FieldTrigger], &w)
		r.zone = w.Zone
	}
	return r
}

// next is when it fires next, or why it does not.
func (r record) next(now time.Time) (at time.Time, inert string) {
	if inert = r.Inert(now); inert != "" {
		return at, inert
	}
	at, _ = routine.Next(r.Trigger, routine.State{Created: r.Created, LastCompleted: r.LastCompleted, Failures: r.Failures}, now)
	return at, ""
}

// change is what a caller asks for; nil is not given.
type change struct {
	trigger  *routine.Trigger
	task     *string
	target   *target
	enabled  *bool
	maxFires *int64
	expires  *time.Time
}

// edits are the fields that a change of a record sets. Switching on forgets the failures, else the
// next one would switch it off again.
func (c change) edits() map[string]any {
	out := map[string]any{}
	if c.trigger != nil {
		out[routine.FieldTrigger] = *c.trigger
	}
	if c.task != nil {
		out[fieldPrompt] = *c.task
	}
	if c.target != nil {
		out[routine.FieldTarget] = *c.target
	}
	if c.maxFires != nil {
		out[routine.FieldMaxFires] = *c.maxFires
	}
	if c.expires != nil {
		out[routine.FieldExpires] = c.expires.Format(time.RFC3339Nano)
	}
	if c.enabled != nil {
		out[routine.FieldEnabled] = *c.enabled
		if *c.enabled {
			out[routine.FieldFailures] = 0
			out[routine.FieldLastError] = nil
		}
	}
	return out
}

// whole are the fields of a new record. It names every field, since some of an older record may be
// there still.
func (c change) whole(now time.Time) map[string]any {
	out := map[string]any{
		routine.FieldEnabled:     true,
		routine.FieldMaxFailures: routine.DefaultMaxFailures, routine.FieldFailures: 0, routine.FieldLastError: nil,
		routine.FieldCreated: now.Format(time.RFC3339Nano), routine.FieldLastCompleted: nil,
		routine.FieldFires: 0, routine.FieldMaxFires: nil, routine.FieldExpires: nil,
	}
	for k, v := range c.edits() {
		out[k] = v
	}
	return out
}

// preview is the record that the fields of whole will be.
func preview(id string, fields map[string]any) (record, error) {
	raw := make(map[string]json.RawMessage, len(fields))
	for k, v := range fields {
		if v == nil {
			continue
		}
		text, err := crdt.Canonical(v)
		if err != nil {
			return record{}, err
		}
		raw[k] = json.RawMessage(text)
	}
	return read(id, raw), nil
}
