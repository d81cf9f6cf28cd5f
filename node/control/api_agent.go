package control

// AgentParams names one agent.
type AgentParams struct {
	Agent string `json:"agent"`
}

// AgentNewParams creates an agent with these config fields, as text in the form of [AgentSetParams].
type AgentNewParams struct {
	Name   string            `json:"name"`
	Config map[string]string `json:"config,omitempty"`
}

// AgentListParams has no fields.
type AgentListParams struct{}

// AgentSummary is one agent in a list.
type AgentSummary struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Role     string `json:"role"`   // of this peer
	Hosted   bool   `json:"hosted"` // this peer may write to it
	Model    string `json:"model"`
	HomePeer string `json:"home_peer"`
	StoredOn int    `json:"stored_on"`
	Sessions int    `json:"sessions"` // here, that it is attached to
}

// AgentShow is an agent in detail.
type AgentShow struct {
	AgentSummary
	Heads    List[string]       `json:"heads"`
	Config   map[string]any     `json:"config"`
	OptOuts  List[string]       `json:"opt_outs"` // extensions that it has switched off for itself
	Attached List[SessionRef]   `json:"attached"`
	Members  List[Member]       `json:"members"`
	Peers    List[DocumentPeer] `json:"peers"`
}

// SessionRef names a session.
type SessionRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AgentSetParams sets one config field from text: lists comma-separated, booleans true/1/yes/on. An
// empty value takes the field away.
type AgentSetParams struct {
	Agent string `json:"agent"`
	Field string `json:"field"`
	Value string `json:"value"`
}

// AgentInviteParams gives a known key a role in the agent without a ticket.
type AgentInviteParams struct {
	Agent string `json:"agent"`
	Peer  string `json:"peer"`
	Role  string `json:"role"`
}

// Invited is what a peer may do now.
type Invited struct {
	ID     string `json:"id"` // of the agent
	PeerID string `json:"peer_id"`
	Role   string `json:"role"`
}

// AgentForgetParams drops this peer's copy. An agent that is attached somewhere here, and without
// Force one that nobody else stores completely, is [CodeConflict].
type AgentForgetParams struct {
	Agent string `json:"agent"`
	Force bool   `json:"force,omitempty"`
}
