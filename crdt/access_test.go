package crdt

import (
	"fmt"
	"slices"
	"testing"
)

// accLog builds an access log step by step; people are numbered.
type accLog struct {
	t     *testing.T
	doc   DocID
	objs  []*Object
	nonce uint64
}

func newAccLog(t *testing.T, owners ...int) *accLog {
	var others []PeerID
	for _, p := range owners[1:] {
		others = append(others, testIdentity(p).PeerID())
	}
	g := must(testIdentity(owners[0]).NewGenesis(Session, others, 1, testRand(1)))
	return &accLog{t: t, doc: g.Doc, objs: []*Object{g}, nonce: 1}
}

func (l *accLog) add(o *Object) *Object {
	l.objs = append(l.objs, o)
	return o
}

// grant lets by give a role to a peer, under the right parent (nil: as an owner).
func (l *accLog) grant(by int, parent *Object, to int, role Role) *Object {
	return l.add(must(testIdentity(by).NewGrant(l.doc, Grant{Parent: l.parent(parent), Subject: testIdentity(to).PeerID(), Role: role}, l.rand())))
}

func (l *accLog) parent(o *Object) ObjectID {
	if o == nil {
		return ObjectID(l.doc)
	}
	return o.ID
}

func (l *accLog) rand() *limitedRand {
	l.nonce++
	return &limitedRand{l.nonce}
}

// limitedRand fills with one number: nonces that differ, and that one can read in a failure.
type limitedRand struct{ n uint64 }

func (r *limitedRand) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.n)
	}
	return len(b), nil
}

func (l *accLog) revoke(by int, target *Object, cut ...CutEntry) *Object {
	return l.add(must(testIdentity(by).NewRevocation(l.doc, target.ID, PeerID{}, cut)))
}

func (l *accLog) revokeOwner(by, owner int, cut ...CutEntry) *Object {
	return l.add(must(testIdentity(by).NewRevocation(l.doc, ObjectID(l.doc), testIdentity(owner).PeerID(), cut)))
}

func (l *accLog) actor(by int, grant *Object) ActorID {
	l.add(testIdentity(by).NewActor(l.doc, l.parent(grant), [16]byte{1}))
	return NewActorID(l.doc, testIdentity(by).PeerID(), l.parent(grant), [16]byte{1})
}

func (l *accLog) access() *Access { return Resolve(l.doc, l.objs) }

// roles checks the roles of the people from 0 on.
func (l *accLog) roles(what string, want ...Role) {
	l.t.Helper()
	a := l.access()
	var got []Role
	for p := range want {
		got = append(got, a.Role(testIdentity(p).PeerID()))
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("%s: roles %v, want %v", what, got, want)
	}
}

func TestWhoMayGrant(t *testing.T) {
	l := newAccLog(t, 0)
	admin := l.grant(0, nil, 1, Admin)
	writer := l.grant(1, admin, 2, Write)
	l.roles("an owner makes an admin, he a writer", Owner, Admin, Write, NoRole)
	l.grant(2, writer, 3, Read)
	l.roles("a writer grants", Owner, Admin, Write, NoRole)
	l.grant(2, admin, 3, Read)
	l.roles("a writer grants in an admin's name", Owner, Admin, Write, NoRole)
	l.grant(2, nil, 3, Read)
	l.roles("a writer grants as an owner", Owner, Admin, Write, NoRole)
	l.grant(4, nil, 3, Read)
	l.roles("a stranger grants", Owner, Admin, Write, NoRole)
	l.grant(1, admin, 3, Admin)
	l.roles("an admin makes an admin", Owner, Admin, Write, Admin)
}

func TestGrantsReachSixDeep(t *testing.T) {
	l := newAccLog(t, 0)
	parent := (*Object)(nil)
	for p := range MaxDepth + 1 {
		parent = l.grant(p, parent, p+1, Admin)
	}
	l.roles("seven grants in a row", Owner, Admin, Admin, Admin, Admin, Admin, Admin, NoRole)
	if c := l.access().Chain(testIdentity(MaxDepth).PeerID()); len(c) != 1+MaxDepth {
		t.Errorf("a chain of %d objects", len(c))
	}
}

