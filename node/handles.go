package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// docHandle is one document as extensions see it.
type docHandle struct {
	n  *Node
	id crdt.DocID
}

func (d docHandle) ID() crdt.DocID { return d.id }

func (d docHandle) View(ctx context.Context, fn func(*crdt.View) error) error {
	return d.n.repo.View(ctx, d.id, fn)
}

func (d docHandle) Update(ctx context.Context, fn func(*crdt.Tx) error) error {
	err := d.n.repo.Update(ctx, d.id, fn)
	if errors.Is(err, crdt.ErrNoRight) {
		return fmt.Errorf("%w: %w", extension.ErrReadOnly, err)
	}
	return err
}

// docIndex finds the documents of one kind. Hosted ones are those this peer may write to.
type docIndex struct {
	n      *Node
	kind   crdt.Kind
	hosted bool
}

// List implements [extension.Index].
func (x docIndex) List(ctx context.Context) ([]extension.Entry, error) {
	var out []extension.Entry
	for _, s := range x.n.repo.List() {
		if s.Kind != x.kind {
			continue
		}
		access, err := x.n.repo.Access(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		writable := x.n.roleIn(access) >= crdt.Write
		if x.hosted && !writable {
			continue
		}
		out = append(out, extension.Entry{ID: s.ID, Name: x.n.docName(ctx, s), Writable: writable})
	}
	slices.SortFunc(out, func(a, b extension.Entry) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return out, nil
}

// Open implements [extension.Index].
func (x docIndex) Open(ctx context.Context, ref string) (extension.Document, error) {
	if id, err := crdt.ParseDocID(ref); err == nil { // the usual case, and a look at one document
		sum, ok := x.n.repo.Summary(id)
		if !ok || sum.Kind != x.kind {
			return nil, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrNotFound)
		}
		access, err := x.n.repo.Access(ctx, id)
		if err != nil {
			return nil, err
		}
		if x.hosted && x.n.roleIn(access) < crdt.Write {
			return nil, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrNotFound)
		}
		return docHandle{x.n, id}, nil
	}
	id, err := x.find(ctx, ref, func(extension.Entry) bool { return true })
	if err != nil {
		return nil, err
	}
	return docHandle{x.n, id}, nil
}

// find resolves a reference among the documents that ok lets be seen.
func (x docIndex) find(ctx context.Context, ref string, ok func(extension.Entry) bool) (crdt.DocID, error) {
	list, err := x.List(ctx)
	if err != nil {
		return crdt.DocID{}, err
	}
	var named, prefixed []crdt.DocID
	for _, e := range list {
		id := e.ID.String()
		switch {
		case !ok(e):
		case id == ref:
			return e.ID, nil
		case e.Name == ref && ref != "":
			named = append(named, e.ID)
		case len(ref) >= minPrefix && strings.HasPrefix(id, ref):
			prefixed = append(prefixed, e.ID)
		}
	}
	if len(named) == 0 {
		named = prefixed
	}
	switch len(named) {
	case 0:
		return crdt.DocID{}, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrNotFound)
	case 1:
		return named[0], nil
	}
	return crdt.DocID{}, fmt.Errorf("open %s %.60q: %w", x.kind, ref, extension.ErrAmbiguous)
}

// banks is the index of one kind of bank, with what can be done to them.
type banks struct{ docIndex }

// Create implements [extension.Banks].
func (b banks) Create(ctx context.Context, name, description string) (crdt.DocID, error) {
	if err := checkName(name); err != nil {
		return crdt.DocID{}, err
	}
	if _, err := b.Open(ctx, name); !errors.Is(err, extension.ErrNotFound) {
		return crdt.DocID{}, fmt.Errorf("make bank %s: a bank here has this name", name)
	}
	id, err := b.n.repo.Create(ctx, b.kind, func(tx *crdt.Tx) error {
		if description != "" {
			if err := tx.Set(crdt.MetaStore, "description", description); err != nil {
				return err
			}
		}
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	if err != nil {
		return id, err
	}
	return id, b.n.catalog.Put(ctx, id.String(), catalogRow{Source: "cli", Created: crdt.NowMillis(b.n.clock)})
}

// Forget implements [extension.Banks].
func (b banks) Forget(ctx context.Context, id crdt.DocID) error {
	if err := b.n.repo.Forget(ctx, id); err != nil {
		return err
	}
	return b.n.catalog.Delete(ctx, id.String())
}

// Sharing implements [extension.Banks].
func (b banks) Sharing() extension.BankSharing { return bankSharing{b.n} }

// handles is what extensions are lent for their whole life. name is the extension's, for what the
// operator allows it.
func (n *Node) handles(name string) *extension.Peer {
	return &extension.Peer{
		Self: n.Self(), Clock: n.clock,
		Agents:      docIndex{n, crdt.Agent, true},
		MemoryBanks: banks{docIndex{n, crdt.MemoryBank, false}},
		SkillBanks:  banks{docIndex{n, crdt.SkillBank, false}},
		Sessions:    docIndex{n, crdt.Session, false},
		Admin:       &agentAdmin{n, n.cfg.AgentAllow[name], hasKey(n.cfg.AgentAllow, name)},
		Secrets:     n.secrets,
		Embedder:    n.cfg.Embedder,
		SkillDirs:   n.cfg.SkillDirs,
	}
}

func hasKey[V any](m map[string]V, k string) bool {
	_, ok := m[k]
	return ok
}
