package crdt

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestValidSetMatchesTheRule against the oracle, without forks; V is closed under dependencies.
func TestValidSetMatchesTheRule(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 14, accNoForks...)
		a, o, changes := Resolve(w.doc, w.objs), newAccOracle(w.doc, w.objs), w.changes()
		if !a.HasCuts() { // then C is taken at its word
			changes = slices.DeleteFunc(changes, func(c ValidityChange) bool { _, ok := a.Actor(c.Actor); return !ok })
		}
		got, want := a.ValidSet(changes), o.valid(changes)
		if !a.HasCuts() {
			want = map[ChangeHash]bool{}
			for _, c := range changes {
				want[c.Hash] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("valid %v, by the rule %v of %v", got, want, changes)
		}
		for _, c := range changes {
			in := a.InForce(c.Actor, c.Seq, c.Hash)
			if in != o.inForce(c) {
				t.Fatalf("%v in force: %v", c, in)
			}
			switch {
			case got[c.Hash] && !in:
				seen["vouched for"]++
			case got[c.Hash]:
				seen["in force"]++
			default:
				seen["fallen"]++
			}
		}
		checkClosed(t, got, changes)
	})
	for _, class := range []string{"vouched for", "in force", "fallen"} {
		if seen[class] == 0 {
			t.Errorf("no change was ever %s", class)
		}
	}
}

func checkClosed(t *rapid.T, valid map[ChangeHash]bool, changes []ValidityChange) {
	for _, c := range changes {
		for _, d := range c.Deps {
			if here := slices.ContainsFunc(changes, func(x ValidityChange) bool { return x.Hash == d }); here && valid[c.Hash] && !valid[d] {
				t.Fatalf("%s is valid, %s before it is not", c.Hash, d)
			}
		}
	}
}

// TestMoreObjectsOnlyShrinkV: for the same C, whatever is added to the log.
func TestMoreObjectsOnlyShrinkV(t *testing.T) {
	shrunk := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 16, accNoForks...)
		rights := slices.DeleteFunc(slices.Clone(w.objs), func(o *Object) bool {
			return o.Kind == ObjectRevocation || o.Kind == ObjectLeave
		})
		base := Resolve(w.doc, rights)
		c := slices.DeleteFunc(w.changes(), func(c ValidityChange) bool { _, ok := base.Actor(c.Actor); return !ok })
		before := base.ValidSet(c)
		for _, o := range w.objs {
			if slices.Contains(rights, o) {
				continue
			}
			rights = append(rights, o)
			after := Resolve(w.doc, rights).ValidSet(c)
			for h := range after {
				if !before[h] {
					t.Fatalf("%s made %s valid", o, h)
				}
			}
			if len(after) < len(before) {
				shrunk++
			}
			before = after
		}
	})
	if shrunk == 0 {
		t.Error("no revocation ever took anything out of force")
	}
}

// TestForkedWorldsAgree: with forks too V is closed, and it does not depend on the order in which
// causally unrelated changes are listed.
func TestForkedWorldsAgree(t *testing.T) {
	closed := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 16, accAllKinds...)
		a, changes := Resolve(w.doc, w.objs), w.changes()
		for _, id := range w.actors {
			if info, _ := a.Actor(id); info.Closed && a.HasCuts() {
				closed++
			}
		}
		valid := a.ValidSet(changes)
		if a.HasCuts() {
			checkClosed(t, valid, changes)
		}
		sorted := slices.Clone(changes)
		slices.SortStableFunc(sorted, func(x, y ValidityChange) int { return validDepth(changes, x) - validDepth(changes, y) })
		if got := a.ValidSet(sorted); !maps.Equal(got, valid) {
			t.Fatalf("valid %v in one order, %v in another", valid, got)
		}
	})
	if closed == 0 {
		t.Error("no forked actor ever met a revocation")
	}
}

// validDepth is the longest way down to the genesis change.
func validDepth(changes []ValidityChange, c ValidityChange) int {
	depth := 0
	for _, d := range c.Deps {
		if i := slices.IndexFunc(changes, func(x ValidityChange) bool { return x.Hash == d }); i >= 0 {
			depth = max(depth, 1+validDepth(changes, changes[i]))
		}
	}
	return depth
}

// chainOf lists the changes from..to of an actor on a branch, each on the one before.
func chainOf(id ActorID, from, to uint64, branch int, on ChangeHash) []ValidityChange {
	var out []ValidityChange
	for seq := from; seq <= to; seq++ {
		c := ValidityChange{Hash: testChange(id, seq, branch), Actor: id, Seq: seq, Deps: []ChangeHash{on}}
		out, on = append(out, c), c.Hash
	}
	return out
}

func TestChangesAfterACutFallUnlessVouchedFor(t *testing.T) {
	l := newAccLog(t, 0)
	grant := l.grant(0, nil, 1, Write)
	writer, owner := l.actor(1, grant), l.actor(0, nil)
	changes := chainOf(writer, 1, 5, 0, ChangeHash{})
	vouch := ValidityChange{Hash: testChange(owner, 1, 0), Actor: owner, Seq: 1, Deps: []ChangeHash{changes[3].Hash}}
	l.revoke(0, grant, CutEntry{writer, 2, changes[1].Hash})
	checkValid(t, l, changes, 2, "alone")
	checkValid(t, l, append(changes, vouch), 5, "with one that builds on the fourth") // and that one
	l.revoke(1, grant, CutEntry{writer, 1, changes[0].Hash})
	checkValid(t, l, append(changes, vouch), 5, "with one that builds on the fourth, under two cuts")
	l.revoke(1, grant)
	checkValid(t, l, changes, 0, "under an empty cut")
	stranger := ValidityChange{Hash: ChangeHash{1}, Actor: ActorID{9}, Seq: 1, Deps: []ChangeHash{changes[4].Hash}}
	checkValid(t, l, append(changes, stranger), 0, "with a stranger building on it")
	launder := ValidityChange{Hash: vouch.Hash, Actor: owner, Seq: 1, Deps: []ChangeHash{stranger.Hash}}
	checkValid(t, l, append(changes, stranger, launder), 0, "with a member building on the stranger")
}

