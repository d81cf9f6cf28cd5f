package hub

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// SessionStart runs the session_start hooks of the session's set. Call it when this process begins to
// run the session's agents and the log has its default rows; starting twice is starting once.
func (h *Hub) SessionStart(ctx context.Context, session crdt.DocID) error {
	h.mu.Lock()
	_, started := h.open[session]
	if !started && !h.closed {
		h.open[session] = nothing{}
	}
	h.mu.Unlock()
	if started {
		return nil
	}
	t, err := h.newTurn(ctx, TurnKey{Session: session}, false, nil)
	if err != nil {
		h.forgetOpen(session)
		return fmt.Errorf("start session %s: %w", session.Short(), err)
	}
	defer t.Release()
	t.tell(ctx, extension.HookSessionStart, func(i *extension.Instance) func(context.Context, extension.Call) error {
		return i.Hooks.SessionStart
	})
	return nil
}

func (h *Hub) forgetOpen(session crdt.DocID) (was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, was = h.open[session]
	delete(h.open, session)
	return was
}

// SessionShutdown runs the session_shutdown hooks, if the session was started here, ends the
// session's instances and forgets the extensions that were installed for it alone. Instances that a
// turn holds end with it; the others are gone when it returns. An error says that the hooks could not
// be run.
func (h *Hub) SessionShutdown(ctx context.Context, session crdt.DocID) error {
	var err error
	if h.forgetOpen(session) {
		err = h.tellShutdown(ctx, session)
	}
	h.mu.Lock()
	list := h.vacateDoc(session)
	h.unbindAll(session)
	h.mu.Unlock()
	h.shutdownAll(endAll(list, false))
	return err
}

func (h *Hub) tellShutdown(ctx context.Context, session crdt.DocID) error {
	declares := func(e *entry) bool { return e.declares(extension.HookSessionShutdown) }
	t, err := h.newTurn(ctx, TurnKey{Session: session}, false, declares)
	if err != nil {
		return fmt.Errorf("shut down session %s: %w", session.Short(), err)
	}
	defer t.Release()
	t.tell(ctx, extension.HookSessionShutdown, func(i *extension.Instance) func(context.Context, extension.Call) error {
		return i.Hooks.SessionShutdown
	})
	return nil
}

// vacateDoc empties all slots of a document and returns the instances. The caller holds Hub.mu.
func (h *Hub) vacateDoc(doc crdt.DocID) (list []*instance) {
	for _, s := range h.docs[doc] {
		if i := h.vacate(s); i != nil {
			list = append(list, i)
		}
	}
	return list
}
