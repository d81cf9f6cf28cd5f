package node

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/routine"
)

// Another member of a session can't make this peer's extensions run, whatever home its row names.
func TestForeignRoutinesDoNotFireHere(t *testing.T) {
	ctx := context.Background()
	n, err := Open(ctx, Config{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	id, err := n.createSession(ctx, "room", nil, "cli", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := crdt.NewIdentity(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := crdt.NewRepo(ctx, crdt.Config{
		Store: crdt.NewMemStore(), Identity: other, Clock: n.clock, Codec: chunk.New(), Core: automerge.New(), Rand: rand.Reader,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	if err := n.grant(ctx, id, other.PeerID(), crdt.Write, crdt.ObjectID{}); err != nil {
		t.Fatal(err)
	}
	swap(t, n.repo, repo, id)
	row := routine.Routine{Enabled: true, Home: n.Self().String(), MaxFailures: 3}
	if row.Trigger, err = routine.Cron("* * * * * *", ""); err != nil {
		t.Fatal(err)
	}
	row.Target = routine.Target{Extension: "core", Payload: json.RawMessage("null")}
	write := func(r *crdt.Repo, rid string) {
		err := r.Update(ctx, id, func(tx *crdt.Tx) error { return setFields(tx, routinesStore, rid, row.Fields()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	write(n.repo, "mine")
	write(repo, "theirs")
	swap(t, repo, n.repo, id)
	for rid, want := range map[string]bool{"mine": true, "theirs": false} {
		key := routine.Key{Scope: routine.Session(id.String()), ID: rid}
		r, ok, err := routineStore{n: n}.Row(ctx, key)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", rid, ok, err)
		}
		if got := (homes{n}).IsHome(ctx, key, r); got != want {
			t.Errorf("%s: fires here %v, want %v", rid, got, want)
		}
	}
	// A routine of one's own whose target another member changed is no longer one's own.
	row.Target.Extension = "web"
	swap(t, n.repo, repo, id)
	write(repo, "mine")
	swap(t, repo, n.repo, id)
	key := routine.Key{Scope: routine.Session(id.String()), ID: "mine"}
	if r, _, _ := (routineStore{n: n}).Row(ctx, key); r.Target.Extension != "web" || (homes{n}).IsHome(ctx, key, r) {
		t.Errorf("a changed target fires here: %+v", r.Target)
	}
}

// swap copies what one repo has of a document to another.
func swap(t *testing.T, from, to *crdt.Repo, id crdt.DocID) {
	t.Helper()
	ctx := context.Background()
	access, err := from.Access(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var objs [][]byte
	for _, o := range access.InOrder() {
		objs = append(objs, o.Raw)
	}
	if _, err := to.Adopt(ctx, objs); err != nil {
		t.Fatal(err)
	}
	have, err := to.Vector(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	page, _, _, err := from.Page(ctx, id, have, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Apply(ctx, id, page); err != nil {
		t.Fatal(err)
	}
}
