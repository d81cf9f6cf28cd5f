package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// packageDocs finds package documents for the registry loader.
type packageDocs struct{ n *Node }

// View implements [registry.Documents].
func (d packageDocs) View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error {
	return d.n.repo.View(ctx, id, fn)
}

// obtainTime bounds the wait for a document from one peer.
const obtainTime = 10 * time.Second

// Obtain implements [registry.Documents]: it asks the connected peers of a session for a document that
// everybody may read, one after the other.
func (d packageDocs) Obtain(ctx context.Context, doc, via crdt.DocID) error {
	n := d.n
	on := n.getOnline()
	if on == nil {
		return fmt.Errorf("%s: %w", noDaemon, loaders.ErrMissing)
	}
	if n.repo.Has(doc) {
		return n.awaitNewest(ctx, on, doc)
	}
	peers, err := n.readersOnline(ctx, on, via)
	if err != nil {
		return err
	}
	for _, p := range peers {
		if got, err := n.obtainFrom(ctx, on, p, doc); err != nil || got {
			return err
		}
	}
	return fmt.Errorf("no connected peer gives it: %w", loaders.ErrMissing)
}

// obtainFrom asks one peer. It leaves no trace of a join that came to nothing: it was for this moment.
func (n *Node) obtainFrom(ctx context.Context, on *online, p crdt.PeerID, doc crdt.DocID) (got bool, err error) {
	t := &crdt.Ticket{Doc: doc, Kind: crdt.Package, Peer: p, Role: crdt.Read}
	if _, waiting := n.joins.get(doc); !waiting { // else a person asked for it, with a ticket of his own
		row := joinRow{Ticket: t.String(), Role: crdt.Read.String(), Since: crdt.NowMillis(n.clock)}
		if err := n.joins.put(ctx, doc, row); err != nil {
			return false, err
		}
		defer func() {
			if !got {
				err = errors.Join(err, n.joins.drop(context.WithoutCancel(ctx), doc))
			}
		}()
		on.startJoin(ctx, t)
	}
	out, err := n.awaitJoin(ctx, t, control.JoinParams{WaitMS: obtainTime.Milliseconds()}, control.Joined{})
	return err == nil && out.State == control.StateReady, err
}

// awaitNewest waits a little until a document is level with one connected peer.
func (n *Node) awaitNewest(ctx context.Context, on *online, doc crdt.DocID) error {
	ctx, cancel := context.WithTimeout(ctx, obtainTime)
	defer cancel()
	sub := n.peers.watch()
	defer sub.stop()
	for {
		if on.levelWithSomebody(doc) {
			return nil
		}
		if !sub.wait(ctx) {
			return fmt.Errorf("no peer is in sync with it: %w", loaders.ErrMissing)
		}
	}
}

func (on *online) levelWithSomebody(doc crdt.DocID) bool {
	on.mu.Lock()
	defer on.mu.Unlock()
	for _, d := range on.links {
		for _, r := range d.Status().Docs {
			if r.Doc == doc && r.State == docsync.InSync {
				return true
			}
		}
	}
	return false
}

// createPackage makes a package document; everybody who knows its id may read it unless it is private.
func (n *Node) createPackage(ctx context.Context, name string, private bool) (crdt.DocID, error) {
	if err := checkName(name); err != nil {
		return crdt.DocID{}, err
	}
	id, err := n.repo.Create(ctx, crdt.Package, func(tx *crdt.Tx) error {
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	if err != nil {
		return id, err
	}
	if !private {
		err = n.repo.Issue(ctx, id, func(a *crdt.Access) ([]*crdt.Object, error) {
			parent, _ := a.GrantFor(n.Self())
			o, err := n.home.identity.NewPublic(id, parent, rand.Reader)
			return []*crdt.Object{o}, err
		})
		if err != nil {
			return id, err
		}
	}
	return id, n.catalog.Put(ctx, id.String(), catalogRow{Source: "cli", Created: crdt.NowMillis(n.clock)})
}

// findPackage finds a package document by id, prefix or name.
func (n *Node) findPackage(ctx context.Context, ref string) (crdt.DocID, error) {
	var all []candidate
	for _, s := range n.repo.List() {
		if s.Kind == crdt.Package {
			all = append(all, candidate{s.ID.String(), n.docName(ctx, s)})
		}
	}
	id, err := pick("package document", ref, all)
	if err != nil {
		return crdt.DocID{}, err
	}
	return crdt.ParseDocID(id)
}
