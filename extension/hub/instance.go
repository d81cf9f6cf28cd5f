package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// instance is one live instance. Turns hold it, calls use it; its Shutdown is called once, after it
// has ended and they are gone.
type instance struct {
	ent   *entry
	scope extension.Scope
	doc   crdt.DocID // zero for Global
	ext   *extension.Instance
	infos []extension.ToolInfo // of ext.Tools, with defaults filled in
	done  chan struct{}        // closed when Shutdown is over
	over  *atomic.Bool         // ends what it was lent; set then, too

	mu       sync.Mutex
	holds    int   // turns
	calls    int   // calls in progress
	used     int64 // clock of the last hold or call, ms
	ended    bool  // out of its slot: no more holds
	cut      bool  // no more calls either: turns lose it
	shutting bool
}

func newInstance(s *slot, x *extension.Instance, over *atomic.Bool, now int64) *instance {
	i := &instance{ent: s.ent, scope: s.scope, doc: s.doc, ext: x, over: over, used: now, done: make(chan struct{})}
	i.infos = make([]extension.ToolInfo, len(x.Tools))
	for n, t := range x.Tools {
		i.infos[n] = extension.ToolInfo{
			Name: t.Name, Owner: s.ent.name(), Description: t.Description,
			Parameters: bytes.Clone(t.Parameters), Policy: t.Policy.Fill(),
		}
		if len(t.Parameters) == 0 {
			i.infos[n].Parameters = json.RawMessage(`{"type":"object"}`)
		}
	}
	return i
}

// hold keeps the instance alive for a turn. The caller found it in its slot and holds Hub.mu: it has
// not ended.
func (i *instance) hold(now int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.holds++
	i.used = now
}

// drop ends a hold. Like finish and end it reports whether the caller must now call shutdown.
func (i *instance) drop(now int64) (due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.holds--
	i.used = now
	return i.due()
}

// begin starts a call; false if the instance takes none any more.
func (i *instance) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cut || i.shutting {
		return false
	}
	i.calls++
	return true
}

func (i *instance) finish(now int64) (due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls--
	i.used = now
	return i.due()
}

// end says that nobody new may use the instance; cut takes it from the turns that hold it too.
func (i *instance) end(cut bool) (due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
	i.cut = i.cut || cut
	return i.due()
}

func (i *instance) due() bool {
	if !i.ended || i.shutting || i.calls > 0 || i.holds > 0 && !i.cut {
		return false
	}
	i.shutting = true
	return true
}

// alive reports whether calls are taken.
func (i *instance) alive() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.cut && !i.shutting
}

// idleSince is when it was last used; false while it is. A clock that was put back starts the wait
// anew.
func (i *instance) idleSince(now int64) (int64, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.used = min(i.used, now)
	return i.used, i.holds == 0 && i.calls == 0
}

// force ends the instance whoever uses it; it reports whether the caller must now call shutdown.
func (i *instance) force() (due bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended, i.cut = true, true
	due = !i.shutting
	i.shutting = true
	return due
}

// shutdown calls the instance's Shutdown. Only who was told that it is due may call it.
func (h *Hub) shutdown(i *instance) { h.shutdownIn(context.Background(), i) }

func (h *Hub) shutdownIn(ctx context.Context, i *instance) {
	h.callShutdown(ctx, i.ent, i.ext)
	i.over.Store(true)
	h.mu.Lock()
	delete(h.ending, i)
	h.mu.Unlock()
	close(i.done)
}

func (h *Hub) callShutdown(ctx context.Context, e *entry, x *extension.Instance) {
	if x.Shutdown == nil {
		return
	}
	_, err := guard(ctx, h.time.Shutdown, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, x.Shutdown(ctx)
	}, nil)
	if err != nil {
		h.audit(AuditEvent{Extension: e.name(), Point: "shutdown", Outcome: outcome(err), Detail: oneLine(err.Error())})
	}
}

// shutdownAll shuts down in the order given, one after the other.
func (h *Hub) shutdownAll(due []*instance) {
	for _, i := range due {
		h.shutdown(i)
	}
}

// endAll ends instances in the order of a stop and returns those that are due now.
func endAll(list []*instance, cut bool) (due []*instance) {
	stopOrder(list)
	for _, i := range list {
		if i.end(cut) {
			due = append(due, i)
		}
	}
	return due
}

// stopOrder sorts: session, then agent, then global; in each the last registered first.
func stopOrder(list []*instance) {
	slices.SortStableFunc(list, func(a, b *instance) int {
		if c := rank(a.scope) - rank(b.scope); c != 0 {
			return c
		}
		return compareEntries(b.ent, a.ent)
	})
}

// The scopes, the one that comes first in a turn first.
var scopes = [3]extension.Scope{extension.PerSession, extension.PerAgent, extension.Global}

func rank(s extension.Scope) int { return slices.Index(scopes[:], s) }
