package node

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// syncHost is the host of all sync sessions, with an ear for what waits on other peers' copies.
type syncHost struct {
	*docsync.RepoHost
	n *Node
}

// Do implements [docsync.Host].
func (h syncHost) Do(ctx context.Context, peer crdt.PeerID, w docsync.Work) (docsync.Result, error) {
	r, err := h.RepoHost.Do(ctx, peer, w)
	if ack, ok := w.(docsync.RecordAck); ok {
		if ack.Equal == nil && len(ack.Vector) == 0 {
			h.n.contents.forgot(ack.Doc, peer)
		}
		h.n.peers.ring()
	}
	return r, err
}
