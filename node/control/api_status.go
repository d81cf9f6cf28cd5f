package control

// StatusParams has no fields.
type StatusParams struct{}

// Status is the whole view of a node: who it reaches, what it holds, and for every document and
// peer that is not in sync the reason.
type Status struct {
	Daemon      bool           `json:"daemon"`
	PeerID      string         `json:"peer_id"`
	Version     string         `json:"version"`
	Addrs       List[string]   `json:"addrs"`
	ClockSkewMS int64          `json:"clock_skew_ms"` // of this peer's clock against its machine's
	Peers       List[Peer]     `json:"peers"`
	Documents   List[Document] `json:"documents"`
	// Counters count what was refused from other peers, by reason, since the start; zeros are left
	// out.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// State is how a peer, or a document with one peer, stands.
type State string

// The states. not_served is what the asking side shows when the other does not know the document or
// gives no access; only the refusing side shows denied.
const (
	InSync       State = "in_sync"
	Syncing      State = "syncing"
	Behind       State = "behind"
	Offline      State = "offline"
	Paused       State = "paused"
	Pending      State = "pending"
	NotServed    State = "not_served"
	Denied       State = "denied"
	Forked       State = "forked"
	Incompatible State = "incompatible"
	// StateReady is only the state of a join: the document is here, complete.
	StateReady State = "ready"
)

// Document is one document of this peer and how it stands with each other peer that may read it.
type Document struct {
	ID       string             `json:"id"`
	Kind     string             `json:"kind"`
	Name     string             `json:"name"`
	Heads    List[string]       `json:"heads"` // lower-case hex, sorted
	StoredOn int                `json:"stored_on"`
	Peers    List[DocumentPeer] `json:"peers"`
	Contents *Contents          `json:"contents,omitempty"` // null: it has no large content
}

// DocumentPeer is one document with one peer. Reason is empty when in sync and nothing is missing. The
// missing counts are changes, null when unknown. ContentsMissing counts the large content that the peer is
// not known to have; null for a document without any.
type DocumentPeer struct {
	ID           string `json:"id"`
	State        State  `json:"state"`
	Reason       string `json:"reason"`
	MissingHere  *int64 `json:"missing_here"`
	MissingThere *int64 `json:"missing_there"`

	ContentsMissing *int64 `json:"contents_missing,omitempty"`
}

// DoctorParams has no fields.
type DoctorParams struct{}

// Doctor is the verdict of all self checks.
type Doctor struct {
	OK     bool        `json:"ok"`
	Checks List[Check] `json:"checks"`
}

// Check is one self check. Remedy is empty when it is ok.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// IDParams has no fields.
type IDParams struct{}

// ID is who this peer is and where it listens (nowhere without a daemon).
type ID struct {
	PeerID string       `json:"peer_id"`
	Name   string       `json:"name"`
	Addrs  List[string] `json:"addrs"`
}

// CmdParams is one slash command on a session, as the given agent or the one that answers there.
type CmdParams struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	Line    string `json:"line"`
}

// CmdResult is the outcome; OK false with the text of the error is not an error of the call.
type CmdResult struct {
	OK     bool   `json:"ok"`
	Output string `json:"output"`
}

// Ready is what a node reports when it serves.
type Ready struct {
	Ready  bool         `json:"ready"`
	PeerID string       `json:"peer_id"`
	Addrs  List[string] `json:"addrs"`
}
