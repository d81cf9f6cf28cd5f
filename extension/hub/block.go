package hub

import (
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Block refuses every tool call of a session from now on, in turns in progress too: for an extension
// that is on there and enforcing, and may not run here. The reason is for people and the model.
// Blocking again changes the reason. It holds until [Hub.Unblock], also where the session is closed
// meanwhile, or until the session's document is forgotten.
func (h *Hub) Block(session crdt.DocID, name, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.blocks[session]
	if of == nil {
		of = map[string]string{}
		h.blocks[session] = of
	}
	of[name] = reason(why)
}

// Unblock takes one [Hub.Block] back; the others of the session stay.
func (h *Hub) Unblock(session crdt.DocID, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.blocks[session], name)
	if len(h.blocks[session]) == 0 {
		delete(h.blocks, session)
	}
}

// blocked returns the first block of a session by name.
func (h *Hub) blocked(session crdt.DocID) (by, why string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.blocks[session]
	if len(of) == 0 {
		return "", "", false
	}
	by = slices.Min(slices.Collect(maps.Keys(of)))
	return by, of[by], true
}
