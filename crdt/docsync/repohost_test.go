package docsync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// node is a repo with its host and a policy that a person would have set.
type node struct {
	t     *testing.T
	cfg   crdt.Config
	repo  *crdt.Repo
	host  *docsync.RepoHost
	pages *docsync.Pages

	mu     sync.Mutex
	paired map[crdt.PeerID]bool
	asked  []docsync.Request
	states map[crdt.DocID]docsync.State
	joins  map[crdt.DocID]docsync.JoinState
	moved  chan struct{} // closed and renewed at each notice
}

func newNode(t *testing.T, seed int64) *node {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	return startNode(t, crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
	})
}

func startNode(t *testing.T, cfg crdt.Config) *node {
	t.Helper()
	n := &node{
		t: t, cfg: cfg, paired: map[crdt.PeerID]bool{}, states: map[crdt.DocID]docsync.State{},
		joins: map[crdt.DocID]docsync.JoinState{}, moved: make(chan struct{}),
	}
	var err error
	if n.repo, err = crdt.NewRepo(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	if n.pages, err = docsync.NewPages(); err != nil {
		t.Fatal(err)
	}
	n.host = docsync.NewRepoHost(n.repo, crdt.SystemClock{}, n, n.pages)
	t.Cleanup(func() { n.repo.Close(); n.pages.Close() })
	return n
}

func (n *node) id() crdt.PeerID { return n.repo.Self() }

// Syncs implements [docsync.Policy].
func (n *node) Syncs(crdt.PeerID, crdt.DocID) bool { return true }

// AcceptOffer implements [docsync.Policy].
func (n *node) AcceptOffer(_ context.Context, p crdt.PeerID, _ *crdt.Access) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paired[p]
}

// Redeem implements [docsync.Policy]: invites of this peer are redeemed, others wait.
func (n *node) Redeem(ctx context.Context, r docsync.Request) (docsync.Code, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(r.Secret) == 0 {
		n.asked = append(n.asked, r)
		return docsync.CodePending, nil
	}
	code := docsync.CodeNotServed
	err := n.repo.Issue(ctx, r.Doc, func(a *crdt.Access) ([]*crdt.Object, error) {
		if len(r.Secret) != len(crdt.Secret{}) {
			return nil, nil
		}
		inv, ok := a.InviteOf(n.id(), crdt.Secret(r.Secret))
		if !ok || !inv.OpenAt(crdt.NowMillis(n.cfg.Clock)) {
			return nil, nil
		}
		code = ""
		parent, _ := a.GrantFor(n.id())
		g, err := n.cfg.Identity.NewGrant(r.Doc, crdt.Grant{Parent: parent, Subject: r.Peer, Role: inv.Role, Invite: inv.ID}, n.cfg.Rand)
		return []*crdt.Object{g}, err
	})
	return code, err
}

// Notice implements [docsync.Policy].
func (n *node) Notice(_ crdt.PeerID, notice docsync.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch x := notice.(type) {
	case docsync.StatusChanged:
		n.states[x.Doc] = x.Status.State
	case docsync.JoinChanged:
		n.joins[x.Doc] = x.State
	}
	close(n.moved)
	n.moved = make(chan struct{})
}

func (n *node) create(kind crdt.Kind) crdt.DocID {
	n.t.Helper()
	id, err := n.repo.Create(context.Background(), kind, func(tx *crdt.Tx) error { return tx.Set("meta", "name", "talk") })
	if err != nil {
		n.t.Fatal(err)
	}
	return id
}

