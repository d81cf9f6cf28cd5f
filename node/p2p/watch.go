package p2p

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
)

func (n *Network) subscribe() (event.Subscription, error) {
	return n.host.EventBus().Subscribe([]any{
		new(event.EvtPeerIdentificationCompleted),
		new(event.EvtPeerProtocolsUpdated),
		new(event.EvtLocalAddressesUpdated),
	}, eventbus.BufSize(256), eventbus.Name("chaz"))
}

// watch follows libp2p's events and runs multicast DNS, which starts anew with new local addresses.
func (n *Network) watch(ctx context.Context, events event.Subscription) {
	addrs := n.Addrs()
	stopMDNS := n.startMDNS()
	defer func() { stopMDNS() }()
	sweep := time.NewTicker(identifyTimeout)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-sweep.C:
			n.sweepSilent(now)
		case e, ok := <-events.Out():
			if !ok {
				return
			}
			switch e := e.(type) {
			case event.EvtPeerIdentificationCompleted:
				n.identified(e)
			case event.EvtPeerProtocolsUpdated:
				n.protocolsChanged(e)
			case event.EvtLocalAddressesUpdated:
				now := n.Addrs()
				if slices.Equal(now, addrs) {
					continue
				}
				n.cfg.Log.Info("local addresses changed", "addrs", now)
				addrs = now
				stopMDNS()
				stopMDNS = n.startMDNS()
				n.retry(func(*peerState) bool { return true }, true)
			}
		}
	}
}

// lostAfter is by how much a connection must be younger than another one to show that the peer lost
// that. Where two sides dial each other at once both must agree which of the two is older.
const lostAfter = time.Second

// closeLost closes the connections that the peer has lost, as its dialling again shows. One that was
// killed can't say goodbye, and over QUIC its silence is noticed late.
func (n *Network) closeLost(fresh network.Conn) {
	if fresh.Stat().Direction != network.DirInbound {
		return
	}
	for _, c := range n.host.Network().ConnsToPeer(fresh.RemotePeer()) {
		if fresh.Stat().Opened.Sub(c.Stat().Opened) >= lostAfter {
			n.cfg.Log.Debug("the peer dialled again: closing its older connection", "peer", c.RemotePeer().String())
			n.closeConn(c)
		}
	}
}

func (n *Network) identified(e event.EvtPeerIdentificationCompleted) {
	p, ok := fromLibp2p(e.Peer)
	if !ok {
		return
	}
	defer n.closeLost(e.Conn)
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.peerLocked(p)
	if s == nil {
		return
	}
	s.identified[e.Conn.ID()] = true
	s.protocols = protocol.ConvertToStrings(e.Protocols)
	s.agent = clip(e.AgentVersion)
	n.learnLocked(s, e.Conn, e.ListenAddrs)
	n.settleLocked(s)
	n.dropLocked(s)
}

// sweepSilent closes connections whose peer did not identify itself in time: nothing of ours can be
// spoken with it.
func (n *Network) sweepSilent(now time.Time) {
	for _, c := range n.host.Network().Conns() {
		p, ok := fromLibp2p(c.RemotePeer())
		if ok {
			n.mu.Lock()
			s := n.peers[p]
			ok = s != nil && s.identified[c.ID()]
			n.mu.Unlock()
		}
		if !ok && now.Sub(c.Stat().Opened) >= identifyTimeout {
			n.closeConn(c)
		}
	}
}

func (n *Network) protocolsChanged(e event.EvtPeerProtocolsUpdated) {
	p, ok := fromLibp2p(e.Peer)
	if !ok {
		return
	}
	protos, err := n.host.Peerstore().GetProtocols(e.Peer)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.peers[p]; ok && s.connected {
		s.protocols = protocol.ConvertToStrings(protos)
		s.touch()
	}
}

// connOpened closes a connection that slipped through while its peer was being paused.
func (n *Network) connOpened(_ network.Network, c network.Conn) {
	if p, ok := fromLibp2p(c.RemotePeer()); !ok || !n.gate.permits(p) {
		n.closeConn(c)
	}
}

func (n *Network) connClosed(_ network.Network, c network.Conn) {
	p, ok := fromLibp2p(c.RemotePeer())
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.peers[p]; ok {
		n.settleLocked(s)
		n.dropLocked(s)
	}
}

func (n *Network) closeConn(c network.Conn) {
	if err := c.Close(); err != nil {
		n.cfg.Log.Debug("close connection", "peer", c.RemotePeer().String(), "err", err)
	}
}

// forgetConns leaves every peer disconnected after Run.
func (n *Network) forgetConns() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.peers {
		clear(s.identified)
		s.connected, s.keeper, s.syncLoop, s.syncCur = false, false, false, nil
		s.touch()
		n.dropLocked(s)
	}
}
