package replay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// Want notes that a person waits for the bytes of a reference: they are fetched when a peer has them.
func (m *Manager) Want(id crdt.DocID, ref extension.Ref) {
	s := m.session(id, true)
	m.mu.Lock()
	s.asked[ref.String()] = true
	m.mu.Unlock()
	m.Touch(id) // its log may not have been read yet
	nudge(m.hopes)
}

// Touch makes Run look at a session whose log may have changed.
func (m *Manager) Touch(id crdt.DocID) {
	m.mu.Lock()
	m.dirty[id] = true
	m.mu.Unlock()
	nudge(m.looks)
}

// Retry makes Run try again for what is missing, as when a peer appears.
func (m *Manager) Retry() { nudge(m.hopes) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// gap is the least time between two rounds of fetching, so that peers that come and go are not asked
// all the time. Without a sign from outside a round follows after again, twice that, and so on to rarely:
// a peer may have got the bytes meanwhile from somebody else.
const (
	gap    = 200 * time.Millisecond
	again  = 15 * time.Second
	rarely = 10 * time.Minute
)

// Run looks at sessions that were touched and fetches, from the peers of each session, what was decided on
// or asked for and is not here, whenever there is reason to hope for it. It returns nil when ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { m.follow(ctx) })
	m.fetch(ctx)
	wg.Wait()
	return nil
}

// follow looks at what was touched. A slow peer must not keep it from that.
func (m *Manager) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.looks:
		}
		for _, id := range m.touched() {
			if err := m.ensure(ctx, id, false); err != nil && ctx.Err() == nil && !errors.Is(err, crdt.ErrUnknownDoc) {
				m.cfg.Log.Error("replay failed", "session", id.Short(), "cause", err)
			}
		}
	}
}

// touched takes the sessions to look at.
func (m *Manager) touched() []crdt.DocID {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]crdt.DocID, 0, len(m.dirty))
	for id := range m.dirty {
		out = append(out, id)
	}
	clear(m.dirty)
	return out
}

// fetch brings what is missing, one round at a time.
func (m *Manager) fetch(ctx context.Context) {
	pause := again
	timer := time.NewTimer(rarely)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.hopes:
			pause = again
		case <-timer.C:
			pause = min(2*pause, rarely)
		}
		if m.fetchRound(ctx) {
			if err := m.Changed(ctx); err != nil && ctx.Err() == nil {
				m.cfg.Log.Error("replay failed", "cause", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gap):
		}
		timer.Reset(pause)
	}
}

// fetchRound asks once for each reference that is missing and reports whether something came.
func (m *Manager) fetchRound(ctx context.Context) (got bool) {
	for _, w := range m.missing() {
		err := m.cfg.Fetch(ctx, w.session, w.ref)
		switch {
		case err == nil:
			got = true
			m.got(w)
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, loaders.ErrMissing) && !errors.Is(err, loaders.ErrConsent):
			m.cfg.Log.Warn("fetching an extension failed", "session", w.session.Short(), "extension", w.ref.Name(), "cause", err)
		}
	}
	return got
}

type want struct {
	session crdt.DocID
	ref     extension.Ref
}

func (m *Manager) missing() (out []want) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.sessions {
		for _, st := range s.states {
			if s.fetches(st) {
				out = append(out, want{id, st.Ref})
			}
		}
	}
	return out
}

func (m *Manager) got(w want) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[w.session]; s != nil {
		delete(s.asked, w.ref.String())
	}
}
