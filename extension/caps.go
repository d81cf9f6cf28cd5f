package extension

import (
	"context"
	"encoding/json"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// The services that cross the border between extensions take a context and plain values and return
// plain values, so that the same shapes serve code in a sandbox.

// Messenger writes to a session.
type Messenger interface {
	// Send adds an entry (kind "message" or "directive") and returns its id after the durable commit.
	Send(ctx context.Context, session crdt.DocID, text, kind string) (entry string, err error)
}

// MemoryAccess reads and writes memories. bank "" is the agent's own, for Search all that it may
// read.
type MemoryAccess interface {
	Search(ctx context.Context, q MemoryQuery) ([]MemoryRow, error)
	Remember(ctx context.Context, r MemoryRow, bank string) error
	Banks(ctx context.Context) ([]BankInfo, error)
}

// MemoryQuery asks for memories. An empty text returns the newest.
type MemoryQuery struct {
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"` // all of them, in any case
	Limit int      `json:"limit"`          // 0 is 10
	Bank  string   `json:"bank,omitempty"`
}

// MemoryRow is one memory; of one key the newest counts.
type MemoryRow struct {
	Key       string   `json:"key"`
	Value     string   `json:"value"`
	Tags      []string `json:"tags,omitempty"`
	Timestamp int64    `json:"timestamp"` // ms since 1970
	Bank      string   `json:"bank,omitempty"`
}

// BankInfo is one bank that an agent may use.
type BankInfo struct {
	Name       string `json:"name"` // "self" is the agent's own
	ID         string `json:"id"`
	Permission string `json:"permission"` // read or write
}

// CapFunc is a capability under a string id: an operation, its input and its output as JSON.
type CapFunc func(ctx context.Context, op string, input json.RawMessage) (json.RawMessage, error)

// Resolver finds what extensions of the effective set provide. provider names one extension, ""
// takes the first in registration order that provides it; nil where nobody does.
type Resolver interface {
	Memory(provider string) MemoryAccess
	Messenger(provider string) Messenger
	Cap(id, provider string) CapFunc
}

// SettingsAccess is an extension's own settings in one session.
type SettingsAccess interface {
	// Get returns the override, or the declaration's default, or nil; an override of null counts as
	// none.
	Get(ctx context.Context, key string) (json.RawMessage, error)
	// Set writes an override; a nil value deletes it.
	Set(ctx context.Context, key string, value any) error
}

// AgentAdmin administers the schedules of agents (the capability agent_state_admin), as far as the
// operator allows the extension. An agent out of scope is reported exactly like one that is not
// there: [ErrNoAgent].
type AgentAdmin interface {
	// Resolve finds an agent by display name or id; "" is the one of the call.
	Resolve(ctx context.Context, c Call, ref string) (Agent, error)
	// Schedules returns the fields of each schedule of an agent, by schedule id.
	Schedules(ctx context.Context, a Agent) (map[string]map[string]json.RawMessage, error)
	// PutSchedule sets fields of a schedule, a nil value deletes one; with create it must be new, else
	// it must be there.
	PutSchedule(ctx context.Context, a Agent, id string, fields map[string]any, create bool) error
	// RemoveSchedule deletes a schedule; false if there was none.
	RemoveSchedule(ctx context.Context, a Agent, id string) (bool, error)
}
