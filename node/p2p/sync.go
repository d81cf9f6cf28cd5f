package p2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// SyncFunc runs document sync over one stream until it ends. It must return soon after ctx ends or
// the stream fails.
type SyncFunc func(ctx context.Context, s *Stream, p crdt.PeerID) error

// SyncState is where the sync stream of a connected peer stands.
type SyncState string

// The states. Without a connection, or without [Network.ServeSync], there is none.
const (
	SyncNone         SyncState = ""
	SyncRunning      SyncState = "running"
	SyncWaiting      SyncState = "waiting"      // to be opened, by this side or the other
	SyncIncompatible SyncState = "incompatible" // the peer does not speak the protocol; SyncError says what it speaks
)

type syncRun struct {
	stream *Stream
	cancel context.CancelFunc
	done   chan struct{}
}

// ServeSync keeps exactly one stream of [docsync.ProtocolID] with each connected peer and calls run on it.
// The peer with the smaller id opens it, so that two never cross; a stream the other way is reset.
// When that peer opens another one it has given up the first: the new one replaces it as soon as run
// has returned. A stream that ends is opened again after a delay. Call it before Run.
func (n *Network) ServeSync(run SyncFunc) {
	n.sync = run
	n.Handle(docsync.ProtocolID, func(ctx context.Context, s *Stream) {
		if docsync.Opens(n.self, s.peer) {
			n.counts.wrongWay.Add(1)
			n.resetStream(s)
			return
		}
		n.acceptSync(ctx, s)
	})
}

// acceptSync waits until the stream before this one is gone, then runs it.
func (n *Network) acceptSync(ctx context.Context, s *Stream) {
	n.mu.Lock()
	state := n.peerLocked(s.peer)
	state.holds++
	state.syncGen++
	mine, before := state.syncGen, state.syncCur
	n.mu.Unlock()
	if before != nil {
		n.counts.replaced.Add(1)
		before.cancel()
		n.resetStream(before.stream)
		<-before.done
	}
	n.mu.Lock()
	latest := state.syncGen == mine
	state.holds--
	var run *syncRun
	if latest {
		ctx, run = n.beginSyncLocked(ctx, state, s)
	}
	n.mu.Unlock()
	if !latest {
		n.counts.late.Add(1)
		n.resetStream(s)
		return
	}
	n.endSync(state, run, n.sync(ctx, s, s.peer))
}

func (n *Network) beginSyncLocked(ctx context.Context, state *peerState, s *Stream) (context.Context, *syncRun) {
	ctx, cancel := context.WithCancel(ctx)
	state.syncCur = &syncRun{stream: s, cancel: cancel, done: make(chan struct{})}
	state.syncErr = ""
	state.touch()
	return ctx, state.syncCur
}

func (n *Network) endSync(state *peerState, run *syncRun, err error) {
	run.cancel()
	n.resetStream(run.stream)
	n.mu.Lock()
	defer n.mu.Unlock()
	state.syncCur = nil
	state.syncErr = "the sync stream ended"
	if err != nil {
		state.syncErr = oneLine(err)
	}
	close(run.done)
	state.touch()
	n.dropLocked(state)
}

// startSyncLocked starts the loop that opens sync streams, if that is this side's part.
func (n *Network) startSyncLocked(s *peerState) {
	if n.sync != nil && docsync.Opens(n.self, s.id) && !s.syncLoop {
		s.syncLoop = n.spawnLocked(func(ctx context.Context) { n.openSyncs(ctx, s) })
	}
}

// openSyncs opens a sync stream again and again while the peer is connected.
func (n *Network) openSyncs(ctx context.Context, s *peerState) {
	fails := 0
	for n.awaitSync(ctx, s) {
		start := time.Now()
		err := n.syncOnce(ctx, s)
		if fails++; time.Since(start) >= n.cfg.Backoff.Stable {
			fails = 1
		}
		n.cfg.Log.Debug("sync stream ended", "peer", s.id.String(), "err", err)
		n.pauseSync(ctx, s, fails)
	}
}

// awaitSync waits until the peer is connected and speaks the protocol; false ends the loop.
func (n *Network) awaitSync(ctx context.Context, s *peerState) bool {
	for {
		n.mu.Lock()
		if ctx.Err() != nil || !s.connected {
			s.syncLoop = false
			n.dropLocked(s)
			n.mu.Unlock()
			return false
		}
		ready, changed := slices.Contains(s.protocols, docsync.ProtocolID), s.changed
		n.mu.Unlock()
		if ready {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (n *Network) syncOnce(ctx context.Context, s *peerState) error {
	open, cancel := context.WithTimeout(ctx, identifyTimeout)
	stream, err := n.Open(open, s.id, docsync.ProtocolID)
	cancel()
	n.mu.Lock()
	if err != nil {
		s.syncErr = oneLine(err)
		s.touch()
		n.mu.Unlock()
		return err
	}
	ctx, run := n.beginSyncLocked(ctx, s, stream)
	n.mu.Unlock()
	err = n.sync(ctx, stream, s.id)
	n.endSync(s, run, err)
	return err
}

// pauseSync waits between two sync streams, as long as the peer stays connected.
func (n *Network) pauseSync(ctx context.Context, s *peerState, fails int) {
	n.mu.Lock()
	timer := time.NewTimer(n.delay(fails))
	n.mu.Unlock()
	defer timer.Stop()
	for {
		n.mu.Lock()
		connected, changed := s.connected, s.changed
		n.mu.Unlock()
		if !connected {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (n *Network) syncViewLocked(s *peerState) (SyncState, string) {
	switch {
	case n.sync == nil || !s.connected:
		return SyncNone, s.syncErr
	case s.syncCur != nil:
		return SyncRunning, ""
	case !slices.Contains(s.protocols, docsync.ProtocolID):
		return SyncIncompatible, incompatible(s)
	}
	return SyncWaiting, s.syncErr
}

// incompatible says what a peer speaks instead.
func incompatible(s *peerState) string {
	var versions []string
	for _, p := range s.protocols {
		if strings.HasPrefix(p, "/chaz/sync/") {
			versions = append(versions, clip(p))
		}
	}
	if len(versions) > 0 {
		slices.Sort(versions)
		return fmt.Sprintf("it speaks %s, this program speaks %s: one of the two needs an update", strings.Join(versions[:min(len(versions), 4)], ", "), docsync.ProtocolID)
	}
	return fmt.Sprintf("it does not speak %s; it calls itself %q", docsync.ProtocolID, s.agent)
}

// clip bounds words of the other side.
func clip(s string) string { return oneLine(errors.New(s)) }

func (n *Network) resetStream(s *Stream) { n.reset(s.s) }