// TestCutThatMisnamesItsChange: the number counts below it, at it the very change.
func TestCutThatMisnamesItsChange(t *testing.T) {
	for _, named := range []int{1, 4} { // the hash of the second, of the fifth
		l := newAccLog(t, 0)
		grant := l.grant(0, nil, 1, Write)
		writer := l.actor(1, grant)
		changes := chainOf(writer, 1, 5, 0, ChangeHash{})
		l.revoke(0, grant, CutEntry{writer, 4, changes[named].Hash})
		checkValid(t, l, changes, 3, "a cut at 4 that names another")
	}
}

func checkValid(t *testing.T, l *accLog, changes []ValidityChange, want int, what string) {
	t.Helper()
	if got := l.access().ValidSet(changes); len(got) != want {
		t.Errorf("%s: %d of %d changes are valid, want %d", what, len(got), len(changes), want)
	}
}

// TestForks: a proven fork closes the actor; the cut of a revocation says which branch stays.
func TestForks(t *testing.T) {
	l := newAccLog(t, 0)
	admin := l.grant(0, nil, 1, Admin)
	grant := l.grant(1, admin, 2, Write)
	id, forker := l.actor(2, grant), testIdentity(2)
	trunk := chainOf(id, 1, 2, 0, ChangeHash{})
	left := append(slices.Clone(trunk), chainOf(id, 3, 5, 0, trunk[1].Hash)...)
	right := append(slices.Clone(trunk), chainOf(id, 3, 4, 1, trunk[1].Hash)...)
	both := append(slices.Clone(left), right[2:]...)
	proof := func(seq uint64) {
		l.add(must(testIdentity(4).NewEquivocation(l.doc, id, forker.PeerID(), seq,
			signedHash(forker, l.doc, id, seq, testChange(id, seq, 0)), signedHash(forker, l.doc, id, seq, testChange(id, seq, 1)))))
	}
	proof(4)
	proof(3)
	if info, _ := l.access().Actor(id); !info.Closed || info.ClosedAt != 3 || !info.Live {
		t.Errorf("after the proof: %+v", info)
	}
	checkValid(t, l, left, 5, "open, on the left")
	checkValid(t, l, right, 4, "open, on the right")
	l.revoke(1, grant, CutEntry{id, 4, testChange(id, 4, 1)})
	checkValid(t, l, right, 4, "the admin keeps the right: there")
	checkValid(t, l, left, 2, "the admin keeps the right: on the left")
	checkValid(t, l, both, 4, "the admin keeps the right: both")
	checkValid(t, l, right[:3], 2, "the admin keeps the right: not yet proven to be on it")
	l.revoke(0, grant, CutEntry{id, 5, testChange(id, 5, 0)})
	checkValid(t, l, left, 4, "the owner keeps the left, the admin's cut ends at 4")
	checkValid(t, l, both, 4, "the owner keeps the left: both")
	checkValid(t, l, right, 2, "the owner keeps the left: on the right")
	if l.access().InForce(id, 3, testChange(id, 3, 0)) || !l.access().InForce(id, 2, trunk[1].Hash) {
		t.Error("going by the number alone the trunk is certain, the branch is not")
	}
}

// TestForkProofsOfOthersDoNotCount: a proof has to be by the key that the actor is bound to.
func TestForkProofsOfOthersDoNotCount(t *testing.T) {
	l := newAccLog(t, 0)
	id := l.actor(0, nil)
	liar := testIdentity(3)
	proof := l.add(must(liar.NewEquivocation(l.doc, id, liar.PeerID(), 1,
		signedHash(liar, l.doc, id, 1, ChangeHash{1}), signedHash(liar, l.doc, id, 1, ChangeHash{2}))))
	if info, ok := l.access().Actor(id); !ok || info.Closed || l.access().Placed(proof.ID) {
		t.Errorf("%+v, %v", info, ok)
	}
}

func BenchmarkValidSet(b *testing.B) {
	l := newAccLog(nil, 0)
	grant := l.grant(0, nil, 1, Write)
	id := l.actor(1, grant)
	changes := chainOf(id, 1, 10_000, 0, ChangeHash{})
	for name, a := range map[string]*Access{
		"no cut":  l.access(),
		"one cut": Resolve(l.doc, append(slices.Clone(l.objs), must(testIdentity(0).NewRevocation(l.doc, grant.ID, PeerID{}, []CutEntry{{id, 9_000, changes[8_999].Hash}})))),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a.ValidSet(changes)
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	l := newAccLog(nil, 0)
	grant := l.grant(0, nil, 1, Admin)
	for i := range 1000 {
		l.add(testIdentity(1).NewActor(l.doc, grant.ID, [16]byte{byte(i), byte(i >> 8)}))
		l.grant(1, grant, 2+i%5, Read)
	}
	raw := l.objs[1].Raw
	b.Run("2,002 objects", func(b *testing.B) {
		for b.Loop() {
			Resolve(l.doc, l.objs)
		}
	})
	b.Run("parse one grant", func(b *testing.B) {
		for b.Loop() {
			must(ParseObject(raw))
		}
	})
}
