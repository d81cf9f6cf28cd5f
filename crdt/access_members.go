package crdt

import (
	"bytes"
	"cmp"
	"slices"
)

// Member is one right of one peer: an owner's seat or a grant.
type Member struct {
	Peer  PeerID
	Role  Role
	Grant ObjectID // the genesis for an owner
	By    PeerID   // who granted it; the creator for an owner
	// Expiry is the earliest on the chain of grants, Unix ms; 0 = never.
	Expiry int64
	Live   bool // not revoked or left, expiry left out
}

// Members lists all rights that peers hold or held, by peer, and of one peer the one it acts under
// first.
func (a *Access) Members() []Member {
	var out []Member
	for _, p := range a.peers() {
		for _, n := range a.members[p] {
			m := Member{Peer: p, Role: n.role, Grant: n.id, By: a.genesis.Owners[0], Expiry: n.expiry, Live: !n.dead}
			if n.obj != nil {
				m.By = n.obj.Signer
			}
			out = append(out, m)
		}
	}
	return out
}

func (a *Access) peers() []PeerID {
	var out []PeerID
	for p := range a.members {
		out = append(out, p)
	}
	slices.SortFunc(out, func(x, y PeerID) int { return bytes.Compare(x[:], y[:]) })
	return out
}

// Readers lists the peers that may read by a right of their own at a time (Unix ms), in id order.
// In a public document everybody else may too.
func (a *Access) Readers(nowMs int64) []PeerID {
	return slices.DeleteFunc(a.peers(), func(p PeerID) bool {
		_, role := a.GrantAt(p, nowMs)
		return role < Read
	})
}

// InviteInfo is an invite and what became of it.
type InviteInfo struct {
	ID      ObjectID
	By      PeerID // only this peer redeems it
	Parent  ObjectID
	Secret  [32]byte // [Secret.Hash]
	Role    Role
	Expiry  int64 // earliest of the invite's and the inviter's, Unix ms; 0 = never
	MaxUses uint32
	Uses    uint32 // grants of the inviter that name it, revoked ones too
	Live    bool   // neither it nor the inviter's right was revoked
}

// OpenAt reports whether the invite can be redeemed at a time (Unix ms).
func (i InviteInfo) OpenAt(nowMs int64) bool {
	return i.Live && i.Uses < i.MaxUses && (i.Expiry == 0 || nowMs < i.Expiry)
}

// Invites lists the rightly issued invites by id.
func (a *Access) Invites() []InviteInfo {
	var out []InviteInfo
	for _, n := range a.nodes {
		if b, ok := n.obj.Body.(*Invite); ok {
			out = append(out, InviteInfo{
				ID: n.id, By: n.subject, Parent: b.Parent, Secret: b.Secret, Role: b.Role,
				Expiry: n.expiry, MaxUses: b.MaxUses, Uses: a.uses[n.id], Live: !n.dead,
			})
		}
	}
	slices.SortFunc(out, func(x, y InviteInfo) int { return accCompare(x.ID, y.ID) })
	return out
}

// InviteOf finds the invite of a signer for a secret; of several the first that is live and not
// used up.
func (a *Access) InviteOf(signer PeerID, s Secret) (InviteInfo, bool) {
	hash := s.Hash()
	found := slices.DeleteFunc(a.Invites(), func(i InviteInfo) bool { return i.By != signer || i.Secret != hash })
	if len(found) == 0 {
		return InviteInfo{}, false
	}
	return slices.MinFunc(found, func(x, y InviteInfo) int {
		return cmp.Compare(accSpent(x), accSpent(y))
	}), true
}

func accSpent(i InviteInfo) int {
	if i.Live && i.Uses < i.MaxUses {
		return 0
	}
	return 1
}

// placeRest counts uses of invites, and reads publications and unknown kinds.
func (a *Access) placeRest() {
	for _, n := range a.nodes {
		switch b := n.obj.Body.(type) {
		case *Grant:
			if i := a.nodes[b.Invite]; i != nil && i.subject == n.obj.Signer && !i.holdsRole() {
				a.uses[b.Invite]++
			}
			a.cuts = a.cuts || len(n.revs) > 0
		case *Public:
			a.public = a.public || !n.dead
		}
	}
	for _, n := range a.seats {
		a.cuts = a.cuts || len(n.revs) > 0
	}
	for _, o := range a.objects {
		if o.Body == nil && len(a.members[o.Signer]) > 0 {
			a.placed[o.ID] = true
			_, role := a.GrantFor(o.Signer)
			a.unknown = a.unknown || role >= Admin
		}
	}
}
