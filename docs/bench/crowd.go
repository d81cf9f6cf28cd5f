package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// crowd is many peers of one session in one process, with stores in memory and a pipe between any two.
type crowd struct {
	doc          crdt.DocID
	ids          []*crdt.Identity
	stores       []*crdt.MemStore
	peers        []*peer
	sides        []*side
	frames, sent atomic.Int64
}

func openMemory(ctx context.Context, id *crdt.Identity, store crdt.Store) (*peer, error) {
	repo, err := crdt.NewRepo(ctx, crdt.Config{
		Store: store, Identity: id, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rand.Reader,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()}, MemoryBudget: 1 << 30,
	})
	return &peer{id: id, repo: repo, refs: refs()}, err
}

// newCrowd makes a session that all may write and everybody has.
func newCrowd(ctx context.Context, n int) (*crowd, error) {
	c := &crowd{}
	for range n {
		id, err := newIdentity()
		if err != nil {
			return nil, err
		}
		c.ids, c.stores = append(c.ids, id), append(c.stores, crdt.NewMemStore())
	}
	for i := range n {
		p, err := openMemory(ctx, c.ids[i], c.stores[i])
		if err != nil {
			return nil, err
		}
		s, err := newSide(p)
		if err != nil {
			return nil, err
		}
		c.peers, c.sides = append(c.peers, p), append(c.sides, s)
	}
	var err error
	first := c.peers[0]
	if c.doc, err = first.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "crowd") }); err != nil {
		return nil, err
	}
	for _, id := range c.ids[1:] {
		if err := first.grant(ctx, c.doc, id.PeerID()); err != nil {
			return nil, err
		}
	}
	access, err := first.repo.Access(ctx, c.doc)
	if err != nil {
		return nil, err
	}
	var raw [][]byte
	for _, o := range access.Objects() {
		raw = append(raw, o.Raw)
	}
	for _, p := range c.peers[1:] {
		if _, err := p.repo.Adopt(ctx, raw); err != nil {
			return nil, err
		}
	}
	return c, c.handOver(ctx, c.peers, nil)
}

// handOver gives each peer what each other one wrote, once; out counts the bytes and is nil for nobody.
func (c *crowd) handOver(ctx context.Context, peers []*peer, out *int) error {
	pages := make([][]crdt.SignedChange, len(peers))
	objects := make([][][]byte, len(peers))
	for i, p := range peers {
		have := crdt.Vector{}
		if i > 0 || out != nil { // what the first one made in the beginning everybody has by now
			var err error
			if have, err = peers[(i+1)%len(peers)].repo.Vector(ctx, c.doc); err != nil {
				return err
			}
		}
		page, _, more, err := p.repo.Page(ctx, c.doc, have, nil, 1<<20)
		if err != nil || more {
			return fmt.Errorf("read a page: more %t: %w", more, err)
		}
		mine, err1 := p.repo.Access(ctx, c.doc)
		theirs, err2 := peers[(i+1)%len(peers)].repo.Access(ctx, c.doc)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for _, o := range mine.Objects() {
			if _, known := theirs.Object(o.ID); !known {
				objects[i] = append(objects[i], o.Raw)
			}
		}
		pages[i] = page
	}
	for i, p := range peers {
		for j := range peers {
			if i == j || len(pages[j]) == 0 {
				continue
			}
			if _, err := p.repo.AddObjects(ctx, c.doc, objects[j]); err != nil {
				return err
			}
			if _, err := p.repo.Apply(ctx, c.doc, pages[j]); err != nil {
				return err
			}
			for _, change := range pages[j] {
				if out != nil {
					*out += len(change.Raw)
				}
			}
		}
	}
	return nil
}
