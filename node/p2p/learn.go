package p2p

import (
	"context"
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Remember adds addresses of a peer (multiaddrs without /p2p/), newest first, and dials it anew if
// it is wanted and not connected. The book has them when it returns nil.
func (n *Network) Remember(ctx context.Context, p crdt.PeerID, addrs []string) error {
	for _, a := range addrs {
		if err := checkAddr(a); err != nil {
			return err
		}
	}
	n.mu.Lock()
	s := n.peerLocked(p)
	if s == nil {
		n.mu.Unlock()
		return fmt.Errorf("remember addresses of %s: it is this peer itself, or no key", p)
	}
	s.holds++
	n.mu.Unlock()
	n.loadAddrs(ctx, s)

	n.mu.Lock()
	defer n.mu.Unlock()
	s.holds--
	merged := mergeAddrs(addrs, s.addrs, false)
	changed := !slices.Equal(merged, s.addrs)
	s.addrs = merged
	n.retryLocked(s, changed)
	if !changed {
		return nil
	}
	if err := n.cfg.Book.SetAddresses(ctx, p, merged); err != nil {
		return fmt.Errorf("remember addresses of %s: %w", p, err)
	}
	return nil
}

// loadAddrs reads the book once for each peer.
func (n *Network) loadAddrs(ctx context.Context, s *peerState) {
	n.mu.Lock()
	loaded := s.loaded
	n.mu.Unlock()
	if loaded {
		return
	}
	known, err := n.cfg.Book.Addresses(ctx, s.id)
	if err != nil {
		n.cfg.Log.Warn("read address book", "peer", s.id.String(), "err", err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.loaded = true
	s.addrs = mergeAddrs(s.addrs, known, false)
	s.touch()
}

// writeBook stores what was learned about wanted peers.
func (n *Network) writeBook(ctx context.Context) {
	for {
		select {
		case <-n.learned.ready:
			n.flushBook(ctx)
		case <-ctx.Done():
			n.flushBook(context.WithoutCancel(ctx))
			return
		}
	}
}

func (n *Network) flushBook(ctx context.Context) {
	for _, p := range n.learned.take() {
		n.mu.Lock()
		s := n.peers[p]
		n.mu.Unlock()
		if s == nil {
			continue // no longer wanted
		}
		n.loadAddrs(ctx, s)
		n.mu.Lock()
		addrs := slices.Clone(s.addrs)
		n.mu.Unlock()
		if len(addrs) == 0 {
			continue
		}
		if err := n.cfg.Book.SetAddresses(ctx, p, addrs); err != nil {
			n.cfg.Log.Warn("write address book", "peer", p.String(), "err", err)
		}
	}
}

// learnLocked takes the addresses that a peer tells about itself, and the one at which it was
// reached.
func (n *Network) learnLocked(s *peerState, c network.Conn, listen []ma.Multiaddr) {
	var fresh []string
	if c.Stat().Direction == network.DirOutbound {
		fresh = append(fresh, c.RemoteMultiaddr().String())
	}
	for _, a := range listen {
		if len(fresh) < maxAddrs && learnable(a, c.RemoteMultiaddr()) {
			fresh = append(fresh, a.String())
		}
	}
	merged := mergeAddrs(fresh, s.addrs, true)
	if !slices.Equal(merged, s.addrs) {
		s.addrs = merged
		if s.wanted { // strangers must not fill the book
			n.learned.add(s.id)
		}
	}
}
