package main

import (
	"context"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extDenyCmd struct {
	extRef
	Session string `placeholder:"S" help:"Only in this session; a name is looked up in it."`
}

// Run refuses an extension.
func (c *extDenyCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtDeny, control.ExtDecideParams{Ref: c.Ref, Session: c.Session}, func(p *page, r control.ExtAffected) {
		p.line(bad, "%s is refused on this peer.", orID(clean(r.Name), clean(c.Ref)))
		p.affected(r)
	})
}

type extUntrustCmd struct {
	extRef
	Session string `placeholder:"S" help:"Only for this session; a name is looked up in it."`
}

// Run takes a decision back.
func (c *extUntrustCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtUntrust, control.ExtDecideParams{Ref: c.Ref, Session: c.Session}, func(p *page, r control.ExtAffected) {
		p.line(plain, "%s is not decided about any more, and does not run.", orID(clean(r.Name), clean(c.Ref)))
		p.affected(r)
	})
}

// affected says who loses it. Nothing of that is seen by other peers.
func (p *page) affected(r control.ExtAffected) {
	if len(r.Sessions) > 0 {
		p.line(plain, "  It stays on in %s, for the peers that trust it.", sessionNames(r.Sessions))
	}
}

// sessionNames lists sessions in a sentence.
func sessionNames(all []control.ExtSession) string {
	const most = 3
	var names []string
	for i, s := range all {
		if i == most {
			names = append(names, plural(int64(len(all)-most), "other"))
			break
		}
		names = append(names, clean(orID(s.Name, shortDoc(s.ID))))
	}
	if len(names) == 0 {
		return "no session"
	}
	return strings.Join(names, ", ")
}

// cardEnd closes a card with what a person types next.
func (p *page) cardEnd(c control.ExtCard, ref, session string) {
	p.line(plain, "")
	next := nextCommand(c, ref, session)
	switch c.State {
	case "pending", "needs_review":
		p.line(plain, "→ let it run: %s", next)
		if len(c.Asks) > 0 {
			p.line(dim, "  (leave out each --cap that you do not agree to; --no-caps gives none)")
		}
		p.line(plain, "→ refuse it:  %s", commandLine("ext", "deny", ref))
	case "trusted":
		p.line(dim, "→ take it back: %s", next)
	default:
		if next != "" {
			p.line(plain, "→ %s", next)
		}
	}
}

// nextCommand is what helps in the state of a card; empty if nothing does. For a decision it is made
// here, where is known what the person typed; the remedy of the peer counts for the rest.
func nextCommand(c control.ExtCard, ref, session string) string {
	in := []string{"--session", orID(session, "SESSION")}
	switch c.State {
	case "pending", "needs_review":
		return commandLine(trustWords(c, ref, in)...)
	case "trusted":
		return commandLine("ext", "untrust", ref)
	}
	if c.Remedy != "" {
		return clean(c.Remedy)
	}
	switch c.State {
	case "denied":
		return commandLine(trustWords(c, ref, in)...)
	case "unavailable":
		return commandLine(append([]string{"ext", "show", ref, "--fetch"}, in...)...)
	case "invalid":
		return commandLine("cmd", in[0], in[1], "/extensions remove "+c.Name)
	case "suspended", "failed":
		return commandLine("ext", "logs", in[0], in[1], c.Name)
	}
	return ""
}

// trustWords is the command that lets it run with all that it asks for, spelled.
func trustWords(c control.ExtCard, ref string, in []string) []string {
	words := append([]string{"ext", "trust", ref}, in...)
	for _, x := range c.Asks {
		words = append(words, capWords(x.Cap)...)
	}
	return words
}

// capWords are the flags that give one power. A folder needs to be bound, too.
func capWords(power string) []string {
	words := []string{"--cap", power}
	if mount, ok := strings.CutPrefix(power, "fs="); ok {
		id, _, _ := strings.Cut(mount, ":")
		words = append(words, "--mount", id+"=DIR")
	}
	return words
}
