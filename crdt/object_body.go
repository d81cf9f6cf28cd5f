package crdt

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
)

// Genesis makes a document. The signer is its first owner.
type Genesis struct {
	Kind    Kind     `cbor:"1,keyasint"`
	Owners  []PeerID `cbor:"2,keyasint"` // in order of seniority, 1 to MaxOwners, no one twice
	Nonce   [16]byte `cbor:"3,keyasint"`
	Created int64    `cbor:"4,keyasint"` // Unix ms by the creator's clock, for display
}

// Grant gives Subject a role. The signer is the subject of Parent.
type Grant struct {
	// Parent is the granter's own grant; for an owner it is the id of the genesis.
	Parent  ObjectID `cbor:"1,keyasint"`
	Subject PeerID   `cbor:"2,keyasint"`
	Role    Role     `cbor:"3,keyasint"`          // Read, Write or Admin; at most the parent's
	Expiry  int64    `cbor:"4,keyasint,omitzero"` // Unix ms; 0 = never
	Invite  ObjectID `cbor:"5,keyasint,omitzero"` // the invite it redeems, if any
	Nonce   [16]byte `cbor:"6,keyasint"`
}

// Revocation ends a grant, an owner's seat, an invite or a publication, and everything below it.
type Revocation struct {
	Target  ObjectID `cbor:"1,keyasint"`
	Subject PeerID   `cbor:"2,keyasint,omitzero"` // which owner, when Target is the genesis; else unset
	// Cut lists, for each actor of the target and of the grants below it, the last change that
	// stays in force by itself; an actor that is not listed has none. In actor order.
	Cut []CutEntry `cbor:"3,keyasint"`
}

// CutEntry is the last change of one actor that a revocation leaves in force.
type CutEntry struct {
	Actor ActorID    `cbor:"1,keyasint"`
	Seq   uint64     `cbor:"2,keyasint"`
	Hash  ChangeHash `cbor:"3,keyasint"`
}

// Leave ends the signer's own grant, or his seat where Target is the genesis. It takes nothing he
// wrote out of force.
type Leave struct {
	Target ObjectID `cbor:"1,keyasint"`
}

// Invite lets the holder of a secret ask the signer for a grant. Only the signer redeems it.
type Invite struct {
	Parent  ObjectID `cbor:"1,keyasint"` // the inviter's own grant, or the genesis
	Secret  [32]byte `cbor:"2,keyasint"` // [Secret.Hash]
	Role    Role     `cbor:"3,keyasint"`
	Expiry  int64    `cbor:"4,keyasint,omitzero"` // Unix ms; 0 = never
	MaxUses uint32   `cbor:"5,keyasint"`          // 1 to MaxUses
	Nonce   [16]byte `cbor:"6,keyasint"`
}

// Public lets everybody who knows the document's id read it.
type Public struct {
	Parent ObjectID `cbor:"1,keyasint"` // the signer's own admin grant, or the genesis
	Role   Role     `cbor:"2,keyasint"` // Read
	Nonce  [16]byte `cbor:"3,keyasint"`
}

// ActorDecl binds an actor for life to the signer's key, a grant of his and an epoch; the actor's
// id is computed from them by [NewActorID].
type ActorDecl struct {
	Grant ObjectID `cbor:"1,keyasint"`
	Epoch [16]byte `cbor:"2,keyasint"`
}

// Equivocation proves that the key of an actor signed two changes with one sequence number. Anyone
// may publish it.
type Equivocation struct {
	Actor ActorID    `cbor:"1,keyasint"`
	Key   PeerID     `cbor:"2,keyasint"`
	Seq   uint64     `cbor:"3,keyasint"`
	A     SignedHash `cbor:"4,keyasint"` // the lower hash
	B     SignedHash `cbor:"5,keyasint"`
}

// SignedHash is a change's hash with its author's signature over [ChangeMessage].
type SignedHash struct {
	Hash ChangeHash                  `cbor:"1,keyasint"`
	Sig  [ed25519.SignatureSize]byte `cbor:"2,keyasint"`
}

