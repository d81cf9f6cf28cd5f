package node

import (
	"context"
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// fetchBudget is the budget of every session.
const fetchBudget = 1 << 30

// fetchTries is how often content is asked for again at once that came in part.
const fetchTries = 16

// fetch brings what is missing, the newest first, from the connected readers of the session. It reports
// whether anything came.
func (c *contents) fetch(ctx context.Context, id crdt.DocID, s *standing) (progress bool) {
	on := c.n.getOnline()
	if on == nil || len(s.missing) == 0 {
		return false
	}
	readers, err := c.n.readersOnline(ctx, on, id)
	if err != nil || len(readers) == 0 {
		return false
	}
	stored, count := s.stored, s.total()-len(s.missing)
	for i, x := range s.missing {
		if ctx.Err() != nil {
			return progress
		}
		if stored+c.wastedBytes(id)+x.Size > c.budget || count >= lookAt {
			c.overBudget(id, s.missing[i:])
			return progress
		}
		if !c.hope(id, x.Content, readers) {
			continue
		}
		if c.fetchOne(ctx, id, x.Content, readers) {
			progress = true
			stored += x.Size
			count++
		}
	}
	c.overBudget(id, nil)
	return progress
}

// hope reports whether a connected reader was not asked for x yet.
func (c *contents) hope(id crdt.DocID, x crdt.Content, readers []crdt.PeerID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil || c.invalid[x] != "" {
		return false
	}
	for _, p := range readers {
		if !s.vain[x][p] {
			return true
		}
	}
	return false
}

// fetchOne asks for x until it is here, or nothing more comes.
func (c *contents) fetchOne(ctx context.Context, id crdt.DocID, x crdt.Content, readers []crdt.PeerID) (progress bool) {
	for range fetchTries {
		var came int64
		err := c.n.loading.ipld.FetchContent(ctx, x.CID, x.Size, loaders.From{Doc: id, Progress: func(done, _ int64) { came = done }})
		switch {
		case err == nil:
			if _, _, err := c.judge(ctx, x); err != nil {
				c.n.log.Warn("large content came and can't be read", "session", id.Short(), "cid", x.CID, "cause", err)
			}
			c.n.peers.ring()
			return true
		case ctx.Err() != nil:
			return progress
		case errors.Is(err, loaders.ErrInvalid):
			c.noteInvalid(x, err)
			c.waste(id, came)
			c.n.log.Warn("an entry names large content that can't be", "session", id.Short(), "cid", x.CID, "cause", err)
			c.n.peers.ring()
			return progress
		case came == 0:
			c.n.log.Debug("large content is not to be had now", "session", id.Short(), "cid", x.CID, "cause", err)
			c.inVain(id, x, readers)
			return progress
		}
		progress = true
	}
	return progress
}

func (c *contents) inVain(id crdt.DocID, x crdt.Content, readers []crdt.PeerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return
	}
	if s.vain[x] == nil {
		s.vain[x] = map[crdt.PeerID]bool{}
	}
	for _, p := range readers {
		s.vain[x][p] = true
	}
}

func (c *contents) wastedBytes(id crdt.DocID) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		return s.wasted
	}
	return 0
}

func (c *contents) waste(id crdt.DocID, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		s.wasted += bytes
	}
}

// overBudget notes what will not be fetched, and says so once.
func (c *contents) overBudget(id crdt.DocID, rest []crdt.LargeContent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return
	}
	clear(s.beyond)
	for _, x := range rest {
		s.beyond[x.Content] = true
	}
	if len(rest) > 0 && !s.warned {
		s.warned = true
		c.n.log.Warn("no more large content is fetched for a session: its members' entries have brought as much as one session may",
			"session", id.Short(), "left", len(rest), "bytes", c.budget, "contents", lookAt)
	}
}

// coming reports whether content that is not here may arrive soon.
func (c *contents) coming(ctx context.Context, id crdt.DocID, x crdt.Content) bool {
	on := c.n.getOnline()
	if on == nil {
		return false
	}
	if _, whole, err := c.judge(ctx, x); err != nil || whole {
		return false
	}
	readers, err := c.n.readersOnline(ctx, on, id)
	if err != nil || len(readers) == 0 {
		return false
	}
	c.mu.Lock()
	s := c.sessions[id]
	late := s == nil || !s.names[x.CID] // nobody has looked yet
	beyond := s != nil && s.beyond[x]
	c.mu.Unlock()
	return late || !beyond && c.hope(id, x, readers)
}
