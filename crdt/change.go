package crdt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// Limits of one change; part of gate v1, so equal on every peer.
const (
	MaxChange = 512 << 10 // bytes of one change chunk
	MaxValue  = 256 << 10 // bytes of one value
	MaxKey    = 1 << 10   // bytes of one key
	MaxDeps   = 4096      // hashes in one change's dependencies
	MaxOps    = 8192      // operations in one change
)

// OpID names one operation: the document-wide counter that Automerge gives it and its actor.
type OpID struct {
	Counter uint64
	Actor   ActorID
}

// Compare orders operations as Automerge does when it picks the winner of a conflict: by counter,
// then by the bytes of the actor.
func (o OpID) Compare(p OpID) int {
	if o.Counter != p.Counter {
		if o.Counter < p.Counter {
			return -1
		}
		return 1
	}
	return bytes.Compare(o.Actor[:], p.Actor[:])
}

// Op is one decoded operation: set Key of Store to Value, or delete it. Pred lists the operations
// on that key which it replaces, in [OpID.Compare] order.
type Op struct {
	Store  string
	Key    string
	Delete bool
	Value  string
	Pred   []OpID
}

// Change is a decoded change. The i-th of Ops has the id (StartOp+i, Actor).
type Change struct {
	Hash    ChangeHash
	Actor   ActorID
	Seq     uint64 // from 1, without gaps
	StartOp uint64
	Time    int64 // seconds since 1970 by the author's clock; never decides anything
	Deps    []ChangeHash
	Ops     []Op
	Raw     []byte // the Automerge change chunk
}

// Edit is one write that a local change is to hold.
type Edit struct {
	Store  string
	Key    string
	Value  string
	Delete bool
}

// SignedChange is a change as it is stored and sent. Sig is the author's Ed25519 signature over
// [ChangeMessage], or nil where a later change of the same actor carries one: dependencies chain the
// changes of an actor, so that one proves this one too.
type SignedChange struct {
	Raw []byte
	Sig []byte
}

// ChangeMessage is what the author of a change signs.
func ChangeMessage(doc DocID, actor ActorID, seq uint64, hash ChangeHash) []byte {
	b := []byte("chaz/change/v1\x00")
	b = append(b, doc[:]...)
	b = append(b, actor[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	return append(b, hash[:]...)
}

// NewActorID computes the actor under which key writes to doc by the right of grant in one epoch.
func NewActorID(doc DocID, key PeerID, grant ObjectID, epoch [16]byte) ActorID {
	h := sha256.New()
	h.Write([]byte("chaz/actor/v1\x00"))
	h.Write(doc[:])
	h.Write(key[:])
	h.Write(grant[:])
	h.Write(epoch[:])
	return ActorID(h.Sum(nil)[:16])
}

// Tip is the last change of one actor that a peer has.
type Tip struct {
	Seq  uint64
	Hash ChangeHash
}

// Vector is a version vector: for each actor its last known change. It says exactly which changes
// a peer has, because the changes of an actor have no gaps. The genesis change is in no vector.
type Vector map[ActorID]Tip

// Clone returns a copy.
func (v Vector) Clone() Vector { return maps.Clone(v) }

// Covers reports whether everything in w is in v, going by sequence numbers.
func (v Vector) Covers(w Vector) bool {
	for a, t := range w {
		if v[a].Seq < t.Seq {
			return false
		}
	}
	return true
}

// Missing counts the changes in w that v lacks.
func (v Vector) Missing(w Vector) uint64 {
	var n uint64
	for a, t := range w {
		if have := v[a].Seq; have < t.Seq {
			n += t.Seq - have
		}
	}
	return n
}

// Actors lists the actors in byte order.
func (v Vector) Actors() []ActorID {
	return slices.SortedFunc(maps.Keys(v), func(a, b ActorID) int { return bytes.Compare(a[:], b[:]) })
}

// Digest is the SHA-256 over (actor, sequence number as 8 bytes big endian, hash) of all entries in
// actor order; equal vectors have equal digests.
func (v Vector) Digest() [32]byte {
	h := sha256.New()
	var seq [8]byte
	for _, a := range v.Actors() {
		t := v[a]
		binary.BigEndian.PutUint64(seq[:], t.Seq)
		h.Write(a[:])
		h.Write(seq[:])
		h.Write(t.Hash[:])
	}
	return [32]byte(h.Sum(nil))
}
