package node

import (
	"context"
	"errors"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// contentWorkers is how many sessions are looked after at once: one with a slow peer does not hold all.
const contentWorkers = 2

// What is unsettled without a sign from outside is tried again after a pause that grows.
const (
	firstRetry = 15 * time.Second
	lastRetry  = 10 * time.Minute
)

// Run looks after sessions when there is reason to: their document changed, a peer acknowledged it or said
// that it has content, a peer came. It returns when ctx ends.
func (c *contents) Run(ctx context.Context, on *online) error {
	if err := c.begin(ctx); err != nil {
		c.n.log.Error("sessions with large content were not read", "cause", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { c.watchLinks(ctx, on); return nil })
	g.Go(func() error { c.work(ctx); return nil })
	err := g.Wait()
	return errors.Join(err, c.end(context.WithoutCancel(ctx)))
}

// begin marks the sessions that may lack something: those that are known to have large content, and all
// after a stop that may have come between a change and the look at it.
func (c *contents) begin(ctx context.Context) error {
	if c.n.home.reason != "" {
		for _, s := range c.n.repo.List() {
			c.touch(s.ID)
		}
		return nil
	}
	return c.table.All(ctx, func(key string, _ bool) error {
		id, err := crdt.ParseDocID(key)
		if err == nil {
			c.touch(id)
		}
		return err
	})
}

// end leaves word of the sessions that were not looked at yet.
func (c *contents) end(ctx context.Context) error {
	c.mu.Lock()
	for _, s := range c.sessions {
		s.stop()
	}
	left := maps.Clone(c.dirty)
	clear(c.dirty)
	c.mu.Unlock()
	var errs []error
	for id := range left {
		if sum, ok := c.n.repo.Summary(id); ok && sum.Kind == crdt.Session {
			errs = append(errs, c.table.Put(ctx, id.String(), true))
		}
	}
	return errors.Join(errs...)
}

// touch makes Run look at a session.
func (c *contents) touch(id crdt.DocID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark(id)
}

// acked makes Run look at a session that a peer acknowledged, if it has large content.
func (c *contents) acked(id crdt.DocID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[id] != nil {
		c.mark(id)
	}
}

// remember makes the next Run look at a session that gets large content, also where none runs now.
func (c *contents) remember(ctx context.Context, id crdt.DocID) error {
	c.mu.Lock()
	known := c.sessions[id] != nil
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.table.Put(ctx, id.String(), true)
}

// mark is touch for who holds c.mu.
func (c *contents) mark(id crdt.DocID) {
	c.dirty[id] = true
	c.nudge()
}

func (c *contents) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// work settles one session after the other, as they are touched.
func (c *contents) work(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(contentWorkers)
	defer func() { _ = g.Wait() }() // no error comes out
	for ctx.Err() == nil {
		id, ok := c.take()
		if !ok {
			select {
			case <-ctx.Done():
			case <-c.wake:
			}
			continue
		}
		g.Go(func() error {
			defer c.release(id)
			if err := c.settle(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, crdt.ErrUnknownDoc) {
				c.n.log.Error("looking after large content failed", "session", id.Short(), "cause", err)
			}
			return nil
		})
	}
}

// take picks a session that was touched and that nobody is at.
func (c *contents) take() (crdt.DocID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.dirty {
		if !c.busy[id] {
			delete(c.dirty, id)
			c.busy[id] = true
			return id, true
		}
	}
	return crdt.DocID{}, false
}

func (c *contents) release(id crdt.DocID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, id)
	c.nudge()
}

// settle fetches what a session lacks and tells its peers what is here.
func (c *contents) settle(ctx context.Context, id crdt.DocID) error {
	list, err := c.listed(ctx, id, c.n.repo.Peek)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return c.drop(ctx, id)
	}
	if err := c.adopt(ctx, id, list); err != nil {
		return err
	}
	s, err := c.look(ctx, list)
	if err != nil {
		return err
	}
	got := c.fetch(ctx, id, &s)
	if got {
		if s, err = c.look(ctx, list); err != nil {
			return err
		}
	}
	failed := c.tell(ctx, id, &s)
	c.plan(id, got, failed || len(s.missing) > 0)
	return nil
}

// adopt begins to keep a session's state, and takes in what it names.
func (c *contents) adopt(ctx context.Context, id crdt.DocID, list []crdt.LargeContent) error {
	names := make(map[string]bool, len(list))
	for _, x := range list {
		names[x.CID] = true
	}
	c.mu.Lock()
	s := c.sessions[id]
	known := s != nil
	if !known {
		s = &copies{
			has: map[crdt.PeerID]map[string]bool{}, told: map[crdt.PeerID]map[string]bool{},
			vain: map[crdt.Content]map[crdt.PeerID]bool{}, beyond: map[crdt.Content]bool{},
		}
		c.sessions[id] = s
	}
	s.names = names
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.table.Put(ctx, id.String(), true)
}

// drop forgets a session, as when its document is no longer here.
func (c *contents) drop(ctx context.Context, id crdt.DocID) error {
	c.mu.Lock()
	s := c.sessions[id]
	delete(c.sessions, id)
	if s != nil {
		s.stop()
		clear(c.whole) // nothing may name its blocks any more, and a collection take them
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	return c.table.Delete(ctx, id.String())
}

// plan sets the time of another try, if one is due.
func (c *contents) plan(id crdt.DocID, progress, unsettled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return
	}
	s.stop()
	if progress || !unsettled {
		s.delay = 0
	}
	if !unsettled {
		return
	}
	s.delay = min(max(c.retry, 2*s.delay), max(c.retry, lastRetry))
	s.timer = time.AfterFunc(s.delay, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		clear(s.vain)
		c.mark(id)
	})
}

func (s *copies) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// watchLinks notices peers that came.
func (c *contents) watchLinks(ctx context.Context, on *online) {
	bell := c.n.peers.watch()
	defer bell.stop()
	seen := map[crdt.PeerID]*docsync.Driver{}
	for {
		on.mu.Lock()
		now := maps.Clone(on.links)
		on.mu.Unlock()
		for p, d := range now {
			if seen[p] != d {
				c.met(p)
			}
		}
		seen = now
		if !bell.wait(ctx) {
			return
		}
	}
}

// met starts over with a peer: what it has may have changed while it was away.
func (c *contents) met(p crdt.PeerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range c.sessions {
		delete(s.told, p)
		for _, asked := range s.vain {
			delete(asked, p)
		}
		s.delay = 0
		c.mark(id)
	}
}
