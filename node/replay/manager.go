package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// Documents are the documents of this peer; *crdt.Repo is one.
type Documents interface {
	View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error
}

// Resolver says how a reference stands in a session, from local bytes alone; *loaders.Set is one.
type Resolver interface {
	// Resolve may believe what was verified a moment ago; Load verifies all of it, for code that is
	// about to run.
	Resolve(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) loaders.Resolution
	Load(ctx context.Context, session crdt.DocID, name string, ref extension.Ref) loaders.Resolution
	// Generation grows with everything that may change an answer.
	Generation() uint64
}

// Hub runs extensions in sessions; *hub.Hub does.
type Hub interface {
	// InstallIn takes the place of what the session had under the name; after an error that is there still.
	InstallIn(ctx context.Context, session crdt.DocID, x extension.Extension) error
	RemoveIn(ctx context.Context, session crdt.DocID, name string) error
	// Install is for the whole peer, and leaves a reference that is there as it is. RemoveRef is its reverse.
	Install(ctx context.Context, x extension.Extension) error
	RemoveRef(ctx context.Context, ref extension.Ref) error
}

// Gate keeps a session's tools from running; *hub.Hub is one.
type Gate interface {
	Block(session crdt.DocID, name, reason string)
	Unblock(session crdt.DocID, name string)
}

// Config is what a [Manager] is made of. All but Closed and Log are required.
type Config struct {
	Documents Documents
	Resolver  Resolver
	Hub       Hub
	Gate      Gate
	// Build makes a runnable extension of a trusted resolution.
	Build func(ctx context.Context, session crdt.DocID, r loaders.Resolution) (extension.Extension, error)
	// Fetch brings the bytes of a reference from the peers of a session, and from nobody else.
	Fetch func(ctx context.Context, session crdt.DocID, ref extension.Ref) error
	// Blocks says why an extension that may not run keeps the session's tools from running, "" if it does
	// not.
	Blocks func(ctx context.Context, ref extension.Ref, r loaders.Resolution) string
	// HasAny is told at each look whether a session has external extensions on.
	HasAny func(ctx context.Context, session crdt.DocID, any bool)
	// Notice is told, at each look, of each extension that a session has on and that does not run here.
	Notice func(ctx context.Context, session crdt.DocID, s Status)
	// Closed reports whether nobody here works in a session: only Ensure takes it up then. nil is never.
	Closed func(ctx context.Context, session crdt.DocID) bool
	Log    *slog.Logger
}

// Status is how one external extension of a session stands here.
type Status struct {
	Name     string
	Ref      extension.Ref
	State    loaders.State
	Reason   string
	Remedy   string
	Key      string                // content key; empty where the bytes are not here
	Manifest *loaders.Manifest     // nil where the bytes are not here
	Caps     extension.GuestCaps   // in force, where it is trusted
	Limits   extension.GuestLimits // in force, where it is trusted
	// Missing: a decision lets it run, and its bytes are not here.
	Missing bool
}

// Manager holds what is live in each session. Methods are safe for concurrent use.
type Manager struct {
	cfg   Config
	looks chan struct{} // capacity 1: sessions are to be looked at
	hopes chan struct{} // capacity 1: what is missing may be had now

	// placing is held while what is installed for the whole peer changes, so that this list and the hub
	// always say the same.
	placing sync.Mutex
	wide    map[string]*wide // by reference

	mu       sync.Mutex
	sessions map[crdt.DocID]*session
	dirty    map[crdt.DocID]bool
}

// session is one session's side.
type session struct {
	// look is held by one look at a time, and by Drop. It has room for one.
	look    chan struct{}
	dropped bool              // guarded by look
	live    map[string]placed // what is installed, by name; written under look and Manager.mu

	// Guarded by Manager.mu:
	round  uint64 // Generation as of the last look
	folded bool   // the rest tells of a look
	wanted []activation.Active
	states map[string]Status
	asked  map[string]bool // refs that a person waits for
}

// New returns a manager of no session.
func New(cfg Config) *Manager {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Manager{
		cfg: cfg, looks: make(chan struct{}, 1), hopes: make(chan struct{}, 1),
		sessions: map[crdt.DocID]*session{}, wide: map[string]*wide{}, dirty: map[crdt.DocID]bool{},
	}
}

// Ensure brings what is live in a session in step with its log, from bytes of this machine. It costs one
// look at the log where nothing changed. A failure of one extension is its own: it shows in States. What
// was begun is brought to its end also when ctx ends.
func (m *Manager) Ensure(ctx context.Context, id crdt.DocID) error { return m.ensure(ctx, id, true) }

// ensure is Ensure. Without open it takes up no session that is closed: nobody asked for that.
func (m *Manager) ensure(ctx context.Context, id crdt.DocID, open bool) error {
	for {
		s := m.session(id, false)
		if s == nil && !open && m.cfg.Closed != nil && m.cfg.Closed(ctx, id) {
			return nil
		}
		if s == nil {
			on, err := m.fold(ctx, id)
			if err != nil {
				return err
			}
			if m.cfg.HasAny(ctx, id, len(on) > 0); len(on) == 0 {
				return nil
			}
			s = m.session(id, true)
		}
		if dropped, err := m.lookAt(ctx, id, s); !dropped {
			return err
		}
	}
}

// lookAt is Ensure of a session that is known. dropped says that it was forgotten meanwhile.
func (m *Manager) lookAt(ctx context.Context, id crdt.DocID, s *session) (dropped bool, err error) {
	select {
	case s.look <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("replay extensions of session %s: %w", id.Short(), ctx.Err())
	}
	defer func() { <-s.look }()
	if s.dropped {
		return true, nil
	}
	on, err := m.fold(ctx, id)
	// Who asked may go away; what runs must not end by that.
	ctx = context.WithoutCancel(ctx)
	switch {
	case errors.Is(err, crdt.ErrUnknownDoc):
		on = nil
	case err != nil:
		on = m.wantedIn(s) // what lost its trust must end whatever becomes of the log
	default:
		m.cfg.HasAny(ctx, id, len(on) > 0)
	}
	if !m.fresh(s, on) {
		m.settle(ctx, id, s, on)
	}
	return false, err
}

// fold lists what a session's log has on and is not compiled in.
func (m *Manager) fold(ctx context.Context, id crdt.DocID) ([]activation.Active, error) {
	var on []activation.Active
	err := m.cfg.Documents.View(ctx, id, func(v *crdt.View) error {
		log, ok := v.Index(activation.IndexName).(*activation.Log)
		if !ok || v.Kind() != crdt.Session {
			return fmt.Errorf("document %s is no session", id.Short())
		}
		for _, a := range log.ReadActive() {
			if a.Ref.Kind() != extension.Builtin {
				on = append(on, a)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("replay extensions of session %s: %w", id.Short(), err)
	}
	return on, nil
}

func (m *Manager) session(id crdt.DocID, create bool) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil && create {
		s = &session{look: make(chan struct{}, 1), states: map[string]Status{}, live: map[string]placed{}, asked: map[string]bool{}}
		m.sessions[id] = s
	}
	return s
}
