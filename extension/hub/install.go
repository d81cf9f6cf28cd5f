package hub

import (
	"context"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Result is what became of one extension of an [Hub.Install].
type Result struct {
	Name string
	// Err is nil if the extension is registered and, where it lives at Global, live.
	Err error
	// Fatal marks the invalid manifest of an extension that is compiled in: the program is wrong and
	// must not start.
	Fatal bool
}

// Fatal returns the first error that must keep the program from starting.
func Fatal(results []Result) error {
	for _, r := range results {
		if r.Fatal {
			return fmt.Errorf("install extension %.80q: %w", r.Name, r.Err)
		}
	}
	return nil
}

// Install registers extensions for the whole peer and builds the Global instances that are missing,
// all at the same time; it waits for them. The results are in the order of the list. One that fails
// does not disturb the others. An extension that is here already is tried again if it has no Global
// instance. Of what is not compiled in several versions may be here, told apart by their references: a
// session uses the one that it has switched on.
func (h *Hub) Install(ctx context.Context, list []extension.Extension) []Result {
	results := make([]Result, len(list))
	fresh := make([]*entry, len(list))
	seen := map[string][]extension.Ref{}
	for i, x := range list {
		d, err := readDeclaration(x)
		results[i].Name = d.Name
		if err == nil {
			if err = d.Validate(); err != nil {
				results[i].Fatal = d.Ref.Kind() == extension.Builtin
			}
		}
		if err == nil && slices.ContainsFunc(seen[d.Name], func(r extension.Ref) bool { return !sideBySide(r, d.Ref) }) {
			results[i].Err = fmt.Errorf("install %s: another extension of this name comes before it", d.Name)
			h.log.Warn("extension left out", "extension", d.Name, "error", results[i].Err)
			continue
		}
		if err == nil {
			fresh[i], err = newEntry(x, d, h.peerFor(d))
		}
		if err != nil {
			results[i].Err = err
			h.refuse(d.Name, err)
			continue
		}
		seen[d.Name] = append(seen[d.Name], d.Ref)
		fresh[i].broken = unsupported(d)
	}
	if !h.register(ctx, fresh, results) {
		return results
	}
	for i, e := range fresh {
		if e != nil && results[i].Err == nil {
			results[i].Err = h.settled(ctx, e)
		}
	}
	return results
}

// sideBySide reports whether two references of one name may be installed both: two versions of what is
// not compiled in.
func sideBySide(a, b extension.Ref) bool {
	return a.Kind() != extension.Builtin && b.Kind() != extension.Builtin && !a.Equal(b)
}

func (h *Hub) peerFor(d extension.Declaration) *extension.Peer {
	if h.cfg.PeerFor != nil && h.cfg.Peer != nil {
		return h.cfg.PeerFor(d)
	}
	return h.cfg.Peer
}

// refuse remembers an invalid manifest, unless a healthy extension has the name.
func (h *Hub) refuse(name string, err error) {
	h.log.Warn("extension refused", "extension", oneLine(name), "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if name != "" && len(h.catalog.Load().byName[name]) == 0 {
		h.invalid[name] = oneLine(err.Error())
	}
}

// register puts new entries into the catalogue and starts what must be built. Where an extension is
// there already its entry takes the place of the new one in fresh. It reports false after Close.
func (h *Hub) register(ctx context.Context, fresh []*entry, results []Result) bool {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		for i := range results {
			if results[i].Err == nil {
				results[i].Err = ErrClosed
			}
		}
		return false
	}
	entries := slices.Clone(h.catalog.Load().entries)
	var ended []*instance
	for i, e := range fresh {
		if e == nil {
			continue
		}
		have, err := h.place(e)
		switch {
		case err != nil:
			results[i].Err = fmt.Errorf("install %s: %w", e.name(), err)
			continue
		case len(have) == 1 && have[0].decl.Ref.Equal(e.decl.Ref) && have[0].failure() == "":
			fresh[i] = have[0]
			continue
		}
		for _, x := range have {
			entries = slices.DeleteFunc(entries, func(y *entry) bool { return x == y })
			ended = append(ended, h.retire(x)...)
		}
		entries = append(entries, e)
		delete(h.invalid, e.name())
	}
	gone, jobs := h.adopt(entries, fresh)
	h.mu.Unlock()
	h.stop(ended, true)
	h.stop(gone, false)
	for _, j := range jobs {
		go h.build(ctx, j)
	}
	h.warnCommands(h.catalog.Load())
	return true
}

