package replay

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// wide is an extension that is installed for the whole peer.
type wide struct {
	built string
	in    map[crdt.DocID]bool // sessions that have it on
}

// isWide reports whether what is installed for the peer is still what a session took part in.
func (m *Manager) isWide(p placed) bool {
	m.placing.Lock()
	defer m.placing.Unlock()
	w := m.wide[p.ref.String()]
	return w != nil && w.built == p.built
}

// share makes a session take part in an extension of the whole peer, which the first one installs. One that
// was built otherwise goes first: the hub would keep it, with the powers that it had.
func (m *Manager) share(ctx context.Context, id crdt.DocID, p placed, x extension.Extension) error {
	m.placing.Lock()
	defer m.placing.Unlock()
	key := p.ref.String()
	w := m.wide[key]
	if w != nil && w.built == p.built {
		w.in[id] = true
		return nil
	}
	in := map[crdt.DocID]bool{id: true}
	if w != nil {
		for other := range w.in {
			in[other] = true
		}
		delete(m.wide, key)
		if err := m.cfg.Hub.RemoveRef(ctx, p.ref); err != nil {
			m.cfg.Log.Warn("extension not taken out in order", "extension", p.ref.Name(), "cause", err)
		}
	}
	if err := m.cfg.Hub.Install(ctx, x); err != nil {
		// Registered or not, it must not come to life without anybody's part in it.
		_ = m.cfg.Hub.RemoveRef(ctx, p.ref) // there may be nothing to remove
		return err
	}
	m.wide[key] = &wide{built: p.built, in: in}
	return nil
}

// unshare ends a session's part. The last one takes the extension out.
func (m *Manager) unshare(ctx context.Context, id crdt.DocID, ref extension.Ref) error {
	m.placing.Lock()
	defer m.placing.Unlock()
	w := m.wide[ref.String()]
	if w == nil {
		return nil
	}
	if delete(w.in, id); len(w.in) > 0 {
		return nil
	}
	delete(m.wide, ref.String())
	return m.cfg.Hub.RemoveRef(ctx, ref)
}
