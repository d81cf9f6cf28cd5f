package loaders

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Card is what a person decides on. It is made of the very structure that is executed, and every text
// that came with the code is cleaned.
type Card struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Remedy  string `json:"remedy,omitempty"`

	Ref       extension.Ref `json:"ref"`
	Root      string        `json:"root,omitempty"` // CID of the package
	Key       string        `json:"key"`
	SHA256    string        `json:"sha256"` // of the module
	Size      int64         `json:"size"`   // bytes of the module
	ABI       string        `json:"abi"`
	Publisher string        `json:"publisher,omitempty"` // a peer id whose signature holds
	Synthetic bool          `json:"synthetic,omitempty"` // a bare module without a manifest
	Yanked    string        `json:"yanked,omitempty"`

	Scopes []string `json:"scopes"` // a sentence each, as all lists of words below
	Powers []string `json:"powers"` // what it asks for
	Flags  []string `json:"flags"`  // the same for --cap
	// Granted is what it has or would have here; only of a package that was trusted.
	Granted []string `json:"granted,omitempty"`
	// Always are what it does without asking for a power.
	Always   []string   `json:"always"`
	Tools    []CardTool `json:"tools"`
	Declared bool       `json:"declared"` // the tools stand in the manifest; else they were asked for or are not known
	Commands []Command  `json:"commands"`
	Limits   []string   `json:"limits"`
	Settings []string   `json:"settings"` // key = default

	License  string    `json:"license,omitempty"`
	Homepage string    `json:"homepage,omitempty"`
	Source   string    `json:"source,omitempty"`
	Changes  *CardDiff `json:"changes,omitempty"`
}

// CardTool is a tool as models see it.
type CardTool struct {
	Name        string `json:"name"` // <extension>__<tool>
	Description string `json:"description"`
}

// CardDiff is what differs from the version that was trusted before.
type CardDiff struct {
	Since   int64    `json:"since"`   // ms, when that was decided
	Parts   []string `json:"parts"`   // in short
	Added   []string `json:"added"`   // powers, tools, hooks and commands that are new
	Removed []string `json:"removed"` // and those that are gone
}

// Describe makes the card of a resolution with a package. previous is the decision to compare with; nil
// takes that of the resolution if it is about other content. tools are those that a guest listed which
// declares none; nil is not known. It returns nil where there is no package.
func Describe(r Resolution, previous *Decision, tools []Tool) *Card {
	pkg := r.Package
	if pkg == nil {
		return nil
	}
	m, key := pkg.Manifest, pkg.Key().String()
	c := &Card{
		Name: m.Name, Version: m.Version, State: r.State, Reason: r.Reason, Remedy: r.Remedy,
		Ref: pkg.Ref, Root: pkg.Root, Key: key, SHA256: m.WASMSHA256, Size: m.WASMSize, ABI: m.ABI,
		Synthetic: m.Synthetic, Yanked: oneLine(pkg.Yanked), Declared: m.Tools != nil,
		Powers: m.Capabilities.Words(), Flags: m.Capabilities.Flags(), Always: always(m),
		Scopes: scopeWords(m), Limits: limitWords(m.Limits),
		License: m.License, Homepage: m.Homepage, Source: m.Source,
	}
	if id := pkg.signer(); !id.IsZero() {
		c.Publisher = id.String()
	}
	if r.State == StateTrusted {
		c.Granted = r.Caps.Words()
	}
	if m.Tools != nil {
		tools = m.Tools
	}
	for _, t := range tools {
		c.Tools = append(c.Tools, CardTool{FullToolName(m.Name, t.Name), CleanDescription(t.Description)})
	}
	for _, cmd := range m.Commands {
		c.Commands = append(c.Commands, Command{Name: cmd.Name, Help: oneLine(cmd.Help)})
	}
	for _, k := range slices.Sorted(maps.Keys(m.Settings)) {
		c.Settings = append(c.Settings, k+" = "+oneLine(string(m.Settings[k])))
	}
	if previous == nil {
		previous = r.Decision
	}
	if previous != nil && !previous.Deny && (previous.Key != key || previous.Drift != "") {
		c.Changes = changes(pkg, tools, *previous)
	}
	return c
}

