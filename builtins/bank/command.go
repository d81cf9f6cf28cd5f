package bank

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Verb is one sub-command. Run gets what follows the verb, trimmed.
type Verb struct {
	Name  string
	Usage string // what follows the name
	Run   func(ctx context.Context, c extension.Call, args string) (string, error)
}

// Command is the slash command of the kind: the verbs that all kinds have, then more.
func (k Kind) Command(p *extension.Peer, more ...Verb) extension.Command {
	d := desk{k, p}
	verbs := append(d.verbs(), more...)
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.Name
	}
	return extension.Command{
		Name:  k.Word,
		Usage: fmt.Sprintf("%ss: /%s [%s]", k.Noun, k.Word, strings.Join(names, "|")),
		Run: func(ctx context.Context, c extension.Call, args string) (string, error) {
			word, rest := Cut(args)
			switch word {
			case "":
				word = "list"
			case "del":
				word = "delete"
			}
			for _, v := range verbs {
				if v.Name == word {
					return v.run(ctx, k, c, rest)
				}
			}
			return "", fmt.Errorf("unknown sub-command %s; there are: %s", Name(word), strings.Join(names, ", "))
		},
	}
}

// ErrUsage is the error of a verb that was called in the wrong way; its usage line is shown instead.
var ErrUsage = errors.New("usage")

// Cut splits off the first word.
func Cut(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func (v Verb) run(ctx context.Context, k Kind, c extension.Call, args string) (string, error) {
	out, err := v.Run(ctx, c, args)
	if errors.Is(err, ErrUsage) {
		return "", fmt.Errorf("usage: /%s %s %s", k.Word, v.Name, v.Usage)
	}
	return out, err
}

// desk is where the common verbs are done.
type desk struct {
	Kind
	peer *extension.Peer
}

func (d desk) verbs() []Verb {
	return []Verb{
		{"list", "", d.list},
		{"new", "<name> [description]", d.create},
		{"delete", "<bank>", d.forget},
		{"grant", "<bank> <agent> <read|write>", d.grant},
		{"revoke", "<bank> <agent>", d.revoke},
		{"share", "<bank> [read|write]", d.share},
		{"unshare", "<bank>", d.unshare},
		{"import", "<ticket> [read|write]", d.join},
		{"attach", "<bank|ticket>", d.attach},
		{"detach", "<bank>", d.detach},
	}
}

func (d desk) sharing() (extension.BankSharing, error) {
	banks, err := d.banks(d.peer)
	if err != nil {
		return nil, err
	}
	s := banks.Sharing()
	if s == nil {
		return nil, fmt.Errorf("share %s: %w", d.Noun, errNoBanks)
	}
	return s, nil
}

// words splits arguments into at least min and at most max words.
func words(args string, min, max int) ([]string, error) {
	list := strings.Fields(args)
	if len(list) < min || len(list) > max {
		return nil, ErrUsage
	}
	return list, nil
}

// role reads a permission: read, r, write or w in any case.
func role(word string) (crdt.Role, error) {
	switch strings.ToLower(word) {
	case "read", "r":
		return crdt.Read, nil
	case "write", "w":
		return crdt.Write, nil
	}
	return crdt.NoRole, fmt.Errorf("permission %s: use read or write", Name(word))
}

// open finds a bank by name, id or the beginning of an id.
func (d desk) open(ctx context.Context, ref string) (extension.Document, string, error) {
	banks, err := d.banks(d.peer)
	if err != nil {
		return nil, "", err
	}
	doc, err := banks.Open(ctx, ref)
	switch {
	case errors.Is(err, extension.ErrAmbiguous):
		return nil, "", fmt.Errorf("%s %s: %w; use the id that /%s list shows", d.Noun, Name(ref), extension.ErrAmbiguous, d.Word)
	case errors.Is(err, extension.ErrNotFound):
		return nil, "", fmt.Errorf("%s %s: %w on this peer; see /%s list", d.Noun, Name(ref), extension.ErrNotFound, d.Word)
	case err != nil:
		return nil, "", err
	}
	name, err := title(ctx, doc)
	return doc, name, err
}

// title is what a document calls itself, its short id if it has no name.
func title(ctx context.Context, doc extension.Document) (string, error) {
	var name string
	err := doc.View(ctx, func(v *crdt.View) error { name = v.Text(crdt.MetaStore, crdt.MetaDisplay); return nil })
	if name == "" {
		name = doc.ID().Short()
	}
	return name, err
}

// agent finds an agent that is hosted here, by name or id.
func (d desk) agent(ctx context.Context, ref string) (extension.Document, string, error) {
	if d.peer.Agents == nil {
		return nil, "", fmt.Errorf("find agent %s: %w", Name(ref), errNoAgents)
	}
	doc, err := d.peer.Agents.Open(ctx, ref)
	switch {
	case errors.Is(err, extension.ErrAmbiguous):
		return nil, "", fmt.Errorf("agent %s: %w; use its id", Name(ref), extension.ErrAmbiguous)
	case errors.Is(err, extension.ErrNotFound):
		return nil, "", fmt.Errorf("agent %s: it is not hosted on this peer: %w", Name(ref), extension.ErrNoAgent)
	case err != nil:
		return nil, "", err
	}
	name, err := title(ctx, doc)
	return doc, name, err
}
