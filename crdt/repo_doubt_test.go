package crdt_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Bytes that are no change must not take the name of a good one: whoever could have an honest change
// refused under its own hash could keep it from spreading for good.
func TestSpoiltBytesDoNotSpoilAChange(t *testing.T) {
	for at := range 8 { // magic and checksum, which the hash does not cover
		a, b := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
		id := a.create(t)
		a.grant(t, id, b, crdt.Write)
		a.post(t, id, "hello")
		b.adopt(t, a, id)
		page := a.page(t, id)
		spoilt := make([]crdt.SignedChange, len(page))
		for i, c := range page {
			raw := bytes.Clone(c.Raw)
			raw[at] ^= 1
			spoilt[i] = crdt.SignedChange{Raw: raw, Sig: c.Sig}
		}
		for _, v := range b.apply(t, id, spoilt) {
			if v.State != crdt.Refused {
				t.Errorf("byte %d flipped: %+v", at, v)
			}
		}
		for _, v := range b.apply(t, id, page) {
			if v.State != crdt.Accepted {
				t.Errorf("byte %d: the honest change after the spoilt one: %+v", at, v)
			}
		}
		if got := b.texts(t, id); len(got) != 1 {
			t.Errorf("byte %d: b shows %q", at, got)
		}
	}
}

// doubtful is a store whose next write is durable and reported as failed, when asked for.
func doubtful() (*crdt.MemStore, *atomic.Bool) {
	var doubt atomic.Bool
	return crdt.NewFailingMemStore(func(op string) error {
		if op == crdt.OpAck && doubt.CompareAndSwap(true, false) {
			return errors.New("no answer from the disk")
		}
		return nil
	}), &doubt
}

// What a failed write left behind all the same is known and told at once: nothing else may ever come to
// make this peer look.
func TestFailedWriteThatIsDurableIsTold(t *testing.T) {
	store, doubt := doubtful()
	p := newPeer(t, 1, store)
	id := p.create(t)
	p.post(t, id, "before")
	feed := p.Watch(id)
	defer feed.Close()
	before, _ := p.Summary(id)
	doubt.Store(true)
	err := p.Update(context.Background(), id, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "x", Content: "in doubt"})
		return err
	})
	if err == nil {
		t.Fatal("the write was acknowledged")
	}
	after, _ := p.Summary(id)
	v, err := p.Vector(context.Background(), id)
	if err != nil || after.Vector == before.Vector || after.Vector != v.Digest() {
		t.Errorf("summary %x, before %x, vector %x, %v", after.Vector, before.Vector, v.Digest(), err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if ids, err := feed.Next(ctx); err != nil || len(ids) != 1 {
		t.Errorf("nobody was told: %v, %v", ids, err)
	}
	if got := p.texts(t, id); len(got) != 2 {
		t.Errorf("entries %q", got)
	}
}

// The same of a compaction: the document is read again, and nothing is missing.
func TestFailedCompactionThatIsDurable(t *testing.T) {
	store, doubt := doubtful()
	p := newPeer(t, 1, store)
	id := p.create(t)
	for range 300 {
		p.post(t, id, "hello")
	}
	doubt.Store(true)
	if n, err := p.Compact(context.Background(), id); err == nil {
		t.Fatalf("compacted %d without an error", n)
	}
	if got := len(p.page(t, id)); got < 300 {
		t.Errorf("%d changes are left", got)
	}
	if _, err := p.Compact(context.Background(), id); err != nil {
		t.Error(err)
	}
	q := newPeer(t, 2, crdt.NewMemStore())
	p.grant(t, id, q, crdt.Read)
	q.adopt(t, p, id)
	for _, v := range q.apply(t, id, p.page(t, id)) {
		if v.State != crdt.Accepted {
			t.Fatalf("%+v", v)
		}
	}
}
