package extension

import (
	"fmt"
	"slices"
)

// Capability is a typed service that crosses the border between extension and host; its value is the
// wire form.
type Capability string

// Capabilities that only the host provides.
const (
	CapSessionRead         Capability = "session_read"
	CapSessionWrite        Capability = "session_write"
	CapSettings            Capability = "settings"
	CapToolRegistration    Capability = "tool_registration"
	CapCommandRegistration Capability = "command_registration"
	CapAgentStateAdmin     Capability = "agent_state_admin"
)

// Capabilities that extensions may provide to others.
const (
	CapMessenger          Capability = "messenger"
	CapMemory             Capability = "memory"
	CapPromptAugmentation Capability = "prompt_augmentation"
	CapContextTail        Capability = "context_tail"
	CapStatusSegment      Capability = "status_segment"
)

// HostOnly reports whether no extension may provide the capability.
func (c Capability) HostOnly() bool {
	switch c {
	case CapSessionRead, CapSessionWrite, CapSettings, CapToolRegistration, CapCommandRegistration, CapAgentStateAdmin:
		return true
	}
	return false
}

// ParseCapability reads the wire form.
func ParseCapability(s string) (Capability, error) {
	c := Capability(s)
	switch c {
	case CapMessenger, CapMemory, CapPromptAugmentation, CapContextTail, CapStatusSegment:
		return c, nil
	}
	if c.HostOnly() {
		return c, nil
	}
	return "", fmt.Errorf("parse capability %.40q: unknown", s)
}

// UnmarshalText makes unknown capabilities an error when a manifest is read.
func (c *Capability) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCapability(string(b))
	return err
}

// Request asks for a capability. Absent fields are not written.
type Request struct {
	Kind Capability `json:"kind"`
	// Provider names the extension that is to provide it; "" takes any. For capabilities that
	// extensions provide.
	Provider string `json:"provider,omitempty"`
	// Agents limits agent_state_admin to agents of these display names: nil is no limit, an empty
	// list is none.
	Agents []string `json:"agents,omitzero"`
}

// Equal reports whether two requests are the same: kind, provider and agents.
func (r Request) Equal(o Request) bool {
	return r.Kind == o.Kind && r.Provider == o.Provider &&
		(r.Agents == nil) == (o.Agents == nil) && slices.Equal(r.Agents, o.Agents)
}
