package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func (n *Node) sessionShare(ctx context.Context, p control.SessionShareParams) (control.Ticket, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.Ticket{}, err
	}
	return n.share(ctx, id, p.ShareOptions)
}

func (n *Node) agentShare(ctx context.Context, p control.AgentShareParams) (control.Ticket, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.Ticket{}, err
	}
	return n.share(ctx, id, p.ShareOptions)
}

// share makes a ticket: with a secret behind an invite in the access log, or, to be asked, without.
func (n *Node) share(ctx context.Context, id crdt.DocID, o control.ShareOptions) (control.Ticket, error) {
	role, err := crdt.ParseRole(orElse(o.Role, "read"))
	if err != nil {
		return control.Ticket{}, usage("use read, write or admin", "share: %s", err)
	}
	sum, _ := n.repo.Summary(id)
	t := &crdt.Ticket{Doc: id, Kind: sum.Kind, Peer: n.Self(), Addrs: n.ticketAddrs(), Role: role}
	access, err := n.repo.Access(ctx, id)
	if err != nil {
		return control.Ticket{}, err
	}
	if have := n.roleIn(access); have < crdt.Admin {
		return control.Ticket{}, &control.Error{
			Code: control.CodeDenied, Cause: fmt.Sprintf("share %s: it needs the role admin, this peer has %s", id.Short(), have),
			Remedy: "ask an admin of the document to make the ticket",
		}
	}
	if o.Ask {
		return control.Ticket{Ticket: t.String(), TicketInfo: control.TicketInfo{Role: role.String()}}, nil
	}
	if t.Secret, err = crdt.NewSecret(rand.Reader); err != nil {
		return control.Ticket{}, err
	}
	invite := crdt.Invite{Secret: t.Secret.Hash(), Role: role, MaxUses: crdt.MaxUses}
	if o.Uses > 0 {
		invite.MaxUses = uint32(min(o.Uses, crdt.MaxUses))
	}
	if o.ExpiresMS > 0 {
		invite.Expiry = crdt.NowMillis(n.clock) + o.ExpiresMS
	}
	var made crdt.ObjectID
	err = n.repo.Issue(ctx, id, func(a *crdt.Access) ([]*crdt.Object, error) {
		invite.Parent, _ = a.GrantFor(n.Self())
		obj, err := n.home.identity.NewInvite(id, invite, rand.Reader)
		if err != nil {
			return nil, err
		}
		made = obj.ID
		return []*crdt.Object{obj}, nil
	})
	if err != nil {
		return control.Ticket{}, err
	}
	info := ticketInfo(crdt.InviteInfo{ID: made, Role: role, Expiry: invite.Expiry, MaxUses: invite.MaxUses, Live: true})
	return control.Ticket{Ticket: t.String(), TicketInfo: info}, nil
}

func ticketInfo(i crdt.InviteInfo) control.TicketInfo {
	out := control.TicketInfo{ID: i.ID.String(), Role: i.Role.String(), Uses: int(i.MaxUses), Used: int(i.Uses), Revoked: !i.Live}
	if i.MaxUses == crdt.MaxUses {
		out.Uses = 0
	}
	if i.Expiry != 0 {
		at := control.Time(i.Expiry)
		out.Expires = &at
	}
	return out
}

func (n *Node) sessionTickets(ctx context.Context, p control.SessionParams) (control.List[control.TicketInfo], error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return nil, err
	}
	return n.tickets(ctx, id)
}

func (n *Node) agentTickets(ctx context.Context, p control.AgentParams) (control.List[control.TicketInfo], error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return nil, err
	}
	return n.tickets(ctx, id)
}

func (n *Node) tickets(ctx context.Context, id crdt.DocID) (control.List[control.TicketInfo], error) {
	access, err := n.repo.Access(ctx, id)
	if err != nil {
		return nil, err
	}
	out := control.List[control.TicketInfo]{}
	for _, i := range access.Invites() {
		out = append(out, ticketInfo(i))
	}
	return out, nil
}

