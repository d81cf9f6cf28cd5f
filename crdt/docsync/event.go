package docsync

import "github.com/chaz-peer/chaz-peer/crdt"

// Event is something that happened: input of [Session.Step].
type Event interface{ event() }

// Start is the first event: the stream is open.
type Start struct{}

// FrameIn is a frame from the other peer: the bytes behind the length.
type FrameIn struct{ Bytes []byte }

// Written says that the frame of a [Send] with Notify was handed to the connection.
type Written struct{}

// Tick says that the time asked for by [SetTimer] has come. It does no harm at any other time.
type Tick struct{}

// DocsChanged tells the state of documents: of all before Start, later of those that changed, are
// new, or are gone. Naming a document that did not change does no harm.
type DocsChanged struct{ Docs []DocInfo }

// WorkDone is the outcome of a [Work]: what [Host.Do] returned for it.
type WorkDone struct {
	Work   Work
	Result Result
	Err    error
}

// Join asks for a document by a ticket, which may not be here yet. The session keeps asking when
// the other peer announces it; repeat the event in the next session until the document is ready.
type Join struct {
	Doc  crdt.DocID
	Kind crdt.Kind
	// Inviter is the peer that the ticket names. The secret goes to it and to nobody else.
	Inviter crdt.PeerID
	Secret  []byte // at most MaxSecret bytes; empty asks a human
	Role    string // wanted role, or empty
	Note    string // for the human who decides; cut at MaxNote bytes
}

// Leave ends what a Join started.
type Leave struct{ Doc crdt.DocID }

func (Start) event()       {}
func (FrameIn) event()     {}
func (Written) event()     {}
func (Tick) event()        {}
func (DocsChanged) event() {}
func (WorkDone) event()    {}
func (Join) event()        {}
func (Leave) event()       {}

// DocInfo is what a session must know of a document at all times.
type DocInfo struct {
	Doc    crdt.DocID
	Kind   crdt.Kind
	Vector [32]byte // [crdt.Vector.Digest]
	Access [32]byte // digest of the access set
	// Peer is the role of the other peer at this moment by this peer's clock, expiry and
	// publication included.
	Peer crdt.Role
	// Named says that the other peer holds a seat or a grant of its own: it may learn the id.
	Named bool
	// Gone says that the document is not kept here (any more), or not to be synced.
	Gone bool
}
