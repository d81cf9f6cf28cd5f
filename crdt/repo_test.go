package crdt_test

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// peer is a repo with what it is made of, so that it can be closed and opened again.
type peer struct {
	*crdt.Repo
	cfg   crdt.Config
	clock *crdt.ManualClock
}

func newPeer(t *testing.T, seed int64, store crdt.Store) *peer {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	clock := crdt.NewManualClock(1_700_000_000_000 + seed)
	p := &peer{clock: clock, cfg: crdt.Config{
		Store: store, Identity: id, Clock: clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex()},
	}}
	p.open(t)
	t.Cleanup(func() { p.Close() })
	return p
}

func (p *peer) open(t *testing.T) {
	t.Helper()
	var err error
	if p.Repo, err = crdt.NewRepo(context.Background(), p.cfg); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) reopen(t *testing.T) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(t)
}

func (p *peer) create(t *testing.T) crdt.DocID {
	t.Helper()
	id, err := p.Create(context.Background(), crdt.Session, func(tx *crdt.Tx) error { return tx.Set("meta", "name", "talk") })
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (p *peer) post(t *testing.T, id crdt.DocID, text string) {
	t.Helper()
	err := p.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "me", Content: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *peer) texts(t *testing.T, id crdt.DocID) []string {
	t.Helper()
	var out []string
	err := p.View(context.Background(), id, func(v *crdt.View) error {
		for _, e := range (crdt.SessionView{View: v}).Entries(0, -1) {
			out = append(out, e.Content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pull copies everything that from has of a document to p, the access log first.
func (p *peer) pull(t *testing.T, from *peer, id crdt.DocID) []crdt.Verdict {
	t.Helper()
	ctx := context.Background()
	access, err := from.Access(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var objs [][]byte
	for _, o := range access.Objects() {
		objs = append(objs, o.Raw)
	}
	if _, err := p.Adopt(ctx, objs); err != nil {
		t.Fatal(err)
	}
	var all []crdt.Verdict
	for {
		have, err := p.Vector(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		page, _, more, err := from.Page(ctx, id, have, nil, 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		v, err := p.Apply(ctx, id, page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
		if !more {
			return all
		}
	}
}

func (p *peer) grant(t *testing.T, id crdt.DocID, to *peer, role crdt.Role) {
	t.Helper()
	err := p.Issue(context.Background(), id, func(a *crdt.Access) ([]*crdt.Object, error) {
		parent, _ := a.GrantFor(p.Self())
		o, err := p.cfg.Identity.NewGrant(id, crdt.Grant{Parent: parent, Subject: to.Self(), Role: role}, p.cfg.Rand)
		return []*crdt.Object{o}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTwoPeersConverge(t *testing.T) {
	a, b := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	for i := range 20 {
		a.post(t, id, fmt.Sprint("a", i))
	}
	a.grant(t, id, b, crdt.Write)
	b.pull(t, a, id)
	if got := b.texts(t, id); len(got) != 20 {
		t.Fatalf("b has %d entries, want 20", len(got))
	}
	b.post(t, id, "from b")
	a.post(t, id, "from a")
	a.pull(t, b, id)
	b.pull(t, a, id)
	if x, y := a.texts(t, id), b.texts(t, id); fmt.Sprint(x) != fmt.Sprint(y) || len(x) != 22 {
		t.Fatalf("a has %v\nb has %v", x, y)
	}
	a.reopen(t)
	ha, err := a.Rebuild(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	hb, err := b.Rebuild(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(ha) != fmt.Sprint(hb) {
		t.Fatalf("heads differ: %v, %v", ha, hb)
	}
}