// place gives a new entry its number and lists those whose place it takes: the one with its reference,
// or, if it is compiled in, all others of its name. It is an error where something else that is
// compiled in has the name. The caller holds Hub.mu.
func (h *Hub) place(e *entry) ([]*entry, error) {
	c := h.catalog.Load()
	if same := c.exact(e.name(), e.decl.Ref); same != nil {
		e.seq = same.seq
		return []*entry{same}, nil
	}
	if taken := c.compiledIn(e.name()); taken != nil {
		return nil, fmt.Errorf("it is installed already, as %s", taken.decl.Ref)
	}
	h.seq++
	e.seq = h.seq
	if !e.builtin {
		return nil, nil
	}
	have := slices.Clone(c.byName[e.name()])
	for _, b := range h.bound {
		have = append(have, b.named(e.name())...)
	}
	return have, nil
}

// warnCommands tells of slash commands that are never dispatched, or not where another is on.
func (h *Hub) warnCommands(c *catalog) {
	for _, e := range c.entries {
		for _, w := range e.decl.Commands {
			if owners := c.words[w]; len(owners) == 0 || owners[0].name() != e.name() {
				h.warnOnce(e.name()+"/"+w, "a slash command is left out: its name is taken", "extension", e.name(), "command", w)
			}
		}
	}
}

// adopt makes entries the catalogue, ends what has lost a required capability, in single sessions too,
// and prepares the Global instances that are missing: of what regained one, and of fresh. The caller
// holds Hub.mu.
func (h *Hub) adopt(entries, fresh []*entry) (gone []*instance, jobs []job) {
	lacks := unmet(entries, nil)
	for _, e := range entries {
		regained := e.unmet != "" && lacks[e] == ""
		if e.unmet = lacks[e]; e.unmet != "" {
			gone = append(gone, h.vacateAll(e)...)
		}
		if regained || slices.Contains(fresh, e) {
			jobs = h.startGlobal(e, jobs)
		}
	}
	h.catalog.Store(newCatalog(entries))
	for session := range h.bound {
		gone = append(gone, h.rebind(session)...)
	}
	return gone, jobs
}

// startGlobal appends the job of a missing Global instance. The caller holds Hub.mu.
func (h *Hub) startGlobal(e *entry, jobs []job) []job {
	if h.closed || !e.runnable() || !e.livesAt(extension.Global) {
		return jobs
	}
	n := need{ent: e, scope: extension.Global}
	s := h.slotFor(n)
	if s.live != nil || s.building != nil {
		return jobs
	}
	s.building = make(chan struct{})
	return append(jobs, job{s, n})
}

// vacateAll empties all slots of an extension and returns the instances. The caller holds Hub.mu.
func (h *Hub) vacateAll(e *entry) (list []*instance) {
	take := func(s *slot) {
		if i := h.vacate(s); i != nil {
			list = append(list, i)
		}
	}
	if e.global != nil {
		take(e.global)
	}
	if !e.session.IsZero() {
		if s := h.docs[e.session][e]; s != nil {
			take(s)
		}
		return list
	}
	for _, of := range h.docs {
		if s := of[e]; s != nil {
			take(s)
		}
	}
	return list
}

// settled waits for the Global instance of an extension and says why there is none.
func (h *Hub) settled(ctx context.Context, e *entry) error {
	h.mu.Lock()
	var wait chan struct{}
	if e.global != nil {
		wait = e.global.building
	}
	h.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return fmt.Errorf("install %s: %w", e.name(), ctx.Err())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason := e.failure(); reason != "" {
		return fmt.Errorf("install %s: %s", e.name(), reason)
	}
	return nil
}
