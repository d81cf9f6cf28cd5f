package crdt

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// accPrint is everything that an Access answers.
func accPrint(a *Access, changes []ValidityChange) string {
	s := fmt.Sprintln(a.Kind(), a.Created(), a.Owners(), a.Digest(), a.IDs(), a.Public(), a.HasUnknown(), a.HasCuts())
	s += fmt.Sprintln(a.Members(), a.Invites(), a.Readers(0), a.Readers(15))
	for _, p := range testPeers(accPeople + 1) {
		id, role := a.GrantFor(p)
		s += fmt.Sprintln(p, id, role, a.Role(p), a.RoleAt(p, 15), a.Chain(p))
	}
	for _, id := range slices.SortedFunc(maps.Keys(a.actors), func(x, y ActorID) int { return compareActors(x, y) }) {
		info, _ := a.Actor(id)
		s += fmt.Sprintln(id, info, a.Cuts(id))
	}
	for _, o := range a.Objects() {
		s += fmt.Sprint(a.Placed(o.ID), " ")
	}
	v := a.ValidSet(changes)
	for _, c := range changes {
		s += fmt.Sprint(v[c.Hash], a.InForce(c.Actor, c.Seq, c.Hash), " ")
	}
	return s
}

func compareActors(x, y ActorID) int { return slices.Compare(x[:], y[:]) }

func TestResolveIsAFunctionOfTheSet(t *testing.T) {
	foreign := must(testIdentity(5).NewGenesis(Agent, nil, 1, testRand(99)))
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 14, accAllKinds...)
		changes := w.changes()
		want := accPrint(Resolve(w.doc, w.objs), changes)
		mixed := append(slices.Clone(w.objs), nil, foreign)
		mixed = append(mixed, rapid.SliceOf(rapid.SampledFrom(w.objs)).Draw(t, "again")...)
		mixed = rapid.Permutation(mixed).Draw(t, "order")
		if got := accPrint(Resolve(w.doc, mixed), changes); got != want {
			t.Fatalf("in another order and repeated:\n%s\nfirst:\n%s", got, want)
		}
		cut := rapid.IntRange(0, len(mixed)).Draw(t, "group")
		first := Resolve(w.doc, mixed[:cut])
		if got := accPrint(Resolve(w.doc, append(first.Objects(), mixed[cut:]...)), changes); got != want {
			t.Fatalf("in two groups:\n%s\nat once:\n%s", got, want)
		}
	})
}

func TestResolveMatchesTheRules(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 14, accAllKinds...)
		a, o := Resolve(w.doc, w.objs), newAccOracle(w.doc, w.objs)
		for _, p := range testPeers(accPeople) {
			for _, now := range []int64{-1, 5, 15, 25} {
				want := o.role(p, now)
				got := a.RoleAt(p, now)
				if now < 0 {
					got = a.Role(p)
				}
				if got != want {
					t.Fatalf("%s at %d: %s, by the rules %s", p, now, got, want)
				}
				seen["role "+got.String()]++
			}
		}
		for _, x := range w.objs {
			if _, _, _, right := accTerms(x); right {
				ok, dead, _ := o.state(x.ID, PeerID{})
				n := a.nodes[x.ID]
				if (n != nil) != ok || a.Placed(x.ID) != ok || ok && n.dead != dead {
					t.Fatalf("%s: placed %v, by the rules %v, dead %v", x, n != nil, ok, dead)
				}
				seen[fmt.Sprint("right ", ok, dead)]++
			}
		}
		for _, id := range w.actors {
			key, revs, ok := o.actor(id)
			info, got := a.Actor(id)
			if got != ok || info.Key != key || len(a.Cuts(id)) != len(revs) {
				t.Fatalf("actor %s: %v %+v %v, by the rules %v of %s, %d revocations", id, got, info, a.Cuts(id), ok, key, len(revs))
			}
			seen[fmt.Sprint("actor ", ok, len(revs) > 0)]++
		}
	})
	for _, class := range []string{"role none", "role read", "role write", "role admin", "role owner", "right true false", "right true true", "right false false", "actor true true", "actor true false", "actor false false"} {
		if seen[class] == 0 {
			t.Errorf("%s never came up", class)
		}
	}
}

// TestOnlyMoreIsPlacedAndDead: whatever is added, nothing comes back to life and nothing that was
// rightly issued ceases to be.
func TestOnlyMoreIsPlacedAndDead(t *testing.T) {
	buried := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 14, accAllKinds...)
		order := rapid.Permutation(w.objs).Draw(t, "order")
		before := Resolve(w.doc, order[:rapid.IntRange(0, len(order)).Draw(t, "some")])
		after := Resolve(w.doc, order)
		for _, id := range before.IDs() {
			if before.Placed(id) && !after.Placed(id) {
				t.Fatalf("%s is no longer placed", id)
			}
		}
		live := map[string]bool{}
		for _, m := range after.Members() {
			live[fmt.Sprint(m.Peer, m.Grant)] = m.Live
		}
		for _, m := range before.Members() {
			if !m.Live {
				buried++
				if live[fmt.Sprint(m.Peer, m.Grant)] {
					t.Fatalf("the right %s of %s lives again", m.Grant, m.Peer)
				}
			}
		}
		for _, i := range before.Invites() {
			if j := after.Invites()[slices.IndexFunc(after.Invites(), func(j InviteInfo) bool { return j.ID == i.ID })]; !i.Live && j.Live || i.Uses > j.Uses {
				t.Fatalf("invite %+v became %+v", i, j)
			}
		}
	})
	if buried == 0 {
		t.Error("nothing ever died")
	}
}

// TestRolesOnlyGoDown: below every right the rights are no higher, and only admins have any below.
func TestRolesOnlyGoDown(t *testing.T) {
	deep := 0
	rapid.Check(t, func(t *rapid.T) {
		a := Resolve(drawWorld(t, 18, ObjectGrant, ObjectGrant, ObjectGrant, ObjectInvite, ObjectPublic).asLog())
		for _, n := range a.nodes {
			if n.role > Admin || n.role > n.parent.role || n.parent.role < Admin || n.depth > MaxDepth || n.obj.Signer != n.parent.subject {
				t.Fatalf("%s below a right of %s", n.obj, n.parent.role)
			}
			deep = max(deep, n.depth)
		}
		for _, p := range testPeers(accPeople) {
			if c := a.Chain(p); len(c) > 8 || len(c) > 0 && Resolve(a.Doc(), c).Role(p) < a.Role(p) && !a.Public() {
				t.Fatalf("the chain of %s shows %v", p, c)
			}
		}
	})
	if deep < 3 {
		t.Errorf("grants were at most %d deep", deep)
	}
}

func (w *accWorld) asLog() (DocID, []*Object) { return w.doc, w.objs }

// TestSeniorityIsStrict: of two peers with one right each at most one may end the other's, so there
// is never anything to arbitrate.
func TestSeniorityIsStrict(t *testing.T) {
	seen := map[[2]bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		a := Resolve(drawWorld(t, 14, ObjectGrant).asLog())
		for p, x := range a.members {
			for q, y := range a.members {
				if p == q || len(x) != 1 || len(y) != 1 {
					continue
				}
				_, down := a.seniority(p, y[0])
				_, up := a.seniority(q, x[0])
				if down && up {
					t.Fatalf("%s and %s can end each other's right", p, q)
				}
				seen[[2]bool{down, up}]++
			}
		}
	})
	if seen[[2]bool{true, false}] == 0 || seen[[2]bool{false, false}] == 0 {
		t.Errorf("relations seen: %v", seen)
	}
}
