package replay

import (
	"context"
	"errors"
	"maps"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// States returns how the external extensions stand that a session has on, by name, as of the last Ensure.
func (m *Manager) States(id crdt.DocID) map[string]Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		return maps.Clone(s.states)
	}
	return map[string]Status{}
}

// Running lists the sessions in which something is live, with the names.
func (m *Manager) Running() map[crdt.DocID][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[crdt.DocID][]string{}
	for id, s := range m.sessions {
		for name := range s.live {
			out[id] = append(out[id], name)
		}
	}
	return out
}

// Changed says that trust, policy or bytes changed: every session that is known here is looked at again,
// at once, so that what lost its trust is gone when it returns.
func (m *Manager) Changed(ctx context.Context) error {
	m.mu.Lock()
	ids := make([]crdt.DocID, 0, len(m.sessions))
	for id := range m.sessions {
		ids = append(ids, id)
	}
	m.mu.Unlock()
	var errs []error
	for _, id := range ids {
		if err := m.ensure(ctx, id, false); err != nil && !errors.Is(err, crdt.ErrUnknownDoc) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Drop takes out what is live in a session that is closed or gone, and forgets it. It waits for a look in
// progress, and for calls in progress as long as a shutdown may take.
func (m *Manager) Drop(ctx context.Context, id crdt.DocID) {
	s := m.session(id, false)
	if s == nil {
		return
	}
	s.look <- struct{}{}
	defer func() { <-s.look }()
	if s.dropped {
		return
	}
	ctx = context.WithoutCancel(ctx)
	m.mu.Lock()
	live, states := maps.Clone(s.live), s.states
	m.mu.Unlock()
	for name, p := range live {
		if p.wide {
			m.remove(ctx, id, s, name)
		} else {
			_ = m.cfg.Hub.RemoveIn(ctx, id, name) // a hub that closed the session has none left
		}
	}
	for name := range states {
		m.cfg.Gate.Unblock(id, name)
	}
	s.dropped = true
	m.mu.Lock()
	clear(s.live)
	delete(m.sessions, id)
	m.mu.Unlock()
}
