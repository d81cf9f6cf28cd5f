package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Audit writes what happened into the session.
type Audit interface {
	// ToolCall is called before anything else; a call that can't be written down does not run. The id
	// names it in ToolResult.
	ToolCall(ctx context.Context, r CallRecord) (id string, err error)
	// ToolResult is called exactly once for each ToolCall that succeeded. ctx does not end with the
	// call.
	ToolResult(ctx context.Context, r ResultRecord) error
}

// CallRecord is a call as the model made it.
type CallRecord struct {
	Session crdt.DocID
	Agent   extension.Agent
	CallID  string // the model's, may be empty
	Tool    string
	Args    json.RawMessage // as they came, perhaps no JSON
}

// ResultRecord is how a call ended.
type ResultRecord struct {
	Session   crdt.DocID
	Agent     extension.Agent
	Call      string // what ToolCall returned
	CallID    string
	Tool      string
	Owner     string // empty for an unknown tool
	Status    Status
	Preview   string          // the first 500 characters
	ChangedBy []string        // the extensions that changed the arguments, if any
	Args      json.RawMessage // then the final ones
}

// What of arguments an entry holds, so that it stays below the limit of a row even if every byte must
// be escaped.
const maxEntryArgs = 32 << 10

// Entry is the record as an entry of the session: content "<name>(<arguments>)".
func (r CallRecord) Entry() crdt.Entry {
	meta := map[string]any{"tool": r.Tool}
	if r.CallID != "" {
		meta["call_id"] = r.CallID
	}
	args, _ := validPrefix(string(bytes.TrimSpace(r.Args)), maxEntryArgs)
	if short := cutBytes(args, maxEntryArgs); len(short) < len(args) {
		args = fmt.Sprintf("%s… (%d bytes)", short, len(r.Args))
	}
	return entry(r.Agent, crdt.EntryToolCall, firstRunes(r.Tool, 200)+"("+args+")", meta)
}

// Entry is the record as an entry of the session: content "<name> <status>: <preview>".
func (r ResultRecord) Entry() crdt.Entry {
	meta := map[string]any{"tool": r.Tool, "status": r.Status, "call": r.Call}
	if r.CallID != "" {
		meta["call_id"] = r.CallID
	}
	if r.Owner != "" {
		meta["owner"] = r.Owner
	}
	if len(r.ChangedBy) > 0 {
		meta["changed_by"] = r.ChangedBy
		if len(r.Args) <= maxEntryArgs {
			meta["args"] = r.Args
		} else {
			meta["args_bytes"] = len(r.Args)
		}
	}
	return entry(r.Agent, crdt.EntryToolResult, fmt.Sprintf("%s %s: %s", firstRunes(r.Tool, 200), r.Status, r.Preview), meta)
}

func entry(agent extension.Agent, t crdt.EntryType, content string, meta map[string]any) crdt.Entry {
	for key, v := range meta {
		if s, ok := v.(string); ok {
			meta[key] = firstRunes(strings.ToValidUTF8(s, "\uFFFD"), 200)
		}
	}
	text, err := crdt.Canonical(meta)
	if err != nil {
		text = "{}"
	}
	return crdt.Entry{
		Sender: agent.Name, AgentID: agent.ID.String(), Type: t,
		Content: strings.ToValidUTF8(content, "\uFFFD"), Metadata: json.RawMessage(text),
	}
}
