package crdt

import (
	"slices"
)

// accOracle answers the same questions as [Access] by looking through all objects each time, rule
// by rule as docs/wire.md words them.
type accOracle struct {
	doc  DocID
	objs []*Object
}

// newAccOracle takes each object once: one that is there twice, under one id, is one object.
func newAccOracle(doc DocID, objs []*Object) accOracle {
	o := accOracle{doc: doc}
	for _, x := range objs {
		if o.find(x.ID) == nil {
			o.objs = append(o.objs, x)
		}
	}
	return o
}

func (o accOracle) find(id ObjectID) *Object {
	for _, x := range o.objs {
		if x.ID == id && x.Doc == o.doc {
			return x
		}
	}
	return nil
}

func (o accOracle) owners() []PeerID { return o.find(ObjectID(o.doc)).Body.(*Genesis).Owners }

// terms reads a grant, invite or publication: what it builds on, what it gives, to whom.
func accTerms(x *Object) (parent ObjectID, role Role, holder PeerID, ok bool) {
	switch b := x.Body.(type) {
	case *Grant:
		return b.Parent, b.Role, b.Subject, true
	case *Invite:
		return b.Parent, b.Role, x.Signer, true
	case *Public:
		return b.Parent, b.Role, x.Signer, true
	}
	return ObjectID{}, 0, PeerID{}, false
}

// path lists the objects from the one below an owner down to id, and the owner at the root; ok is
// false when id is not rightly issued.
func (o accOracle) path(id ObjectID) (owner PeerID, path []*Object, ok bool) {
	x := o.find(id)
	if x == nil {
		return owner, nil, false
	}
	parent, role, _, isRight := accTerms(x)
	if !isRight {
		return owner, nil, false
	}
	if parent == ObjectID(o.doc) {
		return x.Signer, []*Object{x}, slices.Contains(o.owners(), x.Signer)
	}
	up := o.find(parent)
	if up == nil {
		return owner, nil, false
	}
	grant, isGrant := up.Body.(*Grant)
	if !isGrant || grant.Subject != x.Signer || grant.Role != Admin || role > grant.Role {
		return owner, nil, false
	}
	owner, path, ok = o.path(parent)
	_, lastIsGrant := x.Body.(*Grant)
	if !ok || lastIsGrant && len(path) == MaxDepth {
		return owner, nil, false
	}
	return owner, append(path, x), true
}

// mayEnd: the holder of the right, the holders above, the owner at the root and those before him.
func (o accOracle) mayEnd(p PeerID, id ObjectID, seat PeerID) bool {
	owner, path := seat, []*Object(nil)
	if id != ObjectID(o.doc) {
		var ok bool
		if owner, path, ok = o.path(id); !ok {
			return false
		}
	}
	for _, x := range path {
		if _, _, holder, _ := accTerms(x); holder == p {
			return true
		}
	}
	root := slices.Index(o.owners(), owner)
	return root >= 0 && slices.Contains(o.owners()[:root+1], p)
}

// ends lists the valid revocations and leaves of one right.
func (o accOracle) ends(id ObjectID, seat PeerID) (revs []*Object, ended bool) {
	isSeat := id == ObjectID(o.doc)
	for _, x := range o.objs {
		switch b := x.Body.(type) {
		case *Revocation:
			if b.Target == id && (!isSeat || b.Subject == seat) && o.mayEnd(x.Signer, id, seat) {
				revs, ended = append(revs, x), true
			}
		case *Leave:
			if b.Target == id && isSeat && x.Signer == seat && slices.Contains(o.owners(), seat) {
				ended = true
			}
			if b.Target == id && !isSeat {
				_, _, ok := o.path(id)
				_, _, holder, _ := accTerms(o.find(id))
				ended = ended || ok && holder == x.Signer
			}
		}
	}
	return revs, ended
}

