package crdt

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
)

// NewGenesis makes a document of a kind, owned by this peer and after it by others, in order of
// seniority. created is Unix ms; the nonce comes from rand. This peer and repetitions among others
// are passed over.
func (id *Identity) NewGenesis(kind Kind, others []PeerID, created int64, rand io.Reader) (*Object, error) {
	g := &Genesis{Kind: kind, Owners: []PeerID{id.PeerID()}, Created: created}
	for _, p := range others {
		if !slices.Contains(g.Owners, p) {
			g.Owners = append(g.Owners, p)
		}
	}
	return id.newNonced(DocID{}, ObjectGenesis, g, &g.Nonce, rand)
}

// NewGrant signs a grant. Its nonce is drawn from rand; with a nil rand it is used as it stands.
func (id *Identity) NewGrant(doc DocID, g Grant, rand io.Reader) (*Object, error) {
	return id.newNonced(doc, ObjectGrant, &g, &g.Nonce, rand)
}

// NewInvite signs an invite. Its nonce is drawn from rand; with a nil rand it is used as it stands.
func (id *Identity) NewInvite(doc DocID, i Invite, rand io.Reader) (*Object, error) {
	return id.newNonced(doc, ObjectInvite, &i, &i.Nonce, rand)
}

// NewPublic makes the document readable by everybody, by the right of parent. The nonce comes from
// rand.
func (id *Identity) NewPublic(doc DocID, parent ObjectID, rand io.Reader) (*Object, error) {
	p := &Public{Parent: parent, Role: Read}
	return id.newNonced(doc, ObjectPublic, p, &p.Nonce, rand)
}

// NewRevocation revokes target. owner names the owner when target is the genesis and is zero
// otherwise. The cut may come in any order, each actor at most once. It fails when the cut is so
// long (about 250 actors) that the object would exceed [MaxObject]; actors whose last change others
// have built on need not be listed.
func (id *Identity) NewRevocation(doc DocID, target ObjectID, owner PeerID, cut []CutEntry) (*Object, error) {
	r := &Revocation{Target: target, Subject: owner, Cut: slices.Clone(cut)}
	slices.SortFunc(r.Cut, func(a, b CutEntry) int { return bytes.Compare(a.Actor[:], b.Actor[:]) })
	return id.newObject(doc, ObjectRevocation, r)
}

// NewLeave gives up this peer's own grant, or its seat as an owner when target is the genesis.
func (id *Identity) NewLeave(doc DocID, target ObjectID) *Object {
	return id.mustObject(doc, ObjectLeave, &Leave{Target: target})
}

// NewActor declares the actor under which this peer will write by the right of grant.
func (id *Identity) NewActor(doc DocID, grant ObjectID, epoch [16]byte) *Object {
	return id.mustObject(doc, ObjectActor, &ActorDecl{Grant: grant, Epoch: epoch})
}

// NewEquivocation publishes that key signed two changes of one actor with one sequence number. It
// fails when that is not so.
func (id *Identity) NewEquivocation(doc DocID, actor ActorID, key PeerID, seq uint64, a, b SignedHash) (*Object, error) {
	if bytes.Compare(a.Hash[:], b.Hash[:]) > 0 {
		a, b = b, a
	}
	return id.newObject(doc, ObjectEquivocation, &Equivocation{Actor: actor, Key: key, Seq: seq, A: a, B: b})
}

func (id *Identity) newNonced(doc DocID, kind string, body objBody, nonce *[16]byte, rand io.Reader) (*Object, error) {
	if rand != nil {
		if _, err := io.ReadFull(rand, nonce[:]); err != nil {
			return nil, fmt.Errorf("make %s: draw a nonce: %w", kind, err)
		}
	}
	return id.newObject(doc, kind, body)
}

// newObject encodes, checks and signs.
func (id *Identity) newObject(doc DocID, kind string, body objBody) (*Object, error) {
	raw, err := objCBOR.enc.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", kind, err)
	}
	env := objEnvelope{objSigned: objSigned{Version: objectVersion, Kind: kind, Signer: id.PeerID(), Body: raw}}
	if kind != ObjectGenesis {
		env.Doc = doc[:]
	}
	msg, err := env.message()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", kind, err)
	}
	o := &Object{ID: sha256.Sum256(msg), Kind: kind, Doc: doc, Signer: env.Signer, Body: body}
	if kind == ObjectGenesis {
		o.Doc = DocID(o.ID)
	}
	if err := body.check(o); err != nil {
		return nil, fmt.Errorf("make %s: %w", kind, err)
	}
	copy(env.Sig[:], id.Sign(msg))
	if o.Raw, err = objCBOR.enc.Marshal(&env); err != nil {
		return nil, fmt.Errorf("make %s: %w", kind, err)
	}
	if len(o.Raw) > MaxObject {
		return nil, fmt.Errorf("make %s: %d bytes, the limit is %d", kind, len(o.Raw), MaxObject)
	}
	return o, nil
}

// mustObject is for bodies of fixed size that hold anything.
func (id *Identity) mustObject(doc DocID, kind string, body objBody) *Object {
	o, err := id.newObject(doc, kind, body)
	if err != nil {
		panic(err) // bodies made here encode and pass their own check
	}
	return o
}
