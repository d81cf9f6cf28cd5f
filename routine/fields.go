package routine

import (
	"encoding/json"
	"fmt"
	"time"
)

// A row lies in its store as one JSON text per field, so that two peers that change different fields
// both keep theirs.
const (
	FieldName          = "name"
	FieldTrigger       = "trigger" // the record exists only while it does
	FieldTarget        = "target"  // {"extension":…,"payload":…}
	FieldEnabled       = "enabled"
	FieldMaxFailures   = "max_failures"
	FieldFailures      = "consecutive_failures"
	FieldLastError     = "last_error"
	FieldLastCompleted = "last_completed_at" // times are RFC 3339
	FieldCreated       = "created_at"
	FieldHome          = "home_pubkey"
	FieldExpires       = "expires_at"
	FieldMaxFires      = "max_fires"
	FieldFires         = "fire_count"
)

// Fields is the whole row as JSON text by field. Fields that hold their default are left out.
func (r Routine) Fields() map[string]string {
	out := map[string]string{}
	put := func(key string, v any, present bool) {
		if present {
			raw, err := json.Marshal(v)
			if err == nil { // a value that is no JSON was refused by Check
				out[key] = string(raw)
			}
		}
	}
	put(FieldName, r.Name, r.Name != "")
	put(FieldTrigger, r.Trigger, true)
	put(FieldTarget, r.Target, true)
	put(FieldEnabled, r.Enabled, !r.Enabled)
	put(FieldMaxFailures, r.MaxFailures, r.MaxFailures != DefaultMaxFailures)
	put(FieldFailures, r.Failures, r.Failures != 0)
	put(FieldLastError, r.LastError, r.LastError != "")
	put(FieldLastCompleted, r.LastCompleted, !r.LastCompleted.IsZero())
	put(FieldCreated, r.Created, !r.Created.IsZero())
	put(FieldHome, r.Home, r.Home != "")
	put(FieldExpires, r.Expires, !r.Expires.IsZero())
	put(FieldMaxFires, r.MaxFires, r.MaxFires != 0)
	put(FieldFires, r.Fires, r.Fires != 0)
	return out
}

// Fields is what the outcome writes, as JSON text by field. An empty text deletes the field. An
// outcome that deletes the row writes none.
func (o Outcome) Fields() map[string]string {
	if o.Delete {
		return nil
	}
	row := Routine{
		Failures: o.Failures, LastError: o.LastError, LastCompleted: o.LastCompleted, Fires: o.Fires,
		Enabled: !o.Disable, MaxFailures: DefaultMaxFailures,
	}
	out := row.Fields()
	delete(out, FieldTrigger)
	delete(out, FieldTarget)
	for _, key := range []string{FieldFailures, FieldLastError} {
		if _, ok := out[key]; !ok {
			out[key] = ""
		}
	}
	return out
}

// Decode reads a row from its fields; false if there is no row because the trigger is missing. It
// takes whatever lies there: a field that can't be read is the routine's Fault. Unknown fields are
// ignored.
func Decode(id string, fields map[string]string) (Routine, bool) {
	r := Routine{ID: id, Enabled: true, MaxFailures: DefaultMaxFailures}
	if fields[FieldTrigger] == "" {
		return r, false
	}
	get := func(key string, into any) {
		text := fields[key]
		if text == "" || text == "null" {
			return
		}
		if err := json.Unmarshal([]byte(text), into); err != nil && r.Fault == "" {
			r.Fault = fmt.Sprintf("field %s: %v", key, err)
		}
	}
	get(FieldTrigger, &r.Trigger)
	get(FieldTarget, &r.Target)
	get(FieldName, &r.Name)
	get(FieldEnabled, &r.Enabled)
	get(FieldMaxFailures, &r.MaxFailures)
	get(FieldFailures, &r.Failures)
	get(FieldLastError, &r.LastError)
	get(FieldLastCompleted, &r.LastCompleted)
	get(FieldCreated, &r.Created)
	get(FieldHome, &r.Home)
	get(FieldExpires, &r.Expires)
	get(FieldMaxFires, &r.MaxFires)
	get(FieldFires, &r.Fires)
	if r.Fault == "" && r.Target.Extension == "" {
		r.Fault = "field target: it names no extension"
	}
	if len(r.Target.Payload) == 0 {
		r.Target.Payload = json.RawMessage("null")
	}
	r.MaxFailures, r.Failures = max(r.MaxFailures, 0), max(r.Failures, 0)
	r.MaxFires, r.Fires = max(r.MaxFires, 0), max(r.Fires, 0)
	r.LastError = cut(r.LastError)
	for _, t := range []*time.Time{&r.LastCompleted, &r.Created, &r.Expires} {
		*t = t.UTC()
	}
	return r, true
}

// MarshalJSON writes the row as one object with its id and the keys of [Routine.Fields].
func (r Routine) MarshalJSON() ([]byte, error) {
	out := map[string]json.RawMessage{}
	for key, text := range r.Fields() {
		out[key] = json.RawMessage(text)
	}
	for key, v := range map[string]any{"id": r.ID, FieldEnabled: r.Enabled, FieldMaxFailures: r.MaxFailures, FieldFailures: r.Failures} {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("write routine %s: %w", r.ID, err)
		}
		out[key] = raw
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what [Routine.MarshalJSON] writes, with the defaults of [Decode] for what is
// missing.
func (r *Routine) UnmarshalJSON(raw []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("read routine: %w", err)
	}
	fields := make(map[string]string, len(object))
	for key, v := range object {
		fields[key] = string(v)
	}
	var id string
	if err := json.Unmarshal(object["id"], &id); err != nil {
		return fmt.Errorf("read routine: its id: %w", err)
	}
	*r, _ = Decode(id, fields)
	return nil
}
