package crdt

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// accWorld draws an access log in which peers do what they may and what they may not.
type accWorld struct {
	t      *rapid.T
	doc    DocID
	objs   []*Object
	rights []*Object // genesis and grants, rightful or not
	issued []*Object // what a revocation may name
	actors []ActorID
	keys   map[ActorID]*Identity
	nonce  uint64
}

const accPeople = 6

func drawWorld(t *rapid.T, steps int, kinds ...string) *accWorld {
	w := &accWorld{t: t, keys: map[ActorID]*Identity{}}
	others := testPeers(3)[1:rapid.IntRange(1, 3).Draw(t, "owners")]
	genesis := must(testIdentity(0).NewGenesis(Session, others, 1, testRand(1)))
	w.doc = genesis.Doc
	w.add(genesis)
	w.rights = append(w.rights, genesis)
	if rapid.IntRange(0, 3).Draw(t, "settled") > 0 {
		w.settle()
	}
	for range rapid.IntRange(1, steps).Draw(t, "steps") {
		w.step(rapid.SampledFrom(kinds).Draw(t, "kind"))
	}
	return w
}

// settle begins with a small team at work: an owner, an admin of his, a writer of hers.
func (w *accWorld) settle() {
	parent := w.rights[0]
	w.declare(testIdentity(0), parent)
	for p, role := range []Role{Admin, Write} {
		w.nonce++
		parent = must(testIdentity(p).NewGrant(w.doc, Grant{Parent: parent.ID, Subject: testIdentity(p + 1).PeerID(), Role: role}, testRand(w.nonce)))
		w.add(parent)
		w.rights = append(w.rights, parent)
		w.declare(testIdentity(p+1), parent)
	}
}

func (w *accWorld) declare(signer *Identity, right *Object) {
	w.nonce++
	epoch := [16]byte{byte(w.nonce)}
	w.add(signer.NewActor(w.doc, right.ID, epoch))
	id := NewActorID(w.doc, signer.PeerID(), right.ID, epoch)
	w.actors = append(w.actors, id)
	w.keys[id] = signer
}

func (w *accWorld) add(o *Object) {
	w.objs = append(w.objs, o)
	w.issued = append(w.issued, o)
}

func (w *accWorld) person(label string) *Identity {
	return testIdentity(rapid.IntRange(0, accPeople-1).Draw(w.t, label))
}

// signer is mostly the holder of the right, and sometimes anybody.
func (w *accWorld) signer(right *Object) *Identity {
	if rapid.IntRange(0, 4).Draw(w.t, "honest") == 0 {
		return w.person("signer")
	}
	if g, ok := right.Body.(*Grant); ok {
		return testIdentity(slices.Index(testPeers(accPeople), g.Subject))
	}
	return testIdentity(0)
}

func (w *accWorld) step(kind string) {
	right := rapid.SampledFrom(w.rights).Draw(w.t, "right")
	signer := w.signer(right)
	role := rapid.SampledFrom([]Role{Read, Write, Admin, Admin}).Draw(w.t, "role")
	expiry := rapid.SampledFrom([]int64{0, 0, 10, 20}).Draw(w.t, "expiry")
	w.nonce++
	switch kind {
	case ObjectGrant:
		invite := rapid.SampledFrom(w.issued).Draw(w.t, "invite").ID
		o := must(signer.NewGrant(w.doc, Grant{
			Parent: right.ID, Subject: w.person("subject").PeerID(), Role: role, Expiry: expiry, Invite: invite,
		}, testRand(w.nonce)))
		w.add(o)
		w.rights = append(w.rights, o)
	case ObjectInvite:
		w.add(must(signer.NewInvite(w.doc, Invite{Parent: right.ID, Role: role, Expiry: expiry, MaxUses: 2}, testRand(w.nonce))))
	case ObjectPublic:
		w.add(must(signer.NewPublic(w.doc, right.ID, testRand(w.nonce))))
	case ObjectRevocation:
		target := rapid.SampledFrom(w.issued).Draw(w.t, "target")
		if rapid.Bool().Draw(w.t, "of a peer") {
			target = rapid.SampledFrom(w.rights).Draw(w.t, "target peer")
		}
		owner := PeerID{}
		if target.ID == ObjectID(w.doc) {
			owner = w.person("owner").PeerID()
		}
		w.add(must(signer.NewRevocation(w.doc, target.ID, owner, w.cut())))
	case ObjectLeave:
		w.add(signer.NewLeave(w.doc, right.ID))
	case ObjectActor:
		w.declare(signer, right)
	case ObjectEquivocation:
		w.equivocate()
	default:
		w.add(unknownObject(signer, w.doc, kind, []byte{byte(w.nonce)}))
	}
}

func (w *accWorld) cut() []CutEntry {
	var cut []CutEntry
	for _, id := range w.actors {
		if seq := rapid.Uint64Range(0, 4).Draw(w.t, "cut"); seq > 0 {
			branch := rapid.IntRange(0, 1).Draw(w.t, "branch")
			cut = append(cut, CutEntry{Actor: id, Seq: seq, Hash: testChange(id, seq, branch)})
		}
	}
	return cut
}

func (w *accWorld) equivocate() {
	if len(w.actors) == 0 {
		return
	}
	id := rapid.SampledFrom(w.actors).Draw(w.t, "forker")
	seq := rapid.Uint64Range(1, 3).Draw(w.t, "fork")
	key := w.keys[id]
	w.add(must(w.person("witness").NewEquivocation(w.doc, id, key.PeerID(), seq,
		signedHash(key, w.doc, id, seq, testChange(id, seq, 0)), signedHash(key, w.doc, id, seq, testChange(id, seq, 1)))))
}

// testChange is the hash of an actor's change on one of two branches.
func testChange(id ActorID, seq uint64, branch int) ChangeHash {
	return ChangeHash(RowIDOf(fmt.Sprint(id, seq, branch)))
}

// changes draws C: every actor's changes on branch 0, in some causal order, each on top of the
// actor's last and some of the others.
func (w *accWorld) changes() []ValidityChange {
	var out []ValidityChange
	seqs := map[ActorID]uint64{}
	for range rapid.IntRange(0, 14).Draw(w.t, "changes") {
		if len(w.actors) == 0 {
			break
		}
		id := rapid.SampledFrom(w.actors).Draw(w.t, "author")
		seqs[id]++
		c := ValidityChange{Hash: testChange(id, seqs[id], 0), Actor: id, Seq: seqs[id], Deps: []ChangeHash{{}}} // {}: the genesis change
		for _, d := range out {
			if d.Actor == id && d.Seq+1 == c.Seq || rapid.IntRange(0, 3).Draw(w.t, "dep") == 0 {
				c.Deps = append(c.Deps, d.Hash)
			}
		}
		out = append(out, c)
	}
	return out
}

var accAllKinds = []string{
	ObjectGrant, ObjectGrant, ObjectGrant, ObjectInvite, ObjectPublic, ObjectRevocation, ObjectRevocation,
	ObjectLeave, ObjectActor, ObjectActor, ObjectActor, ObjectEquivocation, "unheard_of",
}

// accNoForks are the kinds without proofs of a fork.
var accNoForks = []string{ObjectGrant, ObjectGrant, ObjectGrant, ObjectRevocation, ObjectRevocation, ObjectLeave, ObjectActor, ObjectActor, ObjectActor}