// state of a right: rightly issued, dead, and every revocation of it or of a right above it.
func (o accOracle) state(id ObjectID, seat PeerID) (ok, dead bool, revs []*Object) {
	owner, path := seat, []*Object(nil)
	if id == ObjectID(o.doc) {
		ok = slices.Contains(o.owners(), seat)
	} else if owner, path, ok = o.path(id); !ok {
		return false, false, nil
	}
	revs, dead = o.ends(ObjectID(o.doc), owner)
	for _, x := range path {
		r, e := o.ends(x.ID, PeerID{})
		revs, dead = append(revs, r...), dead || e
	}
	return ok, dead, revs
}

func (o accOracle) expired(id ObjectID, now int64) bool {
	if id == ObjectID(o.doc) {
		return false
	}
	_, path, _ := o.path(id)
	return slices.ContainsFunc(path, func(x *Object) bool {
		g, ok := x.Body.(*Grant)
		return ok && g.Expiry != 0 && now >= g.Expiry
	})
}

// role is the best role of a peer at a time; a negative time leaves expiry out.
func (o accOracle) role(p PeerID, now int64) Role {
	best := NoRole
	if ok, dead, _ := o.state(ObjectID(o.doc), p); ok && !dead {
		best = Owner
	}
	for _, x := range o.objs {
		ok, dead, _ := o.state(x.ID, PeerID{})
		if !ok || dead {
			continue
		}
		switch b := x.Body.(type) {
		case *Grant:
			if b.Subject == p && !o.expired(x.ID, now) {
				best = max(best, b.Role)
			}
		case *Public:
			best = max(best, Read)
		}
	}
	return best
}

// actor finds the declaration of an actor by its id.
func (o accOracle) actor(id ActorID) (key PeerID, revs []*Object, ok bool) {
	for _, x := range o.objs {
		d, is := x.Body.(*ActorDecl)
		if !is || NewActorID(o.doc, x.Signer, d.Grant, d.Epoch) != id {
			continue
		}
		issued, _, revs := o.state(d.Grant, x.Signer)
		if d.Grant != ObjectID(o.doc) {
			g := o.find(d.Grant)
			if g == nil {
				continue
			}
			b, is := g.Body.(*Grant)
			issued = issued && is && b.Subject == x.Signer && b.Role >= Write
		}
		if issued {
			return x.Signer, revs, true
		}
	}
	return key, nil, false
}

// inForce is the rule for changes without forks: at or before every cut, and the very change where
// it is the one at the cut.
func (o accOracle) inForce(c ValidityChange) bool {
	_, revs, ok := o.actor(c.Actor)
	if !ok {
		return false
	}
	for _, r := range revs {
		within := false
		for _, e := range r.Body.(*Revocation).Cut {
			within = within || e.Actor == c.Actor && (c.Seq < e.Seq || c.Seq == e.Seq && c.Hash == e.Hash)
		}
		if !within {
			return false
		}
	}
	return true
}

// valid: in C, and in force or below something in C that is.
func (o accOracle) valid(changes []ValidityChange) map[ChangeHash]bool {
	byHash := map[ChangeHash]ValidityChange{}
	for _, c := range changes {
		byHash[c.Hash] = c
	}
	var verified func(c ValidityChange) bool
	verified = func(c ValidityChange) bool {
		_, _, ok := o.actor(c.Actor)
		for _, d := range c.Deps {
			if dep, here := byHash[d]; here {
				ok = ok && verified(dep)
			}
		}
		return ok
	}
	var below func(c ValidityChange, h ChangeHash) bool
	below = func(c ValidityChange, h ChangeHash) bool {
		return c.Hash == h || slices.ContainsFunc(c.Deps, func(d ChangeHash) bool {
			dep, here := byHash[d]
			return here && below(dep, h)
		})
	}
	out := map[ChangeHash]bool{}
	for _, c := range changes {
		for _, by := range changes {
			if verified(by) && o.inForce(by) && below(by, c.Hash) {
				out[c.Hash] = true
			}
		}
	}
	return out
}
