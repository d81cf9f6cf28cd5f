package crdt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Update runs fn and commits what it wrote as one change, signed by this peer. It returns nil when
// the change is durable; on an error nothing is written. A transaction that changes nothing writes
// nothing. Errors: ErrUnknownDoc, ErrNoRight, what the store fails with, and fn's own.
func (r *Repo) Update(ctx context.Context, id DocID, fn func(*Tx) error) error {
	return r.with(ctx, id, func(s *slot, d *document) error {
		tx := r.newTx(d)
		if err := fn(tx); err != nil {
			return err
		}
		return r.commitLocal(ctx, &writer{repo: r, slot: s, doc: d}, tx)
	})
}

func (r *Repo) newTx(d *document) *Tx {
	return &Tx{View: d.view, self: r.Self(), now: NowMillis(r.cfg.Clock)}
}

// commitLocal encodes, checks, signs, stores and applies the transaction's edits, with what the
// writer holds already.
func (r *Repo) commitLocal(ctx context.Context, w *writer, tx *Tx) error {
	if len(tx.edits) > 0 {
		if _, err := r.needCore(ctx, w.doc); err != nil {
			return err
		}
		if err := w.encode(tx); err != nil {
			return err
		}
		w.local = true
	}
	if err := w.commit(ctx); err != nil {
		return err
	}
	if w.bad != (ChangeHash{}) {
		return fmt.Errorf("write change to document %s: the core refused it", w.doc.id.Short())
	}
	return nil
}

// writer gathers one commit to one document: new access objects, new changes, the head.
type writer struct {
	repo    *Repo
	slot    *slot
	doc     *document
	batch   Batch
	objects []*Object
	changes []*Change
	sigs    [][]byte
	bad     ChangeHash // the change that the core did not take
	local   bool       // the changes are this peer's own
	early   chan error // what the core says of them, when it was asked beside the store
}

func (w *writer) addObjects(objs []*Object) {
	for _, o := range objs {
		w.batch.Put(docKey(keyObject, w.doc.id, o.ID[:]...), o.Raw)
	}
	w.objects = append(w.objects, objs...)
}

func (w *writer) addChange(c *Change, sig []byte) {
	pos := uint64(len(w.doc.log) + len(w.changes))
	w.batch.Put(posKey(keyChange, w.doc.id, pos), encodeRecord(SignedChange{c.Raw, sig}))
	w.changes, w.sigs = append(w.changes, c), append(w.sigs, sig)
}

// encode makes the changes of a local transaction. The gate absorbs each at once, because the next
// one builds on it; from there on any failure leaves the document to be rebuilt.
func (w *writer) encode(tx *Tx) error {
	r, d := w.repo, w.doc
	need, where := tx.needs()
	grant, role := d.view.access.GrantAt(r.Self(), tx.now)
	if role < need && !r.cfg.IgnoreRole {
		return fmt.Errorf("write to %s of document %s: it needs the role %s, this peer has %s: %w", where, d.id.Short(), need, role, ErrNoRight)
	}
	parts, err := tx.parts()
	if err != nil {
		return err
	}
	actor, err := w.actor(grant)
	if err != nil {
		return err
	}
	heads := d.view.Heads()
	for _, edits := range parts {
		c, err := d.gate.Next(actor, NowMillis(r.cfg.Clock)/1000, heads, edits)
		if err == nil && c != nil {
			err = d.gate.Check(c)
		}
		if err != nil {
			return stale(fmt.Errorf("write change: %w", err))
		}
		if c == nil {
			continue
		}
		d.gate.Absorb(c)
		w.addChange(c, r.cfg.Identity.Sign(ChangeMessage(d.id, c.Actor, c.Seq, c.Hash)))
		heads = []ChangeHash{c.Hash}
	}
	return nil
}

// actor returns the actor under which this peer writes, declaring a new one where the grant or the
// epoch of the home is new or the actor turned out to be in use elsewhere.
func (w *writer) actor(grant ObjectID) (ActorID, error) {
	r, d := w.repo, w.doc
	if d.own == nil {
		own, err := r.readOwnActor(d.id)
		if err != nil {
			return ActorID{}, err
		}
		d.own = &own
	}
	own := *d.own
	id := NewActorID(d.id, r.Self(), grant, own.epoch)
	if own.home == r.cfg.HomeEpoch && own.grant == grant && !own.spent {
		if info, ok := d.view.access.Actor(id); ok && !info.Closed {
			return id, nil
		}
	}
	own = ownActor{home: r.cfg.HomeEpoch, grant: grant}
	if _, err := io.ReadFull(r.cfg.Rand, own.epoch[:]); err != nil {
		return ActorID{}, fmt.Errorf("draw an epoch: %w", err)
	}
	obj := r.cfg.Identity.NewActor(d.id, grant, own.epoch)
	w.addObjects([]*Object{obj})
	w.batch.Put(docKey(keyEpoch, d.id), own.encode())
	d.own = &own // should the commit fail, the document goes with it
	return NewActorID(d.id, r.Self(), grant, own.epoch), nil
}

