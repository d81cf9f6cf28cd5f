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
	// SetAddresses replaces the addresses of a peer: at most [MaxAddrs], newest first.
	SetAddresses(ctx context.Context, p crdt.PeerID, addrs []string) error
}

// MemBook is an [AddressBook] in memory.
type MemBook struct {
	mu    sync.Mutex
	addrs map[crdt.PeerID][]string
}

// NewMemBook returns an empty book.
func NewMemBook() *MemBook { return &MemBook{addrs: map[crdt.PeerID][]string{}} }

// Addresses implements [AddressBook].
func (b *MemBook) Addresses(_ context.Context, p crdt.PeerID) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.addrs[p]), nil
}

// SetAddresses implements [AddressBook].
func (b *MemBook) SetAddresses(_ context.Context, p crdt.PeerID, addrs []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs[p] = slices.Clone(addrs)
	return nil
}
