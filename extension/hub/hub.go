package hub

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// ErrClosed is returned after [Hub.Close].
var ErrClosed = errors.New("the extension hub is closed")

// Hub holds the installed extensions and their live instances. Methods are safe for concurrent use.
// No lock is held while code of an extension runs.
type Hub struct {
	cfg  Config
	time Timings
	log  *slog.Logger

	catalog atomic.Pointer[catalog]
	owned   atomic.Pointer[map[string]bool] // tools that some compiled-in extension has had; never changed
	warned  sync.Map                        // what was warned about once

	mu      sync.Mutex
	closed  bool
	seq     int
	invalid map[string]string // manifests that were refused, by name
	docs    map[crdt.DocID]map[*entry]*slot
	ending  map[*instance]struct{}  // out of their slots, not shut down yet
	open    map[crdt.DocID]struct{} // sessions that were started here
	wake    chan struct{}           // capacity 1: a wait became shorter
}

// New returns a hub without extensions.
func New(cfg Config) *Hub {
	h := &Hub{
		cfg: cfg, time: cfg.Timings.fill(), log: cfg.Log,
		invalid: map[string]string{}, docs: map[crdt.DocID]map[*entry]*slot{}, open: map[crdt.DocID]struct{}{},
		ending: map[*instance]struct{}{},
		wake:   make(chan struct{}, 1),
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.catalog.Store(newCatalog(nil))
	h.owned.Store(&map[string]bool{})
	return h
}

// Declarations lists the installed extensions in registration order, failed ones included.
func (h *Hub) Declarations() []extension.Declaration {
	c := h.catalog.Load()
	list := make([]extension.Declaration, len(c.entries))
	for i, e := range c.entries {
		list[i] = e.decl
	}
	return list
}

// State is how an extension stands on this peer.
type State string

// The states.
const (
	StateUnknown   State = "" // not installed
	StateOK        State = "ok"
	StateFailed    State = "failed"
	StateSuspended State = "suspended"
)

// Failures gives the reason for each extension that is not live as a whole: a manifest that was
// refused, a capability that nobody provides, a Global instance that could not be built.
func (h *Hub) Failures() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	for name, reason := range h.invalid {
		out[name] = reason
	}
	for _, e := range h.catalog.Load().entries {
		if reason := e.failure(); reason != "" {
			out[e.name()] = reason
		}
	}
	return out
}

// State says how an extension stands as a whole, and why it failed.
func (h *Hub) State(name string) (State, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.catalog.Load().byName[name]
	if e == nil {
		if reason, refused := h.invalid[name]; refused {
			return StateFailed, reason
		}
		return StateUnknown, ""
	}
	if e.suspended.Load() {
		return StateSuspended, e.lastFault()
	}
	if reason := e.failure(); reason != "" {
		return StateFailed, reason
	}
	return StateOK, ""
}

// StateIn is [Hub.State] for one session and agent: whole is false where only their own instance
// failed and the rest of the extension works.
func (h *Hub) StateIn(name string, session, agent crdt.DocID) (state State, reason string, whole bool) {
	if state, reason = h.State(name); state != StateOK {
		return state, reason, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.catalog.Load().byName[name]
	for _, doc := range []crdt.DocID{session, agent} {
		if s := h.docs[doc][e]; s != nil && s.live == nil && s.reason != "" {
			return StateFailed, s.reason, false
		}
	}
	return StateOK, "", true
}

// Resume lifts the suspension of an extension, as an explicit add does. It reports whether there was
// one.
func (h *Hub) Resume(name string) bool {
	e := h.catalog.Load().byName[name]
	if e == nil {
		return false
	}
	e.failures.Store(0)
	was := e.suspended.CompareAndSwap(true, false)
	h.nudge() // a Global instance may be missing
	return was
}

// now is the clock in milliseconds, for waits; also outside the years in which it would be believed
// as a stamp.
func (h *Hub) now() int64 { return h.cfg.Clock.Now().UnixMilli() }

// audit tells of something that an extension did wrong.
func (h *Hub) audit(ev AuditEvent) {
	h.log.Error("extension failed", "extension", ev.Extension, "point", ev.Point, "outcome", string(ev.Outcome),
		"session", short(ev.Session), "agent", short(ev.Agent), "detail", ev.Detail)
	if h.cfg.Audit != nil {
		h.cfg.Audit(ev)
	}
}

// warnOnce logs what would else be repeated at every turn.
func (h *Hub) warnOnce(key, msg string, args ...any) {
	if _, seen := h.warned.LoadOrStore(key, true); !seen {
		h.log.Warn(msg, args...)
	}
}

func short(id crdt.DocID) string {
	if id.IsZero() {
		return ""
	}
	return id.Short()
}
