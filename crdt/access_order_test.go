package crdt_test

import (
	"context"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Objects sent one by one in order are all kept: none has to wait for a later one.
func TestObjectsInOrder(t *testing.T) {
	peers := []*peer{}
	for i := range 4 {
		peers = append(peers, newPeer(t, int64(i+1), crdt.NewMemStore()))
	}
	id := peers[0].create(t)
	for i, p := range peers[1:] {
		peers[i].grant(t, id, p, crdt.Admin)
		p.pull(t, peers[i], id)
		p.post(t, id, "hello")
		for _, q := range peers {
			if q != p && q.Has(id) {
				q.pull(t, p, id)
			}
		}
	}
	access, err := peers[3].Access(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newPeer(t, 9, crdt.NewMemStore())
	for i, o := range access.InOrder() {
		if _, err := fresh.Adopt(context.Background(), [][]byte{o.Raw}); i == 0 && err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if n, err := fresh.AddObjects(context.Background(), id, [][]byte{o.Raw}); err != nil || n != 1 {
				t.Errorf("object %d (%s): added %d, %v", i, o.Kind, n, err)
			}
		}
	}
}

// What nobody with a right has signed is not kept.
func TestStrangersObjectsAreNotKept(t *testing.T) {
	a, stranger := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	forged, err := stranger.cfg.Identity.NewGrant(id, crdt.Grant{Parent: crdt.ObjectID(id), Subject: stranger.Self(), Role: crdt.Admin}, stranger.cfg.Rand)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.AddObjects(context.Background(), id, [][]byte{forged.Raw}); n != 0 || err != nil {
		t.Errorf("a stranger's grant: added %d, %v", n, err)
	}
	honest, err := a.cfg.Identity.NewGrant(id, crdt.Grant{Parent: crdt.ObjectID(id), Subject: stranger.Self(), Role: crdt.Read}, a.cfg.Rand)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.AddObjects(context.Background(), id, [][]byte{honest.Raw}); n != 1 || err != nil {
		t.Errorf("the owner's grant: added %d, %v", n, err)
	}
}
