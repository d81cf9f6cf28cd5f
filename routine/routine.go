package routine

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DefaultMaxFailures is after how many failures in a row a routine is switched off, unless it says
// otherwise.
const DefaultMaxFailures = 3

const maxID = 128

// Target is who does the work. The engine never looks inside the payload.
type Target struct {
	Extension string          `json:"extension"`
	Payload   json.RawMessage `json:"payload"`
}

// Routine is one row. Its JSON form has the keys of [Routine.Fields].
type Routine struct {
	ID          string
	Name        string
	Trigger     Trigger
	Target      Target
	Enabled     bool
	MaxFailures int // 0: never switched off

	Failures      int // in a row
	LastError     string
	LastCompleted time.Time // zero: never
	Created       time.Time // zero: unknown

	// Home is the peer that fires it, empty: whoever holds it.
	Home string

	Expires  time.Time // zero: never; from then on it is retired
	MaxFires int       // 0: without limit; after so many successes it is retired
	Fires    int       // successes so far

	// Fault says why the row can't be read, empty if it can. Such a row is listed and never fires.
	Fault string
}

// NewRoutine returns an enabled routine with the default limits. A nil payload is JSON null.
func NewRoutine(id string, trigger Trigger, extension string, payload json.RawMessage) Routine {
	if payload == nil {
		payload = json.RawMessage("null")
	}
	return Routine{ID: id, Trigger: trigger, Target: Target{extension, payload}, Enabled: true, MaxFailures: DefaultMaxFailures}
}

// NewID makes an id: `<prefix>-<epoch ms>`.
func NewID(prefix string, now time.Time) string { return fmt.Sprintf("%s-%d", prefix, now.UnixMilli()) }

// Check says why a routine may not be added at now: nil if it has an id and a target, and fires at
// least once.
func (r Routine) Check(now time.Time) error {
	switch {
	case checkID(r.ID) != nil:
		return checkID(r.ID)
	case r.Fault != "":
		return fmt.Errorf("check routine %s: %s", r.ID, r.Fault)
	case r.Target.Extension == "":
		return fmt.Errorf("check routine %s: it names no extension", r.ID)
	case len(r.Target.Payload) > 0 && !json.Valid(r.Target.Payload):
		return fmt.Errorf("check routine %s: the payload is not JSON", r.ID)
	case r.MaxFailures < 0 || r.MaxFires < 0:
		return fmt.Errorf("check routine %s: a limit is negative", r.ID)
	case r.Trigger.Fault() != nil:
		return fmt.Errorf("check routine %s: %w", r.ID, r.Trigger.Fault())
	}
	if why := r.retired(now); why != "" {
		return fmt.Errorf("check routine %s: it would never fire: %s", r.ID, why)
	}
	if _, ok := Next(r.Trigger, r.state(), now); !ok {
		return fmt.Errorf("check routine %s: %s never fires", r.ID, r.Trigger)
	}
	return nil
}

func checkID(id string) error {
	bad := func(c rune) bool { return c == '/' || unicode.IsControl(c) || c == utf8.RuneError }
	if id == "" || len(id) > maxID || strings.TrimSpace(id) != id || strings.ContainsFunc(id, bad) {
		return fmt.Errorf("check routine id %q: it needs 1 to %d bytes, no slash, no control character, no space at its ends", id, maxID)
	}
	return nil
}

// Inert says why the routine does not fire at now, empty if it does.
func (r Routine) Inert(now time.Time) string {
	if r.Fault != "" {
		return "unreadable: " + r.Fault
	}
	if err := r.Trigger.Fault(); err != nil {
		return "unreadable: " + err.Error()
	}
	if why := r.retired(now); why != "" {
		return "retired: " + why
	}
	if !r.Enabled {
		if r.MaxFailures > 0 && r.Failures >= r.MaxFailures {
			return fmt.Sprintf("disabled after %d failures: %s", r.Failures, r.LastError)
		}
		return "disabled"
	}
	if _, ok := Next(r.Trigger, r.state(), now); !ok {
		return "it never fires again"
	}
	return ""
}

// readable reports whether this version understands the row. One that it does not is never written.
func (r Routine) readable() bool { return r.Fault == "" && r.Trigger.Fault() == nil }

func (r Routine) retired(now time.Time) string {
	if !r.Expires.IsZero() && !now.Before(r.Expires) {
		return "it expired at " + r.Expires.UTC().Format(time.RFC3339)
	}
	if r.MaxFires > 0 && r.Fires >= r.MaxFires {
		return fmt.Sprintf("it fired %d of %d times", r.Fires, r.MaxFires)
	}
	return ""
}

func (r Routine) state() State {
	return State{Created: r.Created, LastCompleted: r.LastCompleted, Failures: r.Failures}
}

// Outcome is what a fire leaves in its row. It never switches a routine on.
type Outcome struct {
	Failures      int
	LastError     string    // empty clears it
	LastCompleted time.Time // zero: stays as it is
	Fires         int
	Disable       bool // enabled becomes false
	Delete        bool // the row goes, the rest is void
}

// maxError bounds [Routine.LastError] in bytes.
const maxError = 256

// Settle is the outcome of a fire of r that ended at the given time, in failure or (nil) well.
//
// A success clears the failures; it ends a one-shot, and a routine that reached its number of fires.
// A failure is counted and its text kept, and the one that reaches MaxFailures switches the routine
// off; a one-shot below it is tried again (see [Next]).
func Settle(r Routine, failure error, at time.Time) Outcome {
	o := Outcome{LastCompleted: at.UTC(), Fires: r.Fires}
	if failure == nil {
		o.Fires = saturate(r.Fires)
		o.Delete = r.Trigger.Kind() == KindOneShot
		o.Disable = !o.Delete && r.MaxFires > 0 && o.Fires >= r.MaxFires
	} else {
		o.Failures = saturate(r.Failures)
		o.LastError = cut(failure.Error())
		o.Disable = r.MaxFailures > 0 && o.Failures >= r.MaxFailures
	}
	if _, ok := Next(r.Trigger, r.apply(o).state(), at); !ok {
		o.Disable = !o.Delete
	}
	return o
}

func saturate(n int) int {
	if n == math.MaxInt {
		return n
	}
	return n + 1
}

// apply is the row after the outcome.
func (r Routine) apply(o Outcome) Routine {
	r.Failures, r.LastError, r.Fires = o.Failures, o.LastError, o.Fires
	if !o.LastCompleted.IsZero() {
		r.LastCompleted = o.LastCompleted
	}
	r.Enabled = r.Enabled && !o.Disable
	return r
}

// cut makes an error text fit: valid UTF-8, at most [maxError] bytes, whole characters.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxError {
		return text
	}
	end := maxError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
