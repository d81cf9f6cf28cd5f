package p2p

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/quic-go/quic-go"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	dialTimeout     = 20 * time.Second
	identifyTimeout = 10 * time.Second
)

// attempt dials once and waits until the peer identified itself or the connection is gone again. It
// leaves the outcome in the state of the peer.
func (n *Network) attempt(ctx context.Context, s *peerState) {
	select {
	case s.dialling <- struct{}{}:
		defer func() { <-s.dialling }()
	case <-ctx.Done():
		return
	}
	err, again := n.try(ctx, s)
	if again {
		err, _ = n.try(ctx, s)
	}
	if ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil || s.connected {
		return
	}
	s.lastErr = err
	s.fails++
	n.backOffLocked(s, time.Now())
	s.touch()
}

// try dials and confirms; again says that QUIC failed in a way that TCP may not.
func (n *Network) try(ctx context.Context, s *peerState) (err *DialError, again bool) {
	n.mu.Lock()
	ups := s.ups
	n.mu.Unlock()
	conn, err := n.dial(ctx, s)
	if err == nil {
		err = n.confirm(ctx, s, conn, ups)
	}
	if err == nil || ctx.Err() != nil {
		return err, false
	}
	return err, conn != nil && transportOf(conn.RemoteMultiaddr()) == quicTransport
}

// dial returns a connection to the peer, an existing one if there is; that does not mean that the
// peer wants it.
func (n *Network) dial(ctx context.Context, s *peerState) (network.Conn, *DialError) {
	addrs, texts := n.candidates(s)
	if len(addrs) == 0 {
		return nil, &DialError{Cause: CauseNoAddress, Detail: "no address of the peer is known"}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if n.host.Network().Connectedness(s.pid) != network.Connected {
		n.host.Peerstore().ClearAddrs(s.pid) // the candidates and nothing else
		if sw, ok := n.host.Network().(*swarm.Swarm); ok {
			sw.Backoff().Clear(s.pid) // ours is the only one
		}
	}
	n.host.Peerstore().AddAddrs(s.pid, addrs, peerstore.TempAddrTTL)
	conn, err := n.host.Network().DialPeer(ctx, s.pid)
	clock := n.tracer.take(texts)
	n.mu.Lock()
	defer n.mu.Unlock()
	if clock != nil && s.transport != quicTransport {
		s.avoidQUIC, s.note = true, clock
		if s.connected { // it identified itself before we got here
			s.lastErr = clock
			s.touch()
		}
	}
	switch {
	case err == nil:
		return conn, nil
	case clock != nil:
		return nil, clock
	}
	s.avoidQUIC = false // TCP is no better
	return nil, explainDial(err)
}

// confirm waits until a dialled peer identified itself over any connection, even if that one is gone
// by now; ups is how often it had done so before the dial.
func (n *Network) confirm(ctx context.Context, s *peerState, conn network.Conn, ups int) *DialError {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	for {
		n.mu.Lock()
		changed, connected := s.changed, s.connected || s.ups != ups
		n.mu.Unlock()
		if connected {
			return nil
		}
		if conn.IsClosed() {
			return n.diedYoung(s, conn)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			n.closeConn(conn)
			return &DialError{Cause: CauseOther, Detail: "the peer did not identify itself"}
		}
	}
}

// diedYoung explains a connection that ended before the peer identified itself. Over QUIC the server
// checks our certificate after we are done, so its refusal comes as such an end; the next attempt
// goes over TCP.
func (n *Network) diedYoung(s *peerState, conn network.Conn) *DialError {
	addr := conn.RemoteMultiaddr()
	out := &DialError{Cause: CauseRefused, Detail: addr.String() +
		": the peer closed the connection right after the handshake: it does not admit this peer, or paused it"}
	var q *quic.Conn
	if conn.As(&q) {
		if err := context.Cause(q.Context()); err != nil {
			if c := classify(err); c == CauseClock || c == CauseLimit {
				out = &DialError{Cause: c, Detail: addr.String() + ": " + oneLine(err)}
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.avoidQUIC = transportOf(addr) == quicTransport
	if out.Cause == CauseClock {
		s.note = out
	}
	return out
}

// Connect remembers addresses of a peer (multiaddrs without /p2p/) and connects to it now, wanted or
// not. The error is a [*DialError] or ctx's.
func (n *Network) Connect(ctx context.Context, p crdt.PeerID, addrs []string) error {
	if err := n.Remember(ctx, p, addrs); err != nil {
		return err
	}
	if n.gate.isPaused(p) {
		return &DialError{Cause: CausePaused, Detail: "the peer is paused here"}
	}
	if !n.gate.permits(p) {
		return &DialError{Cause: CauseBlocked, Detail: "the peer is not allowed here, or the network does not run"}
	}
	n.mu.Lock()
	s := n.peerLocked(p)
	s.holds++
	n.mu.Unlock()
	n.loadAddrs(ctx, s)
	n.attempt(ctx, s)
	n.mu.Lock()
	defer n.mu.Unlock()
	s.holds--
	n.dropLocked(s)
	switch {
	case s.connected:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case s.lastErr != nil:
		return s.lastErr
	}
	return &DialError{Cause: CauseOther, Detail: "the connection did not last"}
}
