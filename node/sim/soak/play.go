package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// stage is a scenario that is being played with daemons.
type stage struct {
	c       *cluster
	s       *sim.Scenario
	number  map[string]int
	session string
	now     time.Duration     // of the story: true time since its start
	undo    []undo            // what ends by itself, soonest first
	member  []bool            // who has been let in
	role    map[string]string // extension of the story → the built-in that plays it
	cutoff  map[[2]int]bool
	backup  map[int]string
	full    map[int]bool
}

type undo struct {
	at time.Duration
	do func(context.Context) error
}

// longest is how long a story may do nothing before the clocks are turned instead of waiting.
const longest = 4 * time.Second

// sessionName is what the daemons call the session of a story.
const sessionName = "story"

// ErrOnlySimulated is what [RunScenario] and [Playable] return, wrapped, for what no daemon would do.
var ErrOnlySimulated = errors.New("only the simulation can play this")

// RunScenario plays a scenario with daemons of the program exe, in an empty folder dir. Each has the
// clock that the scenario gives its peer; built-in extensions play those of the story. More than a few
// seconds in which nothing happens pass by restarting all daemons with their clocks put forward. log
// gets a line for each thing that happens. The error says which step or which expectation failed; it is
// [ErrOnlySimulated] (wrapped) for a story that daemons can't play.
func RunScenario(ctx context.Context, exe, dir string, s sim.Scenario, log io.Writer) (err error) {
	if err := Playable(&s); err != nil {
		return err
	}
	if log == nil {
		log = io.Discard
	}
	g, err := newStage(exe, dir, &s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.c.close()) }()
	if err := g.needs(); err != nil {
		return err
	}
	if err := g.begin(ctx); err != nil {
		return fmt.Errorf("before the story: %w", err)
	}
	g.now = 0
	for i := range s.Steps {
		st := &s.Steps[i]
		if err := g.pass(ctx, max(g.now, time.Duration(st.At))); err != nil {
			return fmt.Errorf("before step %d: %w", i+1, err)
		}
		if err := g.play(ctx, st); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, st.Do, err)
		}
	}
	if len(s.Expect) == 0 {
		return nil
	}
	if err := g.quiet(ctx, settleIn); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	for i := range s.Expect {
		if err := g.expect(ctx, &s.Expect[i]); err != nil {
			return fmt.Errorf("expect %d: %w", i+1, err)
		}
	}
	return nil
}

// Playable reports what of a scenario only the simulation can play.
func Playable(s *sim.Scenario) error {
	if err := s.Check(); err != nil {
		return err
	}
	var errs []error
	for _, p := range s.Peers {
		if p.Clock.DriftPPM != 0 {
			errs = append(errs, fmt.Errorf("peer %s: the clock of a daemon does not drift", p.Name))
		}
	}
	for i, st := range s.Steps {
		if why := unplayable(&st); why != "" {
			errs = append(errs, fmt.Errorf("step %d (%s): %s", i+1, st.Do, why))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrOnlySimulated, errors.Join(errs...))
	}
	return nil
}

func unplayable(st *sim.Step) string {
	switch st.Do {
	case sim.DoUpgrade:
		return "a daemon has one version of each extension"
	case sim.DoStart:
		return "the built-ins stand in for the extensions of the story"
	case sim.DoSet:
		return "daemons check settings against the extension that has them"
	case sim.DoOwn:
		return "a daemon has no subject under test"
	case sim.DoDrift:
		return "the clock of a daemon does not drift"
	case sim.DoEvict, sim.DoCompact:
		return "nobody tells a daemon when to do that"
	}
	return ""
}
