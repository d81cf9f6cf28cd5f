package p2p

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// PeerState is what is known about the connection to one peer.
type PeerState struct {
	ID        crdt.PeerID
	Wanted    bool
	Paused    bool
	Connected bool
	Inbound   bool      // the peer dialled
	Transport string    // "quic" or "tcp" while connected
	Since     time.Time // of Connected, by [Config].Clock; zero before the first change
	Addrs     []string  // where it may be reached, best first, without /p2p/
	LastError string    // one line; also while connected, when QUIC failed because of a clock
	Cause     Cause
	NextDial  time.Time // by [Config].Clock; zero when no dial is due
	Agent     string    // what the peer calls its program
	Sync      SyncState
	SyncError string // why the last sync stream ended, or why the peer is incompatible
}

// peerState is the live form; its fields belong to Network.mu.
type peerState struct {
	id      crdt.PeerID
	pid     peer.ID
	changed chan struct{} // closed and replaced at each change

	wanted bool
	keeper bool     // its dial loop runs
	holds  int      // calls that need this state to stay
	addrs  []string // of the book, of its user, and proven ones
	loaded bool     // addrs holds what the book had
	hints  []string // of multicast DNS: anybody may have sent them
	// hintDue is when an announcement may next cause a dial at once.
	hintDue time.Time

	identified map[string]bool // connections over which it identified itself
	connected  bool
	ups        int // how often it became connected
	inbound    bool
	transport  string
	since      time.Time
	upAt       time.Time // machine time, for the stability of the connection
	protocols  []string
	agent      string

	dialling  chan struct{}      // holds one token while an attempt runs
	abort     context.CancelFunc // ends the keeper's attempt; nil when there was none
	fails     int
	nextDial  time.Time // machine time
	avoidQUIC bool      // QUIC does not work with this peer until the network or a clock changes
	note      *DialError
	lastErr   *DialError

	syncLoop bool
	syncCur  *syncRun
	syncGen  uint64
	syncErr  string
}

// touch tells everybody who waits for this peer. Network.mu is held.
func (s *peerState) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// peerLocked finds or makes the state of a peer; nil for an id that is no key.
func (n *Network) peerLocked(p crdt.PeerID) *peerState {
	if s, ok := n.peers[p]; ok {
		return s
	}
	pid, err := toLibp2p(p)
	if err != nil || p == n.self {
		return nil
	}
	s := &peerState{id: p, pid: pid, changed: make(chan struct{}), identified: map[string]bool{}, dialling: make(chan struct{}, 1)}
	n.peers[p] = s
	return s
}

// dropLocked forgets a peer that nobody needs to know: strangers come and go.
func (n *Network) dropLocked(s *peerState) {
	if !s.wanted && !s.keeper && s.holds == 0 && !s.syncLoop && s.syncCur == nil && !s.connected &&
		!n.gate.isPaused(s.id) && len(n.host.Network().ConnsToPeer(s.pid)) == 0 {
		delete(n.peers, s.id)
		s.touch()
	}
}

// settleLocked brings the state in line with the connections there are.
func (n *Network) settleLocked(s *peerState) {
	live := map[string]bool{}
	var best network.Conn
	for _, c := range n.host.Network().ConnsToPeer(s.pid) {
		if !s.identified[c.ID()] || c.IsClosed() {
			continue
		}
		live[c.ID()] = true
		if best == nil || transportOf(c.RemoteMultiaddr()) == quicTransport {
			best = c
		}
	}
	s.identified = live
	was := s.connected
	s.connected = best != nil
	if best != nil {
		s.transport = transportOf(best.RemoteMultiaddr())
		s.inbound = best.Stat().Direction == network.DirInbound
	}
	if was != s.connected {
		n.turnLocked(s)
	}
	s.touch()
}

// turnLocked notes that a peer became connected or ceased to be.
func (n *Network) turnLocked(s *peerState) {
	s.since = n.cfg.Clock.Now()
	now := time.Now()
	if s.connected {
		s.ups++
		s.upAt, s.nextDial = now, time.Time{}
		if s.transport == quicTransport {
			s.avoidQUIC, s.note = false, nil
		}
		s.lastErr = s.note
		n.startSyncLocked(s)
	} else {
		s.transport, s.protocols, s.agent, s.inbound = "", nil, "", false
		if s.fails++; now.Sub(s.upAt) >= n.cfg.Backoff.Stable {
			s.fails = 0
		}
		n.backOffLocked(s, now)
	}
	n.dirty.add(s.id)
}

// Peers lists every peer that is wanted, connected or paused, in id order.
func (n *Network) Peers() []PeerState {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]PeerState, 0, len(n.peers))
	for _, s := range n.peers {
		out = append(out, n.viewLocked(s))
	}
	slices.SortFunc(out, func(a, b PeerState) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out
}

// Peer returns the state of one peer; of a stranger only the id is set.
func (n *Network) Peer(p crdt.PeerID) PeerState {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.peers[p]; ok {
		return n.viewLocked(s)
	}
	return PeerState{ID: p, Paused: n.gate.isPaused(p)}
}

func (n *Network) viewLocked(s *peerState) PeerState {
	v := PeerState{
		ID: s.id, Wanted: s.wanted, Paused: n.gate.isPaused(s.id), Connected: s.connected, Inbound: s.inbound,
		Transport: s.transport, Since: s.since, Addrs: n.addrsLocked(s),
		Agent: s.agent,
	}
	v.Sync, v.SyncError = n.syncViewLocked(s)
	if s.lastErr != nil {
		v.LastError, v.Cause = s.lastErr.Detail, s.lastErr.Cause
	}
	switch {
	case s.connected:
	case v.Paused:
		v.Cause = CausePaused
	case s.wanted && !s.nextDial.IsZero():
		v.NextDial = n.cfg.Clock.Now().Add(time.Until(s.nextDial))
	}
	return v
}

// addrsLocked lists the addresses of a peer, the configured first.
func (n *Network) addrsLocked(s *peerState) []string {
	out := slices.Clone(n.static[s.id])
	for _, a := range slices.Concat(s.hints, s.addrs) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
