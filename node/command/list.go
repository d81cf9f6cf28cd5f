package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// listed is one row of /extensions list.
type listed struct {
	name     string
	ref      extension.Ref
	hooks    []extension.HookKind
	session  bool // on in the session
	agentOff bool // the agent opted out
	state    State
	reason   string
	part     bool // only the session's or agent's instance is in trouble
}

func (r *Runner) list(ctx context.Context, c Call) Result {
	off, err := r.optedOut(ctx, c.Agent)
	if err != nil {
		return errorf("list extensions: %v", err)
	}
	var rows []listed
	err = r.viewSession(ctx, c.Session, func(_ crdt.SessionView, log *activation.Log) error {
		rows = r.rows(log, off)
		return nil
	})
	if err != nil {
		return errorf("list extensions: %v", err)
	}
	for i := range rows {
		r.trouble(&rows[i], c)
	}
	if len(rows) == 0 {
		return textf("No extensions are registered on this peer, and the session names none.")
	}
	who := clean(c.Agent.Name, 64)
	if c.Agent.ID.IsZero() {
		who = "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Extensions on this peer (✓ = live for agent '%s' this session; ✗ = disabled for this agent):", who)
	for _, row := range rows {
		b.WriteString("\n" + row.String())
	}
	return Result{Text, b.String()}
}

// rows lists what is compiled in, then the external extensions that the session's log names.
func (r *Runner) rows(log *activation.Log, off map[string]bool) []listed {
	var rows []listed
	for _, d := range r.cfg.Declarations {
		rows = append(rows, listed{name: d.Name, ref: d.Ref, hooks: d.Hooks, session: log.Active(d.Name), agentOff: off[d.Name], state: StateBuiltin})
	}
	own := len(rows)
	for name := range log.State() {
		if _, ours := r.declared(name); ours {
			continue
		}
		ref, ok := log.LastRef(name)
		if !ok || ref.Kind() == extension.Builtin {
			continue // only ever switched off, or compiled into other peers
		}
		row := listed{name: name, ref: ref, session: log.Active(name), agentOff: off[name]}
		row.state, row.reason = r.cfg.States.RefState(ref)
		rows = append(rows, row)
	}
	slices.SortFunc(rows[own:], func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return rows
}

func (l listed) String() string {
	live := l.state == StateBuiltin || l.state == StateTrusted || l.part
	marker, suffix := "✗", ""
	switch {
	case l.session && l.agentOff:
		suffix = "  (session: on, agent: off)"
	case l.session && live:
		marker = "✓"
	}
	if label := l.state.label(l.reason); label != "" {
		suffix += "  [" + label + "]"
	}
	return fmt.Sprintf("  %s %s [%s] — %s%s", marker, l.name, version(l.ref), kinds(l.hooks), suffix)
}

// kinds prints the declared hook kinds.
func kinds(hooks []extension.HookKind) string {
	var list []string
	for _, h := range hooks {
		if d := h.Display(); d != "" {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return "—"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// label is the state as the list shows it; empty where there is nothing to say.
func (s State) label(reason string) string {
	switch s {
	case StateBuiltin, StateTrusted:
		return ""
	case StatePending:
		return "pending trust"
	case StateNeedsReview:
		return "needs review"
	case StateInvalid, StateFailed:
		return string(s) + ": " + clean(reason, 120)
	case StateUnknown:
		return string(StateUnavailable)
	}
	return string(s)
}
