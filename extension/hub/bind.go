package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// binding is what one session has for itself, beside what is installed for the whole peer. Guarded by
// Hub.mu.
type binding struct {
	entries []*entry // one for each name
	catalog *catalog // they and those of the peer
}

// InstallIn registers an extension that is not compiled in for one session alone, where it counts
// before those of the whole peer; other sessions may have other versions of it, or the same one with
// other powers. It lives there at PerSession, whatever it declares. What the session had under the
// name ends: a turn in progress keeps it until it is over. Instances are built at the first need.
//
// An error means that nothing was registered. One that is registered and can't run here (a capability
// that nobody provides, an unknown version of the API) is told by [Hub.StateIn]. Every call begins
// anew: the failures of the one before are forgotten. The entry goes with [Hub.RemoveIn],
// [Hub.SessionShutdown], or the session's document.
func (h *Hub) InstallIn(ctx context.Context, session crdt.DocID, x extension.Extension) error {
	d, err := readDeclaration(x)
	fail := func(err error) error {
		return fmt.Errorf("install %.80q in session %s: %w", d.Name, session.Short(), err)
	}
	if err == nil {
		err = d.Validate()
	}
	if err == nil && d.Ref.Kind() == extension.Builtin {
		err = errors.New("it is compiled in, for all sessions")
	}
	if err == nil {
		err = h.isSession(ctx, session)
	}
	if err != nil {
		return fail(err)
	}
	broken := unsupported(d)
	d.Scopes = []extension.Scope{extension.PerSession}
	e, err := newEntry(x, d, h.peerFor(d))
	if err != nil {
		return fail(err)
	}
	e.session, e.broken = session, broken
	if err := h.bind(e); err != nil {
		return fail(err)
	}
	return nil
}

func (h *Hub) isSession(ctx context.Context, id crdt.DocID) error {
	return h.cfg.Documents.View(ctx, id, func(v *crdt.View) error {
		_, err := logOf(v, crdt.Session)
		return err
	})
}

// bind puts an entry into its session, in the place of what the session had under the name.
func (h *Hub) bind(e *entry) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	if h.catalog.Load().compiledIn(e.name()) != nil {
		h.mu.Unlock()
		return errors.New("an extension of this name is compiled in")
	}
	ended := h.unbind(e.session, e.name())
	for other, s := range h.docs[e.session] { // one instance for each name: also that of a version of the peer
		if i := h.vacateNamed(s, other, e.name()); i != nil {
			ended = append(ended, i)
		}
	}
	b := h.bound[e.session]
	if b == nil {
		b = &binding{}
		h.bound[e.session] = b
	}
	b.entries = append(b.entries, e) // beside a retired one, which rebind takes out
	ended = append(ended, h.rebind(e.session)...)
	cat := b.catalog
	h.mu.Unlock()
	h.stop(ended, false)
	h.warnCommands(cat)
	return nil
}

func (h *Hub) vacateNamed(s *slot, of *entry, name string) *instance {
	if of.name() != name {
		return nil
	}
	return h.vacate(s)
}

// named lists what the binding has under a name: one or nothing.
func (b *binding) named(name string) (list []*entry) {
	for _, e := range b.entries {
		if e.name() == name {
			list = append(list, e)
		}
	}
	return list
}

// unbind takes what a session has under a name out of it and returns its instance. The caller holds
// Hub.mu, and calls rebind.
func (h *Hub) unbind(session crdt.DocID, name string) (ended []*instance) {
	b := h.bound[session]
	if b == nil {
		return nil
	}
	for _, e := range b.named(name) {
		ended = append(ended, h.retire(e)...)
	}
	return ended
}

// unbindAll forgets all that a session has for itself. The caller holds Hub.mu and has emptied the
// slots of the session.
func (h *Hub) unbindAll(session crdt.DocID) {
	if b := h.bound[session]; b != nil {
		for _, e := range b.entries {
			e.removed = true
		}
		delete(h.bound, session)
	}
}

// rebind works out anew what the extensions of one session lack, and its catalogue. It returns the
// instances of what has lost a capability. The caller holds Hub.mu.
func (h *Hub) rebind(session crdt.DocID) (gone []*instance) {
	b := h.bound[session]
	if b == nil {
		return nil
	}
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return e.removed })
	if len(b.entries) == 0 {
		delete(h.bound, session)
		return nil
	}
	base := h.catalog.Load().entries
	lacks := unmet(b.entries, base)
	for _, e := range b.entries {
		if e.unmet = lacks[e]; e.unmet != "" {
			gone = append(gone, h.vacateAll(e)...)
		}
	}
	b.catalog = newCatalog(slices.Concat(base, b.entries))
	return gone
}

// catalogOf is the catalogue as a session sees it. The caller holds Hub.mu.
func (h *Hub) catalogOf(session crdt.DocID) *catalog {
	if b := h.bound[session]; b != nil {
		return b.catalog
	}
	return h.catalog.Load()
}

// RemoveIn takes out what a session has for itself under a name: nothing of it is dispatched any more,
// also in turns in progress; its instances, and earlier ones that turns still hold, end as soon as
// the calls in progress have. It waits for that no longer than a shutdown may take.
func (h *Hub) RemoveIn(ctx context.Context, session crdt.DocID, name string) error {
	h.mu.Lock()
	list := h.catalogOf(session).byName[name]
	known := len(list) > 0 && !list[0].session.IsZero()
	h.unbind(session, name)
	ended := h.lingering(func(e *entry) bool { return e.session == session && e.name() == name })
	gone := h.rebind(session)
	h.mu.Unlock()
	if !known && len(ended) == 0 {
		return fmt.Errorf("remove extension %.80q from session %s: it is not installed there", name, session.Short())
	}
	h.stop(ended, true)
	h.stop(gone, false)
	if err := h.await(ctx, ended); err != nil {
		return fmt.Errorf("remove extension %s from session %s: %w", name, session.Short(), err)
	}
	return nil
}

// InstalledIn lists what a session has for itself, by name.
func (h *Hub) InstalledIn(session crdt.DocID) []extension.Declaration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []extension.Declaration
	for _, e := range h.catalogOf(session).entries {
		if !e.session.IsZero() {
			out = append(out, e.decl)
		}
	}
	return out
}
