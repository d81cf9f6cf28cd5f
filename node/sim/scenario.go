package sim

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Scenario is a story: peers with clocks and links, what happens to them in order, and what must hold.
// The peers share one session, which the first of them owns. [ParseScenario] reads the JSON form.
type Scenario struct {
	Name  string         `json:"name"`
	About string         `json:"about,omitempty"` // for people: what the story shows
	Seed  uint64         `json:"seed,omitempty"`  // decides keys and latencies
	Peers []ScenarioPeer `json:"peers"`
	// Latency and Jitter are those of links that say nothing else; default 20 ms and 0.
	Latency Duration       `json:"latency,omitempty"`
	Jitter  Duration       `json:"jitter,omitempty"`
	Links   []ScenarioLink `json:"links,omitempty"` // that are special; every two peers have one
	Steps   []Step         `json:"steps"`
	Expect  []Expect       `json:"expect,omitempty"` // when all is quiet after the last step
}

// ScenarioPeer is one peer. Role is owner (of the first), admin, write (the default), read, or none for
// one that comes in later.
type ScenarioPeer struct {
	Name  string        `json:"name"`
	Role  string        `json:"role,omitempty"`
	Clock ScenarioClock `json:"clock,omitzero"`
	Rogue bool          `json:"rogue,omitempty"` // its program ignores that it may only read
}

// ScenarioClock is what a clock shows at the start: the true time, or At, shifted by Offset.
type ScenarioClock struct {
	Offset   Duration `json:"offset,omitempty"`
	At       Stamp    `json:"at,omitempty"`
	DriftPPM int64    `json:"drift_ppm,omitempty"` // runs too fast by so many millionths
}

// ScenarioLink is the way between two peers.
type ScenarioLink struct {
	Between [2]string `json:"between"`
	Latency Duration  `json:"latency,omitempty"`
	Jitter  Duration  `json:"jitter,omitempty"`
	Down    bool      `json:"down,omitempty"` // until a heal
}

// Step is one thing that happens. It is played at At, true time since the start, or when the step
// before it is done if that is later. Which fields an action takes: docs of each in [Actions].
type Step struct {
	At      Duration   `json:"at,omitempty"`
	Do      Action     `json:"do"`
	Peer    string     `json:"peer,omitempty"`
	With    string     `json:"with,omitempty"`   // the other peer
	Groups  [][]string `json:"groups,omitempty"` // of a partition: links between groups
	Name    string     `json:"name,omitempty"`   // of an extension
	Version string     `json:"version,omitempty"`
	Text    string     `json:"text,omitempty"`
	Role    string     `json:"role,omitempty"`
	By      Duration   `json:"by,omitempty"` // of a jump
	To      Stamp      `json:"to,omitempty"` // of a clock
	PPM     int64      `json:"ppm,omitempty"`
	For     Duration   `json:"for,omitempty"` // after which it is undone by itself
	Expect  *Expect    `json:"expect,omitempty"`
}

// Expect is what must hold. Fields that are not given ask nothing.
type Expect struct {
	Peers    []string `json:"peers,omitempty"` // who is asked; default: all that run and are members
	Active   []string `json:"active,omitempty"`
	Inactive []string `json:"inactive,omitempty"`
	Entries  *int     `json:"entries,omitempty"`
	Has      *bool    `json:"has,omitempty"`       // whether they have the session
	Agree    *bool    `json:"agree,omitempty"`     // whether they have the same of it
	StoredOn *int     `json:"stored_on,omitempty"` // at least so many copies
	Scratch  bool     `json:"scratch,omitempty"`   // a fold from scratch says the same
}

// Duration is a time span, written as Go writes it: "1h30m", "-50ms".
type Duration time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Stamp is a point in time: RFC 3339, or whole ms since 1970 as text; "min" and "max" are the ends of
// what a clock can show here.
type Stamp string

func (s Stamp) millis() (int64, error) {
	switch s {
	case "min":
		return -1<<63 + extreme, nil
	case "max":
		return 1<<63 - 1 - extreme, nil
	}
	return crdt.ParseStamp(string(s))
}
