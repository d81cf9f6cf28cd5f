package docsync

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// frameCodec holds the two modes of deterministic CBOR (RFC 8949 §4.2.1); they never change and
// are safe for concurrent use.
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
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		UTF8:              cbor.UTF8RejectInvalid,
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels:   8,
		MaxArrayElements:  MaxPageChanges * 2,
		MaxMapPairs:       16,
	}.DecMode()
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("CBOR options: %v", err)) // constants: fails in the first test or never
	}
	return frameCodec{enc, dec}
}

// arrayHead is the first byte of a CBOR array of fewer than 24 elements, less their number.
const arrayHead = 0x80

func newFrame(t uint8) Frame {
	switch t {
	case TypeHello:
		return &Hello{}
	case TypePing:
		return &Ping{}
	case TypePong:
		return &Pong{}
	case TypeAnnounce:
		return &Announce{}
	case TypeUnknown:
		return &Unknown{}
	case TypeOffer:
		return &Offer{}
	case TypeOpen:
		return &Open{}
	case TypeOpened:
		return &Opened{}
	case TypeRefused:
		return &Refused{}
	case TypeAccess:
		return &Access{}
	case TypeObjects:
		return &Objects{}
	case TypeHave:
		return &Have{}
	case TypeChanges:
		return &Changes{}
	case TypeAck:
		return &Ack{}
	case TypeProof:
		return &Proof{}
	case TypeClose:
		return &Close{}
	case TypeError:
		return &Error{}
	}
	return nil
}

// Encode returns the bytes of a frame behind its length. It fails for a frame that the other side
// would refuse.
func Encode(f Frame) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("encode frame %d: %w", f.Type(), err)
	}
	body, err := wire.enc.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode frame %d: %w", f.Type(), err)
	}
	// The array of the struct gets the type as a further first element.
	out := make([]byte, 0, len(body)+1)
	out = append(out, body[0]+1, f.Type())
	out = append(out, body[1:]...)
	if len(out) > MaxFrame {
		return nil, fmt.Errorf("encode frame %d: %d bytes, the limit is %d", f.Type(), len(out), MaxFrame)
	}
	return out, nil
}

// Decode reads the bytes of one frame strictly: only the canonical encoding of a known frame within
// its limits passes. A well-formed frame of an extension type gives nil, nil. It keeps no reference
// to b. Errors are *[ProtocolError].
func Decode(b []byte) (Frame, error) {
	if len(b) > MaxFrame {
		return nil, bad(CauseOversize, "a frame of %d bytes, the limit is %d", len(b), MaxFrame)
	}
	if len(b) < 2 || b[0] <= arrayHead || b[0] >= arrayHead+24 {
		return nil, bad(CauseMalformed, "not an array of 1 to 23 elements")
	}
	if b[1] >= 24 {
		return nil, decodeExtension(b)
	}
	f := newFrame(b[1])
	if f == nil {
		return nil, bad(CauseUnknownType, "frame type %d", b[1])
	}
	body := bytes.Clone(b[1:])
	body[0] = b[0] - 1
	if err := wire.dec.Unmarshal(body, f); err != nil {
		return nil, bad(CauseMalformed, "frame type %d: %v", f.Type(), err)
	}
	again, err := wire.enc.Marshal(f)
	if err != nil || !bytes.Equal(again, body) {
		return nil, bad(CauseMalformed, "frame type %d is not in canonical form", f.Type())
	}
	return f, f.check()
}

// decodeExtension passes over a frame whose type does not fit in one byte of CBOR: it is ignored if
// it is strict CBOR and its type is reserved for extensions.
func decodeExtension(b []byte) error {
	var parts []cbor.RawMessage
	var t uint64
	if err := wire.dec.Unmarshal(b, &parts); err != nil {
		return bad(CauseMalformed, "%v", err)
	}
	if err := wire.dec.Unmarshal(parts[0], &t); err != nil {
		return bad(CauseMalformed, "frame type: %v", err)
	}
	if t < firstExtension {
		return bad(CauseUnknownType, "frame type %d", t)
	}
	if again, err := wire.enc.Marshal(t); err != nil || !bytes.Equal(again, parts[0]) {
		return bad(CauseMalformed, "frame type %d is not in canonical form", t)
	}
	return nil
}