// commit makes everything durable, then applies it. The order is the safety: the store first, the
// core and the view after it, the vector and the watchers last.
func (w *writer) commit(ctx context.Context) error {
	if len(w.batch.Writes) == 0 {
		return nil
	}
	r, d, s := w.repo, w.doc, w.slot
	access := d.view.access
	if len(w.objects) > 0 {
		var err error
		if access, err = r.extend(access, w.objects); err != nil {
			return stale(err)
		}
	}
	h := s.getHead()
	vector := d.view.vector
	if len(w.changes) > 0 {
		vector = vector.Clone()
		for _, c := range w.changes {
			vector[c.Actor] = Tip{c.Seq, c.Hash}
		}
		// What was committed before this has been applied; this commit has not.
		h.applied, h.next = h.next, h.next+uint64(len(w.changes))
		h.vector = vector.Digest()
	}
	h.access = access.Digest()
	w.batch.Put(docKey(keyHead, d.id), h.encode())
	w.startCore(access)
	if err := r.cfg.Store.Append(ctx, &w.batch); err != nil {
		if w.early != nil {
			<-w.early
		}
		return stale(fmt.Errorf("store change: %w", err))
	}
	old := d.view.access
	s.setHead(h)
	s.setAccess(access)
	d.view.access = access
	err := w.apply(ctx, old, access)
	if len(w.changes)+len(w.objects) > 0 {
		r.feeds.tell(d.id)
	}
	return err
}

// apply brings committed changes into memory. When the access log moved what is valid, the
// document is rebuilt at its next use instead: validity is never patched in place.
func (w *writer) apply(ctx context.Context, old, access *Access) error {
	d := w.doc
	for i, c := range w.changes {
		d.tail.add(uint64(len(d.log)), SignedChange{c.Raw, w.sigs[i]})
		d.absorbed(c, len(w.sigs[i]) > 0)
	}
	if access.HasCuts() && (access != old && access.Digest() != old.Digest() || !w.staysValid(access)) {
		w.slot.unload()
		return nil
	}
	if len(w.changes) > 0 {
		if err := w.applyCore(); err != nil {
			err = w.withdraw(ctx, err)
			w.slot.unload()
			return err
		}
	}
	for _, c := range w.changes {
		if d.valid != nil {
			d.valid[c.Hash] = true
		}
		d.view.apply(c)
	}
	return nil
}

// staysValid reports whether all new changes are valid by themselves, on valid dependencies.
func (w *writer) staysValid(access *Access) bool {
	fresh := map[ChangeHash]bool{}
	for _, c := range w.changes {
		if !access.InForce(c.Actor, c.Seq, c.Hash) {
			return false
		}
		for _, dep := range c.Deps {
			if !fresh[dep] && w.doc.valid != nil && !w.doc.valid[dep] && !w.doc.isGenesis(w.repo, dep) {
				return false
			}
		}
		fresh[c.Hash] = true
	}
	return true
}

func (d *document) isGenesis(r *Repo, h ChangeHash) bool {
	return r.cfg.Codec.Genesis(d.id, d.view.kind).Hash == h
}

// startCore gives this peer's own changes to the core while the disk is at work. Changes of others
// wait until they are durable, so that one which kills the process is found in the store afterwards;
// an own one was made here, and is not promised to anybody yet. Where validity is not plain the
// document may be dropped after the commit, and the core is left alone.
func (w *writer) startCore(access *Access) {
	if !w.local || len(w.changes) == 0 || access.HasCuts() {
		return
	}
	w.early = make(chan error, 1)
	go func() { w.early <- w.feedCore() }()
}

// applyCore applies the new changes to the core, or waits until that is done.
func (w *writer) applyCore() error {
	if w.early != nil {
		return <-w.early
	}
	return w.feedCore()
}

func (w *writer) feedCore() error {
	core := w.doc.core
	if len(w.changes) == 1 {
		return core.Apply(w.changes[0].Hash, w.changes[0].Raw)
	}
	return core.ApplyPage(func(yield func(ChangeHash, []byte) bool) {
		for _, c := range w.changes {
			if !yield(c.Hash, c.Raw) {
				return
			}
		}
	})
}

// withdraw takes changes back out of the store from the first one on that the core does not know:
// that one is refused, the later ones will be offered again.
func (w *writer) withdraw(ctx context.Context, cause error) error {
	r, d := w.repo, w.doc
	first := uint64(len(d.log) - len(w.changes))
	bad, ok := w.firstUnknown(ctx, first)
	if !ok {
		return cause
	}
	var b Batch
	h := w.slot.getHead()
	for pos := first + uint64(bad); pos < h.next; pos++ {
		b.Delete(posKey(keyChange, d.id, pos))
	}
	vector := d.view.vector.Clone()
	for _, c := range slices.Backward(w.changes[bad:]) {
		if c.Seq == 1 {
			delete(vector, c.Actor)
		} else {
			hash, _ := d.hashAt(c.Actor, c.Seq-1)
			vector[c.Actor] = Tip{c.Seq - 1, hash}
		}
	}
	h.next, h.vector = first+uint64(bad), vector.Digest()
	h.applied = min(h.applied, h.next)
	b.Put(docKey(keyHead, d.id), h.encode())
	c := w.changes[bad]
	ref := RefusedChange{Hash: c.Hash, Actor: c.Actor, Seq: c.Seq, Reason: ReasonCore, Detail: cause.Error()}
	b.Put(docKey(keyRefused, d.id, c.Hash[:]...), ref.encode())
	if err := r.cfg.Store.Append(ctx, &b); err != nil {
		return errors.Join(cause, err)
	}
	w.slot.setHead(h)
	w.bad = c.Hash
	return nil
}

// firstUnknown applies the new changes one by one to a fresh core.
func (w *writer) firstUnknown(ctx context.Context, first uint64) (int, bool) {
	r, d := w.repo, w.doc
	d.close()
	core, err := r.buildCore(ctx, d, first)
	if err != nil {
		return 0, false
	}
	defer core.Close()
	for i, c := range w.changes {
		if core.Apply(c.Hash, c.Raw) != nil {
			return i, true
		}
	}
	return 0, false
}