func (n *Node) sessionTicketsRevoke(ctx context.Context, p control.SessionTicketParams) (control.TicketInfo, error) {
	id, err := n.findSession(p.Session)
	if err != nil {
		return control.TicketInfo{}, err
	}
	return n.revokeTicket(ctx, id, p.Ticket)
}

func (n *Node) agentTicketsRevoke(ctx context.Context, p control.AgentTicketParams) (control.TicketInfo, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.TicketInfo{}, err
	}
	return n.revokeTicket(ctx, id, p.Ticket)
}

// revokeTicket ends an invite; what it was used for already stays.
func (n *Node) revokeTicket(ctx context.Context, id crdt.DocID, ref string) (control.TicketInfo, error) {
	access, err := n.repo.Access(ctx, id)
	if err != nil {
		return control.TicketInfo{}, err
	}
	var all []candidate
	for _, i := range access.Invites() {
		all = append(all, candidate{i.ID.String(), ""})
	}
	text, err := pick("ticket", ref, all)
	if err != nil {
		return control.TicketInfo{}, err
	}
	target, err := crdt.ParseObjectID(text)
	if err != nil {
		return control.TicketInfo{}, err
	}
	err = n.repo.Issue(ctx, id, func(a *crdt.Access) ([]*crdt.Object, error) {
		if n.roleIn(a) < crdt.Admin {
			return nil, &control.Error{Code: control.CodeDenied, Cause: "revoke ticket: it needs the role admin", Remedy: "ask the one who made it"}
		}
		obj, err := n.home.identity.NewRevocation(id, target, crdt.PeerID{}, nil)
		return []*crdt.Object{obj}, err
	})
	if err != nil {
		return control.TicketInfo{}, err
	}
	if access, err = n.repo.Access(ctx, id); err != nil {
		return control.TicketInfo{}, err
	}
	i := slices.IndexFunc(access.Invites(), func(i crdt.InviteInfo) bool { return i.ID == target })
	info := access.Invites()[i]
	if info.Live {
		return ticketInfo(info), &control.Error{Code: control.CodeDenied, Cause: "revoke ticket: only its maker, or an admin above him, can", Remedy: "ask the one who made it"}
	}
	return ticketInfo(info), nil
}

// agentInvite gives a known key a role, without a ticket.
func (n *Node) agentInvite(ctx context.Context, p control.AgentInviteParams) (control.Invited, error) {
	id, err := n.findAgent(ctx, p.Agent)
	if err != nil {
		return control.Invited{}, err
	}
	peer, err := n.findPeer(ctx, p.Peer)
	if err != nil {
		return control.Invited{}, err
	}
	role, err := crdt.ParseRole(orElse(p.Role, "admin"))
	if err != nil {
		return control.Invited{}, usage("use read, write or admin", "invite: %s", err)
	}
	if err := n.grant(ctx, id, peer, role, crdt.ObjectID{}); err != nil {
		return control.Invited{}, err
	}
	n.want(peer)
	return control.Invited{ID: id.String(), PeerID: peer.String(), Role: role.String()}, nil
}

// grant gives a peer a role; one that has it, or more, already gets no second grant.
func (n *Node) grant(ctx context.Context, id crdt.DocID, peer crdt.PeerID, role crdt.Role, invite crdt.ObjectID) error {
	return n.repo.Issue(ctx, id, func(a *crdt.Access) ([]*crdt.Object, error) {
		if a.RoleAt(peer, crdt.NowMillis(n.clock)) >= role {
			return nil, nil
		}
		if n.roleIn(a) < crdt.Admin {
			return nil, &control.Error{
				Code: control.CodeDenied, Cause: fmt.Sprintf("admit peer %s to %s: it needs the role admin", peer.Short(), id.Short()),
				Remedy: "ask an admin of the document",
			}
		}
		g := crdt.Grant{Subject: peer, Role: role, Invite: invite}
		g.Parent, _ = a.GrantFor(n.Self())
		obj, err := n.home.identity.NewGrant(id, g, rand.Reader)
		return []*crdt.Object{obj}, err
	})
}
