package bank

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// grant authorises the agent's peers in the bank, then records it in the agent's document. Should
// the second fail, the first is taken back.
func (d desk) grant(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 3, 3)
	if err != nil {
		return "", err
	}
	perm, err := role(list[2])
	if err != nil {
		return "", err
	}
	doc, name, err := d.open(ctx, list[0])
	if err != nil {
		return "", err
	}
	agent, who, err := d.agent(ctx, list[1])
	if err != nil {
		return "", err
	}
	if perm == crdt.Write {
		if err := d.mayWrite(ctx, doc, name); err != nil {
			return "", err
		}
	}
	before, had, err := d.refOf(ctx, agent, func(r Ref) bool { return r.ID == doc.ID() })
	if err != nil {
		return "", err
	}
	if err := d.authorise(ctx, doc.ID(), agent.ID(), perm, had && before.Write); err != nil {
		return "", fmt.Errorf("grant %s to %s: %w", Name(name), Name(who), err)
	}
	err = agent.Update(ctx, func(tx *crdt.Tx) error {
		return putRef(tx, d.Refs, Ref{Name: name, ID: doc.ID(), Write: perm == crdt.Write})
	})
	if err != nil {
		err = fmt.Errorf("grant %s to %s: the agent's document could not be written: %w", Name(name), Name(who), err)
		if undo := d.undo(ctx, doc.ID(), agent.ID(), before, had); undo != nil {
			return "", fmt.Errorf("%w; and its peers keep the right they were given: %w", err, undo)
		}
		return "", fmt.Errorf("%w; nothing was granted", err)
	}
	return fmt.Sprintf("%s may now %s the %s %s.", Name(who), verb(perm), d.Noun, Name(name)), nil
}

func verb(r crdt.Role) string {
	if r == crdt.Write {
		return "read and write"
	}
	return "read"
}

// mayWrite refuses to pass on a right that this peer does not have.
func (d desk) mayWrite(ctx context.Context, doc extension.Document, name string) error {
	return doc.View(ctx, func(v *crdt.View) error {
		if v.Access().RoleAt(d.peer.Self, crdt.NowMillis(d.peer.Clock)) < crdt.Write {
			return fmt.Errorf("%s %s: this peer may only read it; ask %s", d.Noun, Name(name), Admins(v))
		}
		return nil
	})
}

// Admins names some who may give rights in a document.
func Admins(v *crdt.View) string {
	const most = 3
	var out []string
	seen := map[crdt.PeerID]bool{}
	for _, m := range v.Access().Members() {
		if !m.Live || m.Role < crdt.Admin || seen[m.Peer] {
			continue
		}
		if seen[m.Peer] = true; len(out) == most {
			out = append(out, "others")
			break
		}
		out = append(out, m.Peer.String())
	}
	return "an admin of the bank (peer " + strings.Join(out, ", ") + ")"
}

// refOf finds one grant of an agent.
func (d desk) refOf(ctx context.Context, agent extension.Document, is func(Ref) bool) (Ref, bool, error) {
	var found []Ref
	err := agent.View(ctx, func(v *crdt.View) error {
		for _, r := range refs(v, d.Refs) {
			if is(r) {
				found = append(found, r)
			}
		}
		return nil
	})
	switch {
	case err != nil || len(found) == 0:
		return Ref{}, false, err
	case len(found) > 1:
		return Ref{}, false, fmt.Errorf("%s %s: %w; use the id", d.Noun, Name(found[0].Name), extension.ErrAmbiguous)
	}
	return found[0], true, nil
}

// authorise gives an agent's peers a role in a bank. lower says that they have a higher one, which
// must go first.
func (d desk) authorise(ctx context.Context, bank, agent crdt.DocID, perm crdt.Role, lower bool) error {
	sharing, err := d.sharing()
	if err != nil {
		return err
	}
	if lower && perm < crdt.Write {
		if err := d.dismiss(ctx, sharing, bank, agent); err != nil {
			return err
		}
	}
	return sharing.Admit(ctx, bank, agent, perm)
}

// undo puts an agent's rights in a bank back to what its document says.
func (d desk) undo(ctx context.Context, bank, agent crdt.DocID, before Ref, had bool) error {
	sharing, err := d.sharing()
	if err != nil {
		return err
	}
	// The call's time may be what ended the write; what was begun must be taken back all the same.
	ctx = context.WithoutCancel(ctx)
	if err := d.dismiss(ctx, sharing, bank, agent); err != nil || !had {
		return err
	}
	return sharing.Admit(ctx, bank, agent, before.role())
}

func (r Ref) role() crdt.Role {
	if r.Write {
		return crdt.Write
	}
	return crdt.Read
}

// dismiss takes an agent's rights in a bank back. Other agents may live on the same peers, so those
// that were granted the bank are admitted anew.
func (d desk) dismiss(ctx context.Context, sharing extension.BankSharing, bank, agent crdt.DocID) error {
	if err := sharing.Dismiss(ctx, bank, agent); err != nil {
		return err
	}
	agents, err := d.peer.Agents.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range agents {
		if e.ID == agent {
			continue
		}
		doc, err := d.peer.Agents.Open(ctx, e.ID.String())
		if err != nil {
			return err
		}
		r, has, err := d.refOf(ctx, doc, func(r Ref) bool { return r.ID == bank })
		if err != nil {
			return err
		}
		if has {
			if err := sharing.Admit(ctx, bank, e.ID, r.role()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d desk) revoke(ctx context.Context, _ extension.Call, args string) (string, error) {
	list, err := words(args, 2, 2)
	if err != nil {
		return "", err
	}
	agent, who, err := d.agent(ctx, list[1])
	if err != nil {
		return "", err
	}
	is := func(r Ref) bool { return r.Name == list[0] || r.ID.String() == list[0] }
	doc, _, err := d.open(ctx, list[0])
	switch {
	case err == nil:
		is = func(r Ref) bool { return r.ID == doc.ID() }
	case !errors.Is(err, extension.ErrNotFound):
		return "", err
	}
	ref, had, err := d.refOf(ctx, agent, is)
	if err != nil {
		return "", err
	}
	if !had {
		return fmt.Sprintf("%s has no grant for the %s %s.", Name(who), d.Noun, Name(list[0])), nil
	}
	out := fmt.Sprintf("%s may no longer use the %s %s.", Name(who), d.Noun, Name(ref.Name))
	if doc == nil {
		out += " The bank is not on this peer: what other peers may do in it is as it was."
	} else if err := d.withdraw(ctx, doc.ID(), agent.ID()); err != nil {
		return "", fmt.Errorf("revoke %s from %s: %w", Name(ref.Name), Name(who), err)
	}
	err = agent.Update(ctx, func(tx *crdt.Tx) error { return deleteRef(tx, d.Refs, ref.ID) })
	if err != nil {
		out += fmt.Sprintf(" Its document still names the bank: %s", Line(err.Error(), 300))
	}
	return out, nil
}

func (d desk) withdraw(ctx context.Context, bank, agent crdt.DocID) error {
	sharing, err := d.sharing()
	if err != nil {
		return err
	}
	return d.dismiss(ctx, sharing, bank, agent)
}
