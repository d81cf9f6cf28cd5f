package control

// PeersListParams has no fields.
type PeersListParams struct{}

// Peer is another peer that this one knows.
type Peer struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"` // the local petname, may be empty
	State    State        `json:"state"`
	Reason   string       `json:"reason"` // empty when in sync
	Warnings List[string] `json:"warnings"`
	// ClockOffsetMS is the other's clock minus this one's, null when unknown.
	ClockOffsetMS *int64       `json:"clock_offset_ms"`
	Paired        bool         `json:"paired"` // a device of the same person
	Addrs         List[string] `json:"addrs"`
	LastSeen      *Time        `json:"last_seen"` // by this peer's clock, null: never
}

// PeerParams names one peer.
type PeerParams struct {
	Peer string `json:"peer"`
}

// PeerNameParams gives a peer a local name; an empty name takes it away.
type PeerNameParams struct {
	Peer string `json:"peer"`
	Name string `json:"name"`
}

// PairStartParams asks for a pairing ticket that lives for ExpiresMS.
type PairStartParams struct {
	ExpiresMS int64 `json:"expires_ms"`
}

// PairTicket is a ticket for one pairing. Pairing is what to wait for.
type PairTicket struct {
	Ticket  string `json:"ticket"`
	Pairing string `json:"pairing"`
	Expires Time   `json:"expires"`
}

// PairWaitParams waits until the other machine has redeemed the ticket.
type PairWaitParams struct {
	Pairing   string `json:"pairing"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// PairJoinParams redeems the ticket of another machine, waiting as long for its answer.
type PairJoinParams struct {
	Ticket    string `json:"ticket"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// PairConfirmParams says whether the person found the words equal on both sides, and waits as long
// for the other side's word.
type PairConfirmParams struct {
	Pairing   string `json:"pairing"`
	Yes       bool   `json:"yes"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// Pairing is one pairing as it stands: confirm (the words wait for this side), waiting (for the
// other side), paired, refused (by either).
type Pairing struct {
	Pairing string `json:"pairing"`
	PeerID  string `json:"peer_id"`
	Name    string `json:"name"` // what the other calls itself, unverified
	Words   string `json:"words"`
	State   string `json:"state"`
}

// The states of a [Pairing].
const (
	PairConfirm = "confirm"
	PairWaiting = "waiting"
	PairPaired  = "paired"
	PairRefused = "refused"
)

// PendingParams has no fields.
type PendingParams struct{}

// JoinRequest is somebody who asks for access without a ticket's secret. Label is what he says of
// himself: unverified.
type JoinRequest struct {
	ID       string `json:"id"`
	Document string `json:"document"`
	Kind     string `json:"kind"`
	Name     string `json:"name"` // of the document
	PeerID   string `json:"peer_id"`
	PeerName string `json:"peer_name"`
	Role     string `json:"role"`
	Label    string `json:"label"`
	Received Time   `json:"received"`
	State    string `json:"state"` // pending, approved or rejected
}

// ApproveParams grants a request, with the role it asked for or the given one.
type ApproveParams struct {
	Request string `json:"request"`
	Role    string `json:"role,omitempty"`
}

// RejectParams refuses a request; the asker cannot tell that from silence.
type RejectParams struct {
	Request string `json:"request"`
}
