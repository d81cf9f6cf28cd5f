package sim

import (
	"context"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// opinion is the policy of a peer: invites of its own are redeemed, offers to a member are taken.
type opinion struct{ p *peer }

// Syncs implements [docsync.Policy].
func (o opinion) Syncs(crdt.PeerID, crdt.DocID) bool { return true }

// AcceptOffer implements [docsync.Policy].
func (o opinion) AcceptOffer(context.Context, crdt.PeerID, *crdt.Access) bool { return true }

// Redeem implements [docsync.Policy].
func (o opinion) Redeem(ctx context.Context, r docsync.Request) (docsync.Code, error) {
	p := o.p
	if len(r.Secret) != len(crdt.Secret{}) {
		return docsync.CodeNotServed, nil
	}
	code := docsync.CodeNotServed
	now := crdt.NowMillis(p.clock)
	err := p.repo.Issue(ctx, r.Doc, func(a *crdt.Access) ([]*crdt.Object, error) {
		invite, ok := a.InviteOf(p.self(), crdt.Secret(r.Secret))
		if !ok {
			return nil, nil
		}
		if a.RoleAt(r.Peer, now) >= invite.Role {
			code = ""
			return nil, nil
		}
		parent, role := a.GrantFor(p.self())
		if !invite.OpenAt(now) || role < crdt.Admin {
			return nil, nil
		}
		code = ""
		g, err := p.id.NewGrant(r.Doc, crdt.Grant{Parent: parent, Subject: r.Peer, Role: invite.Role, Invite: invite.ID}, p.rand)
		return []*crdt.Object{g}, err
	})
	if err != nil {
		return docsync.CodeNotServed, err
	}
	return code, nil
}

// Notice implements [docsync.Policy].
func (o opinion) Notice(from crdt.PeerID, notice docsync.Notice) {
	far := slices.IndexFunc(o.p.w.peers, func(q *peer) bool { return q.self() == from })
	switch x := notice.(type) {
	case docsync.StatusChanged:
		o.p.states[place{far, x.Doc}] = x.Status.State
		o.p.w.note('s', o.p.n, far, []byte(x.Status.State))
	case docsync.JoinChanged:
		if x.State == docsync.JoinReady {
			o.p.joins = slices.DeleteFunc(o.p.joins, func(j docsync.Join) bool { return j.Doc == x.Doc })
		}
	}
}