func TestWhoMayRevoke(t *testing.T) {
	// Owners 0 and 1; 2 and 3 are admins by 0, 4 a writer by 2, 5 an admin by 1.
	build := func() (*accLog, map[int]*Object) {
		l := newAccLog(t, 0, 1)
		by2 := l.grant(0, nil, 2, Admin)
		return l, map[int]*Object{2: by2, 3: l.grant(0, nil, 3, Admin), 4: l.grant(2, by2, 4, Write), 5: l.grant(1, nil, 5, Admin)}
	}
	all := []Role{Owner, Owner, Admin, Admin, Write, Admin}
	for _, c := range []struct {
		by, target int
		ok         bool
	}{
		{0, 2, true},
		{0, 4, true},
		{2, 4, true},
		{4, 4, true},
		{2, 2, true},
		{1, 5, true},
		{0, 5, true}, // the first owner is senior to the second and all he let in
		{1, 2, false},
		{1, 4, false}, // but not the other way round
		{3, 2, false},
		{2, 3, false}, // equals
		{4, 2, false},
		{3, 4, false},
		{5, 4, false},
		{6, 4, false},
		{0, 1, true},
		{1, 1, true},
		{0, 0, true},
		{1, 0, false},
		{2, 0, false},
		{5, 1, false},
	} {
		l, grants := build()
		l.roles("before", all...)
		want := slices.Clone(all)
		if g := grants[c.target]; g != nil {
			l.revoke(c.by, g)
		} else {
			l.revokeOwner(c.by, c.target)
		}
		if c.ok {
			for p, falls := range map[int][]int{0: {0, 2, 3, 4}, 1: {1, 5}, 2: {2, 4}}[c.target] {
				_ = p
				want[falls] = NoRole
			}
			want[c.target] = NoRole
		}
		l.roles(fmt.Sprintf("%d revokes %d", c.by, c.target), want...)
	}
}

func TestRevokedAdminsInviteesFallUnlessReissued(t *testing.T) {
	l := newAccLog(t, 0)
	admin := l.grant(0, nil, 1, Admin)
	l.grant(1, admin, 2, Write)
	l.grant(1, admin, 3, Write)
	l.grant(0, nil, 3, Read)
	l.roles("before", Owner, Admin, Write, Write)
	l.revoke(0, admin)
	l.roles("after", Owner, NoRole, NoRole, Read)
	l.grant(1, admin, 4, Write)
	l.roles("the revoked admin goes on granting", Owner, NoRole, NoRole, Read, NoRole)
	l.grant(0, nil, 1, Write)
	l.roles("invited anew", Owner, Write, NoRole, Read, NoRole)
	mine := slices.DeleteFunc(l.access().Members(), func(m Member) bool { return m.Peer != testIdentity(1).PeerID() })
	if len(mine) != 2 || !mine[0].Live || mine[0].Role != Write || mine[1].Live || mine[1].Role != Admin {
		t.Errorf("his rights, the living first: %+v", mine)
	}
}

func TestLeave(t *testing.T) {
	l := newAccLog(t, 0, 1)
	admin := l.grant(0, nil, 2, Admin)
	l.grant(2, admin, 3, Read)
	writes := l.actor(2, admin)
	l.add(testIdentity(0).NewLeave(l.doc, admin.ID))
	l.roles("somebody else says he leaves", Owner, Owner, Admin, Read)
	l.add(testIdentity(2).NewLeave(l.doc, admin.ID))
	l.roles("he leaves", Owner, Owner, NoRole, NoRole)
	if a := l.access(); a.HasCuts() || !a.InForce(writes, 7, ChangeHash{}) {
		t.Error("what he wrote fell with him")
	}
	l.add(testIdentity(1).NewLeave(l.doc, ObjectID(l.doc)))
	l.roles("an owner leaves", Owner, NoRole)
}

