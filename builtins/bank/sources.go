package bank

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Source is one document that an agent reads rows from.
type Source struct {
	Name string // [Self] for the agent's own document
	ID   crdt.DocID
	// Here is false for a bank that this peer does not keep.
	Here bool
	// Write says that the agent may write to it.
	Write bool
	// Granted says that the agent's grant is for writing; without Write it is this peer that may not.
	Granted bool
	// Attached says that the session lends it, for reading.
	Attached bool

	label string // what the bank is called now, where that is known
	doc   extension.Document
	index extension.Index
}

// Permission is read or write.
func (s Source) Permission() string { return permission(s.Write) }

// Open opens the document.
func (s Source) Open(ctx context.Context) (extension.Document, error) {
	if s.doc != nil {
		return s.doc, nil
	}
	if !s.Here {
		return nil, fmt.Errorf("open bank %s: it is not on this peer", Name(s.Name))
	}
	return s.index.Open(ctx, s.ID.String())
}

// Agent opens the document of a call's agent. An agent that this peer does not host is an error that
// wraps [extension.ErrNoAgent].
func Agent(ctx context.Context, p *extension.Peer, a extension.Agent) (extension.Document, error) {
	switch {
	case a.ID.IsZero():
		return nil, fmt.Errorf("find agent: nobody is named: %w", extension.ErrNoAgent)
	case p.Agents == nil:
		return nil, fmt.Errorf("find agent %s: %w", Name(a.Name), errNoAgents)
	}
	doc, err := p.Agents.Open(ctx, a.ID.String())
	if errors.Is(err, extension.ErrNotFound) {
		return nil, fmt.Errorf("find agent %s: it is not hosted on this peer: %w", Name(a.Name), extension.ErrNoAgent)
	}
	return doc, err
}

// Sources lists where an agent's rows come from, in the order in which they count: its own document,
// the banks granted to it by name, the banks that the session attached. agent may be nil; then only
// the latter are listed.
func (k Kind) Sources(ctx context.Context, p *extension.Peer, agent extension.Document, attached []string) ([]Source, error) {
	var out []Source
	var granted []Ref
	if agent != nil {
		out = append(out, Source{Name: Self, ID: agent.ID(), Here: true, Write: true, Granted: true, doc: agent})
		err := agent.View(ctx, func(v *crdt.View) error { granted = refs(v, k.Refs); return nil })
		if err != nil {
			return nil, err
		}
	}
	if len(granted)+len(attached) == 0 {
		return out, nil
	}
	index, err := k.banks(p)
	if err != nil {
		return nil, err
	}
	here, err := index.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range granted {
		s := Source{Name: r.Name, ID: r.ID, Granted: r.Write, index: index}
		if e := byID(here, r.ID); e != nil {
			s.Here, s.Write, s.label = true, r.Write && e.Writable, e.Name
		}
		if s.Name == "" {
			s.Name = s.label
		}
		out = append(out, s.named())
	}
	for _, text := range attached {
		id, err := meant(here, text)
		if err != nil || slices.ContainsFunc(out, func(s Source) bool { return s.ID == id }) {
			continue // not here, ambiguous, or there already with more rights
		}
		name := byID(here, id).Name
		s := Source{Name: name, ID: id, Here: true, Attached: true, label: name, index: index}
		out = append(out, s.named())
	}
	return out, nil
}

// named gives a bank without a usable name its short id: nothing but an agent's own rows is [Self].
func (s Source) named() Source {
	if s.Name == "" || s.Name == Self {
		s.Name = s.ID.Short()
	}
	return s
}

func byID(list []extension.Entry, id crdt.DocID) *extension.Entry {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// meant finds what an entry of [Setting] means among the banks here: an exact name or a whole id.
// Abbreviations are for people, and a list that syncs must mean the same tomorrow.
func meant(here []extension.Entry, text string) (crdt.DocID, error) {
	var found crdt.DocID
	for _, e := range here {
		switch {
		case e.ID.String() == text:
			return e.ID, nil
		case e.Name != text:
		case !found.IsZero():
			return crdt.DocID{}, fmt.Errorf("find bank %s: %w", Name(text), extension.ErrAmbiguous)
		default:
			found = e.ID
		}
	}
	if found.IsZero() {
		return found, fmt.Errorf("find bank %s: %w", Name(text), extension.ErrNotFound)
	}
	return found, nil
}

// Is reports whether a name means the source: its name, what the bank is called now, or its id.
func (s Source) Is(name string) bool {
	return name != "" && (s.Name == name || s.label == name || s.ID.String() == name)
}

// Pick finds the source that a name means, "" being the agent's own. Errors wrap
// [extension.ErrArgument] and list what there is.
func Pick(list []Source, name string) (Source, error) {
	if name == "" {
		name = Self
	}
	var found []Source
	for _, s := range list {
		own := s.Name == Self && s.doc != nil
		if name == Self && own || name != Self && !own && s.Is(name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Source{}, fmt.Errorf("find bank %s: unknown; there are: %s: %w", Name(name), names(list), extension.ErrArgument)
	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID.String()
	}
	return Source{}, fmt.Errorf("find bank %s: several have this name, use an id: %s: %w", Name(name), strings.Join(ids, ", "), extension.ErrArgument)
}

func names(list []Source) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%s (%s)", Name(s.Name), s.Permission())
	}
	return strings.Join(out, ", ")
}
