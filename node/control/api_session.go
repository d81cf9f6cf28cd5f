package control

import "encoding/json"

// SessionParams names one session.
type SessionParams struct {
	Session string `json:"session"`
}

// SessionNewParams creates a session. Agents null: the default agents are attached; else these.
type SessionNewParams struct {
	Name   string   `json:"name"`
	Agents []string `json:"agents"`
}

// Created is the id of what was made.
type Created struct {
	ID string `json:"id"`
}

// SessionListParams leaves closed sessions out unless All.
type SessionListParams struct {
	All bool `json:"all,omitempty"`
}

// SessionSummary is one session in a list.
type SessionSummary struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Role     string       `json:"role"` // of this peer
	Heads    List[string] `json:"heads"`
	Entries  *int64       `json:"entries"` // null: not known without opening it
	StoredOn int          `json:"stored_on"`
	Closed   bool         `json:"closed"`
	Created  Time         `json:"created"`
}

// SessionShowParams names a session and whose point of view the active set is shown from (empty: the
// agent that would answer).
type SessionShowParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
}

// SessionShow is a session in detail. Name, Ref and SessionActive of its extensions are equal on all
// peers in sync (AgentActive too where the agent is hosted); the rest is this peer's view.
type SessionShow struct {
	ID         string               `json:"id"`
	Name       string               `json:"name"`
	Role       string               `json:"role"`
	Heads      List[string]         `json:"heads"`
	Entries    int64                `json:"entries"`
	StoredOn   int                  `json:"stored_on"`
	Agent      string               `json:"agent"` // whose view agent_active is; empty: none
	Agents     List[SessionAgent]   `json:"agents"`
	Extensions List[ExtensionState] `json:"extensions"` // sorted by name
	Members    List[Member]         `json:"members"`
	// Peers says how the session stands with each other peer.
	Peers    List[DocumentPeer] `json:"peers"`
	Contents *Contents          `json:"contents,omitempty"` // null: it has no large content
}

// Contents is the large content of a session: what its entries name that stands outside of the document.
type Contents struct {
	Count   int    `json:"count"`
	Bytes   int64  `json:"bytes"`
	Missing int    `json:"missing"`          // of Count: not here
	Reason  string `json:"reason,omitempty"` // of Missing
	// Invalid counts what entries name that can't be: it is not part of Count.
	Invalid int `json:"invalid"`
}

// SessionAgent is an agent attached to a session.
type SessionAgent struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Host     bool   `json:"host"`
	HomePeer string `json:"home_peer"` // empty: none
}

// ExtensionState is one extension of a session. State is one of builtin, trusted, pending, denied,
// unavailable, invalid, suspended, needs_review, failed, unknown.
type ExtensionState struct {
	Name          string          `json:"name"`
	Ref           json.RawMessage `json:"ref"` // an object with "kind"
	SessionActive bool            `json:"session_active"`
	AgentActive   bool            `json:"agent_active"`
	State         string          `json:"state"`
	Reason        string          `json:"reason,omitempty"` // of a state in which it does not run
	Hooks         List[string]    `json:"hooks"`            // snake_case
}

// Member is a peer with a role in a document.
type Member struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
}

// SessionPostParams writes one entry. As empty: this peer's name. EntryType empty: message. Content is
// empty where the text is the file behind the parameters ([SessionPostFile]).
type SessionPostParams struct {
	Session   string `json:"session"`
	As        string `json:"as,omitempty"`
	Content   string `json:"content"`
	EntryType string `json:"entry_type,omitempty"`
}

// SessionLogParams reads the entries in order (timestamp, id): all, or the Tail newest. Follow goes
// on with new ones as they arrive, in the order of arrival, until the call is ended.
type SessionLogParams struct {
	Session string `json:"session"`
	Tail    int    `json:"tail,omitempty"`
	Follow  bool   `json:"follow,omitempty"`
}

