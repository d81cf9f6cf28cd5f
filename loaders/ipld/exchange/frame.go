package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Version is the version of the protocol that this package speaks.
const Version = 1

// The limits of a frame.
const (
	MaxIDs    = 1024 // of a request
	MaxID     = 128  // bytes of an id
	MaxRoot   = 512  // bytes of a root
	maxFrame  = 160 << 10
	maxHeader = 32 // bytes of a reply without its data
)

// Kind says what ids name.
type Kind uint8

// The kinds.
const (
	Block     Kind = 1 // a block of IPLD by the text of its CID
	GitObject Kind = 2 // a git object by its full hash in hex
)

// Op says what is wanted of the ids.
type Op uint8

// The operations.
const (
	Get  Op = 1 // the bytes
	Have Op = 2 // only whether they are there
)

// Request asks for objects below a root that a document names.
type Request struct {
	_       struct{} `cbor:",toarray"`
	Version uint64
	Kind    Kind
	Op      Op
	Doc     crdt.DocID
	Root    string
	IDs     []string // each once
}

// Status is the answer for one id, or for a whole request.
type Status uint8

// The answers.
const (
	Here    Status = 0 // Size bytes follow, for Get
	NotHere Status = 1 // or not for this peer
	Refused Status = 2 // the request as a whole: its version, its kind, or too many on this stream
)

// Reply is the answer for one id. The bytes of the object follow it outside of the frame.
type Reply struct {
	_      struct{} `cbor:",toarray"`
	Index  uint64   // of the id in the request
	Status Status
	Size   uint64
}

// check holds a request of this version against the limits.
func (r *Request) check() error {
	switch {
	case r.Op != Get && r.Op != Have:
		return fmt.Errorf("unknown operation %d", r.Op)
	case len(r.Root) == 0 || len(r.Root) > MaxRoot:
		return fmt.Errorf("a root of %d bytes, it may have 1 to %d", len(r.Root), MaxRoot)
	case len(r.IDs) == 0 || len(r.IDs) > MaxIDs:
		return fmt.Errorf("%d ids, there may be 1 to %d", len(r.IDs), MaxIDs)
	}
	seen := make(map[string]bool, len(r.IDs))
	for _, id := range r.IDs {
		if len(id) == 0 || len(id) > MaxID {
			return fmt.Errorf("an id of %d bytes, it may have 1 to %d", len(id), MaxID)
		}
		if seen[id] {
			return fmt.Errorf("the id %s stands twice", id)
		}
		seen[id] = true
	}
	return nil
}

// frameCodec holds the two modes of deterministic CBOR (RFC 8949 §4.2.1); they never change and are safe
// for concurrent use.
type frameCodec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

var wire = newFrameCodec()

func newFrameCodec() frameCodec {
	eo := cbor.CoreDetEncOptions()
	eo.NilContainers = cbor.NilContainerAsEmpty
	enc, err := eo.EncMode()
	dec, err2 := cbor.DecOptions{
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		UTF8:             cbor.UTF8RejectInvalid,
		MaxNestedLevels:  4,
		MaxArrayElements: MaxIDs,
		MaxMapPairs:      16,
	}.DecMode()
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("CBOR options: %v", err)) // constants: fails in the first test or never
	}
	return frameCodec{enc, dec}
}

// decode accepts only the canonical encoding of v.
func decode(b []byte, v any) error {
	if err := wire.dec.Unmarshal(b, v); err != nil {
		return err
	}
	again, err := wire.enc.Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, b) {
		return errors.New("not in canonical form")
	}
	return nil
}

// writeFrame writes v behind its length.
func writeFrame(w io.Writer, v any) error {
	body, err := wire.enc.Marshal(v)
	if err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err = w.Write(append(b, body...))
	return err
}

// readFrame reads the bytes of one frame; io.EOF is the end of the stream between two.
func readFrame(r io.Reader, limit uint32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > limit {
		return nil, fmt.Errorf("a frame of %d bytes, the limit is %d", n, limit)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}
