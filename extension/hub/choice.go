package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// choice is what counts for one dispatch: the installed extensions of the effective set, in
// registration order.
type choice struct {
	on     []chosen
	hosted bool // the agent's document may be written here
}

type chosen struct {
	ent      *entry
	settings []string // current values of ReadAtBuild
	reason   string   // why it may not run although it is on; "" if it may
}

// choose looks the installed extensions up in the session's log and, with narrow, in the agent's. The
// agent's document is opened only for that, or where some extension lives at agents.
func (h *Hub) choose(ctx context.Context, c *catalog, k TurnKey, narrow bool, want func(*entry) bool) (choice, error) {
	var out choice
	err := h.cfg.Documents.View(ctx, k.Session, func(v *crdt.View) error {
		log, err := logOf(v, crdt.Session)
		if err != nil {
			return err
		}
		for _, versions := range c.versions {
			if !log.Active(versions[0].name()) {
				continue
			}
			if e, reason := pick(log, versions); want == nil || want(e) {
				out.on = append(out.on, chosen{e, readAtBuild(v, e), reason})
			}
		}
		return nil
	})
	if err != nil {
		return choice{}, fmt.Errorf("read extensions of session %s: %w", k.Session.Short(), err)
	}
	if k.Agent.ID.IsZero() || len(out.on) == 0 || !narrow && !c.perAgent {
		return out, nil
	}
	err = h.cfg.Documents.View(ctx, k.Agent.ID, func(v *crdt.View) error {
		log, err := logOf(v, crdt.Agent)
		if err != nil || !h.hosts(v) {
			return err
		}
		out.hosted = true
		if narrow {
			out.on = slices.DeleteFunc(out.on, func(c chosen) bool { return log.Disabled(c.ent.name()) })
		}
		return nil
	})
	if err != nil && !errors.Is(err, crdt.ErrUnknownDoc) {
		return choice{}, fmt.Errorf("read extensions of agent %s: %w", k.Agent.ID.Short(), err)
	}
	return out, nil
}

// hosts reports whether this peer may write to an agent's document, which is what hosting means.
func (h *Hub) hosts(v *crdt.View) bool {
	return h.cfg.Peer != nil && v.Access().RoleAt(h.cfg.Peer.Self, crdt.NowMillis(h.cfg.Clock)) >= crdt.Write
}

func logOf(v *crdt.View, kind crdt.Kind) (*activation.Log, error) {
	log, ok := v.Index(activation.IndexName).(*activation.Log)
	if !ok || v.Kind() != kind {
		return nil, fmt.Errorf("document %s is no %s", v.ID().Short(), kind)
	}
	return log, nil
}

// pick chooses among the versions of one name the one that the session has switched on. Where that is
// not here it is the first, with the reason why it may not run.
func pick(log *activation.Log, versions []*entry) (*entry, string) {
	reason := ""
	for _, e := range versions {
		if reason = otherRef(log, e); reason == "" {
			return e, ""
		}
	}
	return versions[0], reason
}

// otherVersion is why an extension does not run where another reference is on.
const otherVersion = "the session has another version of it than the one installed here"

// otherRef says that the session has switched on other code than the one installed under the name.
// What is compiled in runs in any version.
func otherRef(log *activation.Log, e *entry) string {
	if e.builtin {
		return ""
	}
	if on, _ := log.Latest(e.name()); !on.Ref.Equal(e.decl.Ref) {
		return otherVersion
	}
	return ""
}

// member is an extension of the effective set with its instances, by rank of the scope.
type member struct {
	ent    *entry
	at     [3]*instance
	reason string // why some instance is not there; "" if all are
}

// gather holds the instances of a choice, building what is missing, and waits for that no longer than
// the deadline of an instantiation. On an error nothing is held.
func (h *Hub) gather(ctx context.Context, c choice, k TurnKey) ([]member, error) {
	members := make([]member, len(c.on))
	waits := h.fill(ctx, members, c, k, true)
	if len(waits) == 0 {
		return members, nil
	}
	for _, w := range waits {
		select {
		case <-w:
		case <-ctx.Done():
			h.release(members)
			return nil, fmt.Errorf("build instances of session %s: %w", k.Session.Short(), ctx.Err())
		}
	}
	h.fill(ctx, members, c, k, false)
	return members, nil
}

// fill holds what is live. With build it starts what is missing and returns what to wait for.
func (h *Hub) fill(ctx context.Context, members []member, c choice, k TurnKey, build bool) (waits []chan struct{}) {
	var jobs []job
	var ended []*instance
	check := &ended
	if !build {
		check = nil // what was built since is at least as new
	}
	now := h.now()
	h.mu.Lock()
	for i := range members {
		m := &members[i]
		m.ent, m.reason = c.on[i].ent, c.on[i].reason
		if m.reason == "" && m.ent.suspended.Load() {
			m.reason = "suspended after repeated failures: " + m.ent.lastFault()
		}
		if m.reason != "" {
			continue
		}
		for at, n := range c.needs(i, k) {
			if n.ent == nil || m.at[at] != nil {
				continue
			}
			if m.at[at] = h.take(n, now, check); m.at[at] != nil {
				continue
			}
			m.reason = h.whyNot(n)
			if !build {
				continue
			}
			if s := h.start(n, now, &jobs); s != nil {
				waits = append(waits, s.building)
			}
		}
	}
	h.mu.Unlock()
	for _, j := range jobs {
		go h.build(ctx, j)
	}
	h.stop(ended, false)
	return waits
}

// needs are the instances that an extension should have, by rank of the scope; others have no entry.
func (c choice) needs(i int, k TurnKey) (out [3]need) {
	e := c.on[i].ent
	if e.livesAt(extension.PerSession) {
		out[0] = need{ent: e, scope: extension.PerSession, doc: k.Session, settings: c.on[i].settings}
	}
	if c.hosted && e.livesAt(extension.PerAgent) {
		out[1] = need{ent: e, scope: extension.PerAgent, doc: k.Agent.ID, agent: k.Agent}
	}
	if e.livesAt(extension.Global) {
		out[2] = need{ent: e, scope: extension.Global}
	}
	return out
}

// whyNot says why there is no instance. The caller holds Hub.mu.
func (h *Hub) whyNot(n need) string {
	if reason := n.ent.failure(); reason != "" {
		return reason
	}
	if s := h.docs[n.doc][n.ent]; s != nil && s.reason != "" {
		return s.reason
	}
	return "it is not running"
}

// release drops the holds of members; what ended meanwhile is shut down, in the order of a stop.
func (h *Hub) release(members []member) {
	now := h.now()
	var due []*instance
	for at := range scopes {
		for i := len(members) - 1; i >= 0; i-- {
			if x := members[i].at[at]; x != nil && x.drop(now) {
				due = append(due, x)
			}
		}
	}
	if len(due) > 0 {
		go h.shutdownAll(due)
	}
}
