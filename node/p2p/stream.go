package p2p

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Stream is a reliable, ordered, authenticated two-way byte stream with one peer. One Read and one
// Write may run at the same time; the other methods may be called at any time.
type Stream struct {
	s    network.Stream
	peer crdt.PeerID
}

// Peer is the proven identity of the other side.
func (s *Stream) Peer() crdt.PeerID { return s.peer }

// Read implements [io.Reader].
func (s *Stream) Read(b []byte) (int, error) { return s.s.Read(b) }

// Write implements [io.Writer].
func (s *Stream) Write(b []byte) (int, error) { return s.s.Write(b) }

// Close ends both directions; what was written still arrives.
func (s *Stream) Close() error { return s.s.Close() }

// Reset ends both directions at once and drops what is under way. Blocked calls return an error.
func (s *Stream) Reset() error { return s.s.Reset() }

// SetDeadline bounds blocked and future reads and writes; the zero time lifts it.
func (s *Stream) SetDeadline(t time.Time) error { return s.s.SetDeadline(t) }

// Stats counts what was refused since New.
type Stats struct {
	RefusedConns   uint64 // connections and dials refused by pause, Allow or before Run
	RefusedStreams uint64 // streams over the limit of handlers
	ReplacedSyncs  uint64 // sync streams that a newer one of the same peer replaced
	WrongWaySyncs  uint64 // sync streams opened by the side that has to wait
	LateSyncs      uint64 // sync streams that ended while they waited for their turn
}

type counters struct {
	refusedStreams, replaced, wrongWay, late atomic.Uint64
}

// Stats returns the counters.
func (n *Network) Stats() Stats {
	return Stats{
		RefusedConns:   n.gate.refused.Load(),
		RefusedStreams: n.counts.refusedStreams.Load(),
		ReplacedSyncs:  n.counts.replaced.Load(),
		WrongWaySyncs:  n.counts.wrongWay.Load(),
		LateSyncs:      n.counts.late.Load(),
	}
}

type handlerKey struct {
	proto string
	peer  crdt.PeerID
}

// Handle serves a protocol: fn runs in a goroutine for each stream that a peer opens, at most
// [Limits].Handlers at a time for one peer; more are reset. ctx ends with Run. When fn returns the
// stream is closed. Call it before Run.
func (n *Network) Handle(proto string, fn func(ctx context.Context, s *Stream)) {
	n.host.SetStreamHandler(protocol.ID(proto), func(raw network.Stream) {
		p, ok := fromLibp2p(raw.Conn().RemotePeer())
		if !ok {
			n.reset(raw)
			return
		}
		ctx, done := n.admit(handlerKey{proto, p})
		if done == nil {
			n.counts.refusedStreams.Add(1)
			n.reset(raw)
			return
		}
		defer done()
		s := &Stream{s: raw, peer: p}
		defer func() {
			if err := s.Close(); err != nil {
				n.reset(raw)
			}
		}()
		fn(ctx, s)
	})
}

// admit counts a handler in; done is nil when there are too many or Run does not run.
func (n *Network) admit(key handlerKey) (ctx context.Context, done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx == nil || n.ctx.Err() != nil || n.handled[key] >= n.cfg.Limits.Handlers {
		return nil, nil
	}
	n.handled[key]++
	n.wg.Add(1)
	return n.ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.handled[key]--; n.handled[key] == 0 {
			delete(n.handled, key)
		}
		n.wg.Done()
	}
}

// Open opens a stream to a connected peer. It does not dial: [ErrNotConnected]. That the peer speaks
// the protocol may show only at the first read. ctx bounds the opening, not the stream.
func (n *Network) Open(ctx context.Context, p crdt.PeerID, proto string) (*Stream, error) {
	id, err := toLibp2p(p)
	if err != nil || n.host.Network().Connectedness(id) != network.Connected {
		return nil, fmt.Errorf("open stream to %s: %w", p, ErrNotConnected)
	}
	raw, err := n.host.NewStream(network.WithNoDial(ctx, "only connected peers"), id, protocol.ID(proto))
	if err != nil {
		if n.host.Network().Connectedness(id) != network.Connected {
			err = ErrNotConnected // libp2p has no error value for it
		}
		return nil, fmt.Errorf("open stream to %s: %w", p, err)
	}
	return &Stream{s: raw, peer: p}, nil
}

func (n *Network) reset(s network.Stream) {
	if err := s.Reset(); err != nil {
		n.cfg.Log.Debug("reset stream", "err", err)
	}
}
