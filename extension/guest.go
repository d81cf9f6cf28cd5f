package extension

// GuestCaps are the powers that an extension in a sandbox asks for or was given. The zero value is
// none: no network, no files, no secrets, nothing of the session. An unknown key is refused when it is
// read, so that a power invented later is never ignored in silence.
type GuestCaps struct {
	// Net lists hosts that it may send requests to: "host", "host:port" or "*.suffix" (which does not
	// cover suffix itself). Without a port 443 and 80 are meant.
	Net []string `json:"net,omitempty"`
	// FS lists folders by an id; which folder of this machine an id means is bound locally.
	FS []GuestMount `json:"fs,omitempty"`
	// Secrets lists names of secrets whose values it gets.
	Secrets []string `json:"secrets,omitempty"`
	// Settings is what it may do with its own settings: "", "read" or "write" (which includes read).
	Settings GuestAccess `json:"settings,omitempty"`
	// SessionRead is how many of the newest entries of its session it may read; -1 is all.
	SessionRead int `json:"session_read,omitempty"`
	// SessionWrite lets it add messages to its session.
	SessionWrite bool `json:"session_write,omitempty"`
	// KV is how many bytes of its own data it may keep.
	KV int64 `json:"kv,omitempty"`
	// LLM is what it may ask of a model; nil is nothing.
	LLM *GuestLLM `json:"llm,omitempty"`
	// Hooks says for tool_call, tool_result and before_agent_start whether it only sees or also
	// changes; a decision of one that only observes is not followed.
	Hooks map[HookKind]GuestHook `json:"hooks,omitempty"`
	// Memory is what it may do with memories through the capability memory: "", "read" or "write".
	Memory GuestAccess `json:"memory,omitempty"`
	// Messenger lets it send through the capability messenger.
	Messenger bool `json:"messenger,omitempty"`
	// Caps lists typed capabilities of other extensions by string id, such as "acme/translate".
	Caps []string `json:"caps,omitempty"`
}

// GuestMount is one folder.
type GuestMount struct {
	ID string `json:"id"`
	// Path is where the guest sees it, absolute, such as "/notes".
	Path  string `json:"path"`
	Write bool   `json:"write,omitempty"`
}

// GuestAccess is none, read or write.
type GuestAccess string

// The accesses.
const (
	GuestRead  GuestAccess = "read"
	GuestWrite GuestAccess = "write"
)

// GuestLLM bounds what a guest may ask of a model.
type GuestLLM struct {
	CallsPerDay  int   `json:"calls_per_day"`
	TokensPerDay int64 `json:"tokens_per_day"`
}

// GuestHook is how far a hook of a guest reaches.
type GuestHook string

// The reaches.
const (
	GuestObserve GuestHook = "observe"
	GuestModify  GuestHook = "modify"
)

// GuestLimits bound one call of a guest, and its memory. Zero fields take the default of this peer.
type GuestLimits struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	FuelPerCall int64 `json:"fuel_per_call,omitempty"` // about one unit an instruction
	DeadlineMS  int64 `json:"deadline_ms,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"`
}

// The interfaces between an extension in a sandbox and its host. The name of each includes its
// version.
const (
	ABIExtismV1 = "extism-mcp-v1" // describe, call
	ABIExtismV2 = "extism-mcp-v2" // list_tools, call_tool and seven more
	ABIChaz1    = "chaz-ext-1"    // tools, commands, hooks, context, routine
)
