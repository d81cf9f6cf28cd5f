package control

import "encoding/json"

// ConfigParams has no fields.
type ConfigParams struct{}

// Settings is what a node runs with: the config file with flags and defaults applied. It holds no
// secret, only the names of some.
type Settings struct {
	Name          string          `json:"name"`
	Listen        List[string]    `json:"listen"`
	MDNS          bool            `json:"mdns"`
	StaticPeers   List[string]    `json:"static_peers"`
	ClockSkewMS   int64           `json:"clock_skew_ms"`
	ControlTCP    string          `json:"control_tcp"`
	MemoryBudget  int64           `json:"memory_budget"` // bytes
	LogLevel      string          `json:"log_level"`
	Agents        List[AgentSpec] `json:"agents"`
	DefaultAgents List[string]    `json:"default_agents"`
	WorkFolder    string          `json:"work_folder"`
	Security      Security        `json:"security"`
	// AgentStateAllowlist says which agents an extension may administer; an extension that is not
	// named may administer all.
	AgentStateAllowlist map[string][]string `json:"agent_state_allowlist"`
	WebSearch           WebSearch           `json:"web_search"`
	// SkillDirs may be relative to the working folder of the process.
	SkillDirs  List[string]    `json:"skill_dirs"`
	Extensions ExtensionLimits `json:"extensions"`
	Routines   RoutineLimits   `json:"routines"`
}

// AgentSpec is an agent as the config file declares it: a template that is read when the agent's
// document is created, and again when the block changes. Config holds only the fields that were
// given.
type AgentSpec struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config,omitempty"`
}

// Security is what the operator lets tools do. A list that is null says nothing, so that the default
// of its kind counts; an empty one allows nothing.
type Security struct {
	AutoApprovedTools List[string]          `json:"auto_approved_tools"`
	LeakPolicy        string                `json:"leak_policy"` // redact or block
	ToolPolicies      map[string]ToolPolicy `json:"tool_policies"`
	ShellAllowlist    []string              `json:"shell_allowlist"`
	ShellDenylist     []string              `json:"shell_denylist"`
	ShellSandbox      string                `json:"shell_sandbox"` // off or bwrap
	Network           Network               `json:"network"`
	AllowRead         []string              `json:"allow_read"`
	AllowWrite        []string              `json:"allow_write"`
}

// ToolPolicy is laid over what a tool says of itself, field by field; a field that is missing leaves
// the tool's own.
type ToolPolicy struct {
	Risk      string   `json:"risk,omitempty"`       // low, medium or high
	Approval  string   `json:"approval,omitempty"`   // never, unless_auto_approved or always
	TimeoutMS int64    `json:"timeout_ms,omitempty"` // of one call
	RateLimit *int     `json:"rate_limit,omitempty"` // calls a minute; 0 switches the tool off
	Sensitive []string `json:"sensitive,omitzero"`   // parameters that are not shown to people
}

// Network is which addresses tools may fetch.
type Network struct {
	Endpoints    []NetworkEndpoint `json:"endpoints"` // null: all
	AllowPrivate bool              `json:"allow_private"`
}

// NetworkEndpoint is one allowed set of addresses: "*.x" is x and its subdomains. Methods missing is
// all of them.
type NetworkEndpoint struct {
	Host       string   `json:"host"`
	PathPrefix string   `json:"path_prefix,omitempty"`
	Methods    []string `json:"methods,omitzero"`
}

// WebSearch is where web_search asks, the first provider first.
type WebSearch struct {
	Providers List[SearchProvider] `json:"providers"`
}

// SearchProvider is one search service. Key names a secret, or a variable of the environment as
// ${NAME}; it is never the key itself.
type SearchProvider struct {
	Kind    string `json:"kind"`
	APIBase string `json:"api_base,omitempty"`
	Key     string `json:"key,omitempty"`
}

// ExtensionLimits are the deadlines of extensions, and the time without use after which an instance
// of an agent or a session ends.
type ExtensionLimits struct {
	HookDeadlineSecs        int64 `json:"hook_deadline_secs"`
	InstantiateDeadlineSecs int64 `json:"instantiate_deadline_secs"`
	IdleEvictionSecs        int64 `json:"idle_eviction_secs"`
	// GitHosts may be contacted by plain http and at private addresses; repositories in GitLocal may be
	// read from disk. Policy is what holds for all code from outside, null for nothing.
	GitHosts List[string]    `json:"git_hosts"`
	GitLocal List[string]    `json:"git_local"`
	Policy   json.RawMessage `json:"policy"`
}

// RoutineLimits bound what fires by itself.
type RoutineLimits struct {
	MaxConcurrent       int   `json:"max_concurrent"`
	HandlerDeadlineSecs int64 `json:"handler_deadline_secs"`
}
