package command_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// shareAs grants b a role in a's session and brings everything over, as a sync would.
func shareAs(t *testing.T, ctx context.Context, a, b *desk, role crdt.Role) {
	t.Helper()
	err := a.repo.Issue(ctx, a.session, func(acc *crdt.Access) ([]*crdt.Object, error) {
		parent, _ := acc.GrantFor(a.repo.Self())
		o, err := a.repo.Identity().NewGrant(a.session, crdt.Grant{Parent: parent, Subject: b.repo.Self(), Role: role}, rand.New(rand.NewSource(7)))
		return []*crdt.Object{o}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.session = a.session
	pull(t, ctx, b, a)
}

func share(t *testing.T, ctx context.Context, a, b *desk) { shareAs(t, ctx, a, b, crdt.Write) }

// pull brings what from has of its session to another peer.
func pull(t *testing.T, ctx context.Context, to, from *desk) {
	t.Helper()
	access, err := from.repo.Access(ctx, from.session)
	if err != nil {
		t.Fatal(err)
	}
	var raw [][]byte
	for _, o := range access.Objects() {
		raw = append(raw, o.Raw)
	}
	if _, err := to.repo.Adopt(ctx, raw); err != nil {
		t.Fatal(err)
	}
	have, err := to.repo.Vector(ctx, from.session)
	if err != nil {
		t.Fatal(err)
	}
	page, _, _, err := from.repo.Page(ctx, from.session, have, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.repo.Apply(ctx, from.session, page); err != nil {
		t.Fatal(err)
	}
}
