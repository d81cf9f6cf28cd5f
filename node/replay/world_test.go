package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/node/replay"
)

// world is one peer with real documents and a real hub, and decisions and bytes in memory.
type world struct {
	t     testing.TB
	repo  *crdt.Repo
	hub   *hub.Hub
	m     *replay.Manager
	shelf *shelf

	views, builds atomic.Int32

	mu       sync.Mutex
	asked    []string      // fetches, by name
	peers    bool          // somebody has all bytes
	slow     chan struct{} // a fetch waits for its end
	notices  []string
	any      map[crdt.DocID]bool
	closed   map[crdt.DocID]bool
	broken   map[string]error // what building fails with, by the text of the reference
	blind    error            // what every look at a document fails with
	midway   func(ref string) // runs while something is built
	placing  func()           // runs while something is installed in a session
	installs int
	alive    map[string]int // instances by "name version"
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, shelf: newShelf(), any: map[crdt.DocID]bool{}, closed: map[crdt.DocID]bool{}, broken: map[string]error{}, alive: map[string]int{},
	}
	rng := rand.New(rand.NewSource(1))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	w.repo, err = crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.hub = hub.New(hub.Config{Peer: &extension.Peer{Self: w.repo.Self(), Clock: crdt.SystemClock{}}, Documents: w.repo, Clock: crdt.SystemClock{}})
	w.m = replay.New(replay.Config{
		Documents: documents{w}, Resolver: w.shelf, Hub: wholeHub{w.hub, w}, Gate: w.hub, Build: w.build, Fetch: w.fetch,
		Blocks: func(_ context.Context, _ extension.Ref, r loaders.Resolution) string {
			if r.Package != nil && r.Package.Manifest.Enforcing {
				return "the rules are not here: " + string(r.State)
			}
			return ""
		},
		HasAny: func(_ context.Context, id crdt.DocID, any bool) { w.lock(func() { w.any[id] = any }) },
		Notice: func(_ context.Context, _ crdt.DocID, s replay.Status) {
			w.lock(func() { w.notices = append(w.notices, s.Name+" "+string(s.State)) })
		},
		Closed: func(_ context.Context, id crdt.DocID) (is bool) { w.lock(func() { is = w.closed[id] }); return is },
		Log:    slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		if err := errors.Join(w.hub.Close(context.Background()), w.repo.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) lock(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// documents counts looks, and fails them on demand.
type documents struct{ w *world }

func (d documents) View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error {
	d.w.views.Add(1)
	var err error
	if d.w.lock(func() { err = d.w.blind }); err != nil {
		return err
	}
	return d.w.repo.View(ctx, id, fn)
}

// wholeHub is the hub as the manager takes it.
type wholeHub struct {
	*hub.Hub
	w *world
}

func (h wholeHub) InstallIn(ctx context.Context, id crdt.DocID, x extension.Extension) error {
	var placing func()
	h.w.lock(func() { h.w.installs++; placing = h.w.placing })
	if placing != nil {
		placing()
	}
	return h.Hub.InstallIn(ctx, id, x)
}

func (h wholeHub) Install(ctx context.Context, x extension.Extension) error {
	var errs []error
	for _, r := range h.Hub.Install(ctx, []extension.Extension{x}) {
		errs = append(errs, r.Err)
	}
	return errors.Join(errs...)
}

// code is an extension with one tool, which says its version and powers.
type code struct {
	w    *world
	d    extension.Declaration
	says string
}

func (c code) Declaration() extension.Declaration { return c.d }

func (c code) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	key := c.d.Name + " " + c.d.Ref.Field("sha")[:1]
	c.w.lock(func() { c.w.alive[key]++ })
	return &extension.Instance{
		Tools: []extension.Tool{{
			Name: c.d.Name + "__say", Description: "Says.",
			Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return c.says, nil },
		}},
		Shutdown: func(context.Context) error { c.w.lock(func() { c.w.alive[key]-- }); return nil },
	}, nil
}

func (w *world) build(ctx context.Context, _ crdt.DocID, r loaders.Resolution) (extension.Extension, error) {
	w.builds.Add(1)
	ref := r.Package.Ref
	var err error
	var midway func(string)
	w.lock(func() { err, midway = w.broken[ref.String()], w.midway })
	if midway != nil {
		midway(ref.String())
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	d := r.Package.Manifest.Declaration(ref)
	d.Hooks = []extension.HookKind{extension.HookTool}
	return code{w, d, fmt.Sprintf("%s kv=%d", ref.Field("sha")[:1], r.Caps.KV)}, nil
}

// fetch brings what a peer has.
func (w *world) fetch(_ context.Context, _ crdt.DocID, ref extension.Ref) error {
	var peers bool
	var slow chan struct{}
	w.lock(func() { w.asked, peers, slow = append(w.asked, ref.Name()), w.peers, w.slow })
	if slow != nil {
		<-slow
	}
	if !peers {
		return fmt.Errorf("fetch %s: %w", ref.Name(), loaders.ErrMissing)
	}
	w.shelf.bring(ref)
	return nil
}

func (w *world) fetched() (out []string) {
	w.lock(func() { out, w.asked = w.asked, nil })
	return out
}

func (w *world) noticed() (out []string) {
	w.lock(func() { out, w.notices = w.notices, nil })
	return out
}

// ref is a version of an extension, named by a digit.
func ref(name, version string) extension.Ref {
	return extension.GitRef(name, "https://example.org/"+name, strings.Repeat(version, 40))
}

func (w *world) session(on ...extension.Ref) crdt.DocID {
	w.t.Helper()
	id, err := w.repo.Create(context.Background(), crdt.Session, func(*crdt.Tx) error { return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range on {
		w.toggle(id, activation.Activated, r)
	}
	return id
}

func (w *world) toggle(id crdt.DocID, kind activation.Kind, r extension.Ref) {
	w.t.Helper()
	err := w.repo.Update(context.Background(), id, func(tx *crdt.Tx) error {
		rows, err := tx.Index(activation.IndexName).(*activation.Log).Next(tx.Now(), kind, r.Name(), r)
		for _, e := range rows {
			if err == nil {
				_, err = tx.PutRow(activation.Store, e.Text)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ensure(id crdt.DocID) {
	w.t.Helper()
	if err := w.m.Ensure(context.Background(), id); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) changed() {
	w.t.Helper()
	if err := w.m.Changed(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// says calls the tool of an extension in a turn of a session; empty: there is none.
func (w *world) says(id crdt.DocID, name string) string {
	w.t.Helper()
	turn, err := w.hub.Turn(context.Background(), hub.TurnKey{Session: id})
	if err != nil {
		w.t.Fatal(err)
	}
	defer turn.Release()
	b, ok := turn.Tool(name + "__say")
	if !ok {
		return ""
	}
	out, err := b.Tool.Run(context.Background(), b.Call, json.RawMessage("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) wantSays(id crdt.DocID, name, want string) {
	w.t.Helper()
	if got := w.says(id, name); got != want {
		w.t.Errorf("%s in %s says %q; want %q", name, id.Short(), got, want)
	}
}

func (w *world) wantState(id crdt.DocID, name string, want loaders.State) {
	w.t.Helper()
	if got := w.m.States(id)[name]; got.State != want {
		w.t.Errorf("%s in %s is %q (%s); want %q", name, id.Short(), got.State, got.Reason, want)
	}
}

// refused is why a tool call in a session is denied; empty: it is not.
func (w *world) refused(id crdt.DocID) string {
	w.t.Helper()
	turn, err := w.hub.Turn(context.Background(), hub.TurnKey{Session: id})
	if err != nil {
		w.t.Fatal(err)
	}
	defer turn.Release()
	if o := turn.ToolCall(context.Background(), "any", json.RawMessage("{}"), nil); o.Verdict == extension.Deny {
		return o.Reason
	}
	return ""
}
