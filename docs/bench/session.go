package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/badger"
)

// session is a session of some size that peer a wrote and peer b may write, and what the plain arm
// needs: two stores of the same make with nothing above them.
type session struct {
	opt        *options
	size       int
	label      string
	doc        crdt.DocID
	a          *peer
	b          *crdt.Identity
	rawA, rawB *raw
}

// raw is a store that takes single synced puts.
type raw struct {
	store *badger.Store
	value []byte
	n     uint64
}

func openRaw(dir string) (*raw, error) {
	store, err := badger.Open(dir, badger.Options{})
	return &raw{store: store}, err
}

// put makes one put durable, under a fresh key of the length of a change's.
func (r *raw) put(ctx context.Context) error {
	r.n++
	var b crdt.Batch
	b.Put(fmt.Appendf(nil, "%041d", r.n), r.value)
	return r.store.Append(ctx, &b)
}

// measureSessions makes a session of each size and measures all that happens on it.
func measureSessions(ctx context.Context, o *options, t *table) error {
	g := growth{}
	for _, n := range o.sizes {
		s, err := newSession(ctx, o, n)
		if err != nil {
			return err
		}
		err = errors.Join(s.measure(ctx, t, &g), s.close())
		if err != nil {
			return fmt.Errorf("session of %d: %w", n, err)
		}
	}
	g.report(t)
	return nil
}

// measure leaves the session as large as it says until the bootstraps are done; then it grows.
func (s *session) measure(ctx context.Context, t *table, g *growth) error {
	if s.size <= 10_000 || s.opt.full {
		if err := s.measureBootstraps(ctx, t); err != nil {
			return err
		}
	}
	write, err := s.localWrites(ctx)
	if err != nil {
		return err
	}
	t.add(row{what: "local write of one event, durable", against: "one raw synced put of the same bytes", size: s.label, pairs: write, unit: inTime, aim: 2})
	query, view, err := s.queries(ctx)
	if err != nil {
		return err
	}
	t.add(row{what: "is an extension active: the fold", against: "a look-up in a Go map", size: s.label, pairs: query, unit: inTime, aim: 10})
	t.add(row{what: "the same through the repo, with its locks", against: "a look-up in a Go map", size: s.label, pairs: view, unit: inTime})
	live, err := s.measureLive(ctx, t)
	if err != nil {
		return err
	}
	g.add(s.label, write, live, query)
	return nil
}

// newSession fills a session without syncing the disk, then opens it as it will be measured.
func newSession(ctx context.Context, o *options, n int) (*session, error) {
	progress("a session of %d events", n)
	s := &session{opt: o, size: n, label: label(n)}
	ida, err := newIdentity()
	if err != nil {
		return nil, err
	}
	if s.b, err = newIdentity(); err != nil {
		return nil, err
	}
	dir := place(o, "a-%d", n)
	if s.doc, err = fill(ctx, dir, ida, s.b.PeerID(), n); err != nil {
		return nil, err
	}
	if s.a, err = openPeer(ctx, dir, ida, true); err != nil {
		return nil, err
	}
	s.a.turn = n
	if s.rawA, err = openRaw(place(o, "raw-a-%d", n)); err != nil {
		return nil, err
	}
	if s.rawB, err = openRaw(place(o, "raw-b-%d", n)); err != nil {
		return nil, err
	}
	// The first write opens the document; it must not count anywhere.
	if _, _, err := s.a.write(ctx, s.doc); err != nil {
		return nil, err
	}
	c, err := s.lastChange(ctx)
	if err != nil {
		return nil, err
	}
	s.rawA.value = append(append([]byte{64}, c.Sig...), c.Raw...)
	s.rawB.value = s.rawA.value
	return s, nil
}

func (s *session) close() error {
	return errors.Join(s.a.close(), s.rawA.store.Close(), s.rawB.store.Close())
}

func label(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// fill makes a session of n events in which member may write.
func fill(ctx context.Context, dir string, id *crdt.Identity, member crdt.PeerID, n int) (crdt.DocID, error) {
	p, err := openPeer(ctx, dir, id, false)
	if err != nil {
		return crdt.DocID{}, err
	}
	doc, err := p.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "bench") })
	if err == nil {
		err = p.grant(ctx, doc, member)
	}
	for i := 0; i < n && err == nil; i++ {
		_, _, err = p.write(ctx, doc)
	}
	return doc, errors.Join(err, p.close())
}

func (p *peer) grant(ctx context.Context, doc crdt.DocID, member crdt.PeerID) error {
	return p.repo.Issue(ctx, doc, func(a *crdt.Access) ([]*crdt.Object, error) {
		g := crdt.Grant{Subject: member, Role: crdt.Write}
		g.Parent, _ = a.GrantFor(p.id.PeerID())
		obj, err := p.id.NewGrant(doc, g, rand.Reader)
		return []*crdt.Object{obj}, err
	})
}
