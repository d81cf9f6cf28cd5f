package p2p

import (
	"context"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Await returns the state of a peer as soon as ok accepts it, or ctx's error.
func (n *Network) Await(ctx context.Context, p crdt.PeerID, ok func(PeerState) bool) (PeerState, error) {
	n.mu.Lock()
	s := n.peerLocked(p)
	if s == nil {
		n.mu.Unlock()
		return PeerState{ID: p}, fmt.Errorf("wait for peer %s: it is this peer itself, or no key", p)
	}
	s.holds++
	defer func() {
		s.holds--
		n.dropLocked(s)
		n.mu.Unlock()
	}()
	for {
		view, changed := n.viewLocked(s), s.changed
		n.mu.Unlock()
		if ok(view) {
			n.mu.Lock()
			return view, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			n.mu.Lock()
			return view, ctx.Err()
		}
		n.mu.Lock()
	}
}

// Nearby lists the peers seen by multicast DNS, the latest first.
func (n *Network) Nearby() []Nearby {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.nearby)
}

// CloseWrite tells the other side that nothing more comes; reading goes on.
func (s *Stream) CloseWrite() error { return s.s.CloseWrite() }

// joinAddr is the reverse of [splitAddr].
func joinAddr(p crdt.PeerID, addr string) string { return addr + "/p2p/" + p.String() }
