package docsync

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Action is something to be done: output of [Session.Step], in order.
type Action interface{ action() }

// Send asks to write a frame. After Notify frames the session wants a [Written] event.
type Send struct {
	Frame  Frame
	Bytes  []byte // the frame encoded, without its length
	Notify bool
}

// SetTimer asks for a [Tick] after a time; it replaces an earlier one.
type SetTimer struct{ After time.Duration }

// Fail ends the session: flush what was to be sent, then close the stream. No action follows, and
// further events are ignored.
type Fail struct{ Err error }

// StatusChanged tells a new state of one document with this peer.
type StatusChanged struct {
	Doc    crdt.DocID
	Status DocStatus
}

// JoinChanged tells how a Join stands.
type JoinChanged struct {
	Doc   crdt.DocID
	State JoinState
}

// PeerGreeted tells what the other peer said of itself, once.
type PeerGreeted struct {
	Agent    string
	Features []string
	Protocol uint64
}

// AckRecorded tells that the vector which the other peer holds durably was noted. [RepoHost] makes
// it; sessions do not.
type AckRecorded struct{ Doc crdt.DocID }

func (Send) action()          {}
func (SetTimer) action()      {}
func (Fail) action()          {}
func (StatusChanged) action() {}
func (JoinChanged) action()   {}
func (PeerGreeted) action()   {}
func (AckRecorded) action()   {}

// Notice is an action that only tells something; the host's Notify gets it.
type Notice interface {
	Action
	notice()
}

func (StatusChanged) notice() {}
func (JoinChanged) notice()   {}
func (PeerGreeted) notice()   {}
func (AckRecorded) notice()   {}

// JoinState is how a join stands.
type JoinState string

// The states of a join.
const (
	JoinAsking    JoinState = "asking"
	JoinPending   JoinState = "pending"    // a human on the other side will decide
	JoinNotServed JoinState = "not_served" // unknown there, or no access
	JoinReady     JoinState = "ready"      // the first complete sync is done
)

// Work is an action that takes time: the host does it and its outcome comes back in a [WorkDone].
// Works of one document are done one after the other in the order they were asked for; those of
// different documents in any order.
type Work interface {
	Action
	// Document is the one the work is about.
	Document() crdt.DocID
	task() Task
}

// Task is what every work has: the document, and what ties the outcome to its channel.
type Task struct {
	Doc   crdt.DocID
	ref   uint64
	epoch uint64
}

func (Task) action()                {}
func (t Task) Document() crdt.DocID { return t.Doc }
func (t Task) task() Task           { return t }

// LoadDoc reads where a document stands; result [Loaded], Chain included.
type LoadDoc struct{ Task }

// Admit decides whether the other peer may open a document; result [Loaded] with a Code unless it
// may. Objects are the peer's own chain from the frame, not verified: they are kept only if they
// make the peer a reader. With Asks the peer holds a ticket or wants to be let in.
type Admit struct {
	Task
	Objects [][]byte
	Secret  []byte
	Role    string
	Note    string
}

// Asks reports whether the peer asks to become a member.
func (a Admit) Asks() bool { return len(a.Secret) > 0 || a.Role != "" || a.Note != "" }

// LoadObjects reads the access objects that are not in Have, genesis first; result
// [ObjectsLoaded].
type LoadObjects struct {
	Task
	Have map[crdt.ObjectID]bool // not to be changed
}

// AddObjects verifies and stores access objects; the document may be one that is joined and not
// here yet, then the genesis is among the first objects. Result [ObjectsAdded]. A bad object is a
// *[ProtocolError].
type AddObjects struct {
	Task
	Objects [][]byte
}

// LoadPage reads a page for the other peer; result [PageLoaded].
type LoadPage struct {
	Task
	Have    crdt.Vector              // not to be changed
	Without map[crdt.ChangeHash]bool // not to be changed
	Limit   int
}

