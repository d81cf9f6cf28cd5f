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

var errNoSession = errors.New("there is no session to attach to")

// attached reads the session's list.
func attached(ctx context.Context, c extension.Call) ([]string, error) {
	if c.Lent.Settings == nil {
		return nil, errNoSession
	}
	return Lent(ctx, c.Lent.Settings)
}

// same returns the entries of the list that mean the bank.
func (d desk) same(ctx context.Context, list []string, id crdt.DocID) ([]string, error) {
	banks, err := d.banks(d.peer)
	if err != nil {
		return nil, err
	}
	here, err := banks.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, text := range list {
		if found, err := meant(here, text); err == nil && found == id || text == id.String() {
			out = append(out, text)
		}
	}
	return out, nil
}

func (d desk) attach(ctx context.Context, c extension.Call, args string) (string, error) {
	list, err := words(args, 1, 1)
	if err != nil {
		return "", err
	}
	now, err := attached(ctx, c)
	if err != nil {
		return "", err
	}
	ref := list[0]
	if strings.HasPrefix(ref, ticketPrefix) {
		id, wait, err := d.bring(ctx, ref)
		if wait != "" || err != nil {
			return wait, err
		}
		ref = id.String()
	}
	doc, name, err := d.open(ctx, ref)
	if err != nil {
		return "", err
	}
	same, err := d.same(ctx, now, doc.ID())
	if err != nil {
		return "", err
	}
	if len(same) > 0 {
		return fmt.Sprintf("The %s %s is attached to this session already.", d.Noun, Name(name)), nil
	}
	if len(now) >= maxAttached {
		return "", fmt.Errorf("attach %s: a session takes %d banks at most", Name(name), maxAttached)
	}
	entry, err := d.entry(ctx, doc, name)
	if err != nil {
		return "", err
	}
	if err := c.Lent.Settings.Set(ctx, Setting, append(now, entry)); err != nil {
		return "", err
	}
	return fmt.Sprintf("Attached the %s %s: from the next turn on every agent of this session can read it.", d.Noun, Name(name)), nil
}

// bring sees to it that the bank of a ticket is here. wait says why it is not yet.
func (d desk) bring(ctx context.Context, ticket string) (id crdt.DocID, wait string, err error) {
	t, err := d.readTicket(ticket)
	if err != nil {
		return id, "", err
	}
	here, err := d.isHere(ctx, t.Doc.String())
	if here || err != nil {
		return t.Doc, "", err
	}
	id, pending, err := d.use(ctx, ticket)
	if pending && err == nil {
		wait = fmt.Sprintf("Asked for the %s %s. Nothing is attached yet: its owner has to approve, or to come online; then repeat this command.", d.Noun, t.Doc)
	}
	return id, wait, err
}

// entry is how a bank is written into the list: by its name, or by its id where the name is not its
// alone.
func (d desk) entry(ctx context.Context, doc extension.Document, name string) (string, error) {
	banks, err := d.banks(d.peer)
	if err != nil {
		return "", err
	}
	here, err := banks.List(ctx)
	if err != nil {
		return "", err
	}
	if id, err := meant(here, name); err == nil && id == doc.ID() {
		return name, nil
	}
	return doc.ID().String(), nil
}

func (d desk) detach(ctx context.Context, c extension.Call, args string) (string, error) {
	list, err := words(args, 1, 1)
	if err != nil {
		return "", err
	}
	now, err := attached(ctx, c)
	if err != nil {
		return "", err
	}
	gone := []string{list[0]} // also what is not on this peer any more
	if doc, _, err := d.open(ctx, list[0]); err == nil {
		same, err := d.same(ctx, now, doc.ID())
		if err != nil {
			return "", err
		}
		gone = append(gone, same...)
	}
	left := slices.DeleteFunc(slices.Clone(now), func(s string) bool { return slices.Contains(gone, s) })
	if len(left) == len(now) {
		return fmt.Sprintf("The %s %s is not attached to this session.", d.Noun, Name(list[0])), nil
	}
	var value any = left
	if len(left) == 0 {
		value = nil
	}
	if err := c.Lent.Settings.Set(ctx, Setting, value); err != nil {
		return "", err
	}
	return fmt.Sprintf("Detached the %s %s; it counts from the next turn on.", d.Noun, Name(list[0])), nil
}
