package extension

import (
	"context"
	"encoding/json"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Instance is what an extension contributes at one scope. Every field is optional; the host calls
// only what the manifest declares. Functions may be called from any goroutine, several at a time;
// their context carries the deadline, and one that outlives it is abandoned and its result dropped.
type Instance struct {
	Tools    []Tool
	Commands []Command
	Hooks    Hooks

	// PromptAugmentation returns text for the system prompt of a turn, or "". Agent and session
	// instances only.
	PromptAugmentation func(ctx context.Context, t Turn) (string, error)
	// ContextTail returns text that goes behind the conversation, or "". Agent and session
	// instances only.
	ContextTail func(ctx context.Context, t Turn) (string, error)
	// StatusSegment returns short texts by key for front ends.
	StatusSegment func(ctx context.Context) (map[string]string, error)

	// What it provides to other extensions.
	Memory    MemoryAccess
	Messenger Messenger
	// Caps are further capabilities by string id, such as "acme/translate".
	Caps map[string]CapFunc

	// Routine is called when a routine that targets the extension fires. Global instances only, or,
	// of code that a session has for itself, that of the session. The active set of a session does
	// not gate it.
	Routine func(ctx context.Context, f Fire) error
	// Shutdown is called exactly once when the instance ends, after every call to it.
	Shutdown func(ctx context.Context) error
}

// Turn says for whom context is gathered.
type Turn struct {
	Session crdt.DocID
	Agent   Agent
	Tools   []string // names of the tools that the turn has
}

// Agent is an agent as extensions see it.
type Agent struct {
	ID   crdt.DocID `json:"id"`
	Name string     `json:"name"`
}

// Fire is one fire of a routine.
type Fire struct {
	Routine string          // its id within the scope
	Scope   string          // global, session:<id> or agent:<id>; for tracing
	Payload json.RawMessage // as it was stored with the routine
}

// Call says in whose name a tool, a command or a hook runs, and lends what may be used meanwhile.
type Call struct {
	Session crdt.DocID
	Agent   Agent // zero for session_start and session_shutdown
	Depth   int   // 0 in a session of people, +1 for each spawned session
	// Lent is what the call may use of the host and of other extensions; it must not be kept.
	Lent Lent
}

// Lent is what the host lends for one call.
type Lent struct {
	// Host are the doors to the machine, cut to the grants of this call. Only tools get them.
	Host Host
	// Settings are the extension's own in the session; zero outside one.
	Settings SettingsAccess
	// Caps finds what other extensions of the effective set provide.
	Caps Resolver
	// Tools lists the tools that the caller's turn has.
	Tools func() []ToolInfo
}

// ToolInfo describes a tool of a turn.
type ToolInfo struct {
	Name        string          `json:"name"`
	Owner       string          `json:"owner"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object
	Policy      Policy          `json:"policy"`
}
