package crdt

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// Access is who may do what in one document, as [Resolve] read it from the document's access log.
// It never changes; methods are safe for concurrent use and what they return may be kept but not
// written to.
//
// No clock is in it. Expiry counts only where a method takes a time (serving, authoring), never in
// what content is valid.
type Access struct {
	doc     DocID
	genesis *Genesis // nil when the log has none
	objects []*Object
	index   map[ObjectID]int // into objects
	placed  map[ObjectID]bool
	digest  [32]byte

	nodes   map[ObjectID]*accNode // grants, invites, publications that were rightly issued
	seats   []*accNode            // owners, in order of seniority
	members map[PeerID][]*accNode // seats and grants of a peer, best first
	actors  map[ActorID]*accActor
	uses    map[ObjectID]uint32 // grants that redeem an invite

	public  bool
	unknown bool
	cuts    bool
}

// Doc is the document.
func (a *Access) Doc() DocID { return a.doc }

// Kind is the document's kind, empty when the log has no genesis.
func (a *Access) Kind() Kind {
	if a.genesis == nil {
		return ""
	}
	return a.genesis.Kind
}

// Created is the creator's stamp, Unix ms.
func (a *Access) Created() int64 {
	if a.genesis == nil {
		return 0
	}
	return a.genesis.Created
}

// Owners lists the keys that the genesis names, most senior first, revoked ones too.
func (a *Access) Owners() []PeerID {
	if a.genesis == nil {
		return nil
	}
	return slices.Clone(a.genesis.Owners)
}

// Objects lists all objects of the log by id, also those that have no effect.
func (a *Access) Objects() []*Object { return slices.Clone(a.objects) }

// IDs lists the ids of Objects.
func (a *Access) IDs() []ObjectID {
	ids := make([]ObjectID, len(a.objects))
	for i, o := range a.objects {
		ids[i] = o.ID
	}
	return ids
}

// Object finds an object of the log.
func (a *Access) Object(id ObjectID) (*Object, bool) {
	i, ok := a.index[id]
	if !ok {
		return nil, false
	}
	return a.objects[i], true
}

// Placed reports whether an object is rightly issued: a chain of rights leads from it to the
// genesis. One that is not has no effect, and is noise unless what it builds on is still to come;
// once placed an object stays so, whatever is added.
func (a *Access) Placed(id ObjectID) bool { return a.placed[id] }

// Digest is the SHA-256 over the ids of Objects in order.
func (a *Access) Digest() [32]byte { return a.digest }

// HasUnknown reports whether an owner or admin in office has issued an object of a kind that this
// version does not know. It may take rights away, so the document is not to be served to new peers.
func (a *Access) HasUnknown() bool { return a.unknown }

// HasCuts reports whether a revocation bears on content, so that [Access.ValidSet] has to be asked
// which changes are valid. Without one all verified changes are.
func (a *Access) HasCuts() bool { return a.cuts }

// Public reports whether everybody may read.
func (a *Access) Public() bool { return a.public }

// Role is what a peer may do, expiry left out.
func (a *Access) Role(p PeerID) Role {
	_, role := a.GrantFor(p)
	return a.atLeastPublic(role)
}

// RoleAt is what a peer may do at a time (Unix ms), for serving and authoring.
func (a *Access) RoleAt(p PeerID, nowMs int64) Role {
	_, role := a.GrantAt(p, nowMs)
	return a.atLeastPublic(role)
}

func (a *Access) atLeastPublic(r Role) Role {
	if a.public && r < Read {
		return Read
	}
	return r
}

// GrantFor is the right under which a peer acts, expiry left out: its best grant in force, or the
// id of the genesis for an owner. Without any the role is NoRole.
func (a *Access) GrantFor(p PeerID) (ObjectID, Role) {
	if n := a.best(p, func(*accNode) bool { return true }); n != nil {
		return n.id, n.role
	}
	return ObjectID{}, NoRole
}

// GrantAt is GrantFor among the grants that have not expired at a time (Unix ms). A grant expires
// with the first grant above it that does.
func (a *Access) GrantAt(p PeerID, nowMs int64) (ObjectID, Role) {
	if n := a.best(p, func(n *accNode) bool { return !n.expiredAt(nowMs) }); n != nil {
		return n.id, n.role
	}
	return ObjectID{}, NoRole
}

func (a *Access) best(p PeerID, ok func(*accNode) bool) *accNode {
	for _, n := range a.members[p] {
		if !n.dead && ok(n) {
			return n
		}
	}
	return nil
}

// Chain is what a peer has to show to be admitted: the genesis, the grants from an owner down to
// its own, the invite that it redeemed if that is here. At most eight objects; nil for a peer
// without a grant in force.
func (a *Access) Chain(p PeerID) []*Object {
	n := a.best(p, func(*accNode) bool { return true })
	if n == nil {
		return nil
	}
	var chain []*Object
	if n.obj != nil {
		if invite, ok := a.Object(n.obj.Body.(*Grant).Invite); ok {
			chain = append(chain, invite)
		}
	}
	for ; n.parent != nil; n = n.parent {
		chain = append(chain, n.obj)
	}
	genesis, _ := a.Object(ObjectID(a.doc))
	chain = append(chain, genesis)
	slices.Reverse(chain)
	return chain
}

func accCompare(a, b ObjectID) int { return bytes.Compare(a[:], b[:]) }

func accDigest(sorted []*Object) [32]byte {
	h := sha256.New()
	for _, o := range sorted {
		h.Write(o.ID[:])
	}
	return [32]byte(h.Sum(nil))
}
