package loaders_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// shelf is a loader of packages in memory.
type shelf struct {
	kind extension.RefKind

	mu      sync.Mutex
	here    map[string]loaders.Package
	away    map[string]loaders.Package // what a Fetch would bring
	loads   int
	fetches []loaders.From
}

func newShelf(kind extension.RefKind) *shelf {
	return &shelf{kind: kind, here: map[string]loaders.Package{}, away: map[string]loaders.Package{}}
}

func (s *shelf) Kind() extension.RefKind { return s.kind }

func (s *shelf) Check(ref extension.Ref) error {
	if strings.Contains(ref.String(), "malformed") {
		return fmt.Errorf("check reference: %w: it is malformed", loaders.ErrInvalid)
	}
	return nil
}

func (s *shelf) Load(_ context.Context, ref extension.Ref) (*loaders.Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	p, ok := s.here[ref.String()]
	if !ok {
		return nil, fmt.Errorf("load %s: %w", ref.Name(), loaders.ErrMissing)
	}
	return &p, nil
}

func (s *shelf) Fetch(_ context.Context, ref extension.Ref, from loaders.From) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches = append(s.fetches, from)
	p, ok := s.away[ref.String()]
	if !ok {
		return loaders.ErrMissing
	}
	s.here[ref.String()] = p
	return nil
}

func (s *shelf) counts() (loads, fetches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads, len(s.fetches)
}

// world is a set with its parts.
type world struct {
	t         *testing.T
	set       *loaders.Set
	ipld, git *shelf
	decisions *loaders.MemDecisions
	journal   *loaders.MemJournal
	clock     *crdt.ManualClock
	next      int
}

func newWorld(t *testing.T, p loaders.Policy) *world {
	t.Helper()
	w := &world{
		t: t, ipld: newShelf(extension.IPLD), git: newShelf(extension.Git),
		decisions: &loaders.MemDecisions{}, journal: &loaders.MemJournal{}, clock: crdt.NewManualClock(1000),
	}
	var err error
	w.set, err = loaders.New(loaders.Config{
		Loaders: []loaders.Loader{w.ipld, w.git}, Decisions: w.decisions, Journal: w.journal, Policy: p, Clock: w.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// manifestOf describes code; edit changes the description before it counts.
func manifestOf(t testing.TB, name, code string, edit func(*loaders.Manifest)) *loaders.Manifest {
	t.Helper()
	h := sha256.Sum256([]byte(code))
	m := &loaders.Manifest{
		Schema: loaders.Schema, Name: name, ABI: extension.ABIChaz1, WASM: loaders.Module{Path: "m.wasm"},
		WASMSize: int64(len(code)), WASMSHA256: hex.EncodeToString(h[:]),
		Tools: []loaders.Tool{{Name: "greet", Description: "Greets."}},
	}
	if edit != nil {
		edit(m)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

// pack puts a package on a shelf under a new reference.
func (w *world) pack(name, code string, edit func(*loaders.Manifest)) extension.Ref {
	w.t.Helper()
	w.next++
	ref := extension.IPLDRef(name, fmt.Sprintf("bafy%d", w.next))
	w.put(w.ipld, ref, code, manifestOf(w.t, name, code, edit))
	return ref
}

func (w *world) put(s *shelf, ref extension.Ref, code string, m *loaders.Manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here[ref.String()] = loaders.Package{Ref: ref, Manifest: m, WASM: []byte(code), Root: ref.Field("cid")}
}

func (w *world) remove(ref extension.Ref) {
	w.ipld.mu.Lock()
	delete(w.ipld.here, ref.String())
	w.ipld.mu.Unlock()
	w.set.Changed()
}

// state asks and returns the state alone; the cheap and the thorough answer must be the same.
func (w *world) state(session crdt.DocID, ref extension.Ref) loaders.State {
	w.t.Helper()
	cheap := w.set.Resolve(w.t.Context(), session, ref.Name(), ref)
	full := w.set.Load(w.t.Context(), session, ref.Name(), ref)
	if cheap.State != full.State {
		w.t.Errorf("%s: Resolve says %s (%s), Load says %s (%s)", ref, cheap.State, cheap.Reason, full.State, full.Reason)
	}
	return full.State
}

func (w *world) want(session crdt.DocID, ref extension.Ref, want loaders.State) {
	w.t.Helper()
	if got := w.state(session, ref); got != want {
		w.t.Errorf("%s is %s, want %s (%s)", ref, got, want, w.set.Resolve(w.t.Context(), session, ref.Name(), ref).Reason)
	}
}

func (w *world) trust(t loaders.TrustRequest) loaders.Decision {
	w.t.Helper()
	d, err := w.set.Trust(w.t.Context(), t)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func signer(t testing.TB, seed byte) *crdt.Identity {
	t.Helper()
	id, err := crdt.NewIdentity(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func signed(t testing.TB, by *crdt.Identity, more func(*loaders.Manifest)) func(*loaders.Manifest) {
	return func(m *loaders.Manifest) {
		if more != nil {
			more(m)
		}
		if err := loaders.SignManifest(m, by); err != nil {
			t.Fatal(err)
		}
	}
}

func session(n byte) crdt.DocID { return crdt.DocID{n} }

func caps(t testing.TB, text string) extension.GuestCaps {
	t.Helper()
	var c extension.GuestCaps
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// brokenJournal can't be written.
type brokenJournal struct{ loaders.MemJournal }

func (*brokenJournal) Append(context.Context, loaders.Event) error { return errors.New("disk full") }
