package hub

import (
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// State is how an extension stands on this peer.
type State string

// The states.
const (
	StateUnknown   State = "" // not installed
	StateOK        State = "ok"
	StateFailed    State = "failed"
	StateSuspended State = "suspended"
)

// Failures gives the reason for each extension of the whole peer that is not live as such: a manifest
// that was refused, a capability that nobody provides, a Global instance that could not be built. Of
// several versions the first that fails counts.
func (h *Hub) Failures() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	for name, reason := range h.invalid {
		out[name] = reason
	}
	failuresOf(h.catalog.Load().entries, out)
	return out
}

// FailuresIn is [Hub.Failures] of the extensions that one session has for itself.
func (h *Hub) FailuresIn(session crdt.DocID) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	if b := h.bound[session]; b != nil {
		failuresOf(b.entries, out)
	}
	return out
}

func failuresOf(entries []*entry, out map[string]string) {
	for _, e := range entries {
		if reason := e.failure(); reason != "" && out[e.name()] == "" {
			out[e.name()] = reason
		}
	}
}

// State says how an extension of the whole peer stands as such, and why it failed. Of several
// versions the first counts that is not well.
func (h *Hub) State(name string) (state State, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.catalog.Load().byName[name] {
		if state, reason = e.state(); state != StateOK {
			return state, reason
		}
	}
	if reason, refused := h.invalid[name]; state == StateUnknown && refused {
		return StateFailed, reason
	}
	return state, reason
}

// state is that of the whole extension; the caller holds Hub.mu.
func (e *entry) state() (State, string) {
	if e.suspended.Load() {
		return StateSuspended, e.lastFault()
	}
	if reason := e.failure(); reason != "" {
		return StateFailed, reason
	}
	return StateOK, ""
}

// StateIn is [Hub.State] of one version for one session and agent: that of the session itself, else
// that of the peer. What is compiled in counts in any version. whole is false where only their own
// instance failed and the rest of the extension works.
func (h *Hub) StateIn(name string, ref extension.Ref, session, agent crdt.DocID) (state State, reason string, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.catalogOf(session).find(name, ref)
	if e == nil {
		return StateUnknown, "", true
	}
	if state, reason = e.state(); state != StateOK {
		return state, reason, true
	}
	for _, doc := range []crdt.DocID{session, agent} {
		if s := h.docs[doc][e]; s != nil && s.live == nil && s.reason != "" {
			return StateFailed, s.reason, !e.session.IsZero() // then there is no rest
		}
	}
	return StateOK, "", true
}

// Resume lifts the suspension of an extension, as an explicit add in a session does: of what the
// session has for itself and of the versions of the whole peer. It reports whether there was one.
func (h *Hub) Resume(session crdt.DocID, name string) (was bool) {
	h.mu.Lock()
	list := h.catalogOf(session).byName[name]
	h.mu.Unlock()
	for _, e := range list {
		e.failures.Store(0)
		was = e.suspended.CompareAndSwap(true, false) || was
	}
	h.nudge() // a Global instance may be missing
	return was
}
