package ipld

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

var errMismatch = errors.New("the bytes do not match the hash")

// Block is the bytes of one block with its CID text.
type Block struct {
	ID   string
	Data []byte
}

// Verify hashes data and compares with id. An error wraps [loaders.ErrInvalid]: the id is not let in, the
// block is too large, or the bytes are others.
func Verify(id string, data []byte) error {
	c, err := parse(id)
	if err != nil {
		return err
	}
	if err := verify(c, data); err != nil {
		return invalid("block %s: %w", short(c), err)
	}
	return nil
}

// verify needs a CID that passed admit.
func verify(c cid.Cid, data []byte) error {
	if len(data) > MaxBlock {
		return fmt.Errorf("%d bytes, the limit is %d", len(data), MaxBlock)
	}
	h, err := multihash.Decode(c.Hash())
	if err != nil {
		return err
	}
	digest, err := sum(h.Code, data)
	if err != nil {
		return err
	}
	if !bytes.Equal(digest, h.Digest) {
		return errMismatch
	}
	return nil
}

func sum(code uint64, data []byte) ([]byte, error) {
	switch code {
	case multihash.SHA2_256:
		d := sha256.Sum256(data)
		return d[:], nil
	case multihash.SHA2_512:
		d := sha512.Sum512(data)
		return d[:], nil
	}
	whole, err := multihash.Sum(data, code, -1)
	if err != nil {
		return nil, err
	}
	h, err := multihash.Decode(whole)
	if err != nil {
		return nil, err
	}
	return h.Digest, nil
}

// cidOf names data with sha2-256.
func cidOf(codec uint64, data []byte) cid.Cid {
	return cid.NewCidV1(codec, sha256Hash(data))
}

func sha256Hash(data []byte) multihash.Multihash {
	digest := sha256.Sum256(data)
	h, err := multihash.Encode(digest[:], multihash.SHA2_256)
	if err != nil {
		panic(fmt.Sprintf("hash of a known kind: %v", err)) // constants: fails in the first test or never
	}
	return h
}
