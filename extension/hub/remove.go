package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Remove takes out an extension of the whole peer that is not compiled in, in all its versions:
// nothing of it is dispatched any more, its instances end as soon as the calls in progress have, turns
// notwithstanding. It waits for that no longer than a shutdown may take. What single sessions have for
// themselves stays; [Hub.RemoveIn].
func (h *Hub) Remove(ctx context.Context, name string) error {
	return h.remove(ctx, name, func(*entry) bool { return true })
}

// RemoveRef is [Hub.Remove] of one version.
func (h *Hub) RemoveRef(ctx context.Context, ref extension.Ref) error {
	return h.remove(ctx, ref.Name(), func(e *entry) bool { return e.decl.Ref.Equal(ref) })
}

func (h *Hub) remove(ctx context.Context, name string, which func(*entry) bool) error {
	h.mu.Lock()
	old := h.catalog.Load()
	if old.compiledIn(name) != nil {
		h.mu.Unlock()
		return fmt.Errorf("remove extension %s: it is compiled in", name)
	}
	meant := func(e *entry) bool { return e.session.IsZero() && e.name() == name && which(e) }
	_, known := h.invalid[name]
	delete(h.invalid, name)
	for _, e := range old.byName[name] {
		if meant(e) {
			known = true
			h.retire(e)
		}
	}
	ended := h.lingering(meant)
	if !known && len(ended) == 0 {
		h.mu.Unlock()
		return fmt.Errorf("remove extension %.80q: it is not installed", name)
	}
	gone, jobs := h.adopt(slices.DeleteFunc(slices.Clone(old.entries), meant), nil)
	h.mu.Unlock()
	h.stop(ended, true)
	h.stop(gone, false)
	for _, j := range jobs {
		go h.build(ctx, j)
	}
	if err := h.await(ctx, ended); err != nil {
		return fmt.Errorf("remove extension %s: %w", name, err)
	}
	return nil
}

// retire empties all slots of an entry that is taken out and returns the instances. Who has chosen it
// meanwhile builds nothing of it any more. The caller holds Hub.mu.
func (h *Hub) retire(e *entry) []*instance {
	e.removed = true
	return h.vacateAll(e)
}

// lingering lists the instances of entries that are out of their slots and still take calls of the turns
// that hold them. The caller holds Hub.mu.
func (h *Hub) lingering(of func(*entry) bool) (list []*instance) {
	for i := range h.ending {
		if of(i.ent) && i.alive() {
			list = append(list, i)
		}
	}
	return list
}

// stop ends instances; those that are due are shut down beside the caller.
func (h *Hub) stop(list []*instance, cut bool) {
	if due := endAll(list, cut); len(due) > 0 {
		go h.shutdownAll(due)
	}
}

var errStillRunning = errors.New("a call to it is still in progress")

// await waits until instances are shut down.
func (h *Hub) await(ctx context.Context, list []*instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.time.Shutdown, errStillRunning)
	defer cancel()
	for _, i := range list {
		select {
		case <-i.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
