package pipeline

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Turn is what extensions contribute to the caller's turn.
type Turn interface {
	// Active lists the extensions of the effective set.
	Active() []string
	Tools() []extension.ToolInfo
	Tool(name string) (Bound, bool)
	// ToolCall and ToolResult run the hooks. They isolate failing and hanging hooks. validate checks
	// arguments that a hook changed.
	ToolCall(ctx context.Context, tool string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome
	ToolResult(ctx context.Context, tool, text string) ResultOutcome
}

// Bound is a tool of a turn with all it needs to be called but the doors to the machine.
type Bound struct {
	Owner string
	Tool  extension.Tool
	Call  extension.Call // Lent.Host is filled in here
}

// CallOutcome is what the tool_call hooks decided together.
type CallOutcome struct {
	Verdict   extension.Verdict // Allow, Ask or Deny
	Args      json.RawMessage   // as the hooks left them
	ChangedBy []string          // the extensions that changed them, in order
	Reason    string            // of an Ask or a Deny
	By        string            // who asked or denied
}

// ResultOutcome is what the tool_result hooks made of a text.
type ResultOutcome struct {
	Text    string // of a blocked result the reason
	Blocked bool
	By      string // who blocked
}

// allowed reports whether an agent's allow list (nil: everything) takes a tool: by its exact name or
// by "ns__*", all tools whose names begin with "ns__".
func allowed(list []string, tool string) bool {
	if list == nil {
		return true
	}
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, glob := strings.CutSuffix(entry, "*")
		if glob && len(prefix) > 2 && strings.HasSuffix(prefix, "__") {
			return strings.HasPrefix(tool, prefix)
		}
		return entry == tool
	})
}

// Tools describes what a caller may call: the tools of the turn whose owners are active, cut to the
// agent's allow list, with the operator's policies merged in.
func (r *Runner) Tools(t Turn, allow []string) []extension.ToolInfo {
	active := t.Active()
	out := []extension.ToolInfo{}
	for _, i := range t.Tools() {
		if allowed(allow, i.Name) && slices.Contains(active, i.Owner) {
			i.Policy = r.policy(i.Name, i.Policy)
			out = append(out, i)
		}
	}
	return out
}

// find looks a tool up. That there is none, that the agent may not have it and that its owner is not
// active look the same.
func (c *call) find() (Bound, bool) {
	if !allowed(c.q.Allow, c.q.Tool) {
		return Bound{}, false
	}
	b, ok := c.q.Turn.Tool(c.q.Tool)
	if !ok || b.Tool.Run == nil || !slices.Contains(c.q.Turn.Active(), b.Owner) {
		return Bound{}, false
	}
	return b, true
}
