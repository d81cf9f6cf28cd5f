package replay

import (
	"context"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// maxRounds is how often one look asks anew because the decisions here moved under it. Whoever moves them
// more often has the next look to do it.
const maxRounds = 8

// fresh reports whether the last look still tells how things are. What failed for a reason of this machine
// is tried again at every look.
func (m *Manager) fresh(s *session, on []activation.Active) bool {
	round := m.cfg.Resolver.Generation()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.folded || s.round != round || !sameActive(s.wanted, on) {
		return false
	}
	for _, st := range s.states {
		if st.State == loaders.StateUnavailable && !st.Missing {
			return false
		}
	}
	return true
}

func sameActive(a, b []activation.Active) bool {
	return slices.EqualFunc(a, b, func(x, y activation.Active) bool { return x.Name == y.Name && x.Ref.Equal(y.Ref) })
}

// settle resolves every extension that is on, and installs and removes, until an answer came while nothing
// else was decided. The caller holds the look.
func (m *Manager) settle(ctx context.Context, id crdt.DocID, s *session, on []activation.Active) {
	var round uint64
	states := map[string]Status{}
	for range maxRounds {
		round = m.cfg.Resolver.Generation()
		clear(states)
		for _, a := range on {
			states[a.Name] = m.one(ctx, id, s, a)
		}
		if m.cfg.Resolver.Generation() == round {
			break
		}
	}
	before := m.statesOf(s)
	for name := range before {
		if _, still := states[name]; !still {
			m.remove(ctx, id, s, name)
			m.cfg.Gate.Unblock(id, name)
		}
	}
	m.mu.Lock()
	s.wanted, s.states, s.round, s.folded = on, states, round, true
	lacks := m.lacking(s, before)
	m.mu.Unlock()
	for _, a := range on {
		if st := states[a.Name]; st.State != loaders.StateTrusted {
			m.cfg.Notice(ctx, id, st)
		}
	}
	if lacks {
		nudge(m.hopes)
	}
}

// one brings one extension in step with its log and the decisions here.
func (m *Manager) one(ctx context.Context, id crdt.DocID, s *session, a activation.Active) Status {
	r := m.cfg.Resolver.Resolve(ctx, id, a.Name, a.Ref)
	st := statusOf(a, r)
	if r.State == loaders.StateTrusted {
		st, r = m.install(ctx, id, s, a, r)
	}
	if st.State == loaders.StateTrusted {
		m.cfg.Gate.Unblock(id, a.Name)
		return st
	}
	// First the block: between the two a call could pass that neither stops.
	if why := m.cfg.Blocks(ctx, a.Ref, r); why != "" {
		m.cfg.Gate.Block(id, a.Name, why)
	} else {
		m.cfg.Gate.Unblock(id, a.Name)
	}
	m.remove(ctx, id, s, a.Name)
	return st
}

// lacking reports whether a session lacks bytes that it did not lack before. The caller holds m.mu.
func (m *Manager) lacking(s *session, before map[string]Status) bool {
	for name, st := range s.states {
		was, known := before[name]
		if s.fetches(st) && (!known || !was.Ref.Equal(st.Ref) || !s.fetches(was)) {
			return true
		}
	}
	return false
}

// fetches reports whether bytes are to be brought here: a decision waits for them, or a person. The caller
// holds Manager.mu.
func (s *session) fetches(st Status) bool {
	open := st.State == loaders.StatePending || st.State == loaders.StateNeedsReview
	return st.Missing || open && st.Manifest == nil && s.asked[st.Ref.String()]
}

func (m *Manager) statesOf(s *session) map[string]Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.states
}

func (m *Manager) wantedIn(s *session) []activation.Active {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.wanted
}

func statusOf(a activation.Active, r loaders.Resolution) Status {
	st := Status{
		Name: a.Name, Ref: a.Ref, State: r.State, Reason: r.Reason, Remedy: r.Remedy, Caps: r.Caps, Limits: r.Limits,
		Missing: r.Missing,
	}
	if r.Package != nil {
		st.Key, st.Manifest = r.Package.Key().String(), r.Package.Manifest
	}
	return st
}
