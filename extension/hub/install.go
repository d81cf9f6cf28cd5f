package hub

import (
	"context"
	"errors"
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

// Install registers extensions and builds the Global instances that are missing, all at the same time;
// it waits for them. The results are in the order of the list. One that fails does not disturb the
// others. An extension that is here already is tried again if it has no Global instance; another
// reference under the name of one that is not compiled in replaces it.
func (h *Hub) Install(ctx context.Context, list []extension.Extension) []Result {
	results := make([]Result, len(list))
	fresh := make([]*entry, len(list))
	seen := map[string]bool{}
	for i, x := range list {
		d, err := readDeclaration(x)
		results[i].Name = d.Name
		if err == nil {
			if err = d.Validate(); err != nil {
				results[i].Fatal = d.Ref.Kind() == extension.Builtin
			}
		}
		if err == nil && seen[d.Name] {
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
		seen[d.Name] = true
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
	if name != "" && h.catalog.Load().byName[name] == nil {
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
	old := h.catalog.Load()
	entries := slices.Clone(old.entries)
	var ended []*instance
	for i, e := range fresh {
		if e == nil {
			continue
		}
		have := old.byName[e.name()]
		switch {
		case have == nil:
		case have.decl.Ref.Equal(e.decl.Ref) && have.failure() == "":
			fresh[i] = have
			continue
		case have.decl.Ref.Equal(e.decl.Ref): // it failed: this one in its place
			entries = slices.DeleteFunc(entries, func(x *entry) bool { return x == have })
			ended = append(ended, h.vacateAll(have)...)
			e.seq = have.seq
		case have.builtin:
			results[i].Err = fmt.Errorf("install %s: it is installed already, as %s", e.name(), have.decl.Ref)
			continue
		default:
			entries = slices.DeleteFunc(entries, func(x *entry) bool { return x == have })
			ended = append(ended, h.vacateAll(have)...)
		}
		if e.seq == 0 {
			h.seq++
			e.seq = h.seq
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
	h.warnCommands()
	return true
}

// warnCommands tells of slash commands that are never dispatched, or not where another is on.
func (h *Hub) warnCommands() {
	c := h.catalog.Load()
	for _, e := range c.entries {
		for _, w := range e.decl.Commands {
			if owners := c.words[w]; len(owners) == 0 || owners[0] != e {
				h.warnOnce(e.name()+"/"+w, "a slash command is left out: its name is taken", "extension", e.name(), "command", w)
			}
		}
	}
}

// adopt makes entries the catalogue, ends what has lost a required capability and prepares the Global
// instances that are missing: of what regained one, and of fresh. The caller holds Hub.mu.
func (h *Hub) adopt(entries, fresh []*entry) (gone []*instance, jobs []job) {
	lacks := unmet(entries)
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

// Remove takes out an extension that is not compiled in: nothing of it is dispatched any more, its
// instances end as soon as the calls in progress have, turns notwithstanding. It waits for that no
// longer than a shutdown may take.
func (h *Hub) Remove(ctx context.Context, name string) error {
	h.mu.Lock()
	old := h.catalog.Load()
	e := old.byName[name]
	if e == nil || e.builtin {
		defer h.mu.Unlock()
		if e != nil {
			return fmt.Errorf("remove extension %s: it is compiled in", name)
		}
		if _, refused := h.invalid[name]; !refused {
			return fmt.Errorf("remove extension %.80q: it is not installed", name)
		}
		delete(h.invalid, name)
		return nil
	}
	ended := h.vacateAll(e)
	entries := slices.DeleteFunc(slices.Clone(old.entries), func(x *entry) bool { return x == e })
	gone, jobs := h.adopt(entries, nil)
	h.mu.Unlock()
	h.stop(ended, true)
	h.stop(gone, false)
	for _, j := range jobs {
		go h.build(ctx, j)
	}
	if err := h.await(ctx, ended); err != nil {
		return fmt.Errorf("remove extension %s: %w", name, err)
	}
	return nil
}

// stop ends instances; those that are due are shut down beside the caller.
func (h *Hub) stop(list []*instance, cut bool) {
	if due := endAll(list, cut); len(due) > 0 {
		go h.shutdownAll(due)
	}
}

var errStillRunning = errors.New("a call to it is still in progress")

// await waits until instances are shut down.
func (h *Hub) await(ctx context.Context, list []*instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.time.Shutdown, errStillRunning)
	defer cancel()
	for _, i := range list {
		select {
		case <-i.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
