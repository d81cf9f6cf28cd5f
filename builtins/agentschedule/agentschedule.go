package agentschedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// ErrNoTurns: a schedule gives an agent a turn, and this version runs none.
var errNoTurns = errors.New("firing the schedule of an agent needs turns, which this version does not run")

type schedules struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	const name = "agent_schedule"
	return schedules{extension.Declaration{
		Manifest: extension.Manifest{Name: name, Ref: extension.BuiltinRef(name, extension.HostVersion)},
		Scopes:   []extension.Scope{extension.Global},
	}}
}

// Declaration implements [extension.Extension].
func (s schedules) Declaration() extension.Declaration { return s.decl }

// Instantiate implements [extension.Extension].
func (schedules) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate agent_schedule: there is nothing at scope %s", s.Scope())
	}
	return &extension.Instance{Routine: fire}, nil
}

// fire fails, so that the engine counts it and everyone can see why nothing happens.
func fire(_ context.Context, f extension.Fire) error {
	return fmt.Errorf("fire %.200q of %.200s: %w", f.Routine, f.Scope, errNoTurns)
}