// Entry is one entry of a session. EntryType is in snake_case.
type Entry struct {
	ID        string `json:"id"`
	Sender    string `json:"sender"`
	Content   string `json:"content"`
	Timestamp Time   `json:"timestamp"`
	EntryType string `json:"entry_type"`
	// ContentCID and ContentSize name content that stands outside of the document; ContentMissing says
	// that it is not here, for the reason in ContentReason, and that Content is its beginning.
	ContentCID     string `json:"content_cid,omitempty"`
	ContentSize    int64  `json:"content_size,omitempty"`
	ContentMissing bool   `json:"content_missing,omitempty"`
	ContentReason  string `json:"content_reason,omitempty"`
}

// LogEnd ends a log.
type LogEnd struct {
	Entries int64 `json:"entries"`
}

// SessionSearchParams looks for entries that contain every word of Query, in any case, in one
// session or (empty) in all; at most Limit, newest first.
type SessionSearchParams struct {
	Session string `json:"session,omitempty"`
	Query   string `json:"query"`
	Limit   int    `json:"limit"`
}

// Hit is an entry that was found. Of large content Excerpt is the part around the first word that was
// found; ContentCut says that Content is only the beginning, because all of it would make the answer too
// large.
type Hit struct {
	Session     string `json:"session"`
	SessionName string `json:"session_name"`
	Entry
	Excerpt    string `json:"excerpt,omitempty"`
	ContentCut bool   `json:"content_cut,omitempty"`
}

// SessionWaitParams waits until the session is stored on so many peers, this one included. Over the
// timeout is [CodeTimeout], with the reasons in the cause.
type SessionWaitParams struct {
	Session   string `json:"session"`
	StoredOn  int    `json:"stored_on"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// Waited is on how many peers it is stored.
type Waited struct {
	ID       string `json:"id"`
	StoredOn int    `json:"stored_on"`
}

// The formats of an import and an export.
const (
	FormatJSONL     = "jsonl"     // one entry a line
	FormatAutomerge = "automerge" // a document of any Automerge client
)

// SessionImportParams takes a file into an existing session, or into a new one with that name (may
// be empty). Everything is imported or nothing. Size is the length of the file for the progress, 0
// if unknown.
type SessionImportParams struct {
	Session string `json:"session,omitempty"`
	Name    string `json:"name,omitempty"`
	Format  string `json:"format"`
	Size    int64  `json:"size,omitempty"`
}

// Progress is how far long work has come; Total is 0 when unknown.
type Progress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Unit  string `json:"unit"` // bytes or entries
}

// Imported is the session that took the file and how many entries it brought. ContentsMissing counts the
// large content of the session that is not here.
type Imported struct {
	ID              string `json:"id"`
	Entries         int64  `json:"entries"`
	ContentsMissing int    `json:"contents_missing,omitempty"`
}

// SessionExportParams gives the session out as a file. JSON lines hold all of large content; if some of it
// is not here the export fails with [CodeUnavailable], unless AllowMissing: then those lines hold its
// beginning and content_missing.
type SessionExportParams struct {
	Session      string `json:"session"`
	Format       string `json:"format"`
	AllowMissing bool   `json:"allow_missing,omitempty"`
}

// Chunk is the next part of a file (base64 in JSON), and how far the export has come.
type Chunk struct {
	Data []byte `json:"data"`
	Progress
}

// Exported ends an export. ContentsMissing counts the large content that the file does not hold: what is
// not here, and in an Automerge file all of it, because it stands outside of the document.
type Exported struct {
	ID              string `json:"id"`
	Entries         int64  `json:"entries"`
	Bytes           int64  `json:"bytes"`
	ContentsMissing int    `json:"contents_missing,omitempty"`
}

// AttachParams names an agent and a session: to attach, detach, or make the host.
type AttachParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
}

// Attached is the agent as it stands in the session afterwards. Note says what else should be known:
// that the agent's home peer is no member, and the ticket that invites it.
type Attached struct {
	Session string `json:"session"`
	SessionAgent
	Note string `json:"note"`
}

// SessionForgetParams drops this peer's copy. Without Force a session that nobody else stores
// completely is [CodeConflict].
type SessionForgetParams struct {
	Session string `json:"session"`
	Force   bool   `json:"force,omitempty"`
}

// Forgotten is the document that is no longer here.
type Forgotten struct {
	ID string `json:"id"`
}
