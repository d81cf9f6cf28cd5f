package banktest

import (
	"context"
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
)

type sharing struct{ p *Peer }

// hosts are the other peers that may write to an agent's document.
func (s sharing) hosts(ctx context.Context, agent crdt.DocID) ([]crdt.PeerID, error) {
	access, err := s.p.Access(ctx, agent)
	if err != nil {
		return nil, err
	}
	var out []crdt.PeerID
	for _, id := range access.Readers(crdt.NowMillis(s.p.Clock)) {
		if id != s.p.Self() && access.Role(id) >= crdt.Write {
			out = append(out, id)
		}
	}
	return out, nil
}

// Admit implements [extension.BankSharing].
func (s sharing) Admit(ctx context.Context, bank, agent crdt.DocID, role crdt.Role) error {
	if s.p.FailAdmit != nil {
		return s.p.FailAdmit
	}
	peers, err := s.hosts(ctx, agent)
	for _, id := range peers {
		err = errors.Join(err, s.p.grant(ctx, bank, id, role))
	}
	return err
}

// Dismiss implements [extension.BankSharing].
func (s sharing) Dismiss(ctx context.Context, bank, agent crdt.DocID) error {
	peers, err := s.hosts(ctx, agent)
	for _, id := range peers {
		err = errors.Join(err, s.p.revoke(ctx, bank, id))
	}
	return err
}

// Share implements [extension.BankSharing].
func (s sharing) Share(ctx context.Context, bank crdt.DocID, role crdt.Role) (string, error) {
	sum, _ := s.p.Summary(bank)
	t := crdt.Ticket{Doc: bank, Kind: sum.Kind, Peer: s.p.Self(), Role: role}
	var err error
	if t.Secret, err = crdt.NewSecret(s.p.rand); err != nil {
		return "", err
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.secrets[bank] = t
	delete(s.p.Unshared, bank)
	return t.String(), nil
}

// Unshare implements [extension.BankSharing].
func (s sharing) Unshare(ctx context.Context, bank crdt.DocID) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.Unshared[bank] = true
	return nil
}

// Join implements [extension.BankSharing]. Without the right secret somebody would have to approve.
func (s sharing) Join(ctx context.Context, ticket string) (crdt.DocID, bool, error) {
	t, err := crdt.ParseTicket(ticket)
	if err != nil {
		return crdt.DocID{}, false, err
	}
	from := s.p.net.peer(t.Peer)
	if from == nil {
		return t.Doc, true, nil
	}
	from.mu.Lock()
	given, ok := from.secrets[t.Doc]
	from.mu.Unlock()
	if !ok || given.Secret != t.Secret {
		return t.Doc, true, nil
	}
	if err := from.grant(ctx, t.Doc, s.p.Self(), given.Role); err != nil {
		return t.Doc, false, err
	}
	return t.Doc, false, s.p.pull(ctx, from, t.Doc)
}

func (p *Peer) grant(ctx context.Context, doc crdt.DocID, to crdt.PeerID, role crdt.Role) error {
	return p.Issue(ctx, doc, func(a *crdt.Access) ([]*crdt.Object, error) {
		if a.Role(to) >= role {
			return nil, nil
		}
		parent, _ := a.GrantFor(p.Self())
		o, err := p.identity.NewGrant(doc, crdt.Grant{Parent: parent, Subject: to, Role: role}, p.rand)
		return []*crdt.Object{o}, err
	})
}

func (p *Peer) revoke(ctx context.Context, doc crdt.DocID, peer crdt.PeerID) error {
	vector, err := p.Vector(ctx, doc)
	if err != nil {
		return err
	}
	return p.Issue(ctx, doc, func(a *crdt.Access) ([]*crdt.Object, error) {
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
			o, err := p.identity.NewRevocation(doc, m.Grant, crdt.PeerID{}, cut)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
		return out, nil
	})
}

// Lower leaves a peer the role read in a document, and tells it so.
func (p *Peer) Lower(doc crdt.DocID, other *Peer) {
	p.t.Helper()
	ctx := context.Background()
	err := p.revoke(ctx, doc, other.Self())
	if err == nil {
		err = p.grant(ctx, doc, other.Self(), crdt.Read)
	}
	if err == nil {
		err = other.pull(ctx, p, doc)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
