package crdt

import (
	"encoding/binary"
	"fmt"
)

// Keys of a [Store]: one letter, the document id, then what the letter needs. docs/store.md tells
// the whole layout.
const (
	keyHead    = 'h' // h doc               → docHead
	keyObject  = 'o' // o doc object        → access object
	keyChange  = 'c' // c doc position      → change record
	keySegment = 'p' // p doc first-position → zstd of change records
	keyRefused = 'r' // r doc hash          → refused change
	keyAck     = 'k' // k doc peer          → acknowledged vector
	keyEpoch   = 'e' // e doc               → the actor this peer writes under
	keyTable   = 't' // t table 0 key       → peer-local rows
)

func docKey(letter byte, doc DocID, rest ...byte) []byte {
	k := make([]byte, 0, 1+len(doc)+len(rest))
	return append(append(append(k, letter), doc[:]...), rest...)
}

func posKey(letter byte, doc DocID, pos uint64) []byte {
	return binary.BigEndian.AppendUint64(docKey(letter, doc), pos)
}

func keyPos(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// docHead is what is known of a document without loading it.
type docHead struct {
	kind    Kind
	next    uint64   // position of the next change
	applied uint64   // changes below this position were in the core when the head was written
	vector  [32]byte // digest of the vector
	access  [32]byte // digest of the access set
}

const headVersion = 1

func (h docHead) encode() []byte {
	b := []byte{headVersion, byte(len(h.kind))}
	b = append(b, h.kind...)
	b = binary.BigEndian.AppendUint64(b, h.next)
	b = binary.BigEndian.AppendUint64(b, h.applied)
	b = append(b, h.vector[:]...)
	return append(b, h.access[:]...)
}

func decodeHead(b []byte) (docHead, error) {
	var h docHead
	bad := fmt.Errorf("read document head: %d bytes of an unknown form", len(b))
	if len(b) < 2 || b[0] != headVersion || len(b) != 2+int(b[1])+16+64 {
		return h, bad
	}
	n := int(b[1])
	kind, err := ParseKind(string(b[2 : 2+n]))
	if err != nil {
		return h, fmt.Errorf("read document head: %w", err)
	}
	b = b[2+n:]
	h.kind = kind
	h.next, h.applied = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	h.vector, h.access = [32]byte(b[16:]), [32]byte(b[48:])
	return h, nil
}

// A change record is a length byte (0 or 64), that many bytes of signature, and the chunk.

func encodeRecord(c SignedChange) []byte {
	b := make([]byte, 0, 1+len(c.Sig)+len(c.Raw))
	b = append(b, byte(len(c.Sig)))
	return append(append(b, c.Sig...), c.Raw...)
}

func decodeRecord(b []byte) (SignedChange, error) {
	if len(b) == 0 || (b[0] != 0 && b[0] != 64) || len(b) < 1+int(b[0]) {
		return SignedChange{}, fmt.Errorf("read change record: %d bytes of an unknown form", len(b))
	}
	n := 1 + int(b[0])
	c := SignedChange{Raw: b[n:]}
	if n > 1 {
		c.Sig = b[1:n]
	}
	return c, nil
}

// encodeVector writes the entries of a vector in actor order: actor, sequence number (8 bytes, big
// endian), hash.
func encodeVector(v Vector) []byte {
	b := make([]byte, 0, len(v)*56)
	for _, a := range v.Actors() {
		t := v[a]
		b = append(b, a[:]...)
		b = binary.BigEndian.AppendUint64(b, t.Seq)
		b = append(b, t.Hash[:]...)
	}
	return b
}

func decodeVector(b []byte) (Vector, error) {
	if len(b)%56 != 0 {
		return nil, fmt.Errorf("read vector: %d bytes are no whole number of entries", len(b))
	}
	v := make(Vector, len(b)/56)
	for ; len(b) > 0; b = b[56:] {
		v[ActorID(b)] = Tip{Seq: binary.BigEndian.Uint64(b[16:]), Hash: ChangeHash(b[24:])}
	}
	return v, nil
}
