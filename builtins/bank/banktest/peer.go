package banktest

import (
	"context"
	"math/rand"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Net are peers that can reach each other.
type Net struct {
	mu    sync.Mutex
	peers map[crdt.PeerID]*Peer
}

// NewNet returns a net without peers.
func NewNet() *Net { return &Net{peers: map[crdt.PeerID]*Peer{}} }

func (n *Net) peer(id crdt.PeerID) *Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peers[id]
}

// Peer is one peer: its documents, its clock and the handles that extensions get.
type Peer struct {
	*crdt.Repo
	Clock   *crdt.ManualClock
	Handles *extension.Peer

	t        testing.TB
	net      *Net
	identity *crdt.Identity
	rand     *rand.Rand

	mu       sync.Mutex
	secrets  map[crdt.DocID]crdt.Ticket // tickets that were given out
	Unshared map[crdt.DocID]bool
	// FailAdmit and FailUpdate make rights and the writes of a document fail.
	FailAdmit  error
	FailUpdate map[crdt.DocID]error
}

// Peer adds a peer. Its identity follows from the seed. Further indexes may be kept of documents.
func (n *Net) Peer(t testing.TB, seed int64, indexes ...crdt.IndexSpec) *Peer {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	p := &Peer{
		Clock: crdt.NewManualClock(1_700_000_000_000), t: t, net: n, identity: id, rand: rng,
		secrets: map[crdt.DocID]crdt.Ticket{}, Unshared: map[crdt.DocID]bool{}, FailUpdate: map[crdt.DocID]error{},
	}
	p.Repo, err = crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: p.Clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: append([]crdt.IndexSpec{crdt.EntryIndex()}, indexes...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.Handles = &extension.Peer{
		Self: p.Self(), Clock: p.Clock,
		Agents:      index{p, crdt.Agent, true},
		MemoryBanks: banks{index{p, crdt.MemoryBank, false}},
		SkillBanks:  banks{index{p, crdt.SkillBank, false}},
		Sessions:    index{p, crdt.Session, false},
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peers[p.Self()] = p
	return p
}

// NewAgent makes an agent that is hosted here.
func (p *Peer) NewAgent(name string) extension.Agent {
	p.t.Helper()
	id, err := p.Create(context.Background(), crdt.Agent, func(tx *crdt.Tx) error {
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return extension.Agent{ID: id, Name: name}
}

// NewSession makes a session of agents.
func (p *Peer) NewSession(agents ...extension.Agent) crdt.DocID {
	p.t.Helper()
	id, err := p.Create(context.Background(), crdt.Session, func(tx *crdt.Tx) error {
		for _, a := range agents {
			if err := crdt.AttachAgent(tx, crdt.AttachedAgent{ID: a.ID, Name: a.Name}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// Say adds an entry to a session.
func (p *Peer) Say(session crdt.DocID, kind crdt.EntryType, text string) {
	p.t.Helper()
	err := p.Update(context.Background(), session, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "someone", Type: kind, Content: text})
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// NewBank makes a bank of a kind.
func (p *Peer) NewBank(kind crdt.Kind, name string) crdt.DocID {
	p.t.Helper()
	id, err := banks{index{p, kind, false}}.Create(context.Background(), name, "")
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// AddRows adds rows to a store of a document as they are.
func (p *Peer) AddRows(doc crdt.DocID, store string, rows ...any) {
	p.t.Helper()
	err := p.Update(context.Background(), doc, func(tx *crdt.Tx) error {
		tx.Bulk()
		for _, r := range rows {
			if _, err := tx.AddRow(store, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Role is what a peer may do in a document, as p knows it.
func (p *Peer) Role(doc crdt.DocID, of *Peer) crdt.Role {
	p.t.Helper()
	access, err := p.Access(context.Background(), doc)
	if err != nil {
		p.t.Fatal(err)
	}
	return access.Role(of.Self())
}

// Invite gives a peer a role in a document and the document to the peer.
func (p *Peer) Invite(doc crdt.DocID, to *Peer, role crdt.Role) {
	p.t.Helper()
	if err := p.grant(context.Background(), doc, to.Self(), role); err != nil {
		p.t.Fatal(err)
	}
	to.Pull(p, doc)
}

// Pull copies what another peer has of a document, rights first.
func (p *Peer) Pull(from *Peer, doc crdt.DocID) {
	p.t.Helper()
	if err := p.pull(context.Background(), from, doc); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Peer) pull(ctx context.Context, from *Peer, doc crdt.DocID) error {
	access, err := from.Access(ctx, doc)
	if err != nil {
		return err
	}
	var objs [][]byte
	for _, o := range access.Objects() {
		objs = append(objs, o.Raw)
	}
	if _, err := p.Adopt(ctx, objs); err != nil {
		return err
	}
	if _, err := p.AddObjects(ctx, doc, objs); err != nil {
		return err
	}
	for more := true; more; {
		have, err := p.Vector(ctx, doc)
		if err != nil {
			return err
		}
		var page []crdt.SignedChange
		if page, _, more, err = from.Page(ctx, doc, have, nil, 64<<10); err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		if _, err := p.Apply(ctx, doc, page); err != nil {
			return err
		}
	}
	return nil
}
