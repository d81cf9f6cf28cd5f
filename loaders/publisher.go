package loaders

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// signDomain stands before the content that a publisher signs, so that the signature is good for
// nothing else.
const signDomain = Schema + "\x00"

// Signer signs as a peer; *[crdt.Identity] is one.
type Signer interface {
	PeerID() crdt.PeerID
	Sign(msg []byte) []byte
}

// SignManifest makes by the publisher of a manifest and signs it. The signature covers everything but
// where the module is (its hash is covered).
func SignManifest(m *Manifest, by Signer) error {
	signed := *m
	signed.Publisher = &Publisher{Key: by.PeerID().String()}
	if err := signed.Validate(); err != nil {
		return fmt.Errorf("sign manifest of %.80q: %w", m.Name, err)
	}
	signed.Publisher.Sig = base64.StdEncoding.EncodeToString(by.Sign(signed.signedBytes()))
	*m = signed
	return nil
}

func (m *Manifest) signedBytes() []byte { return append([]byte(signDomain), m.Content()...) }

// verifyPublisher checks the signature, if there is one.
func (m *Manifest) verifyPublisher() (signed bool, err error) {
	if m.Publisher == nil || m.Publisher.Sig == "" {
		return false, nil
	}
	id, err := m.Publisher.ID()
	if err != nil {
		return false, err
	}
	sig, err := unbase64(m.Publisher.Sig)
	if err != nil || len(sig) != ed25519.SignatureSize || !ed25519.Verify(id.Key(), m.signedBytes(), sig) {
		return false, errors.New("the publisher's signature is not that of this content")
	}
	return true, nil
}

func (m *Manifest) checkPublisher() error {
	if m.Publisher == nil {
		return nil
	}
	if _, err := m.Publisher.ID(); err != nil {
		return fmt.Errorf("publisher: %w", err)
	}
	if m.Publisher.Sig == "" {
		return nil
	}
	if sig, err := unbase64(m.Publisher.Sig); err != nil || len(sig) != ed25519.SignatureSize {
		return errors.New("publisher: the signature must be 64 bytes in base64")
	}
	return nil
}

// ID is the key as a peer id, whichever form it was written in.
func (p *Publisher) ID() (crdt.PeerID, error) {
	text, isDID := strings.CutPrefix(p.Key, "did:key:")
	if !isDID {
		return crdt.ParsePeerID(p.Key)
	}
	// A did:key of Ed25519 is "z", then the base58btc of 0xed 0x01 and the 32 bytes.
	var id crdt.PeerID
	raw, err := unbase58(strings.TrimPrefix(text, "z"))
	if !strings.HasPrefix(text, "z") || err != nil || len(raw) != 34 || raw[0] != 0xed || raw[1] != 0x01 {
		return id, fmt.Errorf("parse key %.80q: want an Ed25519 did:key", p.Key)
	}
	copy(id[:], raw[2:])
	return id, nil
}

const base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// unbase58 reads base58btc of bytes that do not begin with zero.
func unbase58(s string) ([]byte, error) {
	if s == "" || len(s) > 64 || s[0] == '1' {
		return nil, errors.New("want base58")
	}
	n, radix := new(big.Int), big.NewInt(58)
	for i := range len(s) {
		d := strings.IndexByte(base58Digits, s[i])
		if d < 0 {
			return nil, errors.New("want base58")
		}
		n.Add(n.Mul(n, radix), big.NewInt(int64(d)))
	}
	return n.Bytes(), nil
}
