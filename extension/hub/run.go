package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Run keeps the instances in step with the documents until ctx ends: what is switched off, opted out
// of, built with other settings or idle is ended, and Global instances that failed are built again.
// Dispatch does not depend on it.
func (h *Hub) Run(ctx context.Context) error {
	feed := h.cfg.Documents.Changes()
	defer feed.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { h.keepTime(ctx, &wg) })
	h.check(ctx, h.liveDocs(), &wg)
	for {
		ids, err := feed.Next(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, crdt.ErrFeedClosed) {
				return ctx.Err()
			}
			return fmt.Errorf("follow documents: %w", err)
		}
		h.check(ctx, ids, &wg)
	}
}

func (h *Hub) liveDocs() []crdt.DocID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := slices.AppendSeq(make([]crdt.DocID, 0, len(h.docs)), maps.Keys(h.docs))
	ids = slices.AppendSeq(ids, maps.Keys(h.bound))
	return slices.AppendSeq(ids, maps.Keys(h.blocks))
}

// check ends the instances of documents that should not be any more, and forgets all about documents
// that are gone.
func (h *Hub) check(ctx context.Context, ids []crdt.DocID, wg *sync.WaitGroup) {
	for _, id := range ids {
		h.mu.Lock()
		var slots []*slot
		for _, s := range h.docs[id] {
			slots = append(slots, s)
		}
		known := len(slots) > 0 || h.bound[id] != nil || h.blocks[id] != nil
		h.mu.Unlock()
		if !known {
			continue
		}
		lost, err := h.lost(ctx, id, slots)
		if errors.Is(err, crdt.ErrUnknownDoc) {
			h.forget(id, wg)
			continue
		}
		if err != nil {
			if ctx.Err() == nil {
				h.log.Warn("extensions of a document can't be read", "document", id.Short(), "error", err)
			}
			continue
		}
		h.drop(lost, wg)
	}
}

// lost lists the slots that the document does not want any more.
func (h *Hub) lost(ctx context.Context, id crdt.DocID, slots []*slot) ([]*slot, error) {
	var out []*slot
	err := h.cfg.Documents.View(ctx, id, func(v *crdt.View) error {
		log, err := logOf(v, v.Kind())
		if err != nil {
			return err
		}
		for _, s := range slots {
			e := s.ent
			if s.scope == extension.PerAgent && (log.Disabled(e.name()) || !h.hosts(v)) ||
				s.scope == extension.PerSession && (!log.Active(e.name()) || otherRef(log, e) != "" || h.outdated(s, readAtBuild(v, e))) {
				out = append(out, s)
			}
		}
		return nil
	})
	return out, err
}

// forget drops all that is known of a document that is not here any more.
func (h *Hub) forget(id crdt.DocID, wg *sync.WaitGroup) {
	h.mu.Lock()
	list := h.vacateDoc(id)
	h.unbindAll(id)
	delete(h.blocks, id)
	h.mu.Unlock()
	h.shutdownBeside(list, wg)
}

func (h *Hub) outdated(s *slot, settings []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return s.outdated(settings)
}

// drop empties slots and shuts their instances down beside the caller.
func (h *Hub) drop(slots []*slot, wg *sync.WaitGroup) {
	var list []*instance
	h.mu.Lock()
	for _, s := range slots {
		if i := h.vacate(s); i != nil {
			list = append(list, i)
		}
	}
	h.mu.Unlock()
	h.shutdownBeside(list, wg)
}

func (h *Hub) shutdownBeside(list []*instance, wg *sync.WaitGroup) {
	if due := endAll(list, false); len(due) > 0 {
		wg.Go(func() { h.shutdownAll(due) })
	}
}

// keepTime wakes when an instance has been idle long enough or a failed one may be tried again.
func (h *Hub) keepTime(ctx context.Context, wg *sync.WaitGroup) {
	for {
		wait := h.sweep(ctx, wg)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-h.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// maxNap is how long the clock is not looked at, because it may jump.
const maxNap = 5 * time.Minute

// sweep does what is due now and returns how long nothing will be.
func (h *Hub) sweep(ctx context.Context, wg *sync.WaitGroup) time.Duration {
	now := h.now()
	nap := min(maxNap, h.time.Idle).Milliseconds()
	var idle []*slot
	var jobs []job
	h.mu.Lock()
	for _, of := range h.docs {
		for _, s := range of {
			since, unused := s.failedAt, s.building == nil
			if s.live != nil {
				since, unused = s.live.idleSince(now)
			}
			if left := since + h.time.Idle.Milliseconds() - now; unused && left <= 0 {
				idle = append(idle, s)
			} else if unused {
				nap = min(nap, left)
			}
		}
	}
	for _, e := range h.catalog.Load().entries {
		s := e.global
		if s == nil || s.live != nil || s.building != nil || s.reason == "" || !e.runnable() || e.suspended.Load() {
			continue
		}
		if s.ready(now) {
			jobs = h.startGlobal(e, jobs)
		} else {
			nap = min(nap, s.failedAt+s.wait.Milliseconds()-now)
		}
	}
	h.mu.Unlock()
	h.drop(idle, wg)
	for _, j := range jobs {
		wg.Go(func() { h.build(ctx, j) })
	}
	return max(time.Duration(nap)*time.Millisecond, time.Millisecond)
}
