package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

const (
	manyDocuments = 500
	documentRows  = 100
)

// measureDocuments says what one more document takes, open and closed, in a process that has many.
func measureDocuments(ctx context.Context, o *options, t *table) error {
	progress("memory of %d documents", manyDocuments)
	home := place(o, "documents")
	id, err := crdt.LoadIdentity(filepath.Join(home, "key"), rand.Reader)
	if err != nil {
		return err
	}
	p, err := openPeer(ctx, filepath.Join(home, "store"), id, false)
	if err != nil {
		return err
	}
	raw := 0
	for range manyDocuments {
		doc, err := p.repo.Create(ctx, crdt.Session, func(tx *crdt.Tx) error { return tx.Set(crdt.MetaStore, "name", "document") })
		for range documentRows {
			if err == nil {
				_, _, err = p.write(ctx, doc)
			}
		}
		if err != nil {
			return errors.Join(err, p.close())
		}
		size, err := p.chunkBytes(ctx, doc, crdt.Vector{})
		if err != nil {
			return errors.Join(err, p.close())
		}
		raw += size
	}
	if err := p.close(); err != nil {
		return err
	}
	var open, written, closed, own pairs
	for i := range memorySamples {
		ours, err1 := figures(ctx, 4, "documents", home)
		empty, err2 := figures(ctx, 4, "documents", place(o, "none-%d", i))
		core, err3 := figures(ctx, 1, "cores", home)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		closed.add((ours[0]-empty[0])/manyDocuments, float64(raw)/manyDocuments)
		own.add((ours[1]-empty[1])/manyDocuments, float64(raw)/manyDocuments)
		open.add((ours[2]-ours[1])/manyDocuments, core[0])
		written.add((ours[3]-ours[1])/manyDocuments, core[0])
	}
	size := fmt.Sprintf("%d × %d rows", manyDocuments, documentRows)
	t.add(row{what: "resident memory of one more closed document", against: "its changes, raw", size: size, pairs: closed, unit: inBytes})
	t.add(row{what: "of that, without pages of files that are mapped", against: "its changes, raw", size: size, pairs: own, unit: inBytes})
	t.add(row{what: "own memory of one more open document, read", against: "the core alone", size: size, pairs: open, unit: inBytes})
	t.add(row{what: "own memory of one more open document, written to", against: "the core alone", size: size, pairs: written, unit: inBytes})
	return nil
}

// openDocuments says what a process holds with all documents of a home closed: resident, and without
// mapped files; then the latter with all open and read, and with all written to, which needs the core too.
func openDocuments(ctx context.Context, home string) ([]float64, error) {
	id, err := crdt.LoadIdentity(filepath.Join(home, "key"), rand.Reader)
	if err != nil {
		return nil, err
	}
	p, err := openPeer(ctx, filepath.Join(home, "store"), id, false)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, each := range []func(crdt.DocID) error{
		nil,
		func(doc crdt.DocID) error { return p.repo.View(ctx, doc, func(*crdt.View) error { return nil }) },
		func(doc crdt.DocID) error { _, _, err := p.write(ctx, doc); return err },
	} {
		for _, s := range p.repo.List() {
			if each == nil {
				continue
			}
			if err := each(s.ID); err != nil {
				return nil, err
			}
		}
		automerge.Trim()
		now, err := settled()
		if err != nil {
			return nil, err
		}
		if each == nil {
			out = append(out, now.now)
		}
		out = append(out, now.own)
	}
	return out, p.close()
}

// openCores says what one document takes in the core alone, of those of a home.
func openCores(ctx context.Context, home string) (float64, error) {
	id, err := crdt.LoadIdentity(filepath.Join(home, "key"), rand.Reader)
	if err != nil {
		return 0, err
	}
	p, err := openPeer(ctx, filepath.Join(home, "store"), id, false)
	if err != nil {
		return 0, err
	}
	type source struct {
		doc   crdt.DocID
		pages [][]byte
	}
	var all []source
	for _, s := range p.repo.List() {
		page, _, _, err := p.repo.Page(ctx, s.ID, crdt.Vector{}, nil, 1<<24)
		if err != nil {
			return 0, err
		}
		x := source{doc: s.ID}
		for _, c := range page {
			x.pages = append(x.pages, c.Raw)
		}
		all = append(all, x)
	}
	if err := p.close(); err != nil {
		return 0, err
	}
	codec, core := chunk.New(), automerge.New()
	before, err := settled()
	if err != nil {
		return 0, err
	}
	var held []crdt.CoreDoc
	for _, x := range all {
		d, err := core.Build(codec.Genesis(x.doc, crdt.Session), func(yield func(crdt.ChangeHash, []byte) bool) {
			for _, raw := range x.pages {
				c, err := codec.Decode(crdt.Session, raw)
				if err != nil || !yield(c.Hash, raw) {
					return
				}
			}
		})
		if err != nil {
			return 0, err
		}
		held = append(held, d)
	}
	automerge.Trim()
	after, err := settled()
	runtime.KeepAlive(all)
	for _, d := range held {
		d.Close()
	}
	return (after.own - before.own) / float64(len(all)), err
}
