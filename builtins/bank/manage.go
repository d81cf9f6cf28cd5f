package bank

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// checkName refuses names that would mean something else where a bank is named.
func checkName(name string) error {
	switch strings.ToLower(name) {
	case Self, "all", "none":
		return fmt.Errorf("the name %s has a meaning of its own; choose another", name)
	}
	if Line(name, maxName) != name || strings.ContainsRune(name, ',') {
		return fmt.Errorf("the name %s has a comma or a control character, or is longer than %d characters", Name(name), maxName)
	}
	if _, err := crdt.ParseDocID(name); err == nil || strings.HasPrefix(name, ticketPrefix) {
		return fmt.Errorf("the name %s reads like an id or a ticket; choose another", Name(name))
	}
	return nil
}

func (d desk) create(ctx context.Context, _ extension.Call, args string) (string, error) {
	name, about := Cut(args)
	if name == "" {
		return "", ErrUsage
	}
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("make %s: %w", d.Noun, err)
	}
	banks, err := d.banks(d.peer)
	if err != nil {
		return "", err
	}
	id, err := banks.Create(ctx, name, Line(about, 500))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Made the %s %s (%s). Let an agent use it with /%s grant %s <agent> <read|write>, or every agent of this session read it with /%s attach %s.",
		d.Noun, name, id, d.Word, name, d.Word, name), nil
}

func (d desk) forget(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 1, 1)
	if err != nil {
		return "", err
	}
	doc, name, err := d.open(ctx, list[0])
	if err != nil {
		return "", err
	}
	banks, err := d.banks(d.peer)
	if err != nil {
		return "", err
	}
	if err := banks.Forget(ctx, doc.ID()); err != nil {
		return "", err
	}
	return fmt.Sprintf("The %s %s (%s) is no longer kept on this peer. Other peers that have it keep it; grants and attachments that name it stay until they are taken back.",
		d.Noun, Name(name), doc.ID()), nil
}

func (d desk) share(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 1, 2)
	if err != nil {
		return "", err
	}
	perm := crdt.Read
	if len(list) == 2 {
		if perm, err = role(list[1]); err != nil {
			return "", err
		}
	}
	doc, name, err := d.open(ctx, list[0])
	if err != nil {
		return "", err
	}
	ticket, err := d.ticket(ctx, doc, perm)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Ticket for %s, to %s; the other peer uses it with /%s import <ticket>:\n%s", Name(name), perm, d.Word, ticket), nil
}

func (d desk) ticket(ctx context.Context, doc extension.Document, perm crdt.Role) (string, error) {
	sharing, err := d.sharing()
	if err != nil {
		return "", err
	}
	return sharing.Share(ctx, doc.ID(), perm)
}

func (d desk) unshare(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 1, 1)
	if err != nil {
		return "", err
	}
	doc, name, err := d.open(ctx, list[0])
	if err != nil {
		return "", err
	}
	sharing, err := d.sharing()
	if err != nil {
		return "", err
	}
	if err := sharing.Unshare(ctx, doc.ID()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is no longer synced. What other peers have of it they keep; /%s share starts it again.", Name(name), d.Word), nil
}

const ticketPrefix = "chaz:"

// readTicket reads a ticket for a bank of this kind.
func (d desk) readTicket(text string) (*crdt.Ticket, error) {
	t, err := crdt.ParseTicket(text)
	if err != nil {
		return nil, err
	}
	if t.Kind != d.Doc {
		return nil, fmt.Errorf("read ticket: it is for a document of kind %s, not for a %s", t.Kind, d.Noun)
	}
	return t, nil
}

func (d desk) join(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 1, 2)
	if err != nil {
		return "", err
	}
	want := crdt.Write
	if len(list) == 2 {
		if want, err = role(list[1]); err != nil {
			return "", err
		}
	}
	t, err := d.readTicket(list[0])
	if err != nil {
		return "", err
	}
	if _, name, err := d.open(ctx, t.Doc.String()); err == nil {
		return "", fmt.Errorf("import %s: %s (%s) is on this peer already; grant it with /%s grant", d.Noun, Name(name), t.Doc, d.Word)
	}
	id, pending, err := d.use(ctx, list[0])
	if err != nil {
		return "", err
	}
	note := ""
	if t.Role != crdt.NoRole && t.Role < want {
		note = fmt.Sprintf(" The ticket is for %s only.", t.Role)
	}
	if pending {
		return fmt.Sprintf("Asked for the %s %s.%s Its owner has to approve, or to come online; then repeat this command.", d.Noun, t.Doc, note), nil
	}
	name := id.String()
	if _, n, err := d.open(ctx, name); err == nil {
		if _, _, err := d.open(ctx, n); err == nil { // else several have the name
			name = n
		}
	}
	return fmt.Sprintf("Imported the %s %s (%s).%s Let an agent use it with /%s grant %s <agent> <read|write>.", d.Noun, Name(name), id, note, d.Word, Name(name)), nil
}

// use joins with a ticket.
func (d desk) use(ctx context.Context, ticket string) (crdt.DocID, bool, error) {
	sharing, err := d.sharing()
	if err != nil {
		return crdt.DocID{}, false, err
	}
	return sharing.Join(ctx, ticket)
}

// isHere tells a bank that is not on this peer from a failure to look.
func (d desk) isHere(ctx context.Context, ref string) (bool, error) {
	_, _, err := d.open(ctx, ref)
	if errors.Is(err, extension.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
