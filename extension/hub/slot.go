package hub

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// slot is the place of the one instance of an extension at one scope: live, being built, or failed
// and waiting. All fields are guarded by Hub.mu but the first three, which are fixed.
type slot struct {
	ent   *entry
	scope extension.Scope
	doc   crdt.DocID // zero for Global

	live     *instance
	building chan struct{} // closed when the attempt in progress is over; nil if none is
	settings []string      // with which it is built
	gone     bool          // another slot has its place, or none: what is built is shut down at once
	reason   string        // why the last attempt failed
	failedAt int64         // clock of it, ms
	wait     time.Duration // until the next
}

// ready reports whether a failed slot may be tried again. A clock that was put back counts as late
// enough.
func (s *slot) ready(now int64) bool {
	return s.reason == "" || now < s.failedAt || now-s.failedAt >= s.wait.Milliseconds()
}

// outdated reports whether the slot is filled, or being filled, with other settings.
func (s *slot) outdated(settings []string) bool {
	return (s.live != nil || s.building != nil) && !slices.Equal(s.settings, settings)
}

// need says which instance a turn wants.
type need struct {
	ent      *entry
	scope    extension.Scope
	doc      crdt.DocID
	agent    extension.Agent
	settings []string // current values of ReadAtBuild
}

// job is a build that must be started once Hub.mu is free.
type job struct {
	slot *slot
	need need
}

// take holds the live instance for a need, nil if there is none. One that was built with other
// settings is appended to ended, for the caller to end once Hub.mu, which he holds, is free; nil ended
// takes it as it is.
func (h *Hub) take(n need, now int64, ended *[]*instance) *instance {
	s := h.find(n)
	if s == nil || !n.ent.runnable() {
		return nil
	}
	if ended != nil && s.outdated(n.settings) {
		if i := h.vacate(s); i != nil {
			*ended = append(*ended, i)
		}
		return nil
	}
	if s.live == nil {
		return nil
	}
	s.live.hold(now)
	return s.live
}

// start begins an attempt to build the instance for a need, unless the wait after a failure is not
// over; the caller, who holds Hub.mu, runs what is appended to jobs. It returns the slot while an
// attempt is in progress.
func (h *Hub) start(n need, now int64, jobs *[]job) *slot {
	if h.closed || n.scope == extension.Global || !n.ent.runnable() {
		return nil // a Global instance is built at its own times
	}
	s := h.slotFor(n)
	if s.building == nil && s.live == nil && s.ready(now) {
		s.building, s.settings = make(chan struct{}), n.settings
		*jobs = append(*jobs, job{s, n})
	}
	if s.building == nil {
		return nil
	}
	return s
}

func (h *Hub) find(n need) *slot {
	if n.scope == extension.Global {
		return n.ent.global
	}
	return h.docs[n.doc][n.ent]
}

// slotFor finds or makes the slot. The caller holds Hub.mu.
func (h *Hub) slotFor(n need) *slot {
	if s := h.find(n); s != nil {
		return s
	}
	s := &slot{ent: n.ent, scope: n.scope, doc: n.doc}
	if n.scope == extension.Global {
		n.ent.global = s
		return s
	}
	of := h.docs[n.doc]
	if of == nil {
		of = map[*entry]*slot{}
		h.docs[n.doc] = of
	}
	of[n.ent] = s
	return s
}

// vacate takes a slot out of its place and returns its instance, nil if it has none. The caller
// holds Hub.mu, and ends the instance when it is free.
func (h *Hub) vacate(s *slot) *instance {
	if s.gone {
		return nil
	}
	s.gone = true
	if s.live != nil {
		h.ending[s.live] = struct{}{}
	}
	if s.scope == extension.Global {
		if s.ent.global == s {
			s.ent.global = nil
		}
		return s.live
	}
	of := h.docs[s.doc]
	if of[s.ent] == s {
		delete(of, s.ent)
	}
	if len(of) == 0 {
		delete(h.docs, s.doc)
	}
	return s.live
}

// build makes one attempt to fill a slot. It runs without Hub.mu and belongs to nobody's turn: whoever
// waits may leave.
func (h *Hub) build(ctx context.Context, j job) {
	s := j.slot
	over := new(atomic.Bool)
	x, err := h.instantiate(context.WithoutCancel(ctx), j.need, over)
	now := h.now()
	var i *instance
	if err == nil {
		i = newInstance(s, x, over, now)
	} else {
		// A success does not count: it would hide what fails at every call.
		h.judge(s.ent, place{point: "instantiate " + string(s.scope), session: sessionOf(s), agent: j.need.agent.ID}, err)
	}
	h.mu.Lock()
	lost := s.gone || h.closed
	switch {
	case i == nil:
		s.reason, s.failedAt = oneLine(err.Error()), now
		s.wait = min(max(2*s.wait, h.time.RetryMin), h.time.RetryMax)
	case lost:
		h.ending[i] = nothing{}
	default:
		s.live, s.reason = i, ""
		h.claim(i)
	}
	close(s.building)
	s.building = nil
	h.mu.Unlock()
	switch {
	case i == nil:
		h.nudge()
	case lost && i.end(true):
		h.shutdown(i)
	}
}

// instantiate calls the extension and checks what it built. What comes too late or is refused is shut
// down.
func (h *Hub) instantiate(ctx context.Context, n need, over *atomic.Bool) (*extension.Instance, error) {
	discard := func(x *extension.Instance) {
		if x != nil {
			h.callShutdown(ctx, n.ent, x)
		}
		over.Store(true)
	}
	x, err := guard(ctx, h.time.Instantiate, func(ctx context.Context) (*extension.Instance, error) {
		return n.ent.ext.Instantiate(ctx, h.scopeContext(n, over))
	}, discard)
	if err != nil {
		over.Store(true)
		return nil, err
	}
	if err := checkInstance(n.ent.decl, n.scope, x); err != nil {
		discard(x)
		return nil, err
	}
	return x, nil
}

func sessionOf(s *slot) crdt.DocID {
	if s.scope == extension.PerSession {
		return s.doc
	}
	return crdt.DocID{}
}

func (h *Hub) scopeContext(n need, over *atomic.Bool) extension.ScopeContext {
	switch n.scope {
	case extension.PerAgent:
		return extension.AgentContext{Peer: n.ent.peer, Agent: n.agent, Doc: document{h.cfg.Documents, n.doc, over}}
	case extension.PerSession:
		return extension.SessionContext{
			Peer: n.ent.peer, Doc: document{h.cfg.Documents, n.doc, over}, Settings: settings{h.cfg.Documents, n.doc, n.ent, over},
		}
	}
	return extension.GlobalContext{Peer: n.ent.peer}
}

// claim notes the tools of an extension that is compiled in: nobody else may take their names, also
// where it is off. The caller holds Hub.mu.
func (h *Hub) claim(i *instance) {
	if !i.ent.builtin || len(i.infos) == 0 {
		return
	}
	owned := maps.Clone(*h.owned.Load())
	for _, t := range i.infos {
		owned[t.Name] = true
	}
	h.owned.Store(&owned)
}

// nudge makes Run look at its waits again.
func (h *Hub) nudge() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}
