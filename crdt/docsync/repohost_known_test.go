package docsync_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// Objects that are here already are acknowledged beside new ones, whatever their order; they don't spare
// another one the check of its signature, not even one that differs in nothing else.
func TestRepoHostKnownObjects(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	ctx := context.Background()
	id := a.create(crdt.Session)
	add := func(n *node, objects ...[]byte) (docsync.ObjectsAdded, error) {
		r, err := n.host.Do(ctx, a.id(), docsync.AddObjects{Task: docsync.Task{Doc: id}, Objects: objects})
		got, _ := r.(docsync.ObjectsAdded)
		return got, err
	}
	objects := func() (raw [][]byte, ids []crdt.ObjectID) {
		access, err := a.repo.Access(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range access.InOrder() {
			raw, ids = append(raw, o.Raw), append(ids, o.ID)
		}
		return raw, ids
	}
	first, _ := objects()
	if got, err := add(b, first...); err != nil || got.Added != len(first) {
		t.Fatalf("a joined document: %+v, %v", got, err)
	}
	a.grant(id, b.id(), crdt.Write)
	all, ids := objects()
	slices.Reverse(all)
	got, err := add(b, all...)
	if err != nil || got.Added != len(all)-len(first) || len(got.IDs) != len(all) {
		t.Fatalf("known and new ones: %+v, %v", got, err)
	}
	for _, want := range ids {
		if !slices.Contains(got.IDs, want) {
			t.Errorf("an object is not acknowledged")
		}
	}
	if got, err := add(b, all...); err != nil || got.Added != 0 || len(got.IDs) != len(all) {
		t.Errorf("all known: %+v, %v", got, err)
	}
	for i := range all {
		forged := slices.Clone(all)
		forged[i] = slices.Clone(all[i])
		forged[i][len(forged[i])-1] ^= 1 // the signature comes last
		var proto *docsync.ProtocolError
		if _, err := add(b, forged...); !errors.As(err, &proto) {
			t.Errorf("object %d with another signature: %v", i, err)
		}
	}
}
