package node

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// syncHost is the host of all sync sessions, with an ear for what waits on other peers' copies.
type syncHost struct {
	*docsync.RepoHost
	peers *peerBook
}

// Do implements [docsync.Host].
func (h syncHost) Do(ctx context.Context, peer crdt.PeerID, w docsync.Work) (docsync.Result, error) {
	r, err := h.RepoHost.Do(ctx, peer, w)
	if _, ack := w.(docsync.RecordAck); ack {
		h.peers.ring()
	}
	return r, err
}
