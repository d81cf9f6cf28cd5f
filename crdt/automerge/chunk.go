package automerge

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// ChangeError says which change the core did not take. It wraps a *[crdt.Refusal], or a
// *[crdt.MissingError] when the change came before one that it depends on.
type ChangeError struct {
	Hash crdt.ChangeHash
	Err  error
}

func (e *ChangeError) Error() string { return fmt.Sprintf("change %s: %v", e.Hash, e.Err) }

func (e *ChangeError) Unwrap() error { return e.Err }

func refused(hash crdt.ChangeHash, format string, args ...any) error {
	return &ChangeError{hash, crdt.Refuse(crdt.ReasonCore, format, args...)}
}

// notTaken is the verdict on a change that is unknown after it was fed. The core's own word is
// detail, never a sign: it says nothing about most of what it ignores.
func notTaken(hash crdt.ChangeHash, cause error) error {
	if cause != nil {
		return refused(hash, "%v", cause)
	}
	return refused(hash, "the core does not know it after taking it")
}

// The frame of a change chunk: magic, the first 4 bytes of the hash, type, length, then the body,
// which starts with the hashes it depends on. The hash is the SHA-256 of type, length and body.
const (
	chunkMagic    = "\x85\x6f\x4a\x83"
	chunkHashed   = 8 // offset of what the hash covers
	chunkMinBytes = 10
	chunkChange   = 1 // an uncompressed change
)

// checkChunk refuses bytes that are not exactly one uncompressed change chunk with this hash, and
// returns what it depends on. Without it the core would take further chunks behind the first, or
// another change than the one asked for.
func checkChunk(hash crdt.ChangeHash, raw []byte) ([]crdt.ChangeHash, error) {
	if len(raw) < chunkMinBytes || string(raw[:4]) != chunkMagic || raw[chunkHashed] != chunkChange {
		return nil, refused(hash, "not a change chunk")
	}
	body, ok := lengthPrefixed(raw[chunkHashed+1:])
	if !ok {
		return nil, refused(hash, "not exactly one change chunk")
	}
	if sum := sha256.Sum256(raw[chunkHashed:]); sum != hash || !bytes.Equal(sum[:4], raw[4:8]) {
		return nil, refused(hash, "the bytes have another hash")
	}
	n, used := binary.Uvarint(body)
	if used <= 0 || n > crdt.MaxDeps || uint64(len(body)-used) < n*uint64(len(hash)) {
		return nil, refused(hash, "unreadable dependencies")
	}
	deps := make([]crdt.ChangeHash, n)
	for i := range deps {
		copy(deps[i][:], body[used+i*len(hash):])
	}
	return deps, nil
}

// lengthPrefixed takes off a length that must be that of all the rest.
func lengthPrefixed(b []byte) ([]byte, bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n != uint64(len(b)-used) {
		return nil, false
	}
	return b[used:], true
}
