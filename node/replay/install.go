package replay

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// placed is an extension that a session has installed.
type placed struct {
	built string // everything that was built into it
	ref   extension.Ref
	wide  bool // shared with the whole peer
}

// install puts a trusted extension into the session, unless the very same is there. What it is built of
// is verified once more. It returns how it stands then, and the answer that says so; what was there before
// is left to the caller unless it was replaced.
func (m *Manager) install(ctx context.Context, id crdt.DocID, s *session, a activation.Active, r loaders.Resolution) (Status, loaders.Resolution) {
	st := statusOf(a, r)
	if m.isLive(s, a.Name, fingerprint(a.Ref, r)) {
		return st, r
	}
	fail := func(err error) (Status, loaders.Resolution) {
		r.State, r.Reason = loaders.StateInvalid, err.Error()
		return statusOf(a, r), r
	}
	var x extension.Extension
	for range maxRounds {
		round := m.cfg.Resolver.Generation()
		r = m.cfg.Resolver.Load(ctx, id, a.Name, a.Ref)
		if st = statusOf(a, r); r.State != loaders.StateTrusted {
			return st, r
		}
		var err error
		if x, err = m.cfg.Build(ctx, id, r); err != nil {
			return fail(err)
		}
		if m.cfg.Resolver.Generation() == round { // compiling takes long enough for a second thought
			break
		}
	}
	p := placed{fingerprint(a.Ref, r), a.Ref, BeyondSessions(r)}
	if err := m.put(ctx, id, s, a.Name, p, x); err != nil {
		return fail(err)
	}
	m.cfg.Log.Info("extension live", "session", id.Short(), "extension", a.Name, "content", st.Key)
	return st, r
}

func (m *Manager) isLive(s *session, name, built string) bool {
	m.mu.Lock()
	p, there := s.live[name]
	m.mu.Unlock()
	return there && built != "" && p.built == built && (!p.wide || m.isWide(p))
}

// put installs for the session, or for the peer what is trusted everywhere and lives beyond sessions. The
// session's own is replaced in place, so that a turn in progress keeps what it has.
func (m *Manager) put(ctx context.Context, id crdt.DocID, s *session, name string, p placed, x extension.Extension) error {
	was, there := s.live[name]
	if there && (was.wide || p.wide) && (was.wide != p.wide || !was.ref.Equal(p.ref)) {
		m.remove(ctx, id, s, name)
	}
	var err error
	if p.wide {
		err = m.share(ctx, id, p, x)
	} else {
		err = m.cfg.Hub.InstallIn(ctx, id, x)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	s.live[name] = p
	m.mu.Unlock()
	return nil
}

// remove takes out what the session has live under a name, its own or its part in what is shared.
func (m *Manager) remove(ctx context.Context, id crdt.DocID, s *session, name string) {
	p, there := s.live[name]
	if !there {
		return
	}
	var err error
	if p.wide {
		err = m.unshare(ctx, id, p.ref)
	} else {
		err = m.cfg.Hub.RemoveIn(ctx, id, name)
	}
	m.mu.Lock()
	delete(s.live, name)
	m.mu.Unlock()
	if err != nil { // it takes no new calls all the same
		m.cfg.Log.Warn("extension not taken out in order", "session", id.Short(), "extension", name, "cause", err)
	}
}

// BeyondSessions reports whether trusted code is installed for the whole peer: it wants to live beyond one
// session, and is trusted in all of them. Everything else lives in a session alone.
func BeyondSessions(r loaders.Resolution) bool {
	return r.Decision != nil && r.Decision.Everywhere &&
		slices.ContainsFunc(r.Package.Manifest.LivesAt(), func(s extension.Scope) bool { return s != extension.PerSession })
}

// fingerprint names everything that is built into an instance.
func fingerprint(ref extension.Ref, r loaders.Resolution) string {
	var mounts map[string]string
	var tools string
	if r.Decision != nil {
		mounts, tools = r.Decision.Mounts, r.Decision.Tools
	}
	text, err := json.Marshal([]any{ref, r.Package.Key().String(), r.Caps, r.Limits, mounts, tools, BeyondSessions(r)})
	if err != nil {
		return "" // never equal to what is live: it is built again
	}
	return string(text)
}
