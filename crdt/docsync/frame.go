package docsync

import "github.com/chaz-peer/chaz-peer/crdt"

// Frame is one message of the protocol. Implementations are the structs of this file. On the wire
// a frame is the array [type, fields…] in the order of the struct.
type Frame interface {
	// Type is the number that stands first in the array.
	Type() uint8
	// check holds the decoded or to be encoded frame against the limits and the order rules.
	check() error
}

// The frame types. Those of 128 and above are reserved for extensions and ignored when unknown.
const (
	TypeHello uint8 = iota
	TypePing
	TypePong
	TypeAnnounce
	TypeUnknown
	TypeOffer
	TypeOpen
	TypeOpened
	TypeRefused
	TypeAccess
	TypeObjects
	TypeHave
	TypeChanges
	TypeAck
	TypeProof
	TypeClose
	TypeError
	frameTypes
	firstExtension = 128
)

// Tag stands for a document between two peers of one connection: it tells nothing to who does not
// know the document's id.
type Tag [16]byte

// Hello is the first frame of each side.
type Hello struct {
	_        struct{} `cbor:",toarray"`
	Min, Max uint64   // range of protocol versions
	Clock    int64    // Unix ms by the sender's clock
	Nonce    [16]byte // fresh for each connection
	Features []string // sorted; unknown ones are ignored
	Agent    string   // program and version, for display
}

// Ping asks for a Pong with the same id.
type Ping struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Clock int64 // Unix ms by the sender's clock
}

// Pong answers a Ping.
type Pong struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Clock int64 // Unix ms by the answerer's clock
}

// Announce tells where documents stand in which the other peer is a reader.
type Announce struct {
	_       struct{}        `cbor:",toarray"`
	Entries []AnnounceEntry // in tag order
}

// AnnounceEntry is one document of an Announce.
type AnnounceEntry struct {
	_      struct{} `cbor:",toarray"`
	Tag    Tag      // made with the announcer's nonce first
	Vector [32]byte // digest of the version vector
	Access [32]byte // digest of the access set
}

// Unknown answers an Announce with the tags that match no document here.
type Unknown struct {
	_    struct{} `cbor:",toarray"`
	Tags []Tag    // in order
}

// Offer answers an Unknown: the document, for a peer that is named as a member.
type Offer struct {
	_       struct{} `cbor:",toarray"`
	Doc     crdt.DocID
	Kind    string
	Objects [][]byte // genesis first, then the receiver's own grants
}

// Open asks to exchange one document over a new channel.
type Open struct {
	_       struct{} `cbor:",toarray"`
	Chan    uint64   // even from the peer with the smaller id, odd from the other, ascending
	Tag     Tag      // made with the opener's nonce first
	Objects [][]byte // the opener's own chain, where the other side may not know it
	Secret  []byte   // of an invite, or empty
	Role    string   // wanted role, or empty
	Note    string   // for the human who decides, or empty
}

// Opened accepts an Open.
type Opened struct {
	_    struct{} `cbor:",toarray"`
	Chan uint64
}

// Refused turns an Open down.
type Refused struct {
	_    struct{} `cbor:",toarray"`
	Chan uint64
	Code Code
}

// Access lists the access objects that the sender has and asks for the others. An empty list is
// sent by a side that does not know yet that the other may read.
type Access struct {
	_    struct{} `cbor:",toarray"`
	Chan uint64
	IDs  []crdt.ObjectID // in order
}

// Objects carries access objects that the other side lacks.
type Objects struct {
	_       struct{} `cbor:",toarray"`
	Chan    uint64
	Objects [][]byte
}

// Have says what the sender has stored durably and what it refuses to take.
type Have struct {
	_       struct{} `cbor:",toarray"`
	Chan    uint64
	Vector  []VectorEntry  // in actor order
	Refused []RefusedEntry // in hash order
	More    bool           // another Have frame continues this one
}

// VectorEntry is the last change of one actor.
type VectorEntry struct {
	_     struct{} `cbor:",toarray"`
	Actor crdt.ActorID
	Seq   uint64
	Hash  crdt.ChangeHash
}

// RefusedEntry is a change that the sender of the frame does not take.
type RefusedEntry struct {
	_      struct{} `cbor:",toarray"`
	Hash   crdt.ChangeHash
	Reason string
}

// Changes carries one page ([Pages]).
type Changes struct {
	_     struct{} `cbor:",toarray"`
	Chan  uint64
	Page  []byte
	Marks []Mark // of a large page: how far it takes each of its actors, in actor order; else empty
	More  bool   // the sender knows already that another page follows
}

// Mark is a place in an actor's sequence.
type Mark struct {
	_     struct{} `cbor:",toarray"`
	Actor crdt.ActorID
	Seq   uint64
}

// Ack answers one Changes frame when everything the sender took from it is durable.
type Ack struct {
	_       struct{} `cbor:",toarray"`
	Chan    uint64
	Vector  []VectorEntry  // of the actors in the page, in actor order
	Refused []RefusedEntry // of the changes in the page, in hash order
}

// Proof shows the signature of a change in whose place the other side has another one.
type Proof struct {
	_     struct{} `cbor:",toarray"`
	Chan  uint64
	Actor crdt.ActorID
	Seq   uint64
	Hash  crdt.ChangeHash
	Sig   []byte
}

// Close ends a channel; the other side answers with a Close of its own.
type Close struct {
	_    struct{} `cbor:",toarray"`
	Chan uint64
	Code Code
}

// Error ends the connection.
type Error struct {
	_    struct{} `cbor:",toarray"`
	Code Code
	Text string
}

// Code says why something was refused or ended.
type Code string

// The codes of Refused and Close.
const (
	CodeNotServed Code = "not_served"      // unknown here, or no access: they look the same
	CodePending   Code = "pending"         // a human will decide
	CodeVersion   Code = "blocked_version" // the document holds objects that this version does not know
	CodeBusy      Code = "busy"            // try again later
	CodeDone      Code = "done"
)

// The codes of Error.
const (
	CodeIncompatible Code = "incompatible"
	CodeProtocol     Code = "protocol"
	CodeSilence      Code = "silence"
	CodeInternal     Code = "internal"
)

func (*Hello) Type() uint8    { return TypeHello }
func (*Ping) Type() uint8     { return TypePing }
func (*Pong) Type() uint8     { return TypePong }
func (*Announce) Type() uint8 { return TypeAnnounce }
func (*Unknown) Type() uint8  { return TypeUnknown }
func (*Offer) Type() uint8    { return TypeOffer }
func (*Open) Type() uint8     { return TypeOpen }
func (*Opened) Type() uint8   { return TypeOpened }
func (*Refused) Type() uint8  { return TypeRefused }
func (*Access) Type() uint8   { return TypeAccess }
func (*Objects) Type() uint8  { return TypeObjects }
func (*Have) Type() uint8     { return TypeHave }
func (*Changes) Type() uint8  { return TypeChanges }
func (*Ack) Type() uint8      { return TypeAck }
func (*Proof) Type() uint8    { return TypeProof }
func (*Close) Type() uint8    { return TypeClose }
func (*Error) Type() uint8    { return TypeError }
