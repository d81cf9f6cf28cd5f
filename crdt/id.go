package crdt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base32"
	"encoding/hex"
	"fmt"

	"github.com/multiformats/go-multihash"
)

// DocID names a document: the SHA-256 of its genesis object. Its text form is lower-case base32
// (RFC 4648, no padding), 52 characters.
type DocID [32]byte

// PeerID names a peer: its Ed25519 public key. Its text form is that of libp2p ("12D3KooW…"): the
// base58btc of the identity multihash of the key in libp2p's protobuf form.
type PeerID [32]byte

// ActorID names one sequence of changes in one document: the first 16 bytes of a SHA-256 that binds
// document, key, grant and epoch ([NewActorID]). Text form: lower-case hex.
type ActorID [16]byte

// ChangeHash is the SHA-256 that Automerge gives a change. Text form: lower-case hex.
type ChangeHash [32]byte

// ObjectID names an access object: the SHA-256 of its signed bytes. Text form: lower-case base32.
type ObjectID [32]byte

// RowID is the key of a row: the SHA-256 of its bytes. Text form: lower-case hex.
type RowID [32]byte

var (
	lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	// peerPrefix is the identity multihash (0x00, length 36) of libp2p's protobuf public key
	// (type 1 = Ed25519, 32 bytes of data).
	peerPrefix = []byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}
)

func (d DocID) String() string      { return lowerBase32.EncodeToString(d[:]) }
func (o ObjectID) String() string   { return lowerBase32.EncodeToString(o[:]) }
func (a ActorID) String() string    { return hex.EncodeToString(a[:]) }
func (h ChangeHash) String() string { return hex.EncodeToString(h[:]) }
func (r RowID) String() string      { return hex.EncodeToString(r[:]) }

func (p PeerID) String() string {
	return multihash.Multihash(append(bytes.Clone(peerPrefix), p[:]...)).B58String()
}

// Short is an abbreviation for logs and lists: long enough to tell peers apart, short enough to read.
func (d DocID) Short() string { return d.String()[:10] }

// Short is the end of the text form: all peer ids begin alike.
func (p PeerID) Short() string { s := p.String(); return s[len(s)-8:] }

// Key is the Ed25519 public key that the id is.
func (p PeerID) Key() ed25519.PublicKey { return ed25519.PublicKey(p[:]) }

// IsZero reports whether the id is unset.
func (p PeerID) IsZero() bool { return p == PeerID{} }

// IsZero reports whether the id is unset.
func (d DocID) IsZero() bool { return d == DocID{} }

// ParseDocID reads the full text form of a document id.
func ParseDocID(s string) (DocID, error) {
	var d DocID
	return d, parseBase32(s, d[:], "document id")
}

// ParseObjectID reads the full text form of an access object's id.
func ParseObjectID(s string) (ObjectID, error) {
	var o ObjectID
	return o, parseBase32(s, o[:], "object id")
}

// ParsePeerID reads the full text form of a peer id.
func ParsePeerID(s string) (PeerID, error) {
	var p PeerID
	m, err := multihash.FromB58String(s)
	if err != nil || len(m) != len(peerPrefix)+32 || !bytes.HasPrefix(m, peerPrefix) {
		return p, fmt.Errorf("parse peer id %q: not an Ed25519 peer id", clip(s))
	}
	copy(p[:], m[len(peerPrefix):])
	return p, nil
}

// ParseActorID reads 32 hex digits.
func ParseActorID(s string) (ActorID, error) {
	var a ActorID
	return a, parseHex(s, a[:], "actor id")
}

// ParseChangeHash reads 64 hex digits.
func ParseChangeHash(s string) (ChangeHash, error) {
	var h ChangeHash
	return h, parseHex(s, h[:], "change hash")
}

// ParseRowID reads 64 hex digits.
func ParseRowID(s string) (RowID, error) {
	var r RowID
	return r, parseHex(s, r[:], "row id")
}

func parseBase32(s string, out []byte, what string) error {
	b, err := lowerBase32.DecodeString(s)
	if err != nil || len(b) != len(out) || lowerBase32.EncodeToString(b) != s {
		return fmt.Errorf("parse %s %q: want %d characters of lower-case base32", what, clip(s), lowerBase32.EncodedLen(len(out)))
	}
	copy(out, b)
	return nil
}

func parseHex(s string, out []byte, what string) error {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(out) || hex.EncodeToString(b) != s {
		return fmt.Errorf("parse %s %q: want %d lower-case hex digits", what, clip(s), 2*len(out))
	}
	copy(out, b)
	return nil
}

// clip keeps hostile text out of error messages beyond a readable length.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// MarshalText and UnmarshalText make the ids usable as JSON strings and map keys.

func (d DocID) MarshalText() ([]byte, error)      { return []byte(d.String()), nil }
func (p PeerID) MarshalText() ([]byte, error)     { return []byte(p.String()), nil }
func (a ActorID) MarshalText() ([]byte, error)    { return []byte(a.String()), nil }
func (h ChangeHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
func (o ObjectID) MarshalText() ([]byte, error)   { return []byte(o.String()), nil }
func (r RowID) MarshalText() ([]byte, error)      { return []byte(r.String()), nil }

func (d *DocID) UnmarshalText(b []byte) (err error) { *d, err = ParseDocID(string(b)); return err }

func (p *PeerID) UnmarshalText(b []byte) (err error) { *p, err = ParsePeerID(string(b)); return err }

func (a *ActorID) UnmarshalText(b []byte) (err error) { *a, err = ParseActorID(string(b)); return err }

func (h *ChangeHash) UnmarshalText(b []byte) (err error) {
	*h, err = ParseChangeHash(string(b))
	return err
}

func (o *ObjectID) UnmarshalText(b []byte) (err error) {
	*o, err = ParseObjectID(string(b))
	return err
}
func (r *RowID) UnmarshalText(b []byte) (err error) { *r, err = ParseRowID(string(b)); return err }
