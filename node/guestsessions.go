package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/routine"
)

// sessionsWithCode remembers which sessions have external extensions on, so that a start need not open all
// documents to find out.
func (l *loading) sessionsWithCode() *crdt.Table[bool] {
	return crdt.NewTable[bool](l.n.home.store, "ext_sessions")
}

// hasAny notes whether a session has external extensions on.
func (l *loading) hasAny(ctx context.Context, session crdt.DocID, any bool) {
	l.mu.Lock()
	was, known := l.marked[session]
	l.mu.Unlock()
	if known && was == any {
		return
	}
	table := l.sessionsWithCode()
	there, err := table.Get(ctx, session.String())
	switch {
	case any && (err != nil || !there):
		err = table.Put(ctx, session.String(), true)
	case !any && err == nil:
		err = table.Delete(ctx, session.String())
	default:
		err = nil
	}
	if err != nil {
		l.n.log.Error("note session with external extensions", "session", session.Short(), "cause", err)
		return
	}
	l.mu.Lock()
	l.marked[session] = any
	l.mu.Unlock()
}

// wake has the sessions looked at that had external extensions on at the last stop.
func (l *loading) wake(ctx context.Context) error {
	var gone []crdt.DocID
	err := l.sessionsWithCode().All(ctx, func(key string, _ bool) error {
		id, err := crdt.ParseDocID(key)
		switch {
		case err != nil:
			return err
		case !l.n.repo.Has(id):
			gone = append(gone, id)
		default:
			l.replay.Touch(id) // which passes over closed ones
		}
		return nil
	})
	for _, id := range gone {
		err = errors.Join(err, l.forget(ctx, id))
	}
	return err
}

// closed reports whether nobody here works in a session.
func (l *loading) closed(ctx context.Context, session crdt.DocID) bool {
	row, err := l.n.cataloged(ctx, session)
	return err == nil && row.Closed
}

// mayTarget reports whether a routine may name an extension: one that is installed for the whole peer, or
// that the session has on.
func (n *Node) mayTarget(ctx context.Context, name string, session crdt.DocID) (bool, error) {
	if n.isCompiledIn(name) {
		return true, nil
	}
	if session.IsZero() {
		for _, d := range n.hub.Declarations() {
			if d.Name == name {
				return true, nil
			}
		}
		return false, nil
	}
	on, err := n.activeExts(ctx, session)
	return slices.ContainsFunc(on, func(a activeExt) bool { return a.name == name }), err
}

func (n *Node) isCompiledIn(name string) bool {
	return slices.ContainsFunc(n.decls, func(d extension.Declaration) bool { return d.Name == name })
}

// readyFor has the code live that a routine is about to be handed to. Fires may be due before anybody has
// looked at a session since the start.
func (l *loading) readyFor(ctx context.Context, ext string, scope routine.Scope) error {
	if l.n.isCompiledIn(ext) {
		return nil
	}
	if scope.Kind == routine.ScopeSession {
		id, err := crdt.ParseDocID(scope.ID)
		if err != nil {
			return err
		}
		if err := l.replay.Ensure(ctx, id); err != nil {
			return err
		}
		if st, on := l.replay.States(id)[ext]; on && st.State != loaders.StateTrusted {
			return fmt.Errorf("the extension %s does not run on this peer: %s: %s", ext, st.State, st.Reason)
		}
		return nil
	}
	var ids []crdt.DocID
	err := l.sessionsWithCode().All(ctx, func(key string, _ bool) error {
		id, err := crdt.ParseDocID(key)
		if err == nil && l.n.repo.Has(id) && !l.closed(ctx, id) {
			ids = append(ids, id)
		}
		return err
	})
	for _, id := range ids {
		err = errors.Join(err, l.replay.Ensure(ctx, id))
	}
	return err
}

// drop ends what runs in a session that is closed or gone.
func (l *loading) drop(ctx context.Context, session crdt.DocID) {
	l.replay.Drop(ctx, session)
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.built {
		if k.session == session {
			delete(l.built, k)
		}
	}
}

// forget drops what is kept of a session that is gone.
func (l *loading) forget(ctx context.Context, session crdt.DocID) error {
	l.mu.Lock()
	delete(l.marked, session)
	l.mu.Unlock()
	return errors.Join(l.data.forget(ctx, session.String()), l.sessionsWithCode().Delete(ctx, session.String()))
}
