package routine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of trigger it is. Kinds that this version does not know are kept as they are
// and never fire.
type Kind string

// The kinds of triggers.
const (
	KindCron     Kind = "cron"
	KindInterval Kind = "interval"
	KindOneShot  Kind = "one_shot"
)

// Bounds of an interval.
const (
	minDelay = time.Second
	MaxDelay = 100 * 366 * 24 * time.Hour
)

// maxTrigger bounds the bytes of a trigger in its wire form.
const maxTrigger = 4096

// Trigger is when a routine fires. Its wire form is a JSON object tagged by `kind`:
//
//	{"kind":"cron","expr":"0 30 9 * * MON-FRI","tz":"Europe/Berlin"}   tz optional, UTC without it
//	{"kind":"interval","delay_secs":3600}                               an integer of at least 1
//	{"kind":"one_shot","fire_at":"2030-01-02T03:04:05Z"}                RFC 3339
//
// A value is immutable. What was read is written back with every key and value it had, also if it is
// of an unknown kind or broken; then [Trigger.Fault] says why it never fires.
type Trigger struct {
	kind  Kind
	expr  string
	zone  string
	delay time.Duration
	at    time.Time

	cron  *cron
	wire  string // as read; empty: made from the fields
	fault error
}

// Cron returns a trigger of five or six fields in an IANA zone (empty: UTC).
func Cron(expr, zone string) (Trigger, error) {
	c, err := parseCron(expr, zone)
	if err != nil {
		return Trigger{}, err
	}
	return Trigger{kind: KindCron, expr: expr, zone: zone, cron: c}, nil
}

// Every returns a trigger that fires a fixed delay after the last completion. The delay is a whole
// number of seconds.
func Every(delay time.Duration) (Trigger, error) {
	if delay < minDelay || delay > MaxDelay || delay%time.Second != 0 {
		return Trigger{}, fmt.Errorf("make interval trigger: the delay is %v, not whole seconds from %d to %d", delay, minDelay/time.Second, MaxDelay/time.Second)
	}
	return Trigger{kind: KindInterval, delay: delay}, nil
}

// Once returns a trigger that fires at one instant; in the past, as soon as it is seen.
func Once(at time.Time) (Trigger, error) {
	at = at.UTC()
	if y := at.Year(); y < 1 || y > maxYear {
		return Trigger{}, fmt.Errorf("make one-shot trigger: the year is %d, not from 1 to %d", y, maxYear)
	}
	return Trigger{kind: KindOneShot, at: at}, nil
}

// ParseTrigger reads the wire form as a user gives it: unknown kinds, unknown keys and anything
// that could never be right are refused.
func ParseTrigger(raw []byte) (Trigger, error) {
	t, err := readTrigger(raw, true)
	if err != nil {
		return Trigger{}, err
	}
	t.wire = ""
	return t, nil
}

type wireTrigger struct {
	Kind   Kind       `json:"kind"`
	Expr   *string    `json:"expr,omitempty"`
	Zone   string     `json:"tz,omitempty"`
	Delay  *int64     `json:"delay_secs,omitempty"`
	FireAt *time.Time `json:"fire_at,omitempty"`
}

func readTrigger(raw []byte, strict bool) (Trigger, error) {
	if len(raw) > maxTrigger {
		return Trigger{}, fmt.Errorf("parse trigger: longer than %d bytes", maxTrigger)
	}
	var tag struct {
		Kind Kind `json:"kind"`
	}
	if err := json.Unmarshal(raw, &tag); err != nil {
		return Trigger{}, fmt.Errorf("parse trigger: %w", err)
	}
	var w wireTrigger
	switch tag.Kind {
	case KindCron, KindInterval, KindOneShot:
		d := json.NewDecoder(bytes.NewReader(raw))
		if strict {
			d.DisallowUnknownFields()
		}
		if err := d.Decode(&w); err != nil {
			return Trigger{}, fmt.Errorf("parse %s trigger: %w", tag.Kind, err)
		}
	default:
		return Trigger{}, fmt.Errorf("parse trigger: this version does not know the kind %q", string(tag.Kind))
	}
	return w.trigger()
}

func (w wireTrigger) trigger() (Trigger, error) {
	switch {
	case w.Kind == KindCron && w.Expr != nil && w.Delay == nil && w.FireAt == nil:
		return Cron(*w.Expr, w.Zone)
	case w.Kind == KindInterval && w.Delay != nil && w.Expr == nil && w.FireAt == nil && w.Zone == "":
		if *w.Delay < 1 || *w.Delay > int64(MaxDelay/time.Second) {
			return Trigger{}, fmt.Errorf("parse interval trigger: delay_secs is %d, not from 1 to %d", *w.Delay, MaxDelay/time.Second)
		}
		return Every(time.Duration(*w.Delay) * time.Second)
	case w.Kind == KindOneShot && w.FireAt != nil && w.Expr == nil && w.Delay == nil && w.Zone == "":
		return Once(*w.FireAt)
	}
	return Trigger{}, fmt.Errorf("parse %s trigger: it needs %s, and no key of another kind", w.Kind, map[Kind]string{
		KindCron: `"expr" and optionally "tz"`, KindInterval: `"delay_secs"`, KindOneShot: `"fire_at"`,
	}[w.Kind])
}

// UnmarshalJSON reads the wire form as it lies in a row. It takes every JSON value: what can't fire
// has a [Trigger.Fault].
func (t *Trigger) UnmarshalJSON(raw []byte) error {
	read, err := readTrigger(raw, false)
	read.fault = err
	read.wire = string(raw)
	*t = read
	return nil
}

// MarshalJSON writes the wire form.
func (t Trigger) MarshalJSON() ([]byte, error) {
	if t.wire != "" {
		return []byte(t.wire), nil
	}
	w := wireTrigger{Kind: t.kind, Zone: t.zone}
	switch t.kind {
	case KindCron:
		w.Expr = &t.expr
	case KindInterval:
		secs := int64(t.delay / time.Second)
		w.Delay = &secs
	case KindOneShot:
		w.FireAt = &t.at
	default:
		return []byte("null"), nil
	}
	return json.Marshal(w)
}

// Kind is the kind, empty for a trigger that can't fire.
func (t Trigger) Kind() Kind { return t.kind }

// Fault says why the trigger never fires, nil if it does.
func (t Trigger) Fault() error {
	if t.kind == "" && t.fault == nil {
		return errors.New("there is no trigger")
	}
	return t.fault
}

// Equal reports whether two triggers fire at the same times for the same reasons.
func (t Trigger) Equal(o Trigger) bool {
	if t.kind == "" || o.kind == "" {
		return t.kind == o.kind && t.wire == o.wire
	}
	return t.kind == o.kind && t.expr == o.expr && t.zone == o.zone && t.delay == o.delay && t.at.Equal(o.at)
}

// String is the trigger for a list: `cron "0 9 * * *" Europe/Berlin`, `every 1h0m0s`, `once at …`.
func (t Trigger) String() string {
	switch t.kind {
	case KindCron:
		zone := t.zone
		if zone == "" {
			zone = "UTC"
		}
		return fmt.Sprintf("cron %q %s", t.expr, zone)
	case KindInterval:
		return "every " + t.delay.String()
	case KindOneShot:
		return "once at " + t.at.Format(time.RFC3339Nano)
	}
	return "never"
}
