package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// toolPrint is what tells two lists of declared tools apart: names, descriptions and schemas, in any
// order. A tool that changed its words is another tool, for a model reads them.
func toolPrint(tools []Tool) string {
	var lines []string
	for _, t := range tools {
		schema, err := plainJSON(t.InputSchema)
		if err != nil {
			schema = json.RawMessage(`"unreadable"`)
		}
		text, err := crdt.Canonical([]any{t.Name, t.Description, schema})
		if err != nil {
			text = "unreadable: " + t.Name
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// shown reads the manifest that a decision was made on; nil where it is not known.
func (d Decision) shown() *Manifest {
	if len(d.Manifest) == 0 {
		return nil
	}
	m, err := readManifest(d.Manifest)
	if err != nil {
		return nil
	}
	return m
}

// beyond says what a manifest asks for beyond a rule for its publisher; "" is nothing.
func beyond(m *Manifest, rule Decision) string {
	old := rule.shown()
	switch {
	case old == nil:
		return "the manifest of the rule can't be read"
	case !m.Capabilities.Subset(rule.Caps):
		return "powers"
	case !subset(m.LivesAt(), old.LivesAt()):
		return "scopes"
	case !subset(m.Kinds(), old.Kinds()):
		return "hooks"
	case !subset(m.Provides, old.Provides):
		return "what it provides"
	case m.Enforcing && !old.Enforcing:
		return "enforcing"
	}
	return ""
}

// changedParts names what differs from what a decision was made on, in an order of weight.
func changedParts(pkg *Package, d Decision) []string {
	old, now := d.shown(), pkg.Manifest
	if old == nil {
		return []string{"what was shown then can't be read any more"}
	}
	var out []string
	add := func(differs bool, what string) {
		if differs {
			out = append(out, what)
		}
	}
	add(!now.Capabilities.Subset(old.Capabilities), "it asks for more powers")
	add(now.Capabilities.Subset(old.Capabilities) && !old.Capabilities.Subset(now.Capabilities), "it asks for fewer powers")
	add(publisherName(now) != publisherName(old), "another publisher")
	add(!equalSets(now.LivesAt(), old.LivesAt()) || !equalSets(now.Kinds(), old.Kinds()), "other scopes or hooks")
	add(!equalSets(now.Provides, old.Provides), "it provides other things")
	add(toolPrint(now.Tools) != toolPrint(old.Tools), "other tools or descriptions of them")
	add(now.WASMSHA256 != old.WASMSHA256, "other code")
	if len(out) == 0 {
		out = append(out, "another manifest")
	}
	return out
}

// publisherName is the publisher's key as a peer id; empty if there is none.
func publisherName(m *Manifest) string {
	if m.Publisher == nil {
		return ""
	}
	if id, err := m.Publisher.ID(); err == nil {
		return id.String()
	}
	return m.Publisher.Key
}

func subset[T comparable](list, of []T) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !slices.Contains(of, x) })
}

func equalSets[T comparable](a, b []T) bool { return subset(a, b) && subset(b, a) }

// kindWords say what a hook kind without a capability of its own lets an extension do.
func kindWords(k extension.HookKind) string {
	switch k {
	case extension.HookAgentEnd:
		return "Is told when a turn of an agent has ended."
	case extension.HookSessionStart:
		return "Is told when this machine begins to run the agents of the conversation."
	case extension.HookSessionShutdown:
		return "Is told when the conversation is closed here."
	}
	return ""
}
