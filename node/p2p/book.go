package p2p

import (
	"context"
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// AddressBook keeps the addresses of peers between runs. Methods are safe for concurrent use.
type AddressBook interface {
	// Addresses returns what SetAddresses stored last for the peer, or nothing.
	Addresses(ctx context.Context, p crdt.PeerID) ([]string, error)
	// SetAddresses replaces the addresses of a peer: at most 16, newest first.
	SetAddresses(ctx context.Context, p crdt.PeerID, addrs []string) error
}

// memBook is an [AddressBook] in memory.
type memBook struct {
	mu    sync.Mutex
	addrs map[crdt.PeerID][]string
}

// newMemBook returns an empty book.
func newMemBook() *memBook { return &memBook{addrs: map[crdt.PeerID][]string{}} }

// Addresses implements [AddressBook].
func (b *memBook) Addresses(_ context.Context, p crdt.PeerID) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.addrs[p]), nil
}

// SetAddresses implements [AddressBook].
func (b *memBook) SetAddresses(_ context.Context, p crdt.PeerID, addrs []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs[p] = slices.Clone(addrs)
	return nil
}