func TestExpiryIsForServingOnly(t *testing.T) {
	l := newAccLog(t, 0)
	admin := l.add(must(testIdentity(0).NewGrant(l.doc, Grant{Parent: ObjectID(l.doc), Subject: testIdentity(1).PeerID(), Role: Admin, Expiry: 100}, l.rand())))
	l.grant(1, admin, 2, Write)
	l.grant(0, nil, 1, Read)
	actor := l.actor(1, admin)
	a, p1, p2 := l.access(), testIdentity(1).PeerID(), testIdentity(2).PeerID()
	for _, c := range []struct {
		now            int64
		first, invitee Role
		readers        int
	}{{99, Admin, Write, 3}, {100, Read, NoRole, 2}} {
		if r1, r2 := a.RoleAt(p1, c.now), a.RoleAt(p2, c.now); r1 != c.first || r2 != c.invitee || len(a.Readers(c.now)) != c.readers {
			t.Errorf("at %d: %s and %s, %d readers", c.now, r1, r2, len(a.Readers(c.now)))
		}
	}
	if id, role := a.GrantAt(p1, 100); role != Read || id == admin.ID {
		t.Errorf("authoring after expiry by %s as %s", id, role)
	}
	if a.Role(p1) != Admin || !a.InForce(actor, 1, ChangeHash{}) || a.HasCuts() {
		t.Error("expiry took something out of force")
	}
}

func TestInvites(t *testing.T) {
	l := newAccLog(t, 0)
	secret := Secret{7}
	admin := l.grant(0, nil, 1, Admin)
	invite := func(by int, parent *Object, role Role, expiry int64) *Object {
		return l.add(must(testIdentity(by).NewInvite(l.doc, Invite{Parent: l.parent(parent), Secret: secret.Hash(), Role: role, Expiry: expiry, MaxUses: 2}, l.rand())))
	}
	mine, his := invite(0, nil, Read, 50), invite(1, admin, Write, 0)
	invite(2, admin, Write, 0) // by somebody who may not
	redeem := func(by int, parent, inv *Object, to int) {
		l.add(must(testIdentity(by).NewGrant(l.doc, Grant{Parent: l.parent(parent), Subject: testIdentity(to).PeerID(), Role: Read, Invite: inv.ID}, l.rand())))
	}
	state := func(o *Object) InviteInfo {
		all := l.access().Invites()
		if len(all) != 2 {
			t.Fatalf("%d invites", len(all))
		}
		return all[slices.IndexFunc(all, func(i InviteInfo) bool { return i.ID == o.ID })]
	}
	if i := state(mine); !i.OpenAt(49) || i.OpenAt(50) || i.By != testIdentity(0).PeerID() {
		t.Errorf("fresh: %+v", i)
	}
	if i, ok := l.access().InviteOf(testIdentity(1).PeerID(), secret); !ok || i.ID != his.ID {
		t.Errorf("by secret: %+v, %v", i, ok)
	}
	if _, ok := l.access().InviteOf(testIdentity(1).PeerID(), Secret{8}); ok {
		t.Error("found by another secret")
	}
	redeem(1, admin, mine, 4) // an admin does not use up the owner's invite
	redeem(0, nil, mine, 3)
	if i := state(mine); i.Uses != 1 || !i.OpenAt(1) {
		t.Errorf("used once: %+v", i)
	}
	if c := l.access().Chain(testIdentity(3).PeerID()); len(c) != 3 || c[2].ID != mine.ID {
		t.Errorf("the chain shows %v", c)
	}
	redeem(0, nil, mine, 5)
	if i := state(mine); i.Uses != 2 || i.OpenAt(1) {
		t.Errorf("used up: %+v", i)
	}
	l.revoke(1, mine)
	l.revoke(2, his)
	if i := state(his); !i.Live || !state(mine).Live {
		t.Errorf("revoked by peers who may not: %+v", i)
	}
	l.revoke(1, his)
	if i := state(his); i.Live || i.OpenAt(1) {
		t.Errorf("revoked: %+v", i)
	}
	l.roles("a revoked ticket keeps whom it let in", Owner, Admin, NoRole, Read, Read, Read)
	l.revoke(0, admin)
	if i := state(mine); !i.Live {
		t.Errorf("another's invite fell with the admin: %+v", i)
	}
}

