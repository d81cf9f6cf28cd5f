package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Close runs the session_shutdown hooks of the sessions that are open here and ends every instance:
// session, then agent, then global ones, each in reverse registration order. It waits for turns and
// calls in progress no longer than Timings.Stop; whoever still holds an instance then loses it.
// Every Shutdown has been called when it returns, at the latest after Timings.Stop and twice
// Timings.Shutdown, or at the end of ctx; the error names what was not over. Closing twice is closing
// once.
func (h *Hub) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.time.Stop+2*h.time.Shutdown)
	defer cancel()
	for _, id := range h.openSessions() {
		if err := h.SessionShutdown(ctx, id); err != nil {
			h.log.Warn("session_shutdown hooks did not run", "session", id.Short(), "error", err)
		}
	}
	patience, done := context.WithTimeout(ctx, h.time.Stop)
	defer done()
	for _, b := range h.lastBuilds() {
		select {
		case <-b:
		case <-patience.Done(): // it will find the hub closed and shut down what it built
		}
	}
	h.mu.Lock()
	list := h.everything()
	h.mu.Unlock()
	stopOrder(list)
	var errs []error
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].scope == list[0].scope && list[n].ent.name() == list[0].ent.name() {
			n++
		}
		errs = append(errs, h.closeSome(ctx, patience, list[:n]))
		list = list[n:]
	}
	return errors.Join(errs...)
}

func (h *Hub) openSessions() []crdt.DocID {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := make([]crdt.DocID, 0, len(h.open))
	for id := range h.open {
		open = append(open, id)
	}
	return open
}

// lastBuilds closes the door and returns the attempts that are in progress.
func (h *Hub) lastBuilds() (builds []chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, s := range h.slots() {
		if s.building != nil {
			builds = append(builds, s.building)
		}
	}
	return builds
}

// slots lists all that are in their place. The caller holds Hub.mu.
func (h *Hub) slots() (list []*slot) {
	for _, of := range h.docs {
		for _, s := range of {
			list = append(list, s)
		}
	}
	for _, e := range h.catalog.Load().entries {
		if e.global != nil {
			list = append(list, e.global)
		}
	}
	return list
}

// everything empties all slots and returns what is not shut down. The caller holds Hub.mu.
func (h *Hub) everything() []*instance {
	for _, s := range h.slots() {
		h.vacate(s)
	}
	list := make([]*instance, 0, len(h.ending))
	for i := range h.ending {
		list = append(list, i)
	}
	return list
}

// closers is how many shutdowns of one extension run at the same time.
const closers = 32

// closeSome shuts down the instances of one extension at one scope.
func (h *Hub) closeSome(ctx, patience context.Context, list []*instance) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, closers)
	run := func(i *instance) {
		places <- struct{}{}
		wg.Go(func() {
			h.shutdownIn(ctx, i)
			<-places
		})
	}
	for _, i := range list {
		if i.end(false) {
			run(i)
		}
	}
	late := 0
	for _, i := range list {
		select {
		case <-i.done:
			continue
		case <-patience.Done():
		}
		if i.force() {
			late++
			run(i)
		}
	}
	if late > 0 {
		return fmt.Errorf("close extension hub: %d instances of %s (%s) were still in use", late, list[0].ent.name(), list[0].scope)
	}
	return nil
}
