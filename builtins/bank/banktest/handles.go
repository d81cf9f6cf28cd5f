package banktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Document is a document of the peer as extensions see it.
func (p *Peer) Document(id crdt.DocID) extension.Document { return document{p, id} }

type document struct {
	p  *Peer
	id crdt.DocID
}

func (d document) ID() crdt.DocID { return d.id }

func (d document) View(ctx context.Context, fn func(*crdt.View) error) error {
	return d.p.Repo.View(ctx, d.id, fn)
}

func (d document) Update(ctx context.Context, fn func(*crdt.Tx) error) error {
	d.p.mu.Lock()
	fail := d.p.FailUpdate[d.id]
	d.p.mu.Unlock()
	if fail != nil {
		return fail
	}
	err := d.p.Repo.Update(ctx, d.id, fn)
	if errors.Is(err, crdt.ErrNoRight) {
		return fmt.Errorf("%w: %w", extension.ErrReadOnly, err)
	}
	return err
}

type index struct {
	p      *Peer
	kind   crdt.Kind
	hosted bool
}

// List implements [extension.Index].
func (x index) List(ctx context.Context) ([]extension.Entry, error) {
	var out []extension.Entry
	for _, s := range x.p.Repo.List() {
		if s.Kind != x.kind {
			continue
		}
		e := extension.Entry{ID: s.ID}
		err := x.p.View(ctx, s.ID, func(v *crdt.View) error {
			e.Name = v.Text(crdt.MetaStore, crdt.MetaDisplay)
			e.Writable = v.Access().Role(x.p.Self()) >= crdt.Write
			return nil
		})
		if err != nil {
			return nil, err
		}
		if e.Writable || !x.hosted {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b extension.Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out, nil
}

// Open implements [extension.Index].
func (x index) Open(ctx context.Context, ref string) (extension.Document, error) {
	list, err := x.List(ctx)
	if err != nil {
		return nil, err
	}
	var named, prefixed []crdt.DocID
	for _, e := range list {
		switch id := e.ID.String(); {
		case id == ref:
			return document{x.p, e.ID}, nil
		case ref != "" && e.Name == ref:
			named = append(named, e.ID)
		case len(ref) >= 4 && strings.HasPrefix(id, ref):
			prefixed = append(prefixed, e.ID)
		}
	}
	if len(named) == 0 {
		named = prefixed
	}
	switch len(named) {
	case 0:
		return nil, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrNotFound)
	case 1:
		return document{x.p, named[0]}, nil
	}
	return nil, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrAmbiguous)
}

type banks struct{ index }

// Create implements [extension.Banks].
func (b banks) Create(ctx context.Context, name, description string) (crdt.DocID, error) {
	if _, err := b.Open(ctx, name); !errors.Is(err, extension.ErrNotFound) {
		return crdt.DocID{}, fmt.Errorf("make bank %s: a bank here has this name", name)
	}
	return b.p.Create(ctx, b.kind, func(tx *crdt.Tx) error {
		if err := tx.Set(crdt.MetaStore, "description", description); err != nil {
			return err
		}
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
}

// Forget implements [extension.Banks].
func (b banks) Forget(ctx context.Context, id crdt.DocID) error { return b.p.Repo.Forget(ctx, id) }

// Sharing implements [extension.Banks].
func (b banks) Sharing() extension.BankSharing { return sharing{b.p} }
