package extension

import "fmt"

// HookKind is one way in which an extension takes part in a turn; its value is the wire form.
type HookKind string

// The hook kinds.
const (
	HookBeforeAgentStart HookKind = "before_agent_start"
	HookToolCall         HookKind = "tool_call"
	HookToolResult       HookKind = "tool_result"
	HookAgentEnd         HookKind = "agent_end"
	HookSessionStart     HookKind = "session_start"
	HookSessionShutdown  HookKind = "session_shutdown"
	HookTool             HookKind = "tool"
	HookCommand          HookKind = "command"
)

// Display returns the form that people read, or "" for an unknown kind.
func (k HookKind) Display() string {
	switch k {
	case HookBeforeAgentStart:
		return "BeforeAgentStart"
	case HookToolCall:
		return "ToolCall"
	case HookToolResult:
		return "ToolResult"
	case HookAgentEnd:
		return "AgentEnd"
	case HookSessionStart:
		return "SessionStart"
	case HookSessionShutdown:
		return "SessionShutdown"
	case HookTool:
		return "Tool"
	case HookCommand:
		return "Command"
	}
	return ""
}

// ParseHookKind reads the wire form.
func ParseHookKind(s string) (HookKind, error) {
	if k := HookKind(s); k.Display() != "" {
		return k, nil
	}
	return "", fmt.Errorf("parse hook kind %.40q: unknown", s)
}

// UnmarshalText makes unknown kinds an error when a manifest is read.
func (k *HookKind) UnmarshalText(b []byte) (err error) {
	*k, err = ParseHookKind(string(b))
	return err
}

// Scope is where an extension lives: it has one instance for each peer, agent or session.
type Scope string

// The scopes.
const (
	Global     Scope = "global"
	PerAgent   Scope = "per_agent"
	PerSession Scope = "per_session"
)
