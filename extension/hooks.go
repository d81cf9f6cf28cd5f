package extension

import (
	"context"
	"encoding/json"
)

// Hooks are an instance's places in a turn's life. A hook that panics, fails or passes its deadline
// counts as the neutral answer, unless its extension is enforcing.
type Hooks struct {
	// BeforeAgentStart returns messages that go behind everything else; they are not kept.
	BeforeAgentStart func(ctx context.Context, c Call) ([]Message, error)
	// ToolCall decides about a call before it runs.
	ToolCall func(ctx context.Context, c Call, t ToolCallInput) (CallDecision, error)
	// ToolResult sees the text of a successful call before the model does.
	ToolResult func(ctx context.Context, c Call, t ToolResultInput) (ResultDecision, error)
	// AgentEnd runs after a turn that did not fail.
	AgentEnd func(ctx context.Context, c Call) error
	// SessionStart runs when this peer begins to run a session's agents, SessionShutdown when the
	// session is closed here or the process stops in order.
	SessionStart    func(ctx context.Context, c Call) error
	SessionShutdown func(ctx context.Context, c Call) error
}

// Message is one message of a conversation with a model.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// ToolCallInput is a call as the previous hooks left it.
type ToolCallInput struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// ToolResultInput is a result as the previous hooks left it.
type ToolResultInput struct {
	Tool   string `json:"tool"`
	Result string `json:"result"`
}

// Verdict is what a tool_call hook decides.
type Verdict string

// The verdicts. A deny ends the chain; an ask demands a person's approval whatever the policy says;
// an allow never lifts a rule of the policy.
const (
	Allow  Verdict = "allow"
	Modify Verdict = "modify"
	Deny   Verdict = "deny"
	Ask    Verdict = "ask"
)

// CallDecision is the answer of a tool_call hook. The zero value allows.
type CallDecision struct {
	Verdict Verdict         `json:"verdict"`
	Args    json.RawMessage `json:"args,omitempty"`   // of a modify: the new arguments, whole
	Reason  string          `json:"reason,omitempty"` // of a deny or an ask
}

// Treatment is what a tool_result hook does with a text.
type Treatment string

// The treatments. Annotate appends; Block withholds the result and shows the text as the reason.
const (
	Keep     Treatment = "keep"
	Replace  Treatment = "replace"
	Annotate Treatment = "annotate"
	Block    Treatment = "block"
)

// ResultDecision is the answer of a tool_result hook. The zero value keeps.
type ResultDecision struct {
	Treatment Treatment `json:"treatment"`
	Text      string    `json:"text,omitempty"`
}

// Kinds lists the hook kinds for which there is a function.
func (h Hooks) Kinds() []HookKind {
	var out []HookKind
	add := func(there bool, k HookKind) {
		if there {
			out = append(out, k)
		}
	}
	add(h.BeforeAgentStart != nil, HookBeforeAgentStart)
	add(h.ToolCall != nil, HookToolCall)
	add(h.ToolResult != nil, HookToolResult)
	add(h.AgentEnd != nil, HookAgentEnd)
	add(h.SessionStart != nil, HookSessionStart)
	add(h.SessionShutdown != nil, HookSessionShutdown)
	return out
}