// objBody is what every kind of body can do: check itself against its envelope.
type objBody interface{ check(o *Object) error }

func objNewBody(kind string) objBody {
	switch kind {
	case ObjectGenesis:
		return &Genesis{}
	case ObjectGrant:
		return &Grant{}
	case ObjectRevocation:
		return &Revocation{}
	case ObjectLeave:
		return &Leave{}
	case ObjectInvite:
		return &Invite{}
	case ObjectPublic:
		return &Public{}
	case ObjectActor:
		return &ActorDecl{}
	case ObjectEquivocation:
		return &Equivocation{}
	}
	return nil
}

func (g *Genesis) check(o *Object) error {
	if len(g.Kind.Stores()) == 0 {
		return fmt.Errorf("unknown document kind %q", clip(string(g.Kind)))
	}
	if len(g.Owners) == 0 || len(g.Owners) > MaxOwners {
		return fmt.Errorf("%d owners, want 1 to %d", len(g.Owners), MaxOwners)
	}
	if g.Owners[0] != o.Signer {
		return errors.New("the first owner is not the signer")
	}
	for i, p := range g.Owners {
		if p.IsZero() || slices.Contains(g.Owners[:i], p) {
			return fmt.Errorf("owner %d is empty or named twice", i)
		}
	}
	if g.Created < MinStamp || g.Created > MaxStamp {
		return fmt.Errorf("created at %d ms, outside 1970–9999", g.Created)
	}
	return nil
}

func (g *Grant) check(*Object) error {
	if g.Subject.IsZero() {
		return errors.New("no subject")
	}
	if err := objCheckRole(g.Role, Admin); err != nil {
		return err
	}
	return objCheckExpiry(g.Expiry)
}

func (r *Revocation) check(o *Object) error {
	if ofOwner := r.Target == ObjectID(o.Doc); ofOwner == r.Subject.IsZero() {
		return errors.New("a subject is named if and only if the target is the genesis")
	}
	for i, c := range r.Cut {
		if c.Seq == 0 {
			return fmt.Errorf("cut of actor %s at sequence number 0", c.Actor)
		}
		if i > 0 && bytes.Compare(r.Cut[i-1].Actor[:], c.Actor[:]) >= 0 {
			return errors.New("the cut is not in actor order")
		}
	}
	return nil
}

func (l *Leave) check(*Object) error { return nil }

func (i *Invite) check(*Object) error {
	if i.MaxUses == 0 || i.MaxUses > MaxUses {
		return fmt.Errorf("%d uses, want 1 to %d", i.MaxUses, MaxUses)
	}
	if err := objCheckRole(i.Role, Admin); err != nil {
		return err
	}
	return objCheckExpiry(i.Expiry)
}

func (p *Public) check(*Object) error { return objCheckRole(p.Role, Read) }

func (a *ActorDecl) check(*Object) error { return nil }

func (e *Equivocation) check(o *Object) error {
	if e.Seq == 0 {
		return errors.New("sequence number 0")
	}
	if bytes.Compare(e.A.Hash[:], e.B.Hash[:]) >= 0 {
		return errors.New("the two hashes are equal or not in order")
	}
	for _, s := range []*SignedHash{&e.A, &e.B} {
		if !ed25519.Verify(e.Key.Key(), ChangeMessage(o.Doc, e.Actor, e.Seq, s.Hash), s.Sig[:]) {
			return fmt.Errorf("the signature of change %s is not the actor's", s.Hash)
		}
	}
	return nil
}

func objCheckRole(r, most Role) error {
	if r < Read || r > most {
		return fmt.Errorf("role %s can't be given by it", r)
	}
	return nil
}

func objCheckExpiry(ms int64) error {
	if ms < 0 || ms > MaxStamp {
		return fmt.Errorf("expiry at %d ms, outside 1970–9999", ms)
	}
	return nil
}
