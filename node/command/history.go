package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// history tells the story of a name: every event, who signed it, its stamp, and what decided.
func (r *Runner) history(ctx context.Context, c Call, name string, agent bool) Result {
	doc, where := c.Session, "this session"
	if agent {
		switch {
		case c.Agent.ID.IsZero():
			return errorf("no agent answers in this session")
		case !c.Agent.Hosted:
			return errorf("the agent %s is not hosted on this peer: its log can't be read here", clean(c.Agent.Name, 64))
		}
		doc, where = c.Agent.ID, "agent "+clean(c.Agent.Name, 64)
	}
	var entries []activation.Entry
	state := "off"
	err := r.cfg.Documents.View(ctx, doc, func(v *crdt.View) error {
		log, err := logOf(v)
		if err != nil {
			return err
		}
		entries = log.History(name)
		switch {
		case agent && log.Disabled(name):
			state = "opted out"
		case agent:
			state = "allowed"
		case log.Active(name):
			state = "on"
		}
		return nil
	})
	_, declared := r.declared(name)
	switch {
	case err != nil:
		return errorf("read history: %v", err)
	case len(entries) == 0 && !declared:
		return errorf("no event of '%s' on %s, and no extension of that name on this peer", clean(name, extension.MaxName), where)
	case len(entries) == 0:
		return textf("%s has no events on %s.", name, where)
	}
	return Result{Text, fmt.Sprintf("%s on %s: %s. %s, in the order of their stamps:\n%s", name, where, state, plural(len(entries), "event"), r.story(entries))}
}

func (r *Runner) story(entries []activation.Entry) string {
	now := r.cfg.Clock.Now().UnixMilli()
	lines := make([]string, len(entries))
	for i, e := range entries {
		if e.Rule == activation.RuleIgnored {
			lines[i] = fmt.Sprintf("  ✗ row %s by %s — ignored: %s", short(e.ID), r.signer(e.Author), clean(e.Cause.Detail, 120))
			continue
		}
		mark, what := "·", string(e.Kind)
		if e.Kind == activation.Activated {
			what += fmt.Sprintf(" %s %s", clean(string(e.Ref.Kind()), 32), version(e.Ref))
		}
		if e.Rule == activation.RuleCurrent {
			mark = "→"
		}
		lines[i] = fmt.Sprintf("  %s %s%s  %s, row %s by %s — %s",
			mark, crdt.FormatStamp(e.Timestamp), ahead(e.Timestamp, now), what, short(e.ID), r.signer(e.Author), verdict(e))
	}
	return strings.Join(lines, "\n")
}

// verdict says in words which rule decided about a row.
func verdict(e activation.Entry) string {
	switch e.Rule {
	case activation.RuleCurrent:
		return "this one counts"
	case activation.RulePrev:
		return fmt.Sprintf("replaced by row %s, which names it", short(e.By))
	case activation.RuleTimestamp:
		return fmt.Sprintf("lost to row %s: that has the later stamp", short(e.By))
	case activation.RuleKind:
		return fmt.Sprintf("lost to row %s: same stamp, and off beats on", short(e.By))
	case activation.RuleID:
		return fmt.Sprintf("lost to row %s: same stamp, and that has the greater id", short(e.By))
	}
	return string(e.Rule)
}

func short(id crdt.RowID) string { return id.String()[:8] }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
