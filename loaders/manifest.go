package loaders

import (
	"encoding/json"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Schema is the only manifest schema that this version knows.
const Schema = "chaz-extension/1"

// Manifest is what a package says about itself (docs/extensions.md has the fields). It comes as a
// dag-cbor or dag-json node, as manifest.json in a UnixFS directory, or as chaz-extension.json in a git
// tree; all of them are the same JSON data, but for how the module is named.
type Manifest struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // for display, at most 64 printable characters
	ABI     string `json:"abi"`
	// WASM is where the module is: a CID link in a node, a relative path in a directory or tree.
	WASM Module `json:"wasm"`
	// WASMSize and WASMSHA256 (hex) are required and checked after assembly.
	WASMSize   int64  `json:"wasm_size"`
	WASMSHA256 string `json:"wasm_sha256"`

	Scopes []extension.Scope    `json:"scopes,omitempty"` // global, agent, session; empty: session
	Hooks  []extension.HookKind `json:"hooks,omitempty"`  // only these are ever called
	// Tools: the guest's list must be a subset; empty is none. nil: discovered, and fingerprinted when
	// it is trusted.
	Tools    []Tool    `json:"tools,omitzero"`
	Commands []Command `json:"commands,omitempty"`
	// Capabilities are asked for; the person at this peer grants them, or some.
	Capabilities extension.GuestCaps `json:"capabilities,omitzero"`
	// Provides lists what it implements for others: memory, messenger, context_tail,
	// prompt_augmentation, or typed ids such as "acme/translate".
	Provides []string              `json:"provides,omitempty"`
	Limits   extension.GuestLimits `json:"limits,omitzero"`
	// ConfigSchema is a JSON Schema of an object, checked when a setting is made.
	ConfigSchema json.RawMessage            `json:"config_schema,omitempty"`
	Settings     map[string]json.RawMessage `json:"settings,omitempty"` // defaults
	// Enforcing: a failed tool_call hook denies the call.
	Enforcing bool `json:"enforcing,omitempty"`
	// Deterministic gives the guest a fixed clock and fixed random numbers.
	Deterministic bool       `json:"deterministic,omitempty"`
	Publisher     *Publisher `json:"publisher,omitempty"`
	License       string     `json:"license,omitempty"` // these three are shown, never fetched
	Homepage      string     `json:"homepage,omitempty"`
	Source        string     `json:"source,omitempty"`
	Needs         []string   `json:"needs,omitempty"`

	// Synthetic marks the manifest that the host makes for a bare module: tools only, no powers.
	Synthetic bool `json:"-"`
}

// Module names the wasm file of a package: exactly one field is set.
type Module struct {
	CID  string // in dag-cbor and dag-json: a link
	Path string // relative, slash-separated
}

// Tool is a tool as a manifest declares it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
}

// Command is a slash command as a manifest declares it.
type Command struct {
	Name string `json:"name"`
	Help string `json:"help,omitempty"`
}

// Publisher signs the content of a manifest.
type Publisher struct {
	// Key is an Ed25519 public key: a peer id ("12D3KooW…"), or did:key ("did:key:z6Mk…").
	Key string `json:"key"`
	// Sig is the base64 signature over "chaz-extension/1\x00" and Content.
	Sig string `json:"sig,omitempty"`
}
