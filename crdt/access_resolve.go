package crdt

import (
	"cmp"
	"slices"
)

// accNode is one right: an owner's seat, a grant, an invite or a publication. Seats are the roots.
type accNode struct {
	id      ObjectID // of the object; of the genesis for a seat
	obj     *Object  // nil for a seat
	parent  *accNode // nil for a seat
	seat    int      // place of the owner at the root
	depth   int      // grants above and with this one
	subject PeerID   // who holds it; the signer of an invite or publication
	role    Role
	expiry  int64 // earliest on the way to the root, Unix ms; 0 = never
	// dead: a revocation or leave names this right or one above it. It never ends.
	dead  bool
	ended bool         // it is this right that one of them names
	revs  []accRevoked // revocations of this right itself
}

// accRevoked is a valid revocation of a right.
type accRevoked struct {
	id   ObjectID
	body *Revocation
	// rank is the place of the signer in the order of seniority that ends at the right he revoked,
	// lowest first.
	rank int
}

func (n *accNode) expiredAt(nowMs int64) bool { return n.expiry != 0 && nowMs >= n.expiry }

// Resolve reads the access log of a document. It is a pure function of the set of objects: order,
// repetition and the objects of other documents do not matter, no clock is asked, and an object
// once placed or dead stays so whatever is added.
//
// A right is rightly issued when a chain of grants leads from it to an owner, each signed by the
// holder of the one above, who is an admin there, none giving more than the one above. Who may end
// it: its holder, any holder above it on that chain, the owner at the root, and the owners named
// before that one in the genesis. It is a strict order, so no two can end each other's right and
// nothing has to be arbitrated. What is below a dead right is dead.
func Resolve(id DocID, objs []*Object) *Access {
	a := &Access{
		doc: id, index: map[ObjectID]int{}, placed: map[ObjectID]bool{}, nodes: map[ObjectID]*accNode{},
		members: map[PeerID][]*accNode{}, actors: map[ActorID]*accActor{}, uses: map[ObjectID]uint32{},
	}
	a.collect(objs)
	a.digest = accDigest(a.objects)
	i, ok := a.index[ObjectID(id)]
	if !ok {
		return a
	}
	if a.genesis, ok = a.objects[i].Body.(*Genesis); !ok {
		return a
	}
	a.placed[ObjectID(id)] = true
	a.placeRights()
	a.placeEnds()
	a.bury()
	a.placeActors()
	a.placeRest()
	return a
}

// collect keeps one of each object of the document, in id order.
func (a *Access) collect(objs []*Object) {
	for _, o := range objs {
		if o != nil && o.Doc == a.doc {
			a.objects = append(a.objects, o)
		}
	}
	slices.SortStableFunc(a.objects, func(x, y *Object) int { return accCompare(x.ID, y.ID) })
	a.objects = slices.CompactFunc(a.objects, func(x, y *Object) bool { return x.ID == y.ID })
	for i, o := range a.objects {
		a.index[o.ID] = i
	}
}

// placeRights finds the owners' seats and everything that is rightly issued below them, top down.
func (a *Access) placeRights() {
	for i, p := range a.genesis.Owners {
		n := &accNode{id: ObjectID(a.doc), seat: i, subject: p, role: Owner}
		a.seats = append(a.seats, n)
		a.members[p] = append(a.members[p], n)
	}
	waiting := map[ObjectID][]*Object{} // by parent
	for _, o := range a.objects {
		if parent, ok := accParent(o); ok {
			waiting[parent] = append(waiting[parent], o)
		}
	}
	for _, o := range waiting[ObjectID(a.doc)] {
		if i := slices.Index(a.genesis.Owners, o.Signer); i >= 0 {
			a.placeBelow(a.seats[i], o, waiting)
		}
	}
}

// placeBelow places o under parent, and then what waits for o; at most MaxDepth deep.
func (a *Access) placeBelow(parent *accNode, o *Object, waiting map[ObjectID][]*Object) {
	n := &accNode{id: o.ID, obj: o, parent: parent, seat: parent.seat, depth: parent.depth, subject: o.Signer, expiry: parent.expiry}
	switch b := o.Body.(type) {
	case *Grant:
		n.subject, n.role, n.depth = b.Subject, b.Role, parent.depth+1
		n.expiry = accEarlier(parent.expiry, b.Expiry)
	case *Invite:
		n.role, n.expiry = b.Role, accEarlier(parent.expiry, b.Expiry)
	case *Public:
		n.role = b.Role
	}
	// Nothing below an owner gives more than Admin (its body says so), so with an admin above it
	// nothing gives more than the right it was issued by.
	if o.Signer != parent.subject || parent.role < Admin || n.depth > MaxDepth {
		return
	}
	a.nodes[o.ID], a.placed[o.ID] = n, true
	if g, ok := o.Body.(*Grant); ok {
		a.members[g.Subject] = append(a.members[g.Subject], n)
		for _, below := range waiting[o.ID] {
			a.placeBelow(n, below, waiting)
		}
	}
}

// accParent is the right by which an object that makes a right was issued.
func accParent(o *Object) (ObjectID, bool) {
	switch b := o.Body.(type) {
	case *Grant:
		return b.Parent, true
	case *Invite:
		return b.Parent, true
	case *Public:
		return b.Parent, true
	}
	return ObjectID{}, false
}

func accEarlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// placeEnds finds the valid revocations and leaves.
func (a *Access) placeEnds() {
	for _, o := range a.objects {
		switch b := o.Body.(type) {
		case *Revocation:
			n := a.right(b.Target, b.Subject)
			if rank, ok := a.seniority(o.Signer, n); ok {
				n.ended, a.placed[o.ID] = true, true
				n.revs = append(n.revs, accRevoked{o.ID, b, rank})
			}
		case *Leave:
			if n := a.right(b.Target, o.Signer); n != nil && n.subject == o.Signer {
				n.ended, a.placed[o.ID] = true, true
			}
		}
	}
}

// right finds a right by its id; owner says which seat the id of the genesis means.
func (a *Access) right(id ObjectID, owner PeerID) *accNode {
	if id != ObjectID(a.doc) {
		return a.nodes[id]
	}
	if i := slices.Index(a.genesis.Owners, owner); i >= 0 {
		return a.seats[i]
	}
	return nil
}

// seniority reports whether p may end the right n, and p's highest place in the order: the owners
// up to the one at the root, then the grants down to n.
func (a *Access) seniority(p PeerID, n *accNode) (rank int, ok bool) {
	for ; n != nil; n = n.parent {
		if n.parent == nil {
			if i := slices.Index(a.genesis.Owners[:n.seat+1], p); i >= 0 {
				return i, true
			}
		} else if n.subject == p {
			rank, ok = n.seat+n.depth, true
		}
	}
	return rank, ok
}

// bury marks what is dead, then orders each peer's rights, the one it acts under first: alive, the
// highest role, the longest in force, the lowest id.
func (a *Access) bury() {
	for _, n := range a.seats {
		n.dead = n.ended
	}
	for _, n := range a.nodes {
		for up := n; up != nil && !n.dead; up = up.parent {
			n.dead = up.ended
		}
	}
	for _, nodes := range a.members {
		slices.SortFunc(nodes, func(x, y *accNode) int {
			return cmp.Or(accFirst(!x.dead, !y.dead), cmp.Compare(y.role, x.role),
				accFirst(x.expiry == 0, y.expiry == 0), cmp.Compare(y.expiry, x.expiry), accCompare(x.id, y.id))
		})
	}
}

// accFirst orders what is true of x alone before what is true of y alone.
func accFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}
