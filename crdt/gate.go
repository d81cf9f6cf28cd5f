package crdt

import (
	"fmt"
	"iter"
)

// Reason is why a change was refused. The words are stable: they are counted, shown and sent.
type Reason string

// The reasons. Those up to ReasonUTF8 are verdicts of the gate and equal on every peer.
const (
	ReasonMalformed Reason = "malformed"     // not a strict, canonical change chunk
	ReasonTooLarge  Reason = "too_large"     // over a limit of one change
	ReasonStore     Reason = "unknown_store" // an object that is not a store of the kind
	ReasonRow       Reason = "bad_row"       // key is not the hash, row replaced, row not deletable
	ReasonRecord    Reason = "bad_record"    // pred is not what was visible
	ReasonSequence  Reason = "bad_sequence"  // own previous change missing from deps, startOp, deps
	ReasonValue     Reason = "bad_value"     // not JSON text
	ReasonUTF8      Reason = "bad_utf8"
	ReasonSignature Reason = "bad_signature"
	ReasonRole      Reason = "no_right" // signer's grant does not allow this store
	ReasonFork      Reason = "forked"   // another change has this (actor, seq)
	ReasonBlocked   Reason = "blocked"  // depends on a refused change
	ReasonCore      Reason = "core"     // the document core did not take it
)

// Refusal is a verdict against a change.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string { return fmt.Sprintf("refuse change: %s: %s", r.Reason, r.Detail) }

// Refuse makes a [Refusal].
func Refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// MissingError says that a change can't be judged yet: it depends on changes that are not here.
type MissingError struct{ Deps []ChangeHash }

func (m *MissingError) Error() string {
	return fmt.Sprintf("judge change: %d dependencies are not here", len(m.Deps))
}

// Codec reads and writes change chunks; crdt/chunk implements it. Methods are safe for concurrent
// use.
type Codec interface {
	// Decode reads a chunk strictly: canonical form and static limits, no document state. Its
	// errors are *Refusal.
	Decode(kind Kind, raw []byte) (*Change, error)
	// Genesis computes the genesis change of a document.
	Genesis(id DocID, kind Kind) *Change
	// NewGate returns the gate of a document that holds its genesis change only.
	NewGate(id DocID, kind Kind) Gate
}

// Gate is the judge of one document's changes: gate v1. It knows every change absorbed so far and
// gives the same verdict on every peer for equal bytes. Not safe for concurrent use.
type Gate interface {
	// Check judges a decoded change against the changes it depends on. Errors: *Refusal, or
	// *MissingError when a dependency is unknown. It changes nothing.
	Check(c *Change) error
	// Absorb adds a change that Check accepted.
	Absorb(c *Change)
	// Next encodes edits (at most one for a key) as actor's next change on top of deps, which are
	// sorted heads; the actor's previous change is added to them. An edit that would change nothing
	// (a row that is there, a delete of what is not) is left out; nil when nothing is left. The
	// result passes Check and Decode.
	Next(actor ActorID, time int64, deps []ChangeHash, edits []Edit) (*Change, error)
	// Size is a rough count of the bytes of memory the gate holds.
	Size() int
}

// Core opens documents in the Automerge core; crdt/automerge implements it.
type Core interface {
	// Build makes a document of the genesis chunk and of chunks in causal order.
	Build(genesis *Change, chunks iter.Seq2[ChangeHash, []byte]) (CoreDoc, error)
}

// CoreDoc is one document in the Automerge core. It has one owner: no method is safe for concurrent
// use with another of the same document. Its memory is invisible to the garbage collector, hence
// Close.
type CoreDoc interface {
	// Apply adds a change whose dependencies are there. The error says that the hash is not known
	// afterwards, which is the only trustworthy sign of failure.
	Apply(hash ChangeHash, raw []byte) error
	// ApplyPage adds many changes, in causal order, at less cost than one by one. The error names
	// the first change that is not known afterwards; later ones may be.
	ApplyPage(chunks iter.Seq2[ChangeHash, []byte]) error
	// Heads returns the sorted heads.
	Heads() []ChangeHash
	// Save returns the document as an Automerge file. Bytes differ between peers with equal heads.
	Save() []byte
	// Close frees the document's memory at once.
	Close()
}
