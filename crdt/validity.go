package crdt

// ValidityChange is what the validity rule needs to know of a change.
type ValidityChange struct {
	Hash  ChangeHash
	Actor ActorID
	Seq   uint64
	Deps  []ChangeHash // with the actor's previous change
}

// ValidSet says which of the verified changes of a document are valid, the genesis change aside.
// changes is C: all of them in causal order, each signed by its actor's key, with its dependencies;
// a dependency that is not among them is taken for the genesis change. The result is V: the changes
// in force and every change that one of those was built on. It is closed under dependencies, and
// while no fork is known a further access object only ever makes it smaller.
//
// A change of an actor that was never rightly declared is not in C, whoever built on it, nor is
// what was built on it. Where C holds several branches of a fork, those that no cut keeps fall.
func (a *Access) ValidSet(changes []ValidityChange) map[ChangeHash]bool {
	valid := make(map[ChangeHash]bool, len(changes))
	if !a.cuts {
		for i := range changes {
			valid[changes[i].Hash] = true
		}
		return valid
	}
	c := newValidityGraph(a, changes)
	for i := len(changes) - 1; i >= 0; i-- {
		if !c.verified[i] {
			continue
		}
		if !valid[changes[i].Hash] && !c.inForce(i) {
			continue
		}
		valid[changes[i].Hash] = true
		for _, d := range changes[i].Deps {
			if _, ok := c.index[d]; ok {
				valid[d] = true // vouched for
			}
		}
	}
	return valid
}

// validityGraph is C with its places.
type validityGraph struct {
	access   *Access
	changes  []ValidityChange
	index    map[ChangeHash]int
	verified []bool
	branch   map[Tip]map[int]bool // for a cut's change: the places of it and the actor's earlier ones
}

func newValidityGraph(a *Access, changes []ValidityChange) *validityGraph {
	g := &validityGraph{
		access: a, changes: changes, index: make(map[ChangeHash]int, len(changes)),
		verified: make([]bool, len(changes)), branch: map[Tip]map[int]bool{},
	}
	for i := range changes {
		g.index[changes[i].Hash] = i
	}
	for i := range changes {
		ok := a.actors[changes[i].Actor] != nil
		for _, d := range changes[i].Deps {
			at, here := g.index[d]
			ok = ok && (!here || at < i && g.verified[at])
		}
		g.verified[i] = ok
	}
	return g
}

func (g *validityGraph) inForce(i int) bool {
	c := &g.changes[i]
	return g.access.actors[c.Actor].inForce(c.Seq, c.Hash, func(tip Tip) (on, known bool) {
		branch := g.branchTo(c.Actor, tip)
		return branch[i], branch != nil
	})
}

// branchTo walks from the change that a cut names back to the actor's first. It is nil when C does
// not have that change, or not as the cut has it.
func (g *validityGraph) branchTo(actor ActorID, tip Tip) map[int]bool {
	i, ok := g.index[tip.Hash]
	if !ok || g.changes[i].Actor != actor || g.changes[i].Seq != tip.Seq {
		return nil
	}
	if b := g.branch[tip]; b != nil {
		return b
	}
	b := map[int]bool{i: true}
	for at, ok := i, true; ok; {
		if at, ok = g.previous(at); ok {
			b[at] = true
		}
	}
	g.branch[tip] = b
	return b
}

// previous finds the actor's change before the one at i among its dependencies.
func (g *validityGraph) previous(i int) (int, bool) {
	c := &g.changes[i]
	for _, d := range c.Deps {
		if at, ok := g.index[d]; ok && at < i && g.changes[at].Actor == c.Actor && g.changes[at].Seq+1 == c.Seq {
			return at, true
		}
	}
	return 0, false
}
