package p2p

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
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
			n.hintLocked(s)
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
				n.attempt(n.abortable(ctx, s), s)
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

// abortable is a context for an attempt that ends when there is reason to start it over.
func (n *Network) abortable(ctx context.Context, s *peerState) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.abort != nil {
		s.abort() // of the attempt before, which is over
	}
	s.abort = cancel
	return ctx
}

// plan says how long a keeper waits before it dials, unless something changes; stop ends it.
func (n *Network) plan(ctx context.Context, s *peerState) (changed <-chan struct{}, wait time.Duration, stop bool) {
	admitted := n.gate.permits(s.id)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !s.wanted || ctx.Err() != nil {
		s.keeper = false
		if s.abort != nil {
			s.abort()
			s.abort = nil
		}
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
