package p2p

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/quic-go/quic-go"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	dialTimeout     = 20 * time.Second
	identifyTimeout = 10 * time.Second
)

// Want sets the peers whose connections are kept up; those of [Config].Static are always among them.
// Others stay connected as long as they like.
func (n *Network) Want(peers []crdt.PeerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := map[crdt.PeerID]bool{}
	for _, p := range peers {
		wanted[p] = true
	}
	for p := range n.static {
		wanted[p] = true
	}
	for p := range wanted {
		if s := n.peerLocked(p); s != nil && !s.wanted {
			s.wanted = true
			n.learned.add(p)
			n.host.ConnManager().Protect(s.pid, "wanted")
			n.startKeeperLocked(s)
			s.touch()
		}
	}
	for p, s := range n.peers {
		if s.wanted && !wanted[p] {
			s.wanted = false
			n.host.ConnManager().Unprotect(s.pid, "wanted")
			s.touch()
			n.dropLocked(s)
		}
	}
}

func (n *Network) startKeepers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.peers {
		n.startKeeperLocked(s)
	}
}

func (n *Network) startKeeperLocked(s *peerState) {
	if s.wanted && !s.keeper {
		s.keeper = n.spawnLocked(func(ctx context.Context) { n.keep(ctx, s) })
	}
}

// keep dials a wanted peer whenever it is not connected and its back-off is over.
func (n *Network) keep(ctx context.Context, s *peerState) {
	n.loadAddrs(ctx, s)
	for {
		changed, wait, stop := n.plan(ctx, s)
		if stop {
			return
		}
		if wait <= 0 {
			select {
			case n.dials <- struct{}{}:
				n.attempt(ctx, s)
				<-n.dials
			case <-ctx.Done():
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// plan says how long a keeper waits before it dials, unless something changes; stop ends it.
func (n *Network) plan(ctx context.Context, s *peerState) (changed <-chan struct{}, wait time.Duration, stop bool) {
	admitted := n.gate.permits(s.id)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !s.wanted || ctx.Err() != nil {
		s.keeper = false
		n.dropLocked(s)
		return nil, 0, true
	}
	if s.connected || !admitted {
		if !s.connected && (s.lastErr == nil || s.lastErr.Cause != CauseBlocked) {
			s.lastErr = &DialError{Cause: CauseBlocked, Detail: "the peer is blocked or paused here"}
			s.touch()
		}
		return s.changed, dialTimeout, false // the answer of Allow may change without a word to us
	}
	return s.changed, time.Until(s.nextDial), false
}

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
	if s.connected {
		return
	}
	s.lastErr = err
	s.fails++
	n.backOffLocked(s, time.Now())
	s.touch()
}

// try dials and confirms; again says that QUIC failed in a way that TCP may not.
func (n *Network) try(ctx context.Context, s *peerState) (err *DialError, again bool) {
	conn, err := n.dial(ctx, s)
	if err == nil {
		err = n.confirm(ctx, s, conn)
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
	if clock != nil {
		s.avoidQUIC, s.note = true, clock
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

// confirm waits until a dialled peer identified itself over any connection.
func (n *Network) confirm(ctx context.Context, s *peerState, conn network.Conn) *DialError {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	for {
		n.mu.Lock()
		changed, connected := s.changed, s.connected
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

// candidates are the addresses to dial, best first.
func (n *Network) candidates(s *peerState) (addrs []ma.Multiaddr, texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var quics []ma.Multiaddr
	for _, text := range n.addrsLocked(s) {
		addr, err := ma.NewMultiaddr(text)
		if err != nil || transportOf(addr) == "" {
			continue
		}
		if transportOf(addr) == quicTransport {
			quics = append(quics, addr)
		} else {
			addrs = append(addrs, addr)
		}
	}
	addrs = window(addrs, s.fails)
	if !s.avoidQUIC || len(addrs) == 0 {
		addrs = append(window(quics, s.fails), addrs...)
	}
	for _, a := range addrs {
		texts = append(texts, a.String())
	}
	return addrs, texts
}

// dialWindow is how many addresses of one transport are dialled at a time: libp2p dials 8 for each
// peer, and old addresses that swallow packets must not keep good ones waiting.
const dialWindow = 4

// window picks the addresses for an attempt: first the best ones, after failures the others in turn.
func window(addrs []ma.Multiaddr, fails int) []ma.Multiaddr {
	if len(addrs) <= dialWindow {
		return addrs
	}
	windows := (len(addrs) + dialWindow - 1) / dialWindow
	from := (fails % windows) * dialWindow
	return slices.Clone(addrs[from:min(from+dialWindow, len(addrs))])
}

// tcpDelay is how long TCP waits for QUIC; a QUIC dial that fails starts it at once. It is long
// enough for a handshake, so that QUIC failing because of a clock is seen and told.
const tcpDelay = time.Second

// rankDials implements libp2p's DialRanker.
func rankDials(addrs []ma.Multiaddr) []network.AddrDelay {
	out := make([]network.AddrDelay, 0, len(addrs))
	for _, a := range addrs {
		if transportOf(a) == quicTransport {
			out = append(out, network.AddrDelay{Addr: a})
		}
	}
	var delay time.Duration
	if len(out) > 0 {
		delay = tcpDelay
	}
	for _, a := range addrs {
		if transportOf(a) != quicTransport {
			out = append(out, network.AddrDelay{Addr: a, Delay: delay})
		}
	}
	return out
}

// backOffLocked sets when the peer may be dialled again: Min·2ⁿ, at most Max, of that a random half
// to whole.
func (n *Network) backOffLocked(s *peerState, now time.Time) {
	s.nextDial = now.Add(n.delay(s.fails))
}

func (n *Network) delay(fails int) time.Duration {
	d := n.cfg.Backoff.Min << min(max(fails-1, 0), 20)
	if d <= 0 || d > n.cfg.Backoff.Max {
		d = n.cfg.Backoff.Max
	}
	var b [4]byte
	if _, err := io.ReadFull(n.cfg.Rand, b[:]); err != nil {
		return d // no randomness, no jitter
	}
	return d/2 + time.Duration(float64(d/2)*float64(binary.BigEndian.Uint32(b[:]))/(1<<32))
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
