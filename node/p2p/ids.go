package p2p

import (
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// toLibp2p fails only for 32 bytes that libp2p does not take as an Ed25519 key.
func toLibp2p(p crdt.PeerID) (peer.ID, error) {
	key, err := crypto.UnmarshalEd25519PublicKey(p[:])
	if err != nil {
		return "", err
	}
	return peer.IDFromPublicKey(key)
}

// fromLibp2p reports false for peers whose key is not Ed25519; they can't take part.
func fromLibp2p(id peer.ID) (p crdt.PeerID, ok bool) {
	key, err := id.ExtractPublicKey()
	if err != nil || key.Type() != crypto.Ed25519 {
		return p, false
	}
	raw, err := key.Raw()
	if err != nil || len(raw) != len(p) {
		return p, false
	}
	return crdt.PeerID(raw), true
}
