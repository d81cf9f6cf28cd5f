package control

import "encoding/json"

// SecretSetParams stores a secret of this peer.
type SecretSetParams struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SecretParams names a secret.
type SecretParams struct {
	Name string `json:"name"`
}

// SecretListParams has no fields.
type SecretListParams struct{}

// SecretInfo is a secret without its value.
type SecretInfo struct {
	Name string `json:"name"`
}

// ToolListParams asks for the tools that a turn of an agent in a session would have.
type ToolListParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
}

// ToolParams asks for one of them.
type ToolParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	Tool    string `json:"tool"`
}

// Tool is one tool as a model would be told of it.
type Tool struct {
	Name        string          `json:"name"`
	Owner       string          `json:"owner"` // the extension it belongs to
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
	Risk        string          `json:"risk"`
	Approval    string          `json:"approval"`
	TimeoutMS   int64           `json:"timeout_ms"`
}

// ToolCallParams calls a tool through the same pipeline as a model's call. Approve answers yes where
// a person is asked; without it what needs approval is denied.
type ToolCallParams struct {
	Session string          `json:"session"`
	Agent   string          `json:"agent,omitempty"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Approve bool            `json:"approve,omitempty"`
}

// ToolCalled is what became of a call: ok, error, timeout, denied, limited, unknown, invalid or
// blocked; and the text that a model would read.
type ToolCalled struct {
	Status    string          `json:"status"`
	Output    string          `json:"output"`
	FinalArgs json.RawMessage `json:"final_args,omitempty"` // when hooks changed the arguments
	ChangedBy List[string]    `json:"changed_by,omitempty"` // the extensions that did
}

// ContextParams asks for what a turn would get.
type ContextParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
}

// TurnContext is what a turn of an agent would start with.
type TurnContext struct {
	Session string       `json:"session"`
	Agent   string       `json:"agent"`
	System  string       `json:"system"` // with augmentations
	Tail    string       `json:"tail"`
	Active  List[string] `json:"active"` // the effective set
	Tools   List[Tool]   `json:"tools"`
}

// RoutineListParams has no fields.
type RoutineListParams struct{}

// Routine is one routine of this peer.
type Routine struct {
	ID        string          `json:"id"` // with its scope in front
	Name      string          `json:"name"`
	Scope     string          `json:"scope"` // global, session or agent
	Extension string          `json:"extension"`
	Trigger   json.RawMessage `json:"trigger"`
	Payload   json.RawMessage `json:"payload"`
	Enabled   bool            `json:"enabled"`
	Failures  int             `json:"failures"`
	LastError string          `json:"last_error"`
	Next      *Time           `json:"next"` // null: does not fire here
	Reason    string          `json:"reason"`
}

// RoutineAddParams adds a routine. One of Cron, EverySecs and At; Session empty: a routine of the
// peer.
type RoutineAddParams struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Session   string          `json:"session,omitempty"`
	Extension string          `json:"extension"`
	Cron      string          `json:"cron,omitempty"`
	TZ        string          `json:"tz,omitempty"`
	EverySecs int64           `json:"every_secs,omitempty"`
	At        string          `json:"at,omitempty"` // RFC 3339
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// RoutineParams names a routine.
type RoutineParams struct {
	Routine string `json:"routine"`
}
