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
	builtin  bool
	seq      int // order of installation
	peer     *extension.Peer
	defaults map[string]json.RawMessage
	broken   string // the declaration can't be run by this build

	failures  atomic.Int32 // in a row
	suspended atomic.Bool
	fault     atomic.Pointer[string] // the last one

	unmet  string // Hub.mu: a required capability that nobody provides
	global *slot  // Hub.mu: nil where it has no Global instance
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
func (e *entry) runnable() bool { return e.broken == "" && e.unmet == "" && e.peer != nil }

// catalog is the list of installed extensions. It never changes; another takes its place.
type catalog struct {
	entries []*entry // in registration order
	byName  map[string]*entry
	// words are the declared slash commands. Where one that is compiled in declares a word, only
	// such are listed.
	words map[string][]*entry
	// perAgent says that some extension has agent instances: else no agent document is opened for
	// one.
	perAgent bool
}

func newCatalog(entries []*entry) *catalog {
	c := &catalog{entries: entries, byName: map[string]*entry{}, words: map[string][]*entry{}}
	slices.SortFunc(c.entries, compareEntries)
	for _, e := range c.entries {
		c.byName[e.name()] = e
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

// compareEntries is the registration order: compiled in as installed, then the others by name.
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
	return cmp.Compare(a.name(), b.name())
}

// unmet finds for each extension the first required capability that no other one provides. One that
// fails provides nothing, so this goes round until nothing changes.
func unmet(entries []*entry) map[*entry]string {
	failed := map[*entry]string{}
	for changed := true; changed; {
		changed = false
		for _, e := range entries {
			if failed[e] != "" || e.broken != "" {
				continue
			}
			for _, r := range e.decl.Requires {
				if !provided(entries, failed, e, r) {
					failed[e], changed = missing(r), true
					break
				}
			}
		}
	}
	return failed
}

func provided(entries []*entry, failed map[*entry]string, by *entry, r extension.Request) bool {
	if r.Kind.HostOnly() {
		return true
	}
	return slices.ContainsFunc(entries, func(p *entry) bool {
		return p != by && failed[p] == "" && p.broken == "" && slices.Contains(p.decl.Provides, r.Kind) &&
			(r.Provider == "" || r.Provider == p.name())
	})
}

func missing(r extension.Request) string {
	if r.Provider != "" {
		return fmt.Sprintf("needs the capability %s of %s, which does not provide it here", r.Kind, r.Provider)
	}
	return fmt.Sprintf("needs the capability %s, which no extension here provides", r.Kind)
}
