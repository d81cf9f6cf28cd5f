package crdt

import "slices"

// ActorInfo is what the access log says of one actor.
type ActorInfo struct {
	Key   PeerID   // who signs its changes
	Grant ObjectID // by what right; the genesis for an owner
	Epoch [16]byte
	// Role is that of the grant, in force or not: what changes are checked against when they come.
	Role Role
	// Live: the grant is in force, expiry left out.
	Live bool
	// Closed: it is proven that the key signed two changes with one sequence number, the lowest
	// such number known being ClosedAt. No further changes of the actor are taken.
	Closed   bool
	ClosedAt uint64
}

// Cut is where one revocation ends what an actor has in force by itself.
type Cut struct {
	Revocation ObjectID
	Signer     PeerID
	Tip        // the last change in force; sequence number 0: none
}

type accActor struct {
	info ActorInfo
	cuts []Cut // of all revocations of the grant or one above it, in id order
	// keep is the place in cuts of the one that says which branch of a closed actor stays, or -1.
	keep int
}

// Actor finds a rightly declared actor, of a revoked grant too.
func (a *Access) Actor(id ActorID) (ActorInfo, bool) {
	act := a.actors[id]
	if act == nil {
		return ActorInfo{}, false
	}
	return act.info, true
}

// Cuts lists, for each revocation of the actor's grant or of one above it, the last change that it
// leaves in force. A change has to be within all of them.
func (a *Access) Cuts(id ActorID) []Cut {
	if act := a.actors[id]; act != nil {
		return slices.Clone(act.cuts)
	}
	return nil
}

// InForce reports whether a change is in force by itself, whatever was built on it, going by its
// actor, sequence number and hash alone: no revocation bears on the actor, or it is within all cuts.
// Where a fork leaves open on which branch the change is the answer is no; [Access.ValidSet] sees
// more and then decides.
func (a *Access) InForce(id ActorID, seq uint64, hash ChangeHash) bool {
	act := a.actors[id]
	return act != nil && act.inForce(seq, hash, nil)
}

// inForce judges a change against all cuts. onBranch, if given, says whether the change is an
// earlier change of the actor before the one with a hash, or that one; known is false when there is
// no such change to tell by.
func (act *accActor) inForce(seq uint64, hash ChangeHash, onBranch func(tip Tip) (on, known bool)) bool {
	for i, c := range act.cuts {
		if seq > c.Seq {
			return false
		}
		if act.keep >= 0 && i != act.keep {
			continue // where branches are known, the most senior cut alone says which one stays
		}
		on, known := seq == c.Seq && hash == c.Hash, seq == c.Seq
		if onBranch != nil && !known {
			on, known = onBranch(c.Tip)
		}
		if !known {
			on = !act.info.Closed || seq < act.info.ClosedAt
		}
		if !on {
			return false
		}
	}
	return true
}

// placeActors finds the rightly declared actors, what is revoked of them, and who forked.
func (a *Access) placeActors() {
	for _, o := range a.objects {
		d, ok := o.Body.(*ActorDecl)
		if !ok {
			continue
		}
		n := a.right(d.Grant, o.Signer)
		if n == nil || n.subject != o.Signer || n.role < Write || !n.holdsRole() {
			continue
		}
		a.placed[o.ID] = true
		id := NewActorID(a.doc, o.Signer, d.Grant, d.Epoch)
		if a.actors[id] == nil {
			info := ActorInfo{Key: o.Signer, Grant: d.Grant, Epoch: d.Epoch, Role: n.role, Live: !n.dead}
			a.actors[id] = &accActor{info: info, cuts: a.cutsOf(id, n), keep: -1}
		}
	}
	for _, o := range a.objects {
		if e, ok := o.Body.(*Equivocation); ok {
			act := a.actors[e.Actor]
			if act == nil || act.info.Key != e.Key {
				continue
			}
			a.placed[o.ID] = true
			if !act.info.Closed || e.Seq < act.info.ClosedAt {
				act.info.Closed, act.info.ClosedAt = true, e.Seq
			}
		}
	}
	for id, act := range a.actors {
		if act.info.Closed {
			act.keep = a.keepOf(id, act)
		}
	}
}

// powerless reports whether an object declares an actor by a right that does not let it write, and
// which actor. Nothing that is added later changes that.
func (a *Access) powerless(o *Object) (ActorID, bool) {
	d, ok := o.Body.(*ActorDecl)
	if !ok {
		return ActorID{}, false
	}
	n := a.right(d.Grant, o.Signer)
	if n == nil || n.subject != o.Signer || !n.holdsRole() || n.role >= Write {
		return ActorID{}, false
	}
	return NewActorID(a.doc, o.Signer, d.Grant, d.Epoch), true
}

// holdsRole: seats and grants give their holder a role, invites and publications do not.
func (n *accNode) holdsRole() bool {
	if n.obj == nil {
		return true
	}
	_, ok := n.obj.Body.(*Grant)
	return ok
}

func (a *Access) cutsOf(id ActorID, n *accNode) []Cut {
	var cuts []Cut
	for ; n != nil; n = n.parent {
		for _, r := range n.revs {
			c := Cut{Revocation: r.id, Signer: a.objects[a.index[r.id]].Signer}
			if e, ok := r.body.entry(id); ok {
				c.Tip = Tip{e.Seq, e.Hash}
			}
			cuts = append(cuts, c)
		}
	}
	slices.SortFunc(cuts, func(x, y Cut) int { return accCompare(x.Revocation, y.Revocation) })
	return cuts
}

func (r *Revocation) entry(id ActorID) (CutEntry, bool) {
	i := slices.IndexFunc(r.Cut, func(c CutEntry) bool { return c.Actor == id })
	if i < 0 {
		return CutEntry{}, false
	}
	return r.Cut[i], true
}

// keepOf picks the cut that settles a fork: the one of the most senior signer, then of the lowest
// id. One that ends before the fork settles it as well: no branch is within it.
func (a *Access) keepOf(id ActorID, act *accActor) int {
	rank := map[ObjectID]int{}
	for n := a.right(act.info.Grant, act.info.Key); n != nil; n = n.parent {
		for _, r := range n.revs {
			rank[r.id] = r.rank
		}
	}
	keep := -1
	for i, c := range act.cuts {
		if keep < 0 || rank[c.Revocation] < rank[act.cuts[keep].Revocation] {
			keep = i
		}
	}
	return keep
}
