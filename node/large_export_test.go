package node

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
)

// What a test does to a node that no method of the API does.

// WriteRow writes an entry as it is, as a member may that runs something else.
func (n *Node) WriteRow(session string, e crdt.Entry) error {
	id, err := n.findSession(session)
	if err != nil {
		return err
	}
	return n.repo.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, e)
		return err
	})
}

// PutContent keeps blocks that no row names.
func (n *Node) PutContent(text []byte) (cid string, size int64, err error) {
	return n.loading.ipld.PutBytes(context.Background(), bytes.NewReader(text))
}

// SetContentBudget makes the budget of large content smaller, before the node runs.
func (n *Node) SetContentBudget(bytes int64) { n.contents.budget = bytes }

// SetContentRetry makes the pause longer before another try without a sign from outside, before the node runs.
func (n *Node) SetContentRetry(d time.Duration) { n.contents.retry = d }

// AskFor asks a connected peer for one block below a root of a document that need not be here.
func (n *Node) AskFor(ctx context.Context, peer, doc, root, id string) (got []byte, err error) {
	p, err := crdt.ParsePeerID(peer)
	if err != nil {
		return nil, err
	}
	d, err := crdt.ParseDocID(doc)
	if err != nil {
		return nil, err
	}
	on := n.getOnline()
	if on == nil {
		return nil, fmt.Errorf("ask: offline")
	}
	req := exchange.Request{Kind: exchange.Block, Doc: d, Root: root, IDs: []string{id}}
	err = on.askPeer(ctx, p, req, map[string]bool{id: true}, func(_ string, data []byte) error { got = data; return nil })
	return got, err
}
