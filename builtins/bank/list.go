package bank

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// maxListed is how many banks are listed one by one.
const maxListed = 200

func (d desk) list(ctx context.Context, c extension.Call, args string) (string, error) {
	if args != "" {
		return "", ErrUsage
	}
	banks, err := d.banks(d.peer)
	if err != nil {
		return "", err
	}
	here, err := banks.List(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(here) == 0 {
		fmt.Fprintf(&b, "No %ss on this peer. Make one with /%s new <name> [description].", d.Noun, d.Word)
	} else {
		fmt.Fprintf(&b, "%s%ss on this peer:", strings.ToUpper(d.Noun[:1]), d.Noun[1:])
	}
	mine, err := d.mine(ctx, c)
	if err != nil {
		return "", err
	}
	for i, e := range here {
		if i == maxListed {
			fmt.Fprintf(&b, "\n… and %d more", len(here)-i)
			break
		}
		line, err := d.line(ctx, banks, e, mine)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + line)
	}
	for _, s := range mine {
		if !s.Here {
			fmt.Fprintf(&b, "\n- %s (%s): granted to %s, not on this peer", Name(s.Name), s.ID, Name(c.Agent.Name))
		}
	}
	return b.String(), nil
}

// mine is what the call's agent may use here besides its own rows.
func (d desk) mine(ctx context.Context, c extension.Call) ([]Source, error) {
	agent, err := Agent(ctx, d.peer, c.Agent)
	if err != nil {
		agent = nil // nobody's call, or an agent of another peer: what the session attached remains
		if !errors.Is(err, extension.ErrNoAgent) && !errors.Is(err, errNoAgents) {
			return nil, err
		}
	}
	attached, err := Lent(ctx, c.Lent.Settings)
	if err != nil {
		return nil, err
	}
	list, err := d.Sources(ctx, d.peer, agent, attached)
	if agent != nil && err == nil {
		list = list[1:]
	}
	return list, err
}

// line is one bank: name, id, what this peer may do, how much is in it, who uses it, what it is for.
func (d desk) line(ctx context.Context, banks extension.Banks, e extension.Entry, mine []Source) (string, error) {
	doc, err := banks.Open(ctx, e.ID.String())
	if err != nil {
		return "", err
	}
	rows, about := 0, ""
	err = doc.View(ctx, func(v *crdt.View) error {
		rows, about = v.RowCount(d.Rows), v.Text(crdt.MetaStore, "description")
		return nil
	})
	if err != nil {
		return "", err
	}
	name := e.Name
	if name == "" {
		name = e.ID.Short()
	}
	line := fmt.Sprintf("- %s (%s): %s here, %d rows", Name(name), e.ID, permission(e.Writable), rows)
	for _, s := range mine {
		switch {
		case s.ID != e.ID:
		case s.Attached:
			line += ", attached to this session"
		default:
			line += ", granted to this agent: " + permission(s.Granted)
		}
	}
	if about != "" {
		line += " — " + Line(about, 120)
	}
	return line, nil
}
