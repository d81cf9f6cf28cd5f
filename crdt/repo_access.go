package crdt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// access returns the resolved access log of a document, reading it on first need.
func (r *Repo) access(ctx context.Context, s *slot) (*Access, error) {
	s.meta.Lock()
	defer s.meta.Unlock()
	if s.access != nil {
		return s.access, nil
	}
	var objs []*Object
	err := r.cfg.Store.Scan(ctx, docKey(keyObject, s.id), nil, func(_, v []byte) error {
		o, err := ParseObject(bytes.Clone(v))
		if err == nil {
			objs = append(objs, o)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read access log of document %s: %w", s.id.Short(), err)
	}
	s.access = Resolve(s.id, objs)
	return s.access, nil
}

func (s *slot) setAccess(a *Access) {
	s.meta.Lock()
	s.access = a
	s.meta.Unlock()
}

// extend resolves a log with more objects in it.
func (r *Repo) extend(a *Access, more []*Object) (*Access, error) {
	all := append(slices.Clone(a.Objects()), more...)
	if len(all) > MaxObjects {
		return nil, fmt.Errorf("extend access log: more than %d objects", MaxObjects)
	}
	return Resolve(a.Doc(), all), nil
}

// Access returns the resolved access log of a document. It never changes; a new one takes its place.
func (r *Repo) Access(ctx context.Context, id DocID) (*Access, error) {
	s := r.slot(id)
	if s == nil {
		return nil, fmt.Errorf("read access log of document %s: %w", id.Short(), ErrUnknownDoc)
	}
	return r.access(ctx, s)
}

// AddObjects verifies access objects and durably stores those that are new and have a place in the
// log: issued by the right of what is there or comes with them. Others are passed over, so that a
// stranger's signatures can't fill the log. One malformed object fails the call and nothing is
// stored.
func (r *Repo) AddObjects(ctx context.Context, id DocID, raw [][]byte) (added int, err error) {
	objs := make([]*Object, 0, len(raw))
	for _, b := range raw {
		o, err := ParseObject(b)
		if err != nil {
			return 0, err
		}
		if o.Doc != id && ObjectID(id) != o.ID {
			return 0, fmt.Errorf("add access object: it belongs to document %s, not %s", o.Doc.Short(), id.Short())
		}
		objs = append(objs, o)
	}
	err = r.with(ctx, id, func(s *slot, d *document) error {
		fresh := slices.DeleteFunc(objs, func(o *Object) bool {
			_, known := d.view.access.Object(o.ID)
			return known
		})
		if len(fresh) == 0 {
			return nil
		}
		after, err := r.extend(d.view.access, uniqueObjects(fresh))
		if err != nil {
			return err
		}
		d.bar(after, fresh)
		fresh = slices.DeleteFunc(fresh, func(o *Object) bool { return !after.Placed(o.ID) })
		if added = len(fresh); added == 0 {
			return nil
		}
		w := &writer{repo: r, slot: s, doc: d}
		w.addObjects(fresh)
		return w.commit(ctx)
	})
	return added, err
}

func uniqueObjects(objs []*Object) []*Object {
	seen := map[ObjectID]bool{}
	return slices.DeleteFunc(objs, func(o *Object) bool {
		dup := seen[o.ID]
		seen[o.ID] = true
		return dup
	})
}

// Issue makes an access object as this peer, from what the log says at that moment, and stores it
// durably. Nothing can come between reading the log and extending it.
func (r *Repo) Issue(ctx context.Context, id DocID, make func(*Access) ([]*Object, error)) error {
	return r.with(ctx, id, func(s *slot, d *document) error {
		objs, err := make(d.view.access)
		if err != nil || len(objs) == 0 {
			return err
		}
		after, err := r.extend(d.view.access, objs)
		if err != nil {
			return err
		}
		for _, o := range objs {
			if !after.Placed(o.ID) {
				return fmt.Errorf("issue %s in document %s: this peer's right does not reach so far: %w", o.Kind, id.Short(), ErrNoRight)
			}
		}
		w := &writer{repo: r, slot: s, doc: d}
		w.addObjects(objs)
		return w.commit(ctx)
	})
}

// Create makes a new document owned by this peer (and Config.Owners) whose first change holds what
// fn writes.
func (r *Repo) Create(ctx context.Context, kind Kind, fn func(*Tx) error) (DocID, error) {
	if _, err := ParseKind(string(kind)); err != nil {
		return DocID{}, fmt.Errorf("create document: %w", err)
	}
	var owners []PeerID
	if r.cfg.Owners != nil {
		owners = r.cfg.Owners()
	}
	genesis, err := r.cfg.Identity.NewGenesis(kind, owners, NowMillis(r.cfg.Clock), r.cfg.Rand)
	if err != nil {
		return DocID{}, fmt.Errorf("create document: %w", err)
	}
	id := DocID(genesis.ID)
	s := &slot{id: id, kind: kind, access: Resolve(id, []*Object{genesis}), head: docHead{kind: kind}}
	s.head.vector = Vector{}.Digest()
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := r.build(ctx, s, s.access)
	if err != nil {
		return DocID{}, err
	}
	s.doc = d
	tx := r.newTx(d)
	if err = fn(tx); err == nil {
		w := &writer{repo: r, slot: s, doc: d}
		w.batch.Put(docKey(keyObject, id, genesis.ID[:]...), genesis.Raw)
		err = r.commitLocal(ctx, w, tx)
	}
	if err != nil {
		s.unload()
		return DocID{}, err
	}
	r.mu.Lock()
	r.slots[id], r.hot[s] = s, struct{}{}
	r.mu.Unlock()
	if s.doc != nil {
		s.size.Store(s.doc.size())
	}
	r.feeds.tell(id)
	return id, nil
}

// Adopt starts to keep a document that is known by its access objects only, among them its genesis:
// the first step of a join. A document that is here already gets the objects it lacks.
func (r *Repo) Adopt(ctx context.Context, raw [][]byte) (DocID, error) {
	var genesis *Object
	objs := make([]*Object, 0, len(raw))
	for _, b := range raw {
		o, err := ParseObject(b)
		if err != nil {
			return DocID{}, err
		}
		if _, ok := o.Body.(*Genesis); ok {
			genesis = o
		}
		objs = append(objs, o)
	}
	if genesis == nil {
		return DocID{}, errors.New("adopt document: its genesis is not among the objects")
	}
	id := DocID(genesis.ID)
	if r.slot(id) != nil {
		_, err := r.AddObjects(ctx, id, raw)
		return id, err
	}
	for _, o := range objs {
		if o != genesis && o.Doc != id {
			return DocID{}, fmt.Errorf("adopt document: an object belongs to document %s", o.Doc.Short())
		}
	}
	access := Resolve(id, uniqueObjects(objs))
	access = Resolve(id, slices.DeleteFunc(access.Objects(), func(o *Object) bool { return !access.Placed(o.ID) }))
	s := &slot{id: id, kind: access.Kind(), access: access}
	s.head = docHead{kind: s.kind, vector: Vector{}.Digest(), access: access.Digest()}
	var b Batch
	for _, o := range access.Objects() {
		b.Put(docKey(keyObject, id, o.ID[:]...), o.Raw)
	}
	b.Put(docKey(keyHead, id), s.head.encode())
	if err := r.cfg.Store.Append(ctx, &b); err != nil {
		return DocID{}, fmt.Errorf("adopt document %s: %w", id.Short(), err)
	}
	r.mu.Lock()
	r.slots[id] = s
	r.mu.Unlock()
	r.feeds.tell(id)
	return id, nil
}

// Forget removes a document from this peer, with everything stored of it. Other peers keep theirs.
func (r *Repo) Forget(ctx context.Context, id DocID) error {
	err := r.with(ctx, id, func(s *slot, d *document) error {
		var b Batch
		for _, letter := range []byte{keyHead, keyObject, keyChange, keySegment, keyRefused, keyAck, keyEpoch} {
			err := r.cfg.Store.Scan(ctx, docKey(letter, id), nil, func(k, _ []byte) error {
				b.Delete(bytes.Clone(k))
				return nil
			})
			if err != nil {
				return err
			}
		}
		if err := r.cfg.Store.Append(ctx, &b); err != nil {
			return err
		}
		r.mu.Lock()
		delete(r.slots, id)
		r.mu.Unlock()
		s.unload()
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget document %s: %w", id.Short(), err)
	}
	r.feeds.tell(id)
	return nil
}
