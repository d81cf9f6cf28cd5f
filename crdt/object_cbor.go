package crdt

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// objCodec reads and writes the deterministic CBOR (RFC 8949 §4.2.1) of access objects. Its two
// modes never change, and are safe for concurrent use.
type objCodec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

var objCBOR = newObjCodec()

func newObjCodec() objCodec {
	eo := cbor.CoreDetEncOptions()
	eo.NilContainers = cbor.NilContainerAsEmpty
	enc, err := eo.EncMode()
	dec, err2 := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels:   8,
		MaxArrayElements:  MaxObject,
		MaxMapPairs:       16,
	}.DecMode()
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("CBOR options: %v", err)) // constants: fails in the first test or never
	}
	return objCodec{enc, dec}
}

// decode reads all of raw into v. Only the one canonical encoding of a value is accepted: encoding
// v again must give the same bytes, which also refuses byte strings of a wrong length, nulls and
// explicit defaults.
func (c objCodec) decode(raw []byte, v any) error {
	if err := c.dec.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("not the expected CBOR: %w", err)
	}
	again, err := c.enc.Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, raw) {
		return errors.New("not canonical: another encoding of the same")
	}
	return nil
}