func changes(pkg *Package, tools []Tool, d Decision) *CardDiff {
	out := &CardDiff{Since: d.At, Parts: changedParts(pkg, d)}
	if d.Drift != "" {
		out.Parts = []string{d.Drift}
	}
	old := d.shown()
	if old == nil {
		return out
	}
	now, then := traits(pkg.Manifest, tools), traits(old, old.Tools)
	missing := func(from []string) func(string) bool {
		return func(s string) bool { return slices.Contains(from, s) }
	}
	out.Added = slices.DeleteFunc(slices.Clone(now), missing(then))
	out.Removed = slices.DeleteFunc(slices.Clone(then), missing(now))
	return out
}

// traits is everything that a person compares, a line each.
func traits(m *Manifest, tools []Tool) []string {
	out := slices.Concat(m.Capabilities.Words(), always(m), scopeWords(m))
	for _, t := range tools {
		out = append(out, "Tool "+FullToolName(m.Name, t.Name)+": "+CleanDescription(t.Description))
	}
	for _, c := range m.Commands {
		out = append(out, "Command /"+c.Name+": "+oneLine(c.Help))
	}
	if name := publisherName(m); name != "" {
		out = append(out, "Published by "+name+".")
	}
	return append(out, "Module "+m.WASMSHA256+", "+strconv.FormatInt(m.WASMSize, 10)+" bytes.")
}

// always says what a package does without a power: the places that it takes in a turn, what it gives to
// others.
func always(m *Manifest) []string {
	var out []string
	if m.MayHaveTools() {
		out = append(out, "Gives the model tools; it sees what the model passes to them, and the model reads what they answer.")
	}
	for _, k := range m.Kinds() {
		if w := kindWords(k); w != "" {
			out = append(out, w)
		}
	}
	for _, p := range m.Provides {
		switch extension.Capability(p) {
		case extension.CapPromptAugmentation:
			out = append(out, "Adds text to the instructions of the model in every turn.")
		case extension.CapContextTail:
			out = append(out, "Adds text behind the conversation in every turn.")
		case extension.CapMemory:
			out = append(out, "Gives other extensions memories of its own.")
		case extension.CapMessenger:
			out = append(out, "Delivers messages for other extensions, and reads them.")
		default:
			out = append(out, "Provides "+p+" to other extensions.")
		}
	}
	if m.Enforcing {
		out = append(out, "Stops tool calls when it fails itself (it says that it enforces rules).")
	}
	return out
}

func scopeWords(m *Manifest) []string {
	var out []string
	for _, s := range m.LivesAt() {
		switch s {
		case extension.Global:
			out = append(out, "Has one instance for all conversations of this machine, so what it learns in one it may use in another.")
		case extension.PerAgent:
			out = append(out, "Has one instance for each agent, shared by that agent's conversations.")
		default:
			out = append(out, "Has its own instance in each conversation where it is switched on.")
		}
	}
	return out
}

func limitWords(l extension.GuestLimits) []string {
	var out []string
	add := func(n int64, format, value string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, value))
		}
	}
	add(l.MemoryBytes, "Asks for %s of memory.", sizeText(l.MemoryBytes))
	add(l.DeadlineMS, "Asks for %s a call.", (time.Duration(l.DeadlineMS) * time.Millisecond).String())
	add(l.FuelPerCall, "Asks for %s instructions a call, about.", strconv.FormatInt(l.FuelPerCall, 10))
	add(l.OutputBytes, "Asks for results of up to %s.", sizeText(l.OutputBytes))
	return out
}

// when writes a stamp of this peer's clock for people.
func when(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }
