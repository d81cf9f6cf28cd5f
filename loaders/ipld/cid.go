package ipld

import (
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// maxText bounds the text of a CID; the longest that is let in has 115 characters.
const maxText = 256

// hashLength lists the hash functions that are let in, with the one length of digest of each.
func hashLength(code uint64) (length int, allowed bool) {
	switch code {
	case multihash.SHA2_256, multihash.BLAKE3:
		return 32, true
	case multihash.SHA2_512:
		return 64, true
	}
	return 0, false
}

// ParseID reads the text of a CID, in any base and of version 0 or 1, and returns its usual text. It
// refuses what this package would not follow as a root or as a link: a hash that is not allowed, a
// codec that it can't read. Errors wrap [loaders.ErrInvalid].
func ParseID(text string) (string, error) {
	c, err := parse(text)
	if err != nil {
		return "", err
	}
	return c.String(), nil
}

func parse(text string) (cid.Cid, error) {
	if len(text) > maxText {
		return cid.Undef, invalid("CID: %d characters, the limit is %d", len(text), maxText)
	}
	c, err := cid.Decode(text)
	if err != nil {
		return cid.Undef, invalid("CID %q: %v", text, err)
	}
	return c, admit(c, "CID "+text)
}

// admit is the gate that every root and every link passes. where says what is judged, for the error.
func admit(c cid.Cid, where string) error {
	if !c.Defined() {
		return invalid("%s: no CID", where)
	}
	h, err := multihash.Decode(c.Hash())
	if err != nil {
		return invalid("%s: %v", where, err)
	}
	length, ok := hashLength(h.Code)
	if !ok {
		return invalid("%s: the hash %s is not allowed, only sha2-256, sha2-512 and blake3 are", where, hashName(h.Code))
	}
	if h.Length != length {
		return invalid("%s: the %s digest is cut to %d bytes, it must have %d", where, hashName(h.Code), h.Length, length)
	}
	switch c.Type() {
	case cid.Raw, cid.DagProtobuf, cid.DagCBOR, cid.DagJSON:
		return nil
	}
	return invalid("%s: unsupported codec %s, only raw, dag-pb, dag-cbor and dag-json are read", where, codecName(c.Type()))
}

func hashName(code uint64) string {
	if name, ok := multihash.Codes[code]; ok {
		return name
	}
	return fmt.Sprintf("0x%x", code)
}

// codecName names the codecs that are met in the wild.
func codecName(code uint64) string {
	switch code {
	case cid.Raw:
		return "raw"
	case cid.DagProtobuf:
		return "dag-pb"
	case cid.DagCBOR:
		return "dag-cbor"
	case cid.DagJSON:
		return "dag-json"
	case 0x51:
		return "cbor"
	case 0x0200:
		return "json"
	case cid.GitRaw:
		return "git-raw"
	case cid.Libp2pKey:
		return "libp2p-key"
	case 0x0202:
		return "car"
	}
	return fmt.Sprintf("0x%x", code)
}

// short is a CID for messages.
func short(c cid.Cid) string {
	s := c.String()
	if len(s) <= 24 {
		return s
	}
	return s[:10] + "…" + s[len(s)-10:]
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", loaders.ErrInvalid, fmt.Errorf(format, args...))
}
