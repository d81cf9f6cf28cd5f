package hub

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// world is one peer with real documents.
type world struct {
	t     testing.TB
	ctx   context.Context
	repo  *crdt.Repo
	clock crdt.Clock
	docs  *countedDocs
	hub   *Hub

	mu     sync.Mutex
	audits []AuditEvent
	notes  []string // what extensions did, in order
}

// countedDocs counts the looks at each document.
type countedDocs struct {
	*crdt.Repo
	mu    sync.Mutex
	views map[crdt.DocID]int
}

func (d *countedDocs) View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error {
	d.mu.Lock()
	d.views[id]++
	d.mu.Unlock()
	return d.Repo.View(ctx, id, fn)
}

func (d *countedDocs) viewed(id crdt.DocID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.views[id]
}

func newRepo(t testing.TB, seed int64, clock crdt.Clock) *crdt.Repo {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// newWorld makes a peer whose clock is the machine's, which synctest replaces.
func newWorld(t testing.TB) *world { return newWorldWith(t, crdt.SystemClock{}, func(*Config) {}) }

func newWorldWith(t testing.TB, clock crdt.Clock, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), clock: clock}
	w.repo = newRepo(t, 1, clock)
	w.docs = &countedDocs{Repo: w.repo, views: map[crdt.DocID]int{}}
	cfg := Config{Peer: &extension.Peer{Self: w.repo.Self(), Clock: clock}, Documents: w.docs, Clock: clock, Log: slog.New(slog.DiscardHandler), Audit: w.audit}
	change(&cfg)
	w.hub = New(cfg)
	t.Cleanup(func() {
		if err := w.hub.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := w.repo.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) audit(e AuditEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.audits = append(w.audits, e)
}

// outcomes lists what was audited as "extension point outcome".
func (w *world) outcomes() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.audits {
		out = append(out, fmt.Sprintf("%s %s %s", e.Extension, e.Point, e.Outcome))
	}
	return out
}

// note records an act of an extension.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// noted returns what was recorded since the last time.
func (w *world) noted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.notes
	w.notes = nil
	return out
}

func (w *world) wantNotes(want ...string) {
	w.t.Helper()
	if got := w.noted(); !slices.Equal(got, want) {
		w.t.Errorf("notes %q; want %q", got, want)
	}
}

// install puts extensions in and returns the results; the names get on in no session by that.
func (w *world) install(list ...*fake) []Result {
	w.t.Helper()
	exts := make([]extension.Extension, len(list))
	for i, f := range list {
		exts[i] = f
	}
	return w.hub.Install(w.ctx, exts)
}

func (w *world) mustInstall(list ...*fake) {
	w.t.Helper()
	for _, r := range w.install(list...) {
		if r.Err != nil {
			w.t.Fatal(r.Err)
		}
	}
}

// session makes a session with the extensions on.
func (w *world) session(on ...*fake) crdt.DocID {
	w.t.Helper()
	id, err := w.repo.Create(w.ctx, crdt.Session, func(tx *crdt.Tx) error { return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range on {
		w.toggle(id, activation.Activated, f)
	}
	return id
}

func (w *world) agent(name string) extension.Agent {
	w.t.Helper()
	id, err := w.repo.Create(w.ctx, crdt.Agent, func(tx *crdt.Tx) error {
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return extension.Agent{ID: id, Name: name}
}

// toggle writes an event as a command would.
func (w *world) toggle(doc crdt.DocID, kind activation.Kind, f *fake) {
	toggleIn(w.t, w.repo, doc, kind, f)
}

func toggleIn(t testing.TB, repo *crdt.Repo, doc crdt.DocID, kind activation.Kind, f *fake) {
	t.Helper()
	err := repo.Update(context.Background(), doc, func(tx *crdt.Tx) error {
		log := tx.Index(activation.IndexName).(*activation.Log)
		rows, err := log.Next(tx.Now(), kind, f.d.Name, f.d.Ref)
		if err != nil {
			return err
		}
		for _, e := range rows {
			if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) set(session crdt.DocID, key string, value any) {
	w.t.Helper()
	if err := w.repo.Update(w.ctx, session, func(tx *crdt.Tx) error { return tx.Set(crdt.SettingsStore, key, value) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) turn(session crdt.DocID, agent extension.Agent) *Turn {
	w.t.Helper()
	t, err := w.hub.Turn(w.ctx, TurnKey{Session: session, Agent: agent})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// during runs fn in a turn.
func (w *world) during(session crdt.DocID, agent extension.Agent, fn func(*Turn)) {
	w.t.Helper()
	t := w.turn(session, agent)
	defer t.Release()
	fn(t)
}

// toolNames are the tools of a turn as "owner:tool".
func toolNames(t *Turn) (out []string) {
	for _, i := range t.Tools() {
		out = append(out, i.Owner+":"+i.Name)
	}
	return out
}

// entry is the first version of an extension of the whole peer.
func (w *world) entry(name string) *entry {
	w.t.Helper()
	list := w.hub.catalog.Load().byName[name]
	if len(list) == 0 {
		w.t.Fatalf("no extension %s", name)
	}
	return list[0]
}
