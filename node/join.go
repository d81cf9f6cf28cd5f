package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// join asks the peer that a ticket names for its document. It returns when the document is here,
// when the answer is a human's to give, or when WaitMS is over; the asking goes on either way.
func (n *Node) join(ctx context.Context, p control.JoinParams) (control.Joined, error) {
	t, err := crdt.ParseTicket(strings.TrimSpace(p.Ticket))
	if err != nil {
		return control.Joined{}, usage("copy the whole line that `chaz-peer … share` printed", "%s", err)
	}
	out := control.Joined{ID: t.Doc.String(), Kind: string(t.Kind)}
	if p.Name != "" {
		if err := checkName(p.Name); err != nil {
			return out, err
		}
		if id, taken := n.docNames.byName(p.Name); taken && id != out.ID {
			return out, &control.Error{Code: control.CodeConflict, Cause: fmt.Sprintf("join as %s: another session here has this name", p.Name), Remedy: "choose another name"}
		}
	}
	if t.Peer == n.Self() {
		if _, here := n.repo.Summary(t.Doc); here {
			out.State = control.StateReady
			return out, nil
		}
		return out, usage("use the ticket on another machine", "join: this ticket was issued by this very peer, which no longer has the document")
	}
	role := p.Role
	if role == "" && t.Secret.IsZero() {
		role = orElse(t.Role.String(), "read")
	}
	if role != "" {
		if _, err := crdt.ParseRole(role); err != nil {
			return out, usage("use read, write or admin", "join: %s", err)
		}
	}
	if err := n.peers.SetAddresses(ctx, t.Peer, mergeAddrs(t.Addrs, n.peers.row(t.Peer).Addrs)); err != nil {
		return out, err
	}
	if _, waiting := n.joins.get(t.Doc); !waiting && n.mayAlready(ctx, t, role) {
		if on := n.getOnline(); on != nil {
			on.meet(ctx, t)
		}
		out.State = control.StateReady
		return out, n.rename(ctx, t, p.Name)
	}
	row := joinRow{Ticket: t.String(), Name: p.Name, Role: role, Since: crdt.NowMillis(n.clock)}
	if err := n.joins.put(ctx, t.Doc, row); err != nil {
		return out, err
	}
	on := n.getOnline()
	if on == nil {
		out.State, out.Reason = control.Offline, "no daemon runs here: the join is noted and starts with `chaz-peer run`"
		return out, nil
	}
	on.startJoin(ctx, t)
	return n.awaitJoin(ctx, t, p, out)
}

func mergeAddrs(a, b []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range append(append([]string{}, a...), b...) {
		if !seen[s] && len(out) < crdt.MaxTicketAddrs {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// mayAlready reports whether the document of a ticket is here, with the role that was asked for or,
// with a secret, that the ticket gives.
func (n *Node) mayAlready(ctx context.Context, t *crdt.Ticket, asked string) bool {
	access, err := n.repo.Access(ctx, t.Doc)
	return err == nil && n.roleIn(access) >= wantedRole(t, asked)
}

func wantedRole(t *crdt.Ticket, asked string) crdt.Role {
	if role, err := crdt.ParseRole(asked); err == nil && t.Secret.IsZero() {
		return role
	}
	return max(t.Role, crdt.Read)
}

// rename gives a document that is here the name that was asked for.
func (n *Node) rename(ctx context.Context, t *crdt.Ticket, name string) error {
	if name == "" {
		return nil
	}
	return n.docNames.set(ctx, t.Doc.String(), name)
}

func (n *Node) awaitJoin(ctx context.Context, t *crdt.Ticket, p control.JoinParams, out control.Joined) (control.Joined, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.WaitMS)*time.Millisecond)
	defer cancel()
	sub := n.peers.watch()
	defer sub.stop()
	for {
		row, waiting := n.joins.get(t.Doc)
		switch {
		case !waiting:
			return n.joinEnded(ctx, t, p.Role, out)
		case row.State == "pending":
			out.State, out.Reason = control.Pending, "a person on the other side will decide; the document comes by itself then"
			return out, nil
		case row.State == "not_served":
			out.State, out.Reason = control.NotServed, "unknown there or no access: the ticket may be used up, expired or revoked"
			return out, nil
		}
		if !sub.wait(ctx) {
			out.State, out.Reason = n.peerState(t.Peer)
			if out.State != control.Offline && out.State != control.Paused {
				out.State, out.Reason = control.Offline, strings.TrimSuffix("connected, but the document is not complete yet: "+out.Reason, ": ")
			}
			return out, nil
		}
	}
}

// joinEnded is the answer when a join is over: the document is here, though a ticket that is not
// good any more has not given a member a higher role.
func (n *Node) joinEnded(ctx context.Context, t *crdt.Ticket, asked string, out control.Joined) (control.Joined, error) {
	out.State = control.StateReady
	ctx = context.WithoutCancel(ctx) // the wait may be over
	if n.mayAlready(ctx, t, asked) {
		return out, nil
	}
	access, err := n.repo.Access(ctx, t.Doc)
	if err != nil {
		return out, err
	}
	out.State = control.NotServed
	out.Reason = fmt.Sprintf("the document is here with the role %s; the ticket gave no more: it may be used up, expired or revoked", n.roleIn(access))
	return out, nil
}

// joined is called when a document that was asked for is complete here.
func (n *Node) joined(ctx context.Context, id crdt.DocID) error {
	row, ok := n.joins.get(id)
	if !ok {
		return nil
	}
	if err := n.settleIn(ctx, id, row.Name, "join"); err != nil {
		return err
	}
	if err := n.joins.drop(ctx, id); err != nil {
		return err
	}
	n.peers.ring()
	return nil
}

// settleIn gives a document that came from elsewhere its place here: a row in the catalogue, a
// name, and the other devices of this person among its members.
func (n *Node) settleIn(ctx context.Context, id crdt.DocID, name, source string) error {
	sum, ok := n.repo.Summary(id)
	if !ok {
		return nil
	}
	if err := n.catalog.Put(ctx, id.String(), catalogRow{Source: source, Created: crdt.NowMillis(n.clock)}); err != nil {
		return err
	}
	if n.docNames.of(id.String()) == "" {
		if name == "" && sum.Kind == crdt.Session {
			err := n.repo.View(ctx, id, func(v *crdt.View) error { name = crdt.SessionView{View: v}.Name(); return nil })
			if err != nil {
				return err
			}
			if checkName(name) != nil {
				name = ""
			}
		}
		if name != "" {
			if err := n.docNames.set(ctx, id.String(), n.docNames.free(id.String(), name)); err != nil {
				return err
			}
		}
	}
	for _, p := range n.pairs.ids() {
		if err := n.admitDevice(ctx, id, p); err != nil {
			return err
		}
	}
	return nil
}
