package p2p

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// What peers in fake time do, and how a test looks at them.

// know makes peers want each other.
func (a *airwaves) know(pairs ...[2]int) {
	a.t.Helper()
	wants := map[int][]crdt.PeerID{}
	for _, w := range pairs {
		for _, ends := range [][2]int{w, {w[1], w[0]}} {
			p, q := a.peers[ends[0]], a.peers[ends[1]]
			wants[ends[0]] = append(wants[ends[0]], q.id.PeerID())
			if err := p.net.Remember(context.Background(), q.id.PeerID(), []string{q.addr()}); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	for i, ids := range wants {
		a.peers[i].net.Want(ids)
	}
}

// meets makes one peer want others, who know of nothing.
func (a *airwaves) meets(i int, others ...int) {
	a.t.Helper()
	p := a.peers[i]
	var ids []crdt.PeerID
	for _, j := range others {
		q := a.peers[j]
		ids = append(ids, q.id.PeerID())
		if err := p.net.Remember(context.Background(), q.id.PeerID(), []string{q.addr()}); err != nil {
			a.t.Fatal(err)
		}
	}
	p.net.Want(ids)
}

// mesh is every pair of the first n peers.
func mesh(n int) (out [][2]int) {
	for i := range n {
		for j := range i {
			out = append(out, [2]int{j, i})
		}
	}
	return out
}

// share makes the session of the test on peer 0 and lets all others write.
func (a *airwaves) share() {
	a.t.Helper()
	p, ctx := a.peers[0], context.Background()
	var err error
	if a.doc, err = p.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "talk") }); err != nil {
		a.t.Fatal(err)
	}
	for _, q := range a.peers[1:] {
		err := p.repo.Issue(ctx, a.doc, func(acc *crdt.Access) ([]*crdt.Object, error) {
			parent, _ := acc.GrantFor(p.id.PeerID())
			g, err := p.id.NewGrant(a.doc, crdt.Grant{Parent: parent, Subject: q.id.PeerID(), Role: crdt.Write}, rand.NewChaCha8(a.ids))
			return []*crdt.Object{g}, err
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// post writes some entries.
func (p *simPeer) post(texts ...string) {
	p.air.t.Helper()
	for _, text := range texts {
		err := p.repo.Update(context.Background(), p.air.doc, func(tx *crdt.Tx) error {
			_, err := tx.AddRow("x_rows", map[string]any{"text": text, "peer": p.n})
			return err
		})
		if err != nil {
			p.air.t.Fatalf("peer %d: %v", p.n, err)
		}
	}
}

// turn switches an extension as the slash command does.
func (p *simPeer) turn(name string, on bool) {
	p.air.t.Helper()
	kind, ref := activation.Activated, extension.BuiltinRef(name, "1.0.0")
	if !on {
		kind, ref = activation.Deactivated, extension.Ref{}
	}
	err := p.repo.Update(context.Background(), p.air.doc, func(tx *crdt.Tx) error {
		rows, err := tx.Index(activation.IndexName).(*activation.Log).Next(tx.Now(), kind, name, ref)
		for _, e := range rows {
			if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		p.air.t.Fatalf("peer %d: %v", p.n, err)
	}
}

// rows counts the entries that a peer has; -1 without the session.
func (p *simPeer) rows() int {
	n := -1
	if p.repo.Has(p.air.doc) {
		_ = p.repo.View(context.Background(), p.air.doc, func(v *crdt.View) error {
			n = 0
			for range v.Rows("x_rows") {
				n++
			}
			return nil
		})
	}
	return n
}

// until waits in fake time and says how long it took.
func (a *airwaves) until(what string, most time.Duration, ok func() bool) time.Duration {
	a.t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > a.deadline {
			a.t.Fatalf("never: %s; %s", what, a.apart())
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(start)
	a.t.Logf("%s: %v", what, took.Round(10*time.Millisecond))
	if took > most {
		a.t.Errorf("%s took %v, may take %v", what, took, most)
	}
	return took
}

func (a *airwaves) same(peers ...*simPeer) func() bool {
	return func() bool {
		first, ok := peers[0].repo.Summary(a.doc)
		return ok && !slices.ContainsFunc(peers, func(p *simPeer) bool {
			sum, ok := p.repo.Summary(a.doc)
			return !ok || sum.Vector != first.Vector || sum.Access != first.Access
		})
	}
}

func (a *airwaves) apart() (out string) {
	for _, p := range a.peers {
		out += fmt.Sprintf("peer %d has %d entries;", p.n, p.rows())
		for _, s := range p.net.Peers() {
			out += fmt.Sprintf(" [%v %s %s %s]", s.Connected, s.Sync, s.SyncError, s.LastError)
		}
	}
	return out
}

// agree is the end of every test: all have all of it, the same in the core, in the view and in a fold
// of the whole log.
func (a *airwaves) agree(entries int) {
	a.t.Helper()
	var first []crdt.ChangeHash
	var state activation.State
	for i, p := range a.peers {
		heads, err := p.repo.Rebuild(context.Background(), a.doc)
		if err != nil {
			a.t.Fatalf("peer %d: %v", i, err)
		}
		err = p.repo.View(context.Background(), a.doc, func(v *crdt.View) error {
			mine := v.Index(activation.IndexName).(*activation.Log).State()
			if scratch := activation.FoldRows(v.Rows(activation.Store)); !mine.Equal(scratch) {
				a.t.Errorf("peer %d believes %v, a fold of its log says %v", i, mine, scratch)
			}
			if i == 0 {
				first, state = heads, mine
			} else if !slices.Equal(heads, first) || !mine.Equal(state) {
				a.t.Errorf("peer %d differs from peer 0", i)
			}
			return nil
		})
		if err != nil {
			a.t.Fatal(err)
		}
		if got := p.rows(); got != entries {
			a.t.Errorf("peer %d has %d entries, want %d", i, got, entries)
		}
	}
}

// connected reports whether both ends of pairs are connected and sync.
func (a *airwaves) connected(pairs ...[2]int) func() bool {
	return func() bool {
		return !slices.ContainsFunc(pairs, func(w [2]int) bool {
			p, q := a.peers[w[0]], a.peers[w[1]]
			return p.net.Peer(q.id.PeerID()).Sync != SyncRunning || q.net.Peer(p.id.PeerID()).Sync != SyncRunning
		})
	}
}
