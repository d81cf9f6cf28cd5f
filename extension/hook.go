package extension

import "fmt"

// HookKind is one way in which an extension takes part in a turn; its value is the wire form.
type HookKind string

// The hook kinds.
const (
	BeforeAgentStart HookKind = "before_agent_start"
	ToolCall         HookKind = "tool_call"
	ToolResult       HookKind = "tool_result"
	AgentEnd         HookKind = "agent_end"
	SessionStart     HookKind = "session_start"
	SessionShutdown  HookKind = "session_shutdown"
	Tool             HookKind = "tool"
	Command          HookKind = "command"
)

// Display returns the form that people read, or "" for an unknown kind.
func (k HookKind) Display() string {
	switch k {
	case BeforeAgentStart:
		return "BeforeAgentStart"
	case ToolCall:
		return "ToolCall"
	case ToolResult:
		return "ToolResult"
	case AgentEnd:
		return "AgentEnd"
	case SessionStart:
		return "SessionStart"
	case SessionShutdown:
		return "SessionShutdown"
	case Tool:
		return "Tool"
	case Command:
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