// ApplyPage unpacks, judges and stores a page; result [PageApplied]. A page that can't be unpacked
// is a *[ProtocolError].
type ApplyPage struct {
	Task
	Page []byte
	More bool // another page follows: checks that are due once may wait for it
}

// LookUp reads the hashes at places of actors' sequences; result [LookedUp].
type LookUp struct {
	Task
	At []VectorEntry // Hash unset
}

// LoadOffer reads what the other peer, a named member, needs to adopt a document; result
// [OfferLoaded].
type LoadOffer struct{ Task }

// Consider decides about a document that the other peer offers, and adopts it if it is wanted;
// result [Considered]. The adopted document comes back in a [DocsChanged].
type Consider struct {
	Task
	Kind    crdt.Kind
	Objects [][]byte
}

// RecordAck notes the vector that the other peer holds durably, empty where it does not have the
// document or no longer gives it; no result.
type RecordAck struct {
	Task
	Vector crdt.Vector // not to be changed
	// Equal, if set, stands for the vector that is here, provided that it has this digest: the other
	// peer announced it.
	Equal *[32]byte
}

// LoadProof reads the first signature of an actor from a place on; result [ProofLoaded].
type LoadProof struct {
	Task
	Actor crdt.ActorID
	Seq   uint64
}

// Accuse takes a signed change of an actor of which the other side found two branches. If the
// signature is the actor's and another change stands in that place here, it is an equivocation, and
// if this peer holds a signature for its own one too, the proof becomes an access object. Result
// [Accused].
type Accuse struct {
	Task
	Actor crdt.ActorID
	Seq   uint64
	Hash  crdt.ChangeHash
	Sig   []byte
}

// Result is what a work gave.
type Result interface{ result() }

// Loaded is the result of LoadDoc and Admit.
type Loaded struct {
	Code    Code // of a refusal by Admit, else empty
	Info    DocInfo
	IDs     []crdt.ObjectID
	Chain   [][]byte // what this peer must show to be admitted, genesis first; LoadDoc only
	Vector  crdt.Vector
	Refused []RefusedEntry // in hash order
}

// ObjectsLoaded is the result of LoadObjects.
type ObjectsLoaded struct {
	Info    DocInfo
	IDs     []crdt.ObjectID // of Objects
	Objects [][]byte
	Vector  crdt.Vector
	Refused []RefusedEntry // in hash order
}

// ObjectsAdded is the result of AddObjects.
type ObjectsAdded struct {
	Info  DocInfo
	IDs   []crdt.ObjectID // of all objects given
	Added int             // how many were new
}

// PageLoaded is the result of LoadPage. Info is read after the page.
type PageLoaded struct {
	Info   DocInfo
	Page   []byte // packed; empty when there is nothing to send
	UpTo   crdt.Vector
	More   bool
	Vector crdt.Vector // of everything here
}

// PageApplied is the result of ApplyPage: one verdict for each change, in order.
type PageApplied struct {
	Info     DocInfo
	Verdicts []crdt.Verdict
}

// LookedUp is the result of LookUp: the hashes, zero where there is no change.
type LookedUp struct{ Hashes []crdt.ChangeHash }

// OfferLoaded is the result of LoadOffer.
type OfferLoaded struct {
	Kind    crdt.Kind
	Objects [][]byte
}

// Considered is the result of Consider.
type Considered struct{ Accepted bool }

// ProofLoaded is the result of LoadProof: the place, the hash and the signature of the change; Sig
// is empty when there is none.
type ProofLoaded struct {
	Seq  uint64
	Hash crdt.ChangeHash
	Sig  []byte
}

// Accused is the result of Accuse.
type Accused struct{ Forked bool }

func (Loaded) result()        {}
func (ObjectsLoaded) result() {}
func (ObjectsAdded) result()  {}
func (PageLoaded) result()    {}
func (PageApplied) result()   {}
func (LookedUp) result()      {}
func (OfferLoaded) result()   {}
func (Considered) result()    {}
func (ProofLoaded) result()   {}
func (Accused) result()       {}
