package docsync_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// TestRepoFork: two copies of one home write; the proof spreads as an access object and both sides
// show it.
func TestRepoFork(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	id := a.create(crdt.Session)
	a.post(id, "x")
	a.grant(id, b.id(), crdt.Write)
	b.paired[a.id()] = true
	_, _, stop := link(t, a, b)
	b.hasAll(a, id)
	stop()
	twinCfg := a.cfg
	twinCfg.Store = copyStore(t, a.cfg.Store)
	twin := startNode(t, twinCfg)
	a.post(id, "the original")
	a.post(id, "the original goes on")
	twin.post(id, "the copy")
	_, _, stop = link(t, twin, b)
	b.hasAll(twin, id)
	stop()
	link(t, a, b)
	a.shows(id, docsync.Forked)
	for _, n := range []*node{a, b} {
		n.until("the proof", func() bool {
			access, err := n.repo.Access(context.Background(), id)
			return err == nil && slices.ContainsFunc(access.Objects(), func(o *crdt.Object) bool { return o.Kind == crdt.ObjectEquivocation })
		})
	}
}

// TestRepoForkInBulk: the longer branch came in one page, of which only the newest signature is kept.
// The author, restored from a copy and short of it, still learns that he has two branches.
func TestRepoForkInBulk(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	id := a.create(crdt.Session)
	a.grant(id, b.id(), crdt.Write)
	b.paired[a.id()] = true
	a.post(id, "x")
	restoredCfg := a.cfg
	restoredCfg.Store = copyStore(t, a.cfg.Store)
	for i := range 3 {
		a.post(id, fmt.Sprintf("lost %d", i))
	}
	_, _, stop := link(t, a, b)
	b.hasAll(a, id)
	stop()
	restored := startNode(t, restoredCfg)
	restored.post(id, "after the restore")
	link(t, restored, b)
	b.shows(id, docsync.Forked)
	restored.shows(id, docsync.Forked)

	// Giving the own branch up brings the other one, on the same connection.
	access, err := b.repo.Access(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.repo.Forget(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.shows(id, docsync.NotServed)
	var raw [][]byte
	for _, o := range access.InOrder() {
		raw = append(raw, o.Raw)
	}
	if _, err := restored.repo.Adopt(context.Background(), raw); err != nil {
		t.Fatal(err)
	}
	restored.hasAll(b, id)
	b.shows(id, docsync.InSync)
	restored.shows(id, docsync.InSync)
}

func copyStore(t *testing.T, from crdt.Store) crdt.Store {
	t.Helper()
	to := crdt.NewMemStore()
	var b crdt.Batch
	err := from.Scan(context.Background(), nil, nil, func(k, v []byte) error {
		b.Put(bytes.Clone(k), bytes.Clone(v))
		return nil
	})
	if err == nil {
		err = to.Append(context.Background(), &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