func TestPublic(t *testing.T) {
	l := newAccLog(t, 0)
	admin, writer := l.grant(0, nil, 1, Admin), l.grant(0, nil, 2, Write)
	l.add(must(testIdentity(2).NewPublic(l.doc, writer.ID, l.rand())))
	l.roles("a writer opens it", Owner, Admin, Write, NoRole)
	open := l.add(must(testIdentity(1).NewPublic(l.doc, admin.ID, l.rand())))
	l.roles("an admin opens it", Owner, Admin, Write, Read)
	if id, role := l.access().GrantFor(testIdentity(3).PeerID()); role != NoRole || id != (ObjectID{}) {
		t.Errorf("a stranger may write as %s by %s", role, id)
	}
	l.revoke(2, open)
	l.roles("a writer closes it", Owner, Admin, Write, Read)
	l.revoke(0, open)
	l.roles("the owner closes it", Owner, Admin, Write, NoRole)
}

func TestUnknownKindsCountFromAdminsOnly(t *testing.T) {
	l := newAccLog(t, 0)
	admin := l.grant(0, nil, 1, Admin)
	l.grant(0, nil, 2, Write)
	stranger := l.add(unknownObject(testIdentity(3), l.doc, "ban", nil))
	writer := l.add(unknownObject(testIdentity(2), l.doc, "ban", nil))
	a := l.access()
	if a.HasUnknown() || a.Placed(stranger.ID) || !a.Placed(writer.ID) || len(a.Objects()) != 5 {
		t.Errorf("unknown %v, a stranger's kept %v, a writer's %v", a.HasUnknown(), a.Placed(stranger.ID), a.Placed(writer.ID))
	}
	l.add(unknownObject(testIdentity(1), l.doc, "ban", nil))
	if !l.access().HasUnknown() {
		t.Error("an admin's does not count")
	}
	l.revoke(0, admin)
	if l.access().HasUnknown() {
		t.Error("a revoked admin's counts")
	}
}

func TestActors(t *testing.T) {
	l := newAccLog(t, 0)
	writer, reader := l.grant(0, nil, 1, Write), l.grant(0, nil, 2, Read)
	good, owner := l.actor(1, writer), l.actor(0, nil)
	invite := l.add(must(testIdentity(0).NewInvite(l.doc, Invite{Parent: ObjectID(l.doc), Role: Write, MaxUses: 1}, l.rand())))
	for what, id := range map[string]ActorID{
		"by an invite": l.actor(0, invite),
		"of a reader":  l.actor(2, reader), "by another's grant": l.actor(2, writer), "of no owner": l.actor(1, nil),
		"never declared": {1},
	} {
		if info, ok := l.access().Actor(id); ok {
			t.Errorf("an actor %s counts: %+v", what, info)
		}
	}
	if info, ok := l.access().Actor(owner); !ok || info.Role != Owner || info.Grant != ObjectID(l.doc) {
		t.Errorf("the owner's: %+v, %v", info, ok)
	}
	want := ActorInfo{Key: testIdentity(1).PeerID(), Grant: writer.ID, Epoch: [16]byte{1}, Role: Write, Live: true}
	if info, ok := l.access().Actor(good); !ok || info != want {
		t.Errorf("the writer's: %+v, %v", info, ok)
	}
	l.revoke(0, writer, CutEntry{good, 3, ChangeHash{3}})
	want.Live = false
	a := l.access()
	if info, ok := a.Actor(good); !ok || info != want {
		t.Errorf("the revoked writer's: %+v, %v", info, ok)
	}
	for seq, in := range map[uint64]bool{1: true, 2: true, 3: true, 4: false} {
		if a.InForce(good, seq, ChangeHash{byte(seq)}) != in {
			t.Errorf("change %d in force: %v", seq, !in)
		}
	}
	if a.InForce(good, 3, ChangeHash{33}) {
		t.Error("another change at the cut is in force")
	}
}

func TestNoGenesis(t *testing.T) {
	l := newAccLog(t, 0)
	l.grant(0, nil, 1, Admin)
	l.actor(0, nil)
	a := Resolve(l.doc, l.objs[1:])
	if a.Kind() != "" || a.Role(testIdentity(0).PeerID()) != NoRole || len(a.Members()) != 0 || a.Chain(testIdentity(1).PeerID()) != nil {
		t.Errorf("a log without its genesis gives rights: %+v", a.Members())
	}
	if Resolve(l.doc, nil).Digest() == a.Digest() {
		t.Error("the digest does not see the objects")
	}
}
