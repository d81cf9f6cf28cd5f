package p2p

import (
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// gate decides which peers may be connected, in either direction. It is shut until Run starts and
// after it ends. It implements libp2p's ConnectionGater.
type gate struct {
	allow   func(crdt.PeerID) bool
	refused atomic.Uint64

	mu     sync.RWMutex
	open   bool
	paused map[crdt.PeerID]bool
}

func newGate(allow func(crdt.PeerID) bool) *gate {
	return &gate{allow: allow, paused: map[crdt.PeerID]bool{}}
}

func (g *gate) setOpen(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
}

func (g *gate) pause(p crdt.PeerID, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on {
		g.paused[p] = true
	} else {
		delete(g.paused, p)
	}
}

func (g *gate) isPaused(p crdt.PeerID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.paused[p]
}

// permits is the whole rule.
func (g *gate) permits(p crdt.PeerID) bool {
	g.mu.RLock()
	shut := !g.open || g.paused[p]
	g.mu.RUnlock()
	return !shut && (g.allow == nil || g.allow(p))
}

func (g *gate) check(id peer.ID) bool {
	if p, ok := fromLibp2p(id); ok && g.permits(p) {
		return true
	}
	g.refused.Add(1)
	return false
}

func (g *gate) InterceptPeerDial(id peer.ID) bool { return g.check(id) }

func (g *gate) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

func (g *gate) InterceptAccept(network.ConnMultiaddrs) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.open
}

func (g *gate) InterceptSecured(_ network.Direction, id peer.ID, _ network.ConnMultiaddrs) bool {
	return g.check(id)
}

// InterceptUpgraded asks again: a pause may have come while the handshake ran.
func (g *gate) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	p, ok := fromLibp2p(c.RemotePeer())
	return ok && g.permits(p), 0
}
