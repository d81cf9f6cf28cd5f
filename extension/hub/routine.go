package hub

import (
	"context"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Routine hands a fire to an extension and returns the error of its handler. The active set of no
// session gates it; the deadline is the caller's.
//
// Handlers are those of Global instances. A fire of the scope session:<id> goes to the session's
// instance instead where the session has the extension for itself. Of an extension that is not
// compiled in it reaches the version that the session has switched on last, even if it is off now, and
// no other; fires of other scopes reach the version that was installed last.
func (h *Hub) Routine(ctx context.Context, ext string, f extension.Fire) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("fire routine %.80q: %w", f.Routine, fmt.Errorf(format, args...))
	}
	session, ofSession := sessionOfScope(f.Scope)
	c, err := h.handlerOf(ctx, ext, session, ofSession)
	if err != nil {
		return fail("%w", err)
	}
	m, err := h.holdHandler(ctx, c, session)
	if err != nil {
		return fail("%w", err)
	}
	defer h.release([]member{m})
	x := m.handler(allScopes, func(i *extension.Instance) bool { return i.Routine != nil })
	switch {
	case m.reason != "":
		return fail("the extension %s is not live: %s", ext, m.reason)
	case x == nil:
		return fail("the extension %s has no routine handler", ext)
	}
	at := place{point: "routine " + f.Scope, session: c.ent.session, answers: true}
	_, err = invoke(ctx, h, x, at, 0, func(ctx context.Context) (nothing, error) {
		return nothing{}, x.ext.Routine(ctx, f)
	})
	if err != nil {
		return fmt.Errorf("fire routine %.80q at %s: %w", f.Routine, ext, err)
	}
	return nil
}

// sessionOfScope reads the session out of the scope of a fire.
func sessionOfScope(scope string) (id crdt.DocID, ok bool) {
	text, ok := strings.CutPrefix(scope, "session:")
	if !ok {
		return id, false
	}
	id, err := crdt.ParseDocID(text)
	return id, err == nil
}

// handlerOf finds the entry that a fire is for.
func (h *Hub) handlerOf(ctx context.Context, ext string, session crdt.DocID, ofSession bool) (chosen, error) {
	h.mu.Lock()
	versions := h.catalogOf(session).byName[ext]
	h.mu.Unlock()
	switch {
	case len(versions) == 0:
		return chosen{}, fmt.Errorf("there is no extension %.80q here", ext)
	case versions[0].builtin:
		return chosen{ent: versions[0]}, nil
	case !ofSession:
		last := versions[0]
		for _, e := range versions[1:] {
			if e.seq > last.seq {
				last = e
			}
		}
		return chosen{ent: last}, nil
	}
	c := chosen{ent: versions[0], reason: otherVersion}
	err := h.cfg.Documents.View(ctx, session, func(v *crdt.View) error {
		log, err := logOf(v, crdt.Session)
		if err != nil {
			return err
		}
		ref, _ := log.LastRef(ext)
		for _, e := range versions {
			if e.decl.Ref.Equal(ref) {
				c = chosen{e, readAtBuild(v, e), ""}
				break
			}
		}
		return nil
	})
	if err != nil {
		return chosen{}, fmt.Errorf("read extensions of session %s: %w", session.Short(), err)
	}
	return c, nil
}

// holdHandler holds the instance that handles fires: the Global one if it is there, or that of the
// session, which is built. The reason says why there is none.
func (h *Hub) holdHandler(ctx context.Context, c chosen, session crdt.DocID) (member, error) {
	if !c.ent.session.IsZero() {
		list, err := h.gather(ctx, choice{on: []chosen{c}}, TurnKey{Session: session})
		if err != nil {
			return member{}, err
		}
		return list[0], nil
	}
	m := member{ent: c.ent, reason: c.reason}
	if m.reason == "" && c.ent.suspended.Load() {
		m.reason = "suspended after repeated failures: " + c.ent.lastFault()
	}
	if m.reason != "" {
		return m, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := c.ent.global; s != nil && s.live != nil {
		s.live.hold(h.now())
		m.at[rank(extension.Global)] = s.live
	} else {
		m.reason = c.ent.failure()
	}
	return m, nil
}
