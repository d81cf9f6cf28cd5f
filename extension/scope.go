package extension

import (
	"context"
	"errors"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Errors of the peer's handles that callers branch on.
var (
	ErrNoAgent  = errors.New("no such agent")
	ErrNotFound = errors.New("not found")
	// ErrReadOnly: the document may be read but not written here.
	ErrReadOnly = errors.New("read only here")
	// ErrAmbiguous: a name that several have; the id must be given.
	ErrAmbiguous = errors.New("several have this name")
)

// ScopeContext is what an instance is built with: a [GlobalContext], [AgentContext] or
// [SessionContext].
type ScopeContext interface {
	Scope() Scope
	Handles() *Peer
}

// GlobalContext is the scope of the peer.
type GlobalContext struct{ Peer *Peer }

// AgentContext is the scope of one agent that is hosted here.
type AgentContext struct {
	Peer  *Peer
	Agent Agent
	Doc   Document
}

// SessionContext is the scope of one session.
type SessionContext struct {
	Peer     *Peer
	Doc      Document
	Settings SettingsAccess // the extension's own
}

// Scope implements [ScopeContext].
func (GlobalContext) Scope() Scope  { return Global }
func (AgentContext) Scope() Scope   { return PerAgent }
func (SessionContext) Scope() Scope { return PerSession }

// Handles implements [ScopeContext].
func (c GlobalContext) Handles() *Peer  { return c.Peer }
func (c AgentContext) Handles() *Peer   { return c.Peer }
func (c SessionContext) Handles() *Peer { return c.Peer }

// Peer is what the host lends to an extension for its whole life. An external extension finds only
// what its granted capabilities name; the other fields are nil.
type Peer struct {
	Self        crdt.PeerID
	Clock       crdt.Clock
	Agents      Index // hosted agents
	MemoryBanks Banks
	SkillBanks  Banks
	Admin       AgentAdmin
	Secrets     Secrets
	Embedder    Embedder // nil: none is configured
	// SkillDirs are folders with skills on disk, first one first.
	SkillDirs []string
	// Sessions opens any session here, for extensions that work across sessions.
	Sessions Index
}

// Document is one document, read and written through closures; see crdt.Repo.
type Document interface {
	ID() crdt.DocID
	View(ctx context.Context, fn func(*crdt.View) error) error
	Update(ctx context.Context, fn func(*crdt.Tx) error) error
}

// Index finds documents of one kind that are kept here.
type Index interface {
	// List returns all, by name and then id.
	List(ctx context.Context) ([]Entry, error)
	// Open finds one by its exact name, its id or a unique prefix of it. Errors: [ErrNotFound],
	// [ErrAmbiguous].
	Open(ctx context.Context, ref string) (Document, error)
}

// Entry is one document of an [Index].
type Entry struct {
	ID       crdt.DocID
	Name     string
	Writable bool // this peer may write to it
}

// Banks is an [Index] of banks and what can be done with them.
type Banks interface {
	Index
	// Create makes a bank. A name that a bank here has is an error.
	Create(ctx context.Context, name, description string) (crdt.DocID, error)
	// Forget unregisters a bank here; it is not deleted elsewhere.
	Forget(ctx context.Context, id crdt.DocID) error
	// Sharing is what needs the network and the rights of the bank.
	Sharing() BankSharing
}

// BankSharing lets others use a bank.
type BankSharing interface {
	// Admit gives the peers that host an agent a role (read or write) in the bank; Dismiss takes it
	// back.
	Admit(ctx context.Context, bank, agent crdt.DocID, role crdt.Role) error
	Dismiss(ctx context.Context, bank, agent crdt.DocID) error
	// Share returns a ticket for the bank; Unshare stops syncing it.
	Share(ctx context.Context, bank crdt.DocID, role crdt.Role) (string, error)
	Unshare(ctx context.Context, bank crdt.DocID) error
	// Join uses a ticket. pending says that somebody must approve first.
	Join(ctx context.Context, ticket string) (id crdt.DocID, pending bool, err error)
}

// Secrets reads this peer's secrets. They must never be logged or written into documents.
type Secrets interface {
	// Secret returns the value of a name, from the store or from the environment; [ErrNotFound].
	Secret(ctx context.Context, name string) (string, error)
}

// Embedder turns texts into vectors, all of one length.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
