package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// Options says what a soak does. Exe and Dir are required.
type Options struct {
	Exe   string        // the program to run as daemons
	Dir   string        // an empty folder for homes and logs; short, because sockets lie in it
	Time  time.Duration // how long to go on; the round that is under way then is the last
	Peers int           // default 4, at most 26
	Seed  uint64        // of faults and writes
	Log   io.Writer     // what happens, a line each; nil: nowhere
}

func (o *Options) fill() error {
	if o.Exe == "" || o.Dir == "" {
		return errors.New("start soak: no program or no folder given")
	}
	if o.Peers == 0 {
		o.Peers = 4
	}
	if o.Peers < 2 || o.Peers > 26 {
		return fmt.Errorf("start soak: %d peers, want 2 to 26", o.Peers)
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("start soak: %w", err)
	}
	return nil
}

// Report is what a soak saw. A fault is counted when its effect was: a cut link that held something
// back, a disk that refused a write, a process that was killed with writes under way.
type Report struct {
	OK       bool              `json:"ok"`
	Seed     uint64            `json:"seed"`
	Peers    int               `json:"peers"`
	Rounds   int               `json:"rounds"`
	Seconds  float64           `json:"seconds"`
	Faults   map[Fault]int     `json:"faults"`
	Skipped  map[string]string `json:"skipped,omitempty"` // what this machine does not allow → why
	Writes   Writes            `json:"writes"`
	Carried  Carried           `json:"carried"` // by the relay
	Sessions int               `json:"sessions"`
	Entries  int               `json:"entries"` // compared, over all sessions
	Settle   Times             `json:"settle"`  // after all was put right, until all agreed
	Failure  string            `json:"failure,omitempty"`
}

// Times sums up how long something took.
type Times struct {
	MedianMS int64 `json:"median_ms"`
	MostMS   int64 `json:"most_ms"`
}

func summed(all []time.Duration) Times {
	if len(all) == 0 {
		return Times{}
	}
	sorted := slices.Sorted(slices.Values(all))
	return Times{sorted[len(sorted)/2].Milliseconds(), sorted[len(sorted)-1].Milliseconds()}
}

// Line is the report as one line of JSON.
func (r *Report) Line() string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Vacuous lists the faults that were possible on this machine and had no effect in the whole run.
func (r *Report) Vacuous() []Fault {
	var out []Fault
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		if r.Faults[f] == 0 {
			out = append(out, f)
		}
	}
	return out
}
