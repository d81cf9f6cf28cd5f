package loaders

import (
	"context"
	"encoding/json"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// State is how an external reference stands on this peer, for one session.
type State string

// The states. Only StateTrusted runs.
const (
	StateTrusted     State = "trusted"
	StatePending     State = "pending"      // nobody here has decided
	StateDenied      State = "denied"       // somebody here said no, or the policy does
	StateUnavailable State = "unavailable"  // the bytes are not here, or of a kind that this version can't load
	StateInvalid     State = "invalid"      // the bytes fail verification; Reason says which check
	StateNeedsReview State = "needs review" // other content, powers or tools than what was trusted under this name
)

// Decision is one person's word on one content, kept on this peer alone and never synced: a grant in one
// session or everywhere, a denial, or a rule for the upgrades of one publisher.
type Decision struct {
	// Key is Key.String of the content; of a denial of bytes never seen the ref's text; of a rule
	// [RuleKey].
	Key  string `json:"key"`
	Name string `json:"name"` // of the extension
	Ref  string `json:"ref"`  // as it stood when it was decided
	// Deny says no, in every session. Else the content may run with Caps, in Session or everywhere.
	Deny       bool       `json:"deny,omitempty"`
	Everywhere bool       `json:"everywhere,omitempty"`
	Session    crdt.DocID `json:"session,omitzero"`
	// Publisher makes it a rule: what this peer id signs under Name, and asks for no more than Caps and
	// Manifest, is trusted in Session or everywhere.
	Publisher string                `json:"publisher,omitempty"`
	Caps      extension.GuestCaps   `json:"caps,omitzero"`
	Limits    extension.GuestLimits `json:"limits,omitzero"`
	// Mounts binds the ids of Caps.FS to folders of this machine.
	Mounts map[string]string `json:"mounts,omitempty"`
	// Tools is the fingerprint of discovered tools as they were shown; empty: declared, or not known.
	Tools string `json:"tools,omitempty"`
	// Drift says how the tools at run time differed from those shown; it asks for a review.
	Drift string `json:"drift,omitempty"`
	// Manifest is what was shown, for a diff with what comes later.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	At       int64           `json:"at"` // ms, by this peer's clock
	Why      string          `json:"why,omitempty"`
}

// ID names the decision in a store: one content has at most one everywhere, which may be a denial, and
// one for each session.
func (d Decision) ID() string {
	if d.Deny || d.Everywhere {
		return d.Key
	}
	return d.Key + "@" + d.Session.String()
}

// RuleKey is the Key of the rule for what a publisher signs under a name.
func RuleKey(publisher crdt.PeerID, name string) string {
	return "publisher:" + publisher.String() + "/" + name
}

// covers reports whether the decision speaks of a session.
func (d Decision) covers(session crdt.DocID) bool {
	return d.Deny || d.Everywhere || d.Session == session
}

// Decisions keeps decisions by their ID, durable when a method returns. Safe for concurrent use.
type Decisions interface {
	Get(ctx context.Context, id string) (Decision, bool, error)
	Put(ctx context.Context, d Decision) error
	Delete(ctx context.Context, id string) error
	All(ctx context.Context) ([]Decision, error)
}

// Event is one line of the audit journal.
type Event struct {
	At      int64      `json:"at"` // ms, by this peer's clock
	What    EventKind  `json:"what"`
	Name    string     `json:"name"`
	Ref     string     `json:"ref,omitempty"`
	Key     string     `json:"key,omitempty"`
	Session crdt.DocID `json:"session,omitzero"` // zero: everywhere
	Why     string     `json:"why,omitempty"`
}

// EventKind says what happened.
type EventKind string

// The events.
const (
	EventLoad    EventKind = "load"    // verified, trusted and handed over to run
	EventRefused EventKind = "refused" // asked for to run, and refused
	EventTrust   EventKind = "trust"
	EventDeny    EventKind = "deny"
	EventUntrust EventKind = "untrust"
	EventDrift   EventKind = "drift" // the tools at run time are not those that were shown
)

// Journal is append-only and durable when Append returns. Safe for concurrent use.
type Journal interface {
	Append(ctx context.Context, e Event) error
	// Read returns the newest n events, oldest first; n <= 0 returns all.
	Read(ctx context.Context, n int) ([]Event, error)
}

// Resolution is the answer for one reference in one session.
type Resolution struct {
	State  State
	Reason string // one line for people; for trusted empty, or a warning
	Remedy string // the command that helps; may be empty
	// Package is set where the bytes are here and verified, whatever the state. It is shared: read only.
	Package *Package
	// Missing: bytes are not here, and a decision or the policy may let them run: peers of the session
	// may be asked for them.
	Missing bool
	// Decision is what lets it run (StateTrusted) or would (Missing), or the one that it is to be
	// compared with (StateNeedsReview).
	Decision *Decision
	// Caps and Limits are what it runs with: asked ∩ granted ∩ policy.
	Caps   extension.GuestCaps
	Limits extension.GuestLimits
}
