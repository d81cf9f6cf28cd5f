package p2p

import (
	"context"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// tellPeers calls OnPeer.
func (n *Network) tellPeers(ctx context.Context) {
	told := map[crdt.PeerID]bool{}
	for {
		for _, p := range n.dirty.take() {
			now := n.Peer(p).Connected
			if told[p] == now {
				continue
			}
			if now {
				told[p] = true
			} else {
				delete(told, p)
			}
			if n.cfg.OnPeer != nil {
				n.cfg.OnPeer(p, now)
			}
		}
		select {
		case <-n.dirty.ready:
		case <-ctx.Done():
			return
		}
	}
}

// dirtySet collects peers for one worker.
type dirtySet struct {
	ready chan struct{}
	mu    sync.Mutex
	peers map[crdt.PeerID]bool
}

func newDirtySet() *dirtySet {
	return &dirtySet{ready: make(chan struct{}, 1), peers: map[crdt.PeerID]bool{}}
}

func (d *dirtySet) add(p crdt.PeerID) {
	d.mu.Lock()
	d.peers[p] = true
	d.mu.Unlock()
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

func (d *dirtySet) take() []crdt.PeerID {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]crdt.PeerID, 0, len(d.peers))
	for p := range d.peers {
		out = append(out, p)
	}
	clear(d.peers)
	return out
}
