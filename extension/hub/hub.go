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
	bound   map[crdt.DocID]*binding          // extensions of one session
	blocks  map[crdt.DocID]map[string]string // reasons by extension
	ending  map[*instance]struct{}           // out of their slots, not shut down yet
	open    map[crdt.DocID]struct{}          // sessions that were started here
	wake    chan struct{}                    // capacity 1: a wait became shorter
}

// New returns a hub without extensions.
func New(cfg Config) *Hub {
	h := &Hub{
		cfg: cfg, time: cfg.Timings.fill(), log: cfg.Log,
		invalid: map[string]string{}, docs: map[crdt.DocID]map[*entry]*slot{}, open: map[crdt.DocID]struct{}{},
		bound: map[crdt.DocID]*binding{}, blocks: map[crdt.DocID]map[string]string{}, ending: map[*instance]struct{}{},
		wake: make(chan struct{}, 1),
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.catalog.Store(newCatalog(nil))
	h.owned.Store(&map[string]bool{})
	return h
}

// Declarations lists what is installed for the whole peer in registration order, failed extensions
// included. [Hub.InstalledIn] has the others.
func (h *Hub) Declarations() []extension.Declaration {
	c := h.catalog.Load()
	list := make([]extension.Declaration, len(c.entries))
	for i, e := range c.entries {
		list[i] = e.decl
	}
	return list
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
