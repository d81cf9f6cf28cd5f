package crdt

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// maxRefused bounds the refused changes remembered for one document.
const maxRefused = 1024

// Vector returns the version vector of everything verified and stored.
func (r *Repo) Vector(ctx context.Context, id DocID) (v Vector, err error) {
	err = r.View(ctx, id, func(view *View) error { v = view.Vector(); return nil })
	return v, err
}

// HashAt returns the hash of an actor's change with that sequence number, if it is here.
func (r *Repo) HashAt(ctx context.Context, id DocID, a ActorID, seq uint64) (h ChangeHash, ok bool, err error) {
	err = r.with(ctx, id, func(_ *slot, d *document) error { h, ok = d.hashAt(a, seq); return nil })
	return h, ok, err
}

// Refused lists the changes that were refused for good.
func (r *Repo) Refused(ctx context.Context, id DocID) (out []RefusedChange, err error) {
	err = r.with(ctx, id, func(_ *slot, d *document) error {
		for _, c := range d.refused {
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// Export returns the document as an Automerge file: the valid part of it.
func (r *Repo) Export(ctx context.Context, id DocID) (file []byte, err error) {
	err = r.with(ctx, id, func(_ *slot, d *document) error {
		core, err := r.needCore(ctx, d)
		if err == nil {
			file = core.Save()
		}
		return err
	})
	return file, err
}

// Rebuild drops the document from memory and builds it again from the store, the core too. It
// returns the heads and fails where the two views of the document differ: a check for doctor.
func (r *Repo) Rebuild(ctx context.Context, id DocID) (heads []ChangeHash, err error) {
	s, err := r.use(id)
	if err != nil {
		return nil, err
	}
	defer r.release(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unload()
	d, err := r.load(ctx, s)
	if err != nil {
		return nil, err
	}
	if _, err := r.needCore(ctx, d); err != nil {
		return nil, err
	}
	h := s.getHead()
	if h.vector != d.view.vector.Digest() || h.next != uint64(len(d.log)) {
		return nil, fmt.Errorf("check document %s: its head speaks of another content than its log", id.Short())
	}
	return d.view.Heads(), nil
}

// SetAck notes the vector that another peer says it holds durably; an empty one takes the note away.
// Display and waiting only.
func (r *Repo) SetAck(ctx context.Context, id DocID, peer PeerID, v Vector) error {
	var b Batch
	key := docKey(keyAck, id, peer[:]...)
	if len(v) == 0 {
		b.Delete(key)
	} else {
		b.Put(key, encodeVector(v))
	}
	return r.cfg.Store.Append(ctx, &b)
}

// Acks returns the last durable vector known of each other peer.
func (r *Repo) Acks(ctx context.Context, id DocID) (map[PeerID]Vector, error) {
	out := map[PeerID]Vector{}
	prefix := docKey(keyAck, id)
	err := r.cfg.Store.Scan(ctx, prefix, nil, func(k, b []byte) error {
		v, err := decodeVector(b)
		out[PeerID(k[len(prefix):])] = v
		return err
	})
	return out, err
}

// StoredOn counts the peers, this one included, whose durable vector covers everything this peer
// has of the document. What stands outside of it is not looked at.
func (r *Repo) StoredOn(ctx context.Context, id DocID) (int, error) {
	holders, err := r.Holders(ctx, id)
	if err != nil {
		return 0, err
	}
	return 1 + len(holders), nil
}

// Holders lists the other peers whose durable vector covers everything this peer has of the document,
// in no order.
func (r *Repo) Holders(ctx context.Context, id DocID) ([]PeerID, error) {
	sum, ok := r.Summary(id)
	if !ok {
		return nil, fmt.Errorf("count copies of document %s: %w", id.Short(), ErrUnknownDoc)
	}
	acks, err := r.Acks(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []PeerID
	var mine Vector
	for p, v := range acks {
		if v.Digest() != sum.Vector {
			if mine == nil {
				if mine, err = r.Vector(ctx, id); err != nil {
					return nil, err
				}
			}
			if !v.Covers(mine) {
				continue
			}
		}
		out = append(out, p)
	}
	return out, nil
}

type refusedRecord struct {
	Actor  ActorID `json:"actor"`
	Seq    uint64  `json:"seq"`
	Reason Reason  `json:"reason"`
	Detail string  `json:"detail"`
}

func (c RefusedChange) encode() []byte {
	b, err := json.Marshal(refusedRecord{c.Actor, c.Seq, c.Reason, c.Detail})
	if err != nil {
		return []byte("{}")
	}
	return b
}

func (r *Repo) readRefused(ctx context.Context, id DocID) (map[ChangeHash]RefusedChange, error) {
	out := map[ChangeHash]RefusedChange{}
	prefix := docKey(keyRefused, id)
	err := r.cfg.Store.Scan(ctx, prefix, nil, func(k, b []byte) error {
		var rec refusedRecord
		if err := json.Unmarshal(b, &rec); err != nil {
			return fmt.Errorf("read refused change: %w", err)
		}
		h := ChangeHash(k[len(prefix):])
		out[h] = RefusedChange{h, rec.Actor, rec.Seq, rec.Reason, rec.Detail}
		return nil
	})
	return out, err
}

// ownActor is what this peer keeps of the actor it writes a document under.
type ownActor struct {
	home  [16]byte // the home epoch it was made in
	epoch [16]byte
	grant ObjectID
	spent bool // found in use beyond this store
}

func (o ownActor) encode() []byte {
	b := append(append(append([]byte{}, o.home[:]...), o.epoch[:]...), o.grant[:]...)
	if o.spent {
		return append(b, 1)
	}
	return append(b, 0)
}

func (r *Repo) readOwnActor(id DocID) (o ownActor, err error) {
	b, err := r.cfg.Store.Get(context.Background(), docKey(keyEpoch, id))
	if errors.Is(err, ErrNotFound) {
		return ownActor{spent: true}, nil
	}
	if err == nil && len(b) != 65 {
		err = fmt.Errorf("%d bytes of an unknown form", len(b))
	}
	if err != nil {
		return o, fmt.Errorf("read own actor of document %s: %w", id.Short(), err)
	}
	return ownActor{[16]byte(b), [16]byte(b[16:]), ObjectID(b[32:]), b[64] == 1}, nil
}

func (r *Repo) spendActor(b *Batch, id DocID) {
	o, err := r.readOwnActor(id)
	if err != nil || o.spent {
		return
	}
	o.spent = true
	b.Put(docKey(keyEpoch, id), o.encode())
}

func verifyChange(key PeerID, doc DocID, c *Change, sig []byte) bool {
	return len(sig) == ed25519.SignatureSize && ed25519.Verify(key.Key(), ChangeMessage(doc, c.Actor, c.Seq, c.Hash), sig)
}

// rawHash names bytes that are no readable change. It is the hash that Automerge gives to a chunk, over
// all behind the checksum, if magic and checksum in front are right: only then it names these bytes and
// no others. Else it is the hash of all bytes, so that spoilt bytes never bear the name of a good change.
func rawHash(raw []byte) ChangeHash {
	const head = "\x85\x6f\x4a\x83"
	if len(raw) > 8 && string(raw[:4]) == head {
		if h := sha256.Sum256(raw[8:]); bytes.Equal(h[:4], raw[4:8]) {
			return h
		}
	}
	return sha256.Sum256(raw)
}
