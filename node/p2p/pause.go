package p2p

import (
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Pause closes the connections to a peer and refuses new ones in both directions until Resume. It
// lasts as long as the Network.
func (n *Network) Pause(p crdt.PeerID) {
	n.gate.pause(p, true)
	n.mu.Lock()
	n.peerLocked(p)
	n.mu.Unlock()
	n.Disconnect(p)
}

// Resume ends a pause and dials the peer at once if it is wanted.
func (n *Network) Resume(p crdt.PeerID) {
	n.gate.pause(p, false)
	n.retry(func(s *peerState) bool { return s.id == p }, true)
}

// Disconnect closes the connections to a peer. A wanted peer that is not paused and still allowed is
// dialled again.
func (n *Network) Disconnect(p crdt.PeerID) {
	n.closeConns(func(q crdt.PeerID) bool { return p == q })
	n.retry(func(s *peerState) bool { return s.id == p }, false)
}

// Recheck closes the connections to peers that [Config].Allow no longer admits and dials again those
// that it admits now.
func (n *Network) Recheck() {
	n.closeConns(func(p crdt.PeerID) bool { return !n.gate.permits(p) })
	n.retry(func(s *peerState) bool { return !s.connected }, true)
}

// Renew closes all connections and dials every wanted peer at once: what the network does by itself
// after sleep.
func (n *Network) Renew() {
	n.closeConns(func(crdt.PeerID) bool { return true })
	n.retry(func(*peerState) bool { return true }, true)
}

// retry wakes those who wait for a peer; with reset its back-off starts over and QUIC gets another
// chance.
func (n *Network) retry(which func(*peerState) bool, reset bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.peers {
		if which(s) {
			n.retryLocked(s, reset)
		}
	}
}

func (n *Network) retryLocked(s *peerState, reset bool) {
	n.settleLocked(s) // connections closed by the caller may not have been noticed yet
	if reset {
		s.resetDial()
	}
	s.touch()
	n.dropLocked(s)
}

func (s *peerState) resetDial() {
	s.fails = 0
	if !s.connected {
		s.nextDial, s.avoidQUIC, s.note = time.Time{}, false, nil
		if s.abort != nil {
			s.abort()
		}
	}
}
