package replay_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// shelf is all decisions and bytes of a peer, in memory. Names say what code is: "wall…" enforces rules,
// "wide…" lives beyond one session.
type shelf struct {
	gen             atomic.Uint64
	resolves, loads atomic.Int32

	mu     sync.Mutex
	grants map[grantKey]int64 // bytes of kv
	absent map[string]bool    // references without bytes here
	failed bool               // the disk can't be read
	rotten string             // a reference whose bytes go bad as soon as they come
}

// grantKey is a reference in a session; the zero session is everywhere.
type grantKey struct {
	session crdt.DocID
	ref     string
}

var everywhere crdt.DocID

func newShelf() *shelf { return &shelf{grants: map[grantKey]int64{}, absent: map[string]bool{}} }

func (s *shelf) change(fn func()) {
	s.mu.Lock()
	fn()
	s.mu.Unlock()
	s.gen.Add(1)
}

func (s *shelf) trust(session crdt.DocID, r extension.Ref, kv int64) {
	s.change(func() { s.grants[grantKey{session, r.String()}] = kv })
}

func (s *shelf) untrust(session crdt.DocID, r extension.Ref) {
	s.change(func() { delete(s.grants, grantKey{session, r.String()}) })
}

func (s *shelf) lose(r extension.Ref) { s.change(func() { s.absent[r.String()] = true }) }

func (s *shelf) bring(r extension.Ref) {
	s.change(func() {
		if s.rotten != r.String() {
			delete(s.absent, r.String())
		}
	})
}

func (s *shelf) trusted(session crdt.DocID, r extension.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, here := s.grants[grantKey{session, r.String()}]
	_, all := s.grants[grantKey{everywhere, r.String()}]
	return (here || all) && !s.absent[r.String()]
}

// Generation implements [replay.Resolver].
func (s *shelf) Generation() uint64 { return s.gen.Load() }

// Load implements [replay.Resolver].
func (s *shelf) Load(ctx context.Context, session crdt.DocID, name string, r extension.Ref) loaders.Resolution {
	s.loads.Add(1)
	return s.answer(session, name, r)
}

// Resolve implements [replay.Resolver].
func (s *shelf) Resolve(_ context.Context, session crdt.DocID, name string, r extension.Ref) loaders.Resolution {
	s.resolves.Add(1)
	return s.answer(session, name, r)
}

func (s *shelf) answer(session crdt.DocID, name string, r extension.Ref) loaders.Resolution {
	s.mu.Lock()
	defer s.mu.Unlock()
	kv, decided := s.grants[grantKey{session, r.String()}]
	all := false
	if !decided {
		kv, decided = s.grants[grantKey{everywhere, r.String()}]
		all = decided
	}
	out := loaders.Resolution{State: loaders.StatePending, Reason: "nobody has decided"}
	if decided {
		out.Decision = &loaders.Decision{Name: name, Ref: r.String(), Session: session, Everywhere: all}
	}
	switch {
	case s.failed:
		return loaders.Resolution{State: loaders.StateUnavailable, Reason: "the disk can't be read"}
	case s.absent[r.String()]:
		if decided {
			out.State, out.Missing = loaders.StateUnavailable, true
		}
		return out
	}
	m := &loaders.Manifest{
		Schema: loaders.Schema, Name: name, ABI: extension.ABIChaz1, Tools: []loaders.Tool{{Name: "say"}},
		Enforcing: strings.HasPrefix(name, "wall"),
	}
	if strings.HasPrefix(name, "wide") {
		m.Scopes = []extension.Scope{extension.Global}
	}
	out.Package = &loaders.Package{Ref: r, Manifest: m, WASM: []byte(r.Field("sha"))}
	if decided {
		out.State, out.Reason, out.Caps = loaders.StateTrusted, "", extension.GuestCaps{KV: kv}
	}
	return out
}
