package node

import (
	"context"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
)

// asksPerStream is how many requests go over one stream; the other side takes as many.
const asksPerStream = 64

// tell asks the connected peers that have all changes of a session whether they have the content that is
// here. To be asked is to be told that the asker has it. It reports whether a peer gave no answer.
func (c *contents) tell(ctx context.Context, id crdt.DocID, s *standing) (failed bool) {
	on := c.n.getOnline()
	if on == nil || len(s.here) == 0 {
		return false
	}
	readers, err := c.n.readersOnline(ctx, on, id)
	if err != nil {
		return false
	}
	holders, err := c.n.repo.Holders(ctx, id)
	if err != nil {
		return false
	}
	for _, p := range readers {
		if !slices.Contains(holders, p) {
			continue // its ack will bring another look
		}
		ask := c.untold(id, p, s.here)
		for part := range slices.Chunk(ask, asksPerStream/2) { // most content needs one request, some two
			if err := c.ask(ctx, on, id, p, part); err != nil {
				c.n.log.Debug("a peer did not say what large content it has", "session", id.Short(), "peer", p.Short(), "cause", err)
				failed = true
				break
			}
		}
	}
	return failed
}

func (c *contents) untold(id crdt.DocID, p crdt.PeerID, here []crdt.LargeContent) (out []crdt.LargeContent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return nil
	}
	for _, x := range here {
		if !s.told[p][x.CID] {
			out = append(out, x)
		}
	}
	return out
}

// ask asks one peer over one stream.
func (c *contents) ask(ctx context.Context, on *online, id crdt.DocID, p crdt.PeerID, list []crdt.LargeContent) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	stream, err := on.net.Open(ctx, p, objectsProtocol)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Reset() }()
	client := exchange.NewClient(stream, exchange.Max{})
	for _, x := range list {
		b, err := c.n.loading.ipld.Blocks(ctx, x.CID, x.Size)
		if err != nil {
			return err
		}
		if len(b.Missing) > 0 {
			c.lost(x.Content)
			continue
		}
		has := true
		for ids := range slices.Chunk(b.All, exchange.MaxIDs) {
			there, err := client.Have(ctx, exchange.Request{Kind: exchange.Block, Doc: id, Root: x.CID, IDs: ids})
			if err != nil {
				return err
			}
			has = has && len(there) == len(ids)
		}
		c.answered(id, p, x.CID, has)
	}
	return nil
}

func (c *contents) answered(id crdt.DocID, p crdt.PeerID, cid string, has bool) {
	c.mu.Lock()
	s := c.sessions[id]
	moved := false
	if s != nil {
		note(s.told, p, cid, true)
		moved = note(s.has, p, cid, has)
	}
	c.mu.Unlock()
	if moved {
		c.n.peers.ring()
	}
}

// note sets what is known of a peer and reports whether that is new.
func note(m map[crdt.PeerID]map[string]bool, p crdt.PeerID, cid string, v bool) bool {
	if m[p] == nil {
		m[p] = map[string]bool{}
	}
	was := m[p][cid]
	m[p][cid] = v
	return was != v
}

// forgot notes that a peer does not have the document, or not any more: what it had beside it may be gone
// when it comes back.
func (c *contents) forgot(id crdt.DocID, p crdt.PeerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		delete(s.has, p)
		delete(s.told, p)
	}
}

// claimed notes that a peer asked whether content is here, as only one does that has all of it.
func (c *contents) claimed(id crdt.DocID, p crdt.PeerID, cid string) {
	c.mu.Lock()
	s := c.sessions[id]
	moved := s != nil && s.names[cid] && note(s.has, p, cid, true)
	if moved {
		for x, asked := range s.vain {
			if x.CID == cid {
				delete(asked, p)
			}
		}
		c.mark(id)
	}
	c.mu.Unlock()
	if moved {
		c.n.peers.ring()
	}
}

// askedSource is a source of blocks towards one peer, which listens to what it asks.
type askedSource struct {
	exchange.Source
	contents *contents
	peer     crdt.PeerID
}

// Has implements [exchange.Source]. It is asked only for what the peer may have.
func (s askedSource) Has(ctx context.Context, doc crdt.DocID, root, id string) (bool, error) {
	s.contents.claimed(doc, s.peer, root)
	return s.Source.Has(ctx, doc, root, id)
}
