package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

const name = "schedule"

type schedule struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	return schedule{extension.Declaration{
		Manifest: extension.Manifest{
			Name:     name,
			Ref:      extension.BuiltinRef(name, extension.HostVersion),
			Hooks:    []extension.HookKind{extension.HookTool, extension.HookCommand},
			Requires: []extension.Request{{Kind: extension.CapAgentStateAdmin}},
		},
		Scopes:   []extension.Scope{extension.Global},
		Commands: []string{name},
	}}
}

// Declaration implements [extension.Extension].
func (s schedule) Declaration() extension.Declaration { return s.decl }

// Instantiate implements [extension.Extension].
func (schedule) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate schedule: there is nothing at scope %s", s.Scope())
	}
	peer := s.Handles()
	if peer.Admin == nil || peer.Clock == nil {
		return nil, fmt.Errorf("instantiate schedule: the host lends no %s", extension.CapAgentStateAdmin)
	}
	d := &desk{admin: peer.Admin, sessions: peer.Sessions, clock: peer.Clock}
	return &extension.Instance{
		Tools: []extension.Tool{d.addTool(), d.modifyTool(), d.removeTool(), d.listTool(), d.onceTool()},
		Commands: []extension.Command{{
			Name:  name,
			Usage: "/schedule list [agent] | add <id> <cron> <agent> <task> | rm <id> [agent]: what agents do by the clock",
			Run:   d.command,
		}},
		Routine: fire,
	}, nil
}

var errNoTurns = errors.New("firing the schedule of an agent needs turns, which this version does not run")

// fire is the way of every schedule, whichever extension the routine names. It fails, so that the
// engine counts it and everyone can see why nothing happens.
func fire(_ context.Context, f extension.Fire) error {
	return fmt.Errorf("fire %.200q of %.200s: %w", f.Routine, f.Scope, errNoTurns)
}

// desk is where both front doors, tools and command, bring what they are asked for.
type desk struct {
	admin    extension.AgentAdmin
	sessions extension.Index
	clock    crdt.Clock
}

func (d *desk) now() time.Time { return time.UnixMilli(crdt.NowMillis(d.clock)).UTC() }

// fault is a request that makes no sense; the text is the whole of it.
type fault struct{ text string }

func refuse(format string, a ...any) error { return &fault{fmt.Sprintf(format, a...)} }

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return extension.ErrArgument }
