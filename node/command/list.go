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
	remedy   string
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
		r.judge(ctx, &rows[i], c)
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
	for _, line := range remedies(rows) {
		b.WriteString("\n" + line)
	}
	return Result{Text, b.String()}
}

// judge asks the host about an external extension. It may take a while, so no document is locked.
func (r *Runner) judge(ctx context.Context, row *listed, c Call) {
	if row.state == StateBuiltin {
		return
	}
	s := r.cfg.States.RefState(ctx, c.Session, row.name, row.ref)
	row.state, row.reason, row.hooks, row.remedy = s.State, s.Reason, s.Hooks, s.Remedy
}

// remedies are the lines below the table: what helps, once for each state.
func remedies(rows []listed) (lines []string) {
	seen := map[State]bool{}
	for _, row := range rows {
		if remedy := clean(row.remedy, 300); remedy != "" && !seen[row.state] {
			seen[row.state] = true
			lines = append(lines, "  "+row.state.words()+": "+remedy)
		}
	}
	return lines
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
		rows = append(rows, listed{name: name, ref: ref, session: log.Active(name), agentOff: off[name], state: StateUnknown})
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
	case StateInvalid, StateFailed:
		return s.words() + ": " + clean(reason, 120)
	}
	return s.words()
}

// words is the state for people.
func (s State) words() string {
	switch s {
	case StatePending:
		return "pending trust"
	case StateNeedsReview:
		return "needs review"
	case StateUnknown:
		return string(StateUnavailable)
	}
	return string(s)
}
