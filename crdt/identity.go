package crdt

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
)

// Identity is this peer's key: Ed25519, the same that the transport proves. Methods are safe for
// concurrent use. Printing or logging it shows the peer id only.
type Identity struct {
	key ed25519.PrivateKey
	id  PeerID
}

// NewIdentity draws a key from rand and keeps it in memory only.
func NewIdentity(rand io.Reader) (*Identity, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(rand, seed[:]); err != nil {
		return nil, fmt.Errorf("make identity: draw a key: %w", err)
	}
	return newIdentity(seed), nil
}

func newIdentity(seed [ed25519.SeedSize]byte) *Identity {
	key := ed25519.NewKeyFromSeed(seed[:])
	return &Identity{key: key, id: PeerID(key.Public().(ed25519.PublicKey))}
}

// PeerID is the public half.
func (id *Identity) PeerID() PeerID { return id.id }

// Sign returns the Ed25519 signature (64 bytes) of msg.
func (id *Identity) Sign(msg []byte) []byte { return ed25519.Sign(id.key, msg) }

// PrivateKey is for the transport, which proves the peer id with it, and for nothing else.
func (id *Identity) PrivateKey() ed25519.PrivateKey { return id.key }

func (id *Identity) String() string { return "identity of " + id.id.String() }

// Format implements [fmt.Formatter], so that no verb prints the key.
func (id *Identity) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, id.String()) }

// LogValue implements [slog.LogValuer].
func (id *Identity) LogValue() slog.Value { return slog.StringValue(id.String()) }

// MarshalText keeps encoders that look into structs away from the key.
func (id *Identity) MarshalText() ([]byte, error) { return id.id.MarshalText() }
