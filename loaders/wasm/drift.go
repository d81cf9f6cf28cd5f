package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Fingerprint returns what tools look like as one text: the hex SHA-256 over name, description and
// schema of all, in the order of their names, then " <name>=<32 hex digits>" for each, so that later
// it can be told which one changed. Any change counts, also of a name; the order and the layout of a
// schema do not. Tools are fingerprinted as [Discover] returns them.
func Fingerprint(tools []DeclaredTool) string {
	sorted := slices.SortedFunc(slices.Values(tools), func(a, b DeclaredTool) int { return strings.Compare(a.Name, b.Name) })
	all := sha256.New()
	var each strings.Builder
	for _, t := range sorted {
		one := toolHash(t)
		all.Write(one[:])
		each.WriteString(" " + t.Name + "=" + hex.EncodeToString(one[:16]))
	}
	return hex.EncodeToString(all.Sum(nil)) + each.String()
}

// toolHash hashes one tool as a JSON list, in which no field can run into the next.
func toolHash(t DeclaredTool) [32]byte {
	schema := t.InputSchema
	if clean, err := cleanSchema(schema); err == nil {
		schema = clean
	}
	b, err := json.Marshal([]string{t.Name, t.Description, string(schema)})
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return sha256.Sum256(b)
}

// trustedTools holds what the tools of an extension may be, and which of them are no longer offered.
type trustedTools struct {
	declared map[string]DeclaredTool // nil: not declared
	prints   map[string]string       // by name; nil: no fingerprint

	mu   sync.Mutex
	gone map[string]string // why a tool is hidden
	told map[string]bool
}

func newTrustedTools(m Module) (*trustedTools, error) {
	t := &trustedTools{gone: map[string]string{}, told: map[string]bool{}}
	if m.Tools != nil {
		t.declared = map[string]DeclaredTool{}
		for _, d := range m.Tools {
			clean, err := cleanTool(m.Decl.Name, d)
			if err != nil {
				return nil, err
			}
			t.declared[d.Name] = clean
		}
	}
	if m.ToolPrint == "" {
		return t, nil
	}
	t.prints = map[string]string{}
	parts := strings.Fields(m.ToolPrint)
	if len(parts) == 0 || len(parts[0]) != 2*sha256.Size {
		return nil, fmt.Errorf("read the fingerprint of the tools: %.80q is none", m.ToolPrint)
	}
	for _, p := range parts[1:] {
		name, print, ok := strings.Cut(p, "=")
		if !ok || len(print) != sha256.Size {
			return nil, fmt.Errorf("read the fingerprint of the tools: %.80q is no part of one", p)
		}
		t.prints[name] = print
	}
	return t, nil
}

// hidden says why a tool is not offered, or "".
func (t *trustedTools) hidden(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone[name]
}

// maxReasons is how many reasons are told; a guest can make up new ones for ever.
const maxReasons = 64

// hide takes a tool away for good; it reports whether the reason is to be told.
func (t *trustedTools) hide(name, why string) (tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, declared := t.declared[name]
	if _, printed := t.prints[name]; declared || printed { // no other was ever offered
		t.gone[name] = why
	}
	if t.told[why] || len(t.told) >= maxReasons {
		return false
	}
	t.told[why] = true
	return true
}

// judge says what is wrong with a listed tool, or "".
func (t *trustedTools) judge(tool DeclaredTool) string {
	if t.declared != nil {
		d, ok := t.declared[tool.Name]
		switch {
		case !ok:
			return fmt.Sprintf("the tool %s is not among the declared ones", tool.Name)
		case d.Description != tool.Description:
			return fmt.Sprintf("the description of the tool %s is not the declared one", tool.Name)
		case !bytes.Equal(d.InputSchema, tool.InputSchema):
			return fmt.Sprintf("the input schema of the tool %s is not the declared one", tool.Name)
		}
	}
	if t.prints != nil {
		print, ok := t.prints[tool.Name]
		hash := toolHash(tool)
		switch {
		case !ok:
			return fmt.Sprintf("the tool %s was not there when the extension was trusted", tool.Name)
		case print != hex.EncodeToString(hash[:16]):
			return fmt.Sprintf("the tool %s is not as it was when the extension was trusted", tool.Name)
		}
	}
	return ""
}

// screen leaves out tools that drifted, hides them for good, and reports each reason once.
func (x *Extension) screen(ctx context.Context, tools []DeclaredTool) []DeclaredTool {
	return slices.DeleteFunc(tools, func(tool DeclaredTool) bool {
		why := x.known.judge(tool)
		if why == "" {
			return x.known.hidden(tool.Name) != ""
		}
		if x.known.hide(tool.Name, why) {
			x.gate.tell(ctx, Event{Op: OpTools, Target: tool.Name, Outcome: Drifted, Detail: why})
			if x.services.Drift != nil {
				x.services.Drift(x.clean(why, 300))
			}
		}
		return true
	})
}

// relist looks at the guest's list again, because it says that it changed. New tools appear when the
// next instance is built.
func (g *guest) relist(ctx context.Context) {
	if _, err := g.list(ctx); err != nil {
		g.x.note("warn", err.Error())
	}
}