func (n *node) post(id crdt.DocID, text string) {
	n.t.Helper()
	err := n.repo.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := tx.AddRow("x_rows", map[string]any{"text": text, "peer": n.id().String()})
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) grant(id crdt.DocID, to crdt.PeerID, role crdt.Role) {
	n.t.Helper()
	err := n.repo.Issue(context.Background(), id, func(a *crdt.Access) ([]*crdt.Object, error) {
		parent, _ := a.GrantFor(n.id())
		g, err := n.cfg.Identity.NewGrant(id, crdt.Grant{Parent: parent, Subject: to, Role: role}, n.cfg.Rand)
		return []*crdt.Object{g}, err
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) invite(id crdt.DocID, secret crdt.Secret, role crdt.Role) {
	n.t.Helper()
	err := n.repo.Issue(context.Background(), id, func(a *crdt.Access) ([]*crdt.Object, error) {
		parent, _ := a.GrantFor(n.id())
		o, err := n.cfg.Identity.NewInvite(id, crdt.Invite{Parent: parent, Secret: secret.Hash(), Role: role, MaxUses: 1}, n.cfg.Rand)
		return []*crdt.Object{o}, err
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) vector(id crdt.DocID) crdt.Vector {
	v, err := n.repo.Vector(context.Background(), id)
	if err != nil {
		return nil
	}
	return v
}

// link connects two nodes; the returned function ends it and gives both ends' errors.
func link(t *testing.T, a, b *node) (da, db *docsync.Driver, stop func() (error, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ca, cb := docsync.Pipe()
	nonce := [16]byte(bytes.Repeat([]byte{byte(rand.Int())}, 16))
	mk := func(n, o *node, conn *docsync.PipeConn, first byte) *docsync.Driver {
		nonce[0] = first
		return docsync.NewDriver(conn, docsync.NewSession(docsync.Config{Self: n.id(), Peer: o.id(), Nonce: nonce}), n.host, crdt.SystemClock{})
	}
	da, db = mk(a, b, ca, 1), mk(b, a, cb, 2)
	ea, eb := make(chan error, 1), make(chan error, 1)
	go func() { ea <- da.Run(ctx) }()
	go func() { eb <- db.Run(ctx) }()
	var once sync.Once
	var errA, errB error
	stop = func() (error, error) {
		once.Do(func() { cancel(); errA, errB = <-ea, <-eb })
		return errA, errB
	}
	t.Cleanup(func() { stop() })
	return da, db, stop
}

// until waits until a condition holds, looking again at each notice of the node and each change.
func (n *node) until(what string, ok func() bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	feed := n.repo.Changes()
	defer feed.Close()
	changed := make(chan struct{}, 1)
	go func() {
		for {
			if _, err := feed.Next(ctx); err != nil {
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	for {
		n.mu.Lock()
		moved := n.moved
		n.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-moved:
		case <-changed:
		case <-ctx.Done():
			n.t.Fatalf("waited in vain for: %s; states %v", what, n.states)
		}
	}
}

func (n *node) hasAll(from *node, id crdt.DocID) {
	n.t.Helper()
	n.until("all changes", func() bool {
		have, want := n.vector(id), from.vector(id)
		return have != nil && len(want) > 0 && have.Digest() == want.Digest()
	})
}

func (n *node) shows(id crdt.DocID, want docsync.State) {
	n.t.Helper()
	n.until(fmt.Sprintf("status %s", want), func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.states[id] == want
	})
}

func TestReposSyncThroughRelay(t *testing.T) {
	a, b, c := newNode(t, 1), newNode(t, 2), newNode(t, 3)
	id := a.create(crdt.Session)
	for i := range 300 {
		a.post(id, fmt.Sprint("before ", i))
	}
	a.grant(id, b.id(), crdt.Admin)
	b.paired[a.id()] = true
	link(t, a, b)
	b.hasAll(a, id)
	b.grant(id, c.id(), crdt.Write)
	c.paired[b.id()] = true
	link(t, b, c)
	c.hasAll(a, id)
	for i := range 10 {
		a.post(id, fmt.Sprint("a ", i))
		c.post(id, fmt.Sprint("c ", i))
		b.post(id, fmt.Sprint("b ", i))
	}
	for _, n := range []*node{a, b, c} {
		n.until("330 changes", func() bool {
			var total uint64
			for _, tip := range n.vector(id) {
				total += tip.Seq
			}
			return total == 331
		})
		n.shows(id, docsync.InSync)
		if _, err := n.repo.Rebuild(context.Background(), id); err != nil {
			t.Error(err)
		}
	}
	a.until("stored on both", func() bool {
		k, err := a.repo.StoredOn(context.Background(), id)
		return err == nil && k >= 2
	})
}

func TestRepoJoinWithTicket(t *testing.T) {
	a, b, c := newNode(t, 1), newNode(t, 2), newNode(t, 3)
	id := a.create(crdt.Session)
	a.post(id, "x")
	secret := crdt.Secret{1, 2, 3}
	a.invite(id, secret, crdt.Write)
	_, db, stop := link(t, a, b)
	db.Inject(docsync.Join{Doc: id, Kind: crdt.Session, Inviter: a.id(), Secret: secret[:]})
	b.hasAll(a, id)
	b.until("join ready", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.joins[id] == docsync.JoinReady })
	b.post(id, "y")
	a.hasAll(b, id)
	stop()
	// The invite was for one use.
	_, dc, _ := link(t, a, c)
	dc.Inject(docsync.Join{Doc: id, Kind: crdt.Session, Inviter: a.id(), Secret: secret[:]})
	c.shows(id, docsync.NotServed)
	a.shows(id, docsync.Denied)
	if c.vector(id) != nil {
		t.Error("a used-up invite gave the document")
	}
	// Asking a human works after it.
	dc.Inject(docsync.Join{Doc: id, Kind: crdt.Session, Inviter: a.id(), Role: "read", Note: "me again"})
	c.shows(id, docsync.Pending)
	a.grant(id, c.id(), crdt.Read)
	c.hasAll(a, id)
}

func TestRepoChainFromAnotherAdmin(t *testing.T) {
	a, b, c := newNode(t, 1), newNode(t, 2), newNode(t, 3)
	id := a.create(crdt.Session)
	a.post(id, "x")
	a.grant(id, b.id(), crdt.Admin)
	b.paired[a.id()] = true
	_, _, stop := link(t, a, b)
	b.hasAll(a, id)
	stop()
	b.grant(id, c.id(), crdt.Write)
	c.paired[b.id()] = true
	_, _, stop = link(t, b, c)
	c.hasAll(b, id)
	stop()
	c.post(id, "from c, whom a does not know")
	_, dc, _ := link(t, a, c)
	dc.Inject(docsync.Join{Doc: id, Kind: crdt.Session, Inviter: a.id()})
	a.hasAll(c, id)
}

// TestReaderWrites: a reader whose program ignores its role is refused everywhere, through a relay
// too, and the others go on.
func TestReaderWrites(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	rng := rand.New(rand.NewSource(3))
	key, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	bad := startNode(t, crdt.Config{
		Store: crdt.NewMemStore(), Identity: key, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		IgnoreRole: true,
	})
	id := a.create(crdt.Session)
	a.post(id, "x")
	a.grant(id, b.id(), crdt.Write)
	a.grant(id, bad.id(), crdt.Read)
	for _, n := range []*node{b, bad} {
		n.paired[a.id()] = true
	}
	_, _, stopB := link(t, a, b)
	_, _, stopBad := link(t, a, bad)
	b.hasAll(a, id)
	bad.hasAll(a, id)
	stopB()
	bad.post(id, "I may not")
	a.shows(id, docsync.Blocked)
	bad.shows(id, docsync.Blocked)
	stopBad()
	link(t, a, b)
	a.post(id, "the others go on")
	b.hasAll(a, id)
	b.shows(id, docsync.InSync)
	if n := len(b.vector(id)); n != 1 {
		t.Errorf("%d actors at b, want only a's", n)
	}
}

// TestRepoHostHostileWork: what only a hostile peer sends is its fault, not a failure here.
func TestRepoHostHostileWork(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	ctx := context.Background()
	id := a.create(crdt.Session)
	other := a.create(crdt.Session)
	access, err := a.repo.Access(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	foreign := access.Objects()[0].Raw
	task := docsync.Task{Doc: id}
	for name, w := range map[string]docsync.Work{
		"rubbish object":  docsync.AddObjects{Task: task, Objects: [][]byte{[]byte("rubbish")}},
		"foreign object":  docsync.AddObjects{Task: task, Objects: [][]byte{foreign}},
		"rubbish chain":   docsync.Admit{Task: task, Objects: [][]byte{[]byte("rubbish")}},
		"rubbish page":    docsync.ApplyPage{Task: task, Page: []byte("rubbish")},
		"forged proof":    docsync.Accuse{Task: task, Seq: 1, Sig: make([]byte, 64)},
		"rubbish offer":   docsync.Consider{Task: docsync.Task{Doc: crdt.DocID{1}}, Kind: crdt.Session, Objects: [][]byte{[]byte("rubbish")}},
		"genesis missing": docsync.AddObjects{Task: docsync.Task{Doc: crdt.DocID{1}}, Objects: nil},
	} {
		var proto *docsync.ProtocolError
		if _, err := a.host.Do(ctx, b.id(), w); !errors.As(err, &proto) {
			t.Errorf("%s: %v", name, err)
		}
	}
	own, err := a.repo.Access(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.host.Do(ctx, b.id(), docsync.AddObjects{Task: task, Objects: [][]byte{own.Objects()[0].Raw}}); err != nil {
		t.Errorf("the document's own genesis: %v", err)
	}
	if r, err := a.host.Do(ctx, b.id(), docsync.Admit{Task: task}); err != nil || r.(docsync.Loaded).Code != docsync.CodeNotServed {
		t.Errorf("a stranger: %+v, %v", r, err)
	}
}

// TestBulkCarriesNewestSignature: a page of one actor's changes carries one signature.
func TestBulkCarriesNewestSignature(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	id := a.create(crdt.Session)
	for i := range 50 {
		a.post(id, fmt.Sprint(i))
	}
	r, err := a.host.Do(context.Background(), b.id(), docsync.LoadPage{Task: docsync.Task{Doc: id}, Have: crdt.Vector{}, Limit: docsync.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	page, err := a.pages.Decode(r.(docsync.PageLoaded).Page)
	if err != nil || len(page) != 51 {
		t.Fatalf("%d changes, %v", len(page), err)
	}
	signed := 0
	for _, c := range page {
		if len(c.Sig) > 0 {
			signed++
		}
	}
	if signed != 1 || len(page[50].Sig) == 0 {
		t.Errorf("%d signatures in the page", signed)
	}
}
