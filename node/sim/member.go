package sim

import (
	"errors"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// grant gives another peer a role, if this one may.
func (p *peer) grant(d *doc, q *peer, a act) bool {
	if q.rogue || a.role == crdt.NoRole {
		return false
	}
	done := p.issue(d, func(log *crdt.Access) (*crdt.Object, error) {
		parent, role := log.GrantFor(p.self())
		if role < crdt.Admin || log.Role(q.self()) >= a.role {
			return nil, nil
		}
		return p.id.NewGrant(d.id, crdt.Grant{Parent: parent, Subject: q.self(), Role: a.role}, p.rand)
	})
	if done && a.fault != "" {
		p.w.hit(a.fault)
	}
	return done
}

// join makes a ticket at a member and lets this peer use it.
func (p *peer) join(d *doc, q *peer, a act) bool {
	if p.rogue || !q.up || q.rogue || !q.repo.Has(d.id) || a.role == crdt.NoRole {
		return false
	}
	secret, err := crdt.NewSecret(q.rand)
	if err != nil {
		panic(err) // the source never ends
	}
	done := q.issue(d, func(log *crdt.Access) (*crdt.Object, error) {
		parent, role := log.GrantFor(q.self())
		if role < crdt.Admin || log.Role(p.self()) >= a.role {
			return nil, nil
		}
		return q.id.NewInvite(d.id, crdt.Invite{Parent: parent, Secret: secret.Hash(), Role: a.role, MaxUses: 1}, q.rand)
	})
	q.looked()
	if !done || !p.up {
		return false
	}
	p.useTicket(docsync.Join{Doc: d.id, Kind: d.kind, Inviter: q.self(), Secret: secret[:], Role: a.role.String()})
	if a.fault != "" {
		p.w.hit(a.fault)
	}
	return true
}

func (p *peer) useTicket(j docsync.Join) {
	p.joins = slices.DeleteFunc(p.joins, func(o docsync.Join) bool { return o.Doc == j.Doc })
	p.joins = append(p.joins, j)
	for _, l := range p.w.links {
		if s := l.side(p); s != nil && s.began {
			s.step(j)
		}
	}
}

// issue adds an object to the access log; false when there was none to add or the disk did not take it.
func (p *peer) issue(d *doc, fn func(*crdt.Access) (*crdt.Object, error)) bool {
	made := false
	err := p.repo.Issue(p.w.ctx, d.id, func(log *crdt.Access) ([]*crdt.Object, error) {
		o, err := fn(log)
		if made = o != nil; !made {
			return nil, err
		}
		return []*crdt.Object{o}, err
	})
	switch {
	case err == nil:
		return made
	case !isDisk(err) && !errors.Is(err, crdt.ErrNoRight):
		p.w.fail(S1, p, "extend the access log: %v", err)
	}
	return false
}

// upkeep drops a document from memory and reads it again, or packs its log.
func (p *peer) upkeep(d *doc, a act) bool {
	if a.do == DoEvict {
		if _, err := p.repo.Rebuild(p.w.ctx, d.id); err != nil {
			if !isDisk(err) {
				p.w.fail(I9, p, "read %s again: %v", d.kind, err)
			}
			return false
		}
		p.w.hit(FaultEvict)
		return true
	}
	packed, err := p.repo.Compact(p.w.ctx, d.id)
	if err != nil && !isDisk(err) {
		p.w.fail(S1, p, "compact: %v", err)
	}
	if packed > 0 {
		p.w.hit(FaultCompact)
	}
	return packed > 0
}
