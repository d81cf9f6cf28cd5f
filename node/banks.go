package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// bankSharing is what banks need of rights and network.
type bankSharing struct{ n *Node }

// hosts lists the other peers that may write to an agent's document: those that run it.
func (b bankSharing) hosts(ctx context.Context, agent crdt.DocID) ([]crdt.PeerID, error) {
	access, err := b.n.repo.Access(ctx, agent)
	if err != nil {
		return nil, err
	}
	var out []crdt.PeerID
	for _, p := range access.Readers(crdt.NowMillis(b.n.clock)) {
		if p != b.n.Self() && access.Role(p) >= crdt.Write {
			out = append(out, p)
		}
	}
	return out, nil
}

// Admit implements [extension.BankSharing].
func (b bankSharing) Admit(ctx context.Context, bank crdt.DocID, agent crdt.DocID, role crdt.Role) error {
	peers, err := b.hosts(ctx, agent)
	if err != nil {
		return err
	}
	for _, p := range peers {
		if err := b.n.grant(ctx, bank, p, role, crdt.ObjectID{}); err != nil {
			return err
		}
	}
	return nil
}

// Dismiss implements [extension.BankSharing].
func (b bankSharing) Dismiss(ctx context.Context, bank crdt.DocID, agent crdt.DocID) error {
	peers, err := b.hosts(ctx, agent)
	if err != nil {
		return err
	}
	for _, p := range peers {
		if err := b.n.revokePeer(ctx, bank, p); err != nil {
			return err
		}
	}
	return nil
}

// revokePeer ends every grant of a peer in a document. What it wrote so far stays in force.
func (n *Node) revokePeer(ctx context.Context, id crdt.DocID, peer crdt.PeerID) error {
	vector, err := n.repo.Vector(ctx, id)
	if err != nil {
		return err
	}
	return n.repo.Issue(ctx, id, func(a *crdt.Access) ([]*crdt.Object, error) {
		var out []*crdt.Object
		for _, m := range a.Members() {
			if m.Peer != peer || !m.Live || m.Role > crdt.Admin {
				continue
			}
			var cut []crdt.CutEntry
			for actor, tip := range vector {
				if info, ok := a.Actor(actor); ok && info.Key == peer {
					cut = append(cut, crdt.CutEntry{Actor: actor, Seq: tip.Seq, Hash: tip.Hash})
				}
			}
			obj, err := n.home.identity.NewRevocation(id, m.Grant, crdt.PeerID{}, cut)
			if err != nil {
				return nil, fmt.Errorf("revoke peer %s: %w", peer.Short(), err)
			}
			out = append(out, obj)
		}
		return out, nil
	})
}

// Share implements [extension.BankSharing].
func (b bankSharing) Share(ctx context.Context, bank crdt.DocID, role crdt.Role) (string, error) {
	if err := b.setSynced(ctx, bank, true); err != nil {
		return "", err
	}
	const week = 7 * 24 * 60 * 60 * 1000
	t, err := b.n.share(ctx, bank, control.ShareOptions{Role: role.String(), Uses: 1, ExpiresMS: week})
	return t.Ticket, err
}

// Unshare implements [extension.BankSharing].
func (b bankSharing) Unshare(ctx context.Context, bank crdt.DocID) error {
	return b.setSynced(ctx, bank, false)
}

// setSynced says whether a document is exchanged with others at all.
func (b bankSharing) setSynced(ctx context.Context, id crdt.DocID, on bool) error {
	row, err := b.n.cataloged(ctx, id)
	if err != nil {
		return err
	}
	row.Unshared = !on
	if err := b.n.catalog.Put(ctx, id.String(), row); err != nil {
		return err
	}
	b.n.unshared.set(id, !on)
	if online := b.n.getOnline(); online != nil {
		return online.retell(ctx, id)
	}
	return nil
}

// joinWait is how long the import of a bank waits for its first complete copy, so that a ticket that
// is good brings it at once. What takes longer goes on.
const joinWait = 5 * time.Second

// Join implements [extension.BankSharing].
func (b bankSharing) Join(ctx context.Context, ticket string) (crdt.DocID, bool, error) {
	j, err := b.n.join(ctx, control.JoinParams{Ticket: ticket, WaitMS: joinWait.Milliseconds()})
	if err != nil {
		return crdt.DocID{}, false, err
	}
	id, err := crdt.ParseDocID(j.ID)
	switch {
	case err != nil:
		return id, false, err
	case j.State == control.StateReady:
		return id, false, nil
	case j.State == control.Pending || j.State == control.Offline:
		return id, true, nil
	}
	return id, false, errors.New(j.Reason)
}
