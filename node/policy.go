package node

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// policy is the opinion of this peer's owner towards others.
type policy struct{ on *online }

// Syncs implements [docsync.Policy]: a paused peer gets nothing, whatever its connection, and what
// was taken back from sharing goes to nobody.
func (p policy) Syncs(peer crdt.PeerID, doc crdt.DocID) bool {
	return !p.on.n.peers.row(peer).Paused && !p.on.n.unshared.has(doc)
}

// Redeem implements [docsync.Policy].
func (p policy) Redeem(ctx context.Context, r docsync.Request) (docsync.Code, error) {
	n := p.on.n
	n.redeem.Lock()
	defer n.redeem.Unlock()
	access, err := n.repo.Access(ctx, r.Doc)
	if err != nil {
		return docsync.CodeNotServed, nil // unknown looks like denied
	}
	now := crdt.NowMillis(n.clock)
	if len(r.Secret) > 0 {
		return p.redeemSecret(ctx, access, r, now)
	}
	role := crdt.Read
	if r.Role != "" {
		if role, err = crdt.ParseRole(r.Role); err != nil {
			return docsync.CodeNotServed, nil
		}
	}
	if access.RoleAt(r.Peer, now) >= role {
		return "", nil
	}
	if n.roleIn(access) < crdt.Admin {
		return docsync.CodeNotServed, nil
	}
	ok, err := n.noteRequest(ctx, r.Doc, r.Peer, role, r.Note)
	if err != nil || !ok {
		return docsync.CodeNotServed, err
	}
	n.peers.ring()
	return docsync.CodePending, nil
}

// redeemSecret grants what the invite behind a secret promises. A peer that has it already uses
// nothing up.
func (p policy) redeemSecret(ctx context.Context, access *crdt.Access, r docsync.Request, now int64) (docsync.Code, error) {
	n := p.on.n
	if len(r.Secret) != len(crdt.Secret{}) {
		return docsync.CodeNotServed, nil
	}
	invite, ok := access.InviteOf(n.Self(), crdt.Secret(r.Secret))
	if !ok {
		return docsync.CodeNotServed, nil
	}
	if access.RoleAt(r.Peer, now) >= invite.Role {
		return "", nil
	}
	if !invite.OpenAt(now) || n.roleIn(access) < crdt.Admin {
		return docsync.CodeNotServed, nil
	}
	if err := n.grant(ctx, r.Doc, r.Peer, invite.Role, invite.ID); err != nil {
		return docsync.CodeNotServed, err
	}
	n.log.Info("admitted by ticket", "peer", r.Peer.Short(), "doc", r.Doc.Short(), "role", invite.Role)
	p.on.later(func(context.Context) error { p.on.wantPartners(); return nil })
	return "", nil
}

// AcceptOffer implements [docsync.Policy]: what another device of this person has, this one keeps.
func (p policy) AcceptOffer(_ context.Context, peer crdt.PeerID, offered *crdt.Access) bool {
	n := p.on.n
	if !n.pairs.has(peer) || offered.Role(n.Self()) < crdt.Read {
		return false
	}
	id := offered.Doc()
	p.on.later(func(ctx context.Context) error { return n.settleIn(ctx, id, "", "pair") })
	return true
}

// Notice implements [docsync.Policy].
func (p policy) Notice(peer crdt.PeerID, notice docsync.Notice) {
	n := p.on.n
	switch x := notice.(type) {
	case docsync.JoinChanged:
		p.on.later(func(ctx context.Context) error { return p.joinChanged(ctx, x) })
	case docsync.StatusChanged:
		if x.Status.State == docsync.InSync {
			// A device's document may get its name only now that its content is here.
			if n.pairs.has(peer) {
				p.on.later(func(ctx context.Context) error { return n.nameArrived(ctx, x.Doc) })
			}
		} else {
			n.log.Debug("document", "doc", x.Doc.Short(), "peer", peer.Short(), "state", x.Status.State, "reason", x.Status.Reason)
		}
	case docsync.AckRecorded:
		n.contents.acked(x.Doc)
	case docsync.PeerGreeted:
		n.log.Info("peer greeted", "peer", peer.Short(), "agent", x.Agent)
	}
	n.peers.ring()
}

func (p policy) joinChanged(ctx context.Context, x docsync.JoinChanged) error {
	n := p.on.n
	switch x.State {
	case docsync.JoinReady:
		if err := n.joined(ctx, x.Doc); err != nil {
			return err
		}
		p.on.wantPartners()
		return nil
	case docsync.JoinPending, docsync.JoinNotServed:
		row, ok := n.joins.get(x.Doc)
		if !ok {
			return nil
		}
		row.State = string(x.State)
		err := n.joins.put(ctx, x.Doc, row)
		n.peers.ring()
		return err
	}
	return nil
}

// nameArrived names a session that came from another device, once its content says how.
func (n *Node) nameArrived(ctx context.Context, id crdt.DocID) error {
	if sum, ok := n.repo.Summary(id); !ok || sum.Kind != crdt.Session || n.docNames.of(id.String()) != "" {
		return nil
	}
	return n.settleIn(ctx, id, "", "pair")
}
