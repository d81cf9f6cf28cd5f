package control

import "encoding/json"

// ExtCard is what a person decides on: what the code says about itself, what was checked, what it may
// do, and how that differs from what was trusted before. Where the bytes are not here only the names,
// the state with its reason, and the remedy are set.
type ExtCard struct {
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Ref        json.RawMessage `json:"ref"`      // the object with "kind"
	RefText    string          `json:"ref_text"` // the one-line form
	CID        string          `json:"cid"`      // of the package; empty for git
	WASMSHA256 string          `json:"wasm_sha256"`
	Key        string          `json:"key"`
	Size       int64           `json:"size"`      // of the module, in bytes
	Publisher  string          `json:"publisher"` // its public key; empty: none is named
	Signed     bool            `json:"signed"`    // the publisher's signature was checked and holds
	// License, Homepage and Source are the author's words; nothing of them is fetched or checked.
	License  string `json:"license"`
	Homepage string `json:"homepage"`
	Source   string `json:"source"`

	ABI      string        `json:"abi"`
	Scopes   List[string]  `json:"scopes"` // global, agent, session
	Hooks    List[string]  `json:"hooks"`  // in words: "Sees every tool call before it runs, and can change or stop it."
	Tools    List[ExtTool] `json:"tools"`
	Commands List[string]  `json:"commands"` // without the slash
	// ToolsKnown: the list above is complete. Otherwise the manifest names no tools, and they are
	// asked of the code when it is trusted.
	ToolsKnown bool           `json:"tools_known"`
	Provides   List[string]   `json:"provides"` // what it implements for others
	Asks       List[ExtPower] `json:"asks"`     // the powers it asks for
	// Grants are the powers it has in the session that was asked about.
	Grants List[ExtPower] `json:"grants"`
	Limits List[string]   `json:"limits"` // in words: "64 MiB of memory"
	// Diff is against the content that was trusted last under this name; null: there was none, or it
	// is this content.
	Diff *ExtDiff `json:"diff"`

	State     string `json:"state"` // as [ExtensionState].State
	Reason    string `json:"reason"`
	Remedy    string `json:"remedy"` // a command; may be empty
	BytesHere bool   `json:"bytes_here"`
	// Text is the whole card for a front end that draws none of its own.
	Text string `json:"text,omitempty"`
}

// ExtPower is one power outside the sandbox.
type ExtPower struct {
	Words string `json:"words"` // a sentence for people
	Cap   string `json:"cap"`   // as [ExtTrustParams].Caps spells it: "net=api.example.com"
}

// ExtTool is a tool as the manifest declares it. Both texts are the author's.
type ExtTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of its arguments
}

// ExtDiff says in words how content differs from what was trusted. Version and Key are of the latter.
type ExtDiff struct {
	Version string       `json:"version"`
	Key     string       `json:"key"`
	Added   List[string] `json:"added"`
	Removed List[string] `json:"removed"`
	Changed List[string] `json:"changed"`
}
