package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// TurnKey says whose turn it is.
type TurnKey struct {
	Session crdt.DocID
	Agent   extension.Agent // zero: nobody's
	Depth   int             // 0 in a session of people, +1 for each spawned session
}

// Turn is what extensions contribute to one turn: the effective set and the instances as they were
// when it began. Methods are safe for concurrent use. An extension that is removed from this peer
// meanwhile is gone from the turn too.
type Turn struct {
	h       *Hub
	key     TurnKey
	cat     *catalog // as the session saw it when the turn began
	members []member // in registration order

	tools map[string]bound
	order []bound // the same, in registration order

	released atomic.Bool
	release  sync.Once
}

// bound is a tool of a turn.
type bound struct {
	in *instance
	at int // in in.infos
}

// Turn reads the effective set (the session's log minus the agent's opt-outs, if the agent is hosted
// here) and makes sure that its instances are there, waiting for those that are built no longer than
// an instantiation may take. One that can't be built is left out. The caller must call
// [Turn.Release].
func (h *Hub) Turn(ctx context.Context, k TurnKey) (*Turn, error) {
	return h.newTurn(ctx, k, true, nil)
}

// newTurn is Turn; without narrow the agent's opt-outs do not count, and want limits which extensions
// are looked at.
func (h *Hub) newTurn(ctx context.Context, k TurnKey, narrow bool, want func(*entry) bool) (*Turn, error) {
	h.mu.Lock()
	closed, cat := h.closed, h.catalogOf(k.Session)
	h.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	c, err := h.choose(ctx, cat, k, narrow, want)
	if err != nil {
		return nil, err
	}
	members, err := h.gather(ctx, c, k)
	if err != nil {
		return nil, err
	}
	t := &Turn{h: h, key: k, cat: cat, members: members}
	t.collectTools()
	return t, nil
}

// Release lets go of the instances. The turn, and what it lent, must not be used any more. Releasing
// twice is releasing once.
func (t *Turn) Release() {
	t.release.Do(func() {
		t.released.Store(true)
		t.h.release(t.members)
	})
}

// Active lists the installed extensions of the effective set in registration order, also those that
// are not live.
func (t *Turn) Active() []string {
	names := make([]string, len(t.members))
	for i, m := range t.members {
		names[i] = m.ent.name()
	}
	return names
}

// collectTools fills the table: session before agent before global, in each scope the first
// registered, and nobody but what is compiled in takes a built-in's name.
func (t *Turn) collectTools() {
	n := 0
	for _, m := range t.members {
		for _, x := range m.at {
			if x != nil {
				n += len(x.infos)
			}
		}
	}
	if n == 0 {
		return
	}
	t.tools, t.order = make(map[string]bound, n), make([]bound, 0, n)
	owned := *t.h.owned.Load()
	for at := range scopes {
		for _, m := range t.members {
			if m.at[at] != nil {
				t.addTools(m.at[at], owned)
			}
		}
	}
	for _, m := range t.members {
		for at := range scopes {
			t.listTools(m.at[at])
		}
	}
}

func (t *Turn) addTools(x *instance, owned map[string]bool) {
	for i := range x.infos {
		info := &x.infos[i]
		_, taken := t.tools[info.Name]
		if taken && t.tools[info.Name].in.scope != x.scope && t.tools[info.Name].in.ent == x.ent {
			continue // its own tool of a closer scope
		}
		if taken || !x.ent.builtin && (owned[info.Name] || builtinTool(info.Name)) {
			t.h.warnOnce(x.ent.name()+"/"+info.Name, "a tool is left out: its name is taken", "extension", x.ent.name(), "tool", info.Name)
			continue
		}
		t.tools[info.Name] = bound{x, i}
	}
}

// listTools appends the tools of an instance that made it into the table.
func (t *Turn) listTools(x *instance) {
	if x == nil {
		return
	}
	for i := range x.infos {
		if t.tools[x.infos[i].Name] == (bound{x, i}) {
			t.order = append(t.order, bound{x, i})
		}
	}
}

// Tools describes the tools of the turn, by the registration order of their owners.
func (t *Turn) Tools() []extension.ToolInfo {
	out := make([]extension.ToolInfo, 0, len(t.order))
	for _, b := range t.order {
		if b.in.alive() && !b.in.ent.suspended.Load() {
			out = append(out, b.in.infos[b.at])
		}
	}
	return out
}

// Bound is a tool with all it needs to be called but the doors to the machine.
type Bound struct {
	Owner string
	// Tool is the tool as registered, with defaults filled in. Its Run never panics and returns when
	// ctx ends at the latest.
	Tool extension.Tool
	Call extension.Call // Lent.Host is the caller's to fill
}

// Tool finds a tool of the turn.
func (t *Turn) Tool(name string) (Bound, bool) {
	b, ok := t.tools[name]
	if !ok || !b.in.alive() || b.in.ent.suspended.Load() {
		return Bound{}, false
	}
	x, info := b.in, b.in.infos[b.at]
	tool := x.ext.Tools[b.at]
	tool.Parameters, tool.Policy = info.Parameters, info.Policy
	run, at := tool.Run, t.place("tool "+name)
	at.answers = true
	tool.Run = func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
		return invoke(ctx, t.h, x, at, 0, func(ctx context.Context) (string, error) { return run(ctx, c, slices.Clone(args)) })
	}
	return Bound{Owner: x.ent.name(), Tool: tool, Call: t.call(x.ent)}, true
}

// call is what an extension is told and lent.
func (t *Turn) call(e *entry) extension.Call {
	return extension.Call{
		Session: t.key.Session, Agent: t.key.Agent, Depth: t.key.Depth,
		Lent: extension.Lent{
			Settings: settings{t.h.cfg.Documents, t.key.Session, e, &t.released},
			Caps:     resolver{t, e},
			Tools:    t.Tools,
		},
	}
}

func (t *Turn) place(point string) place {
	return place{point: point, session: t.key.Session, agent: t.key.Agent.ID}
}

// handler finds the instance of a member whose handler runs: the closest scope that has one. limit is
// how many scopes are asked.
func (m member) handler(limit int, has func(*extension.Instance) bool) *instance {
	if m.ent.suspended.Load() {
		return nil
	}
	for _, x := range m.at[:limit] {
		if x != nil && has(x.ext) && x.alive() {
			return x
		}
	}
	return nil
}

// each calls fn for every extension that has a handler, in registration order, and keeps account of
// it. What fails counts as nothing.
func each[T any](ctx context.Context, t *Turn, point string, limit int, pick func(*extension.Instance) func(context.Context, extension.Call) (T, error), use func(T) error) {
	for _, m := range t.members {
		x := m.handler(limit, func(i *extension.Instance) bool { return pick(i) != nil })
		if x == nil {
			continue
		}
		at := t.place(point)
		v, err := invoke(ctx, t.h, x, at, t.h.time.Hook, func(ctx context.Context) (T, error) {
			return pick(x.ext)(ctx, t.call(m.ent))
		})
		if err != nil {
			continue
		}
		if err := use(v); err != nil {
			t.h.judge(m.ent, at, fmt.Errorf("%s: %w", point, err))
		}
	}
}
