package control

// ShareOptions is what a ticket gives. Role: read, write or admin. Uses 0: any number. ExpiresMS 0:
// never. Ask: the ticket holds no secret, who uses it asks for Role and must be approved.
type ShareOptions struct {
	Role      string `json:"role"`
	Uses      int    `json:"uses"`
	ExpiresMS int64  `json:"expires_ms"`
	Ask       bool   `json:"ask,omitempty"`
}

// SessionShareParams makes a ticket for a session.
type SessionShareParams struct {
	Session string `json:"session"`
	ShareOptions
}

// AgentShareParams makes a ticket for an agent.
type AgentShareParams struct {
	Agent string `json:"agent"`
	ShareOptions
}

// Ticket is a fresh ticket, one line of text, and the id under which it is listed and revoked.
type Ticket struct {
	Ticket string `json:"ticket"`
	TicketInfo
}

// TicketInfo is a ticket without its secret.
type TicketInfo struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Uses    int    `json:"uses"` // 0: any number
	Used    int    `json:"used"`
	Expires *Time  `json:"expires"` // null: never
	Revoked bool   `json:"revoked"`
}

// SessionTicketParams names one ticket of a session.
type SessionTicketParams struct {
	Session string `json:"session"`
	Ticket  string `json:"ticket"`
}

// AgentTicketParams names one ticket of an agent.
type AgentTicketParams struct {
	Agent  string `json:"agent"`
	Ticket string `json:"ticket"`
}

// JoinParams redeems a ticket and waits as long for the first complete copy. Name: the local name of
// the document here. Role: what to ask for when the ticket holds no secret (empty: what it says).
type JoinParams struct {
	Ticket string `json:"ticket"`
	WaitMS int64  `json:"wait_ms"`
	Name   string `json:"name,omitempty"`
	Role   string `json:"role,omitempty"`
}

// Joined is how a join stands when the wait is over: ready, pending, not_served or offline.
type Joined struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	State  State  `json:"state"`
	Reason string `json:"reason"`
}
