package crdt

import "slices"

// InOrder lists the objects so that each comes after those that give it its place: the genesis,
// rights from the owners down, actors, everything else. A log sent in parts in this order is placed
// part by part.
func (a *Access) InOrder() []*Object {
	rank := make(map[ObjectID]int, len(a.objects))
	for _, o := range a.objects {
		rank[o.ID] = a.rank(o)
	}
	out := slices.Clone(a.objects)
	slices.SortStableFunc(out, func(x, y *Object) int { return rank[x.ID] - rank[y.ID] })
	return out
}

func (a *Access) rank(o *Object) int {
	const actors, rest = MaxDepth + 2, MaxDepth + 3
	switch o.Body.(type) {
	case *Genesis:
		return 0
	case *Grant, *Invite, *Public:
		depth := 1
		for depth <= MaxDepth {
			id, ok := accParent(o)
			if !ok || id == ObjectID(a.doc) {
				break
			}
			if o, ok = a.Object(id); !ok {
				break
			}
			depth++
		}
		return depth
	case *ActorDecl:
		return actors
	}
	return rest
}
