package main

import (
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// card draws what a person decides on: what the code can do, what it asks for, who made it, what it is
// exactly, and what has changed. Every text in it may come from a stranger.
func (p *page) card(c control.ExtCard) {
	p.line(bold, "%s", nameVersion(c.Name, c.Version))
	state, look := extState(c.State)
	p.line(look, "  %s", state)
	if c.Reason != "" {
		p.wrapped(look, "  ", c.Reason)
	}
	if !c.BytesHere {
		p.head("What it is")
		p.fields([]field{{"reference", c.RefText}, {"package", c.CID}, {"publisher", c.Publisher}})
		p.line(plain, "  Nothing more is known: its bytes are not on this peer.")
		return
	}
	p.doings(c)
	p.powers(c)
	p.maker(c)
	p.identity(c)
	p.diff(c)
}

// doings is what the code adds to a session as soon as it runs.
func (p *page) doings(c control.ExtCard) {
	p.head("What it does in a session that has it on")
	said := false
	say := func(s style, list []string, format func(string) string) {
		for _, x := range list {
			p.bullet(s, format(x))
			said = true
		}
	}
	say(warn, c.Hooks, func(x string) string { return x })
	say(plain, c.Provides, func(x string) string { return "Provides " + x + " to other extensions." })
	say(plain, c.Commands, func(x string) string { return "Answers the command /" + strings.TrimPrefix(x, "/") + "." })
	switch {
	case len(c.Tools) > 0:
		p.bullet(plain, "Brings "+plural(int64(len(c.Tools)), "tool")+" that the model may call. Their texts are the author's, and the model reads them:")
		for _, t := range c.Tools {
			p.wrapped(plain, "      ", t.Name)
			p.wrapped(dim, "        ", t.Description)
		}
	case !c.ToolsKnown:
		p.bullet(warn, "Names its tools only when it runs: they are asked of it when you trust it, and other ones later need a new decision.")
	case !said:
		p.bullet(plain, "Nothing by itself.")
	}
}

// powers is what it wants from outside the sandbox, and what it has.
func (p *page) powers(c control.ExtCard) {
	p.head("What it asks for")
	if len(c.Asks) == 0 {
		p.wrapped(good, "  ", "Nothing. It can't reach the network, files or secrets.")
	}
	for _, x := range c.Asks {
		p.bullet(warn, x.Words)
		p.line(dim, "        %s", shellLine(capWords(x.Cap)))
	}
	if len(c.Asks) > 0 {
		p.wrapped(dim, "  ", "It gets only what you name. Anything else outside its sandbox stays closed: network, files, secrets, this machine.")
	}
	if len(c.Grants) > 0 {
		p.head("What it has been given")
		for _, x := range c.Grants {
			p.bullet(plain, x.Words)
		}
	}
	if len(c.Limits) > 0 {
		p.head("How far it can go")
		for _, x := range c.Limits {
			p.bullet(plain, x)
		}
	}
}

// maker says who answers for the code, as far as that is known.
func (p *page) maker(c control.ExtCard) {
	p.head("Who made it")
	switch {
	case c.Signed:
		p.wrapped(good, "  ", "Signed, and the signature holds: whoever has this key made exactly this.")
	case c.Publisher != "":
		p.wrapped(warn, "  ", "Not signed. It names a publisher, but anybody can write that:")
	default:
		p.wrapped(warn, "  ", "Not signed: nothing says who made it.")
	}
	p.fields([]field{{"publisher", c.Publisher}})
	if c.License+c.Homepage+c.Source != "" {
		p.line(dim, "  Its own words, which nobody has checked:")
		p.fields([]field{{"licence", c.License}, {"homepage", c.Homepage}, {"source", c.Source}})
	}
}

// identity is what a person compares with what another one has read to him.
func (p *page) identity(c control.ExtCard) {
	p.head("What it is, exactly")
	manifest, _, _ := strings.Cut(c.Key, ".")
	fields := []field{
		{"reference", c.RefText},
		{"package", c.CID},
		{"wasm sha256", c.WASMSHA256},
		{"manifest", manifest},
		{"interface", c.ABI},
		{"lives per", strings.Join(c.Scopes, ", ")},
	}
	if c.Size > 0 {
		fields = append(fields, field{"size", bytesWords(c.Size)})
	}
	p.fields(fields)
}

// diff is how it differs from what was trusted last under its name.
func (p *page) diff(c control.ExtCard) {
	d := c.Diff
	if d == nil {
		return
	}
	p.head("What has changed since " + nameVersion(c.Name, d.Version) + ", which was trusted")
	if len(d.Added)+len(d.Removed)+len(d.Changed) == 0 {
		p.wrapped(warn, "  ", "The code. It says the same of itself, asks for the same and has the same tools.")
	}
	for _, x := range d.Added {
		p.mark(warn, "+ ", x)
	}
	for _, x := range d.Changed {
		p.mark(warn, "~ ", x)
	}
	for _, x := range d.Removed {
		p.mark(plain, "- ", x)
	}
	p.line(dim, "  (its key began with %s)", clean(cut(d.Key, 16)))
}

// extState is a state in words, and how it looks.
func extState(state string) (string, style) {
	switch state {
	case "trusted":
		return "trusted: it may run", good
	case "builtin":
		return "built in", good
	case "pending":
		return "waits for a decision: it does not run", warn
	case "needs_review":
		return "not what was trusted before: it does not run until somebody has looked", warn
	case "denied":
		return "refused: it does not run", bad
	case "unavailable":
		return "not here: it does not run", warn
	case "invalid":
		return "invalid: it can never run", bad
	case "suspended":
		return "suspended: it failed too often", bad
	case "failed":
		return "failed: it could not start", bad
	}
	return quarantine(strings.ReplaceAll(orID(state, "not known here"), "_", " ")), plain
}
