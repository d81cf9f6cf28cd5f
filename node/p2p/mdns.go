package p2p

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// mdnsService is our own name in multicast DNS: other libp2p programs neither hear nor see us.
const mdnsService = "_chaz._udp"

// hintPause is the shortest time between two dials that announcements cause: anybody can send them.
const hintPause = 2 * time.Second

// maxNearby bounds the strangers remembered from multicast DNS.
const maxNearby = 64

// Nearby is a peer that announces itself on the local network. Nothing proves who it is before it is
// connected.
type Nearby struct {
	ID    crdt.PeerID
	Addrs []string
}

// MDNSError says why multicast DNS does not work although it is configured, for instance because no
// interface takes multicast; nil when it works or is off.
func (n *Network) MDNSError() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mdnsErr
}

// startMDNS returns what stops it. Without multicast the network works all the same.
func (n *Network) startMDNS() (stop func()) {
	if !n.cfg.MDNS {
		return func() {}
	}
	service := mdns.NewMdnsService(n.host, mdnsService, found{n})
	err := service.Start()
	n.mu.Lock()
	n.mdnsErr = err
	n.mu.Unlock()
	if err != nil {
		n.cfg.Log.Warn("multicast DNS does not work: peers on this network are not found by themselves", "err", err)
	}
	return func() {
		if err := service.Close(); err != nil {
			n.cfg.Log.Debug("stop multicast DNS", "err", err)
		}
	}
}

// found receives what multicast DNS hears. libp2p calls it from a goroutine for each answer, also
// after the service was closed.
type found struct{ n *Network }

// HandlePeerFound implements libp2p's mdns.Notifee.
func (f found) HandlePeerFound(info peer.AddrInfo) {
	p, ok := fromLibp2p(info.ID)
	if !ok {
		return
	}
	var addrs []string
	for _, a := range info.Addrs {
		if len(addrs) < maxAddrs && learnable(a, a) {
			addrs = append(addrs, a.String())
		}
	}
	if len(addrs) > 0 {
		f.n.sawNearby(Nearby{ID: p, Addrs: addrs})
	}
}

func (n *Network) sawNearby(seen Nearby) {
	slices.Sort(seen.Addrs)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx == nil {
		return
	}
	n.nearby = slices.DeleteFunc(n.nearby, func(o Nearby) bool { return o.ID == seen.ID })
	n.nearby = slices.Insert(n.nearby, 0, seen)
	n.nearby = n.nearby[:min(len(n.nearby), maxNearby)]

	s, ok := n.peers[seen.ID]
	if !ok || !s.wanted {
		return // a stranger is noted, never dialled
	}
	if slices.Equal(s.hints, seen.Addrs) {
		return
	}
	s.hints = seen.Addrs
	if now := time.Now(); now.After(s.hintDue) {
		s.hintDue = now.Add(hintPause)
		n.retryLocked(s, true)
		return
	}
	if !s.connected {
		s.fails, s.nextDial = 0, s.hintDue
	}
	s.touch()
}

// hintLocked gives a peer that becomes wanted the addresses it announced before.
func (n *Network) hintLocked(s *peerState) {
	for _, seen := range n.nearby {
		if seen.ID == s.id {
			s.hints = seen.Addrs
		}
	}
}
