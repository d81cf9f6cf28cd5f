package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// maxFaults is how many panics and missed deadlines in a row an extension that is not compiled in
// may have.
const maxFaults = 3

// entry is one installed extension. What is not atomic is fixed, or guarded by Hub.mu where it says
// so.
type entry struct {
	ext      extension.Extension
	decl     extension.Declaration
	session  crdt.DocID // the only one that it is for; zero: every one
	builtin  bool
	seq      int // order of installation
	peer     *extension.Peer
	defaults map[string]json.RawMessage
	broken   string // the declaration can't be run by this build

	failures  atomic.Int32 // in a row
	suspended atomic.Bool
	fault     atomic.Pointer[string] // the last one

	removed bool   // Hub.mu: taken out; nothing of it is built any more
	unmet   string // Hub.mu: a required capability that nobody provides
	global  *slot  // Hub.mu: nil where it has no Global instance
}

func newEntry(x extension.Extension, d extension.Declaration, peer *extension.Peer) (*entry, error) {
	e := &entry{ext: x, decl: d, builtin: d.Ref.Kind() == extension.Builtin, peer: peer, defaults: map[string]json.RawMessage{}}
	for key, v := range d.Settings {
		text, err := crdt.Canonical(v)
		if err != nil {
			return nil, fmt.Errorf("default of setting %.80q: %w", key, err)
		}
		if text != "null" {
			e.defaults[key] = json.RawMessage(text)
		}
	}
	return e, nil
}

func (e *entry) name() string                       { return e.decl.Name }
func (e *entry) declares(k extension.HookKind) bool { return slices.Contains(e.decl.Hooks, k) }
func (e *entry) livesAt(s extension.Scope) bool     { return e.decl.LivesAt(s) }

func (e *entry) lastFault() string {
	if p := e.fault.Load(); p != nil {
		return *p
	}
	return ""
}

// failure is why the extension as a whole is not live; the caller holds Hub.mu.
func (e *entry) failure() string {
	switch {
	case e.removed:
		return "it was taken out"
	case e.broken != "":
		return e.broken
	case e.unmet != "":
		return e.unmet
	case e.global != nil && e.global.live == nil:
		return e.global.reason
	}
	return ""
}

// runnable reports whether instances may be built; the caller holds Hub.mu.
func (e *entry) runnable() bool {
	return !e.removed && e.broken == "" && e.unmet == "" && e.peer != nil
}

// catalog is the list of what is installed, for the whole peer or as one session sees it. It never
// changes; another takes its place.
type catalog struct {
	entries []*entry // in registration order
	// versions are the entries once more, those of one name together. Only what is not compiled in
	// may have several.
	versions [][]*entry
	byName   map[string][]*entry // versions by name
	// words are the declared slash commands. Where one that is compiled in declares a word, only
	// such are listed.
	words map[string][]*entry
	// perAgent says that some extension has agent instances: else no agent document is opened for
	// one.
	perAgent bool
}

// newCatalog sorts the entries and keeps them.
func newCatalog(entries []*entry) *catalog {
	c := &catalog{entries: entries, byName: map[string][]*entry{}, words: map[string][]*entry{}}
	slices.SortFunc(c.entries, compareEntries)
	for rest := c.entries; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].name() == rest[0].name() {
			n++
		}
		c.versions = append(c.versions, rest[:n:n])
		c.byName[rest[0].name()] = rest[:n:n]
		rest = rest[n:]
	}
	for _, e := range c.entries {
		c.perAgent = c.perAgent || e.livesAt(extension.PerAgent)
		for _, w := range e.decl.Commands {
			if !extension.ReservedCommand(w) && (e.builtin || !builtinCommand(w)) {
				c.words[w] = append(c.words[w], e)
			}
		}
	}
	for w, owners := range c.words {
		if owners[0].builtin { // they come first
			c.words[w] = slices.DeleteFunc(owners, func(e *entry) bool { return !e.builtin })
		}
	}
	return c
}

// compiledIn returns what is compiled in under a name, nil if nothing is.
func (c *catalog) compiledIn(name string) *entry {
	if list := c.byName[name]; len(list) > 0 && list[0].builtin {
		return list[0]
	}
	return nil
}

// exact finds the entry with just this reference; one of the session before one of the peer.
func (c *catalog) exact(name string, ref extension.Ref) *entry {
	for _, e := range c.byName[name] {
		if e.decl.Ref.Equal(ref) {
			return e
		}
	}
	return nil
}

// find is exact, but what is compiled in counts in any version.
func (c *catalog) find(name string, ref extension.Ref) *entry {
	if e := c.compiledIn(name); e != nil {
		return e
	}
	return c.exact(name, ref)
}

// compareEntries is the registration order: compiled in as installed, then the others by name; of one
// name that of the session first, then the versions of the peer by reference.
func compareEntries(a, b *entry) int {
	if a.builtin != b.builtin {
		if a.builtin {
			return -1
		}
		return 1
	}
	if a.builtin {
		return cmp.Compare(a.seq, b.seq)
	}
	if c := cmp.Compare(a.name(), b.name()); c != 0 {
		return c
	}
	if a.session.IsZero() != b.session.IsZero() {
		if b.session.IsZero() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.decl.Ref.String(), b.decl.Ref.String())
}

// unmet finds for each entry the first required capability that no other extension provides: one of
// the entries, or of others, whose own state stands. One that fails provides nothing, so this goes
// round until nothing changes. The caller holds Hub.mu.
func unmet(entries, others []*entry) map[*entry]string {
	failed := map[*entry]string{}
	provided := func(by *entry, r extension.Request) bool {
		return r.Kind.HostOnly() ||
			slices.ContainsFunc(entries, func(p *entry) bool { return failed[p] == "" && p.provides(by, r) }) ||
			slices.ContainsFunc(others, func(p *entry) bool { return p.unmet == "" && p.provides(by, r) })
	}
	for changed := true; changed; {
		changed = false
		for _, e := range entries {
			if failed[e] != "" || e.broken != "" {
				continue
			}
			for _, r := range e.decl.Requires {
				if !provided(e, r) {
					failed[e], changed = missing(r), true
					break
				}
			}
		}
	}
	return failed
}

// provides reports whether the extension declares what another one asks for; another version of the
// same one is not another.
func (e *entry) provides(by *entry, r extension.Request) bool {
	return e.name() != by.name() && e.broken == "" && slices.Contains(e.decl.Provides, r.Kind) &&
		(r.Provider == "" || r.Provider == e.name())
}

func missing(r extension.Request) string {
	if r.Provider != "" {
		return fmt.Sprintf("needs the capability %s of %s, which does not provide it here", r.Kind, r.Provider)
	}
	return fmt.Sprintf("needs the capability %s, which no extension here provides", r.Kind)
}
