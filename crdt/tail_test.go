package crdt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// TestPagesFromMemoryAndStore: the newest changes of an open document come from memory, the others
// from the store; a reader must not see the difference, wherever it starts and however long the
// changes are.
func TestPagesFromMemoryAndStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPeer(t, 1, crdt.NewMemStore())
		id := p.create(t)
		for i := range rapid.IntRange(1, 90).Draw(rt, "posts") {
			if rapid.IntRange(0, 40).Draw(rt, "reopen") == 0 {
				p.reopen(t)
			}
			p.post(t, id, fmt.Sprint(i, strings.Repeat("x", rapid.SampledFrom([]int{0, 3, 3000}).Draw(rt, "size"))))
		}
		have := rapid.Uint64Range(0, 92).Draw(rt, "have")
		limit := rapid.SampledFrom([]int{1, 2000, 1 << 20}).Draw(rt, "limit")
		warm := readPages(rt, p, id, have, limit)
		p.reopen(t)
		cold := readPages(rt, p, id, have, limit)
		if len(warm) != len(cold) {
			rt.Fatalf("%d changes from memory, %d from the store", len(warm), len(cold))
		}
		for i := range warm {
			if !bytes.Equal(warm[i].Raw, cold[i].Raw) || !bytes.Equal(warm[i].Sig, cold[i].Sig) {
				rt.Fatalf("change %d differs", i)
			}
		}
	})
}

// readPages reads all that a peer lacks which has the first changes of the only actor.
func readPages(rt *rapid.T, p *peer, id crdt.DocID, first uint64, limit int) (out []crdt.SignedChange) {
	have, err := p.Vector(context.Background(), id)
	if err != nil {
		rt.Fatal(err)
	}
	total := uint64(0)
	for a, tip := range have {
		total = tip.Seq
		have[a] = crdt.Tip{Seq: min(first, tip.Seq)}
	}
	for more := true; more; {
		var page []crdt.SignedChange
		if page, have, more, err = p.Page(context.Background(), id, have, nil, limit); err != nil {
			rt.Fatal(err)
		}
		out = append(out, page...)
	}
	if uint64(len(out)) != total-min(first, total) {
		rt.Fatalf("%d changes of %d from the %d-th on", len(out), total, first)
	}
	return out
}

// TestPackingLeavesClosedDocumentsClosed: tidying up must not bring every document into memory.
func TestPackingLeavesClosedDocumentsClosed(t *testing.T) {
	p := newPeer(t, 1, crdt.NewMemStore())
	id := p.create(t)
	for i := range 200 {
		p.post(t, id, fmt.Sprint("line ", i))
	}
	before := p.texts(t, id)
	p.reopen(t)
	packed, err := p.Compact(context.Background(), id)
	if err != nil || packed < 200 {
		t.Fatalf("packed %d: %v", packed, err)
	}
	if p.Loaded() != 0 {
		t.Error("packing opened the document")
	}
	if got := p.texts(t, id); len(got) != len(before) || got[7] != before[7] {
		t.Errorf("%d entries after packing, %d before", len(got), len(before))
	}
	p.post(t, id, "one more")
	if packed, err := p.Compact(context.Background(), id); err != nil || packed != 0 {
		t.Errorf("packed %d of one: %v", packed, err)
	}
}

func TestPeekLeavesThingsAsTheyWere(t *testing.T) {
	p := newPeer(t, 1, crdt.NewMemStore())
	closed, open := p.create(t), p.create(t)
	p.post(t, closed, "said")
	p.reopen(t)
	p.texts(t, open)
	for _, id := range []crdt.DocID{closed, open} {
		rows := 0
		err := p.Peek(context.Background(), id, func(v *crdt.View) error { rows = v.RowCount(crdt.EntriesStore); return nil })
		if want := map[crdt.DocID]int{closed: 1}[id]; err != nil || rows != want {
			t.Errorf("peeked at %d rows, want %d: %v", rows, want, err)
		}
	}
	if p.Loaded() != 1 {
		t.Errorf("%d documents are open, want the one that was", p.Loaded())
	}
	if err := p.Peek(context.Background(), crdt.DocID{1}, func(*crdt.View) error { return nil }); !errors.Is(err, crdt.ErrUnknownDoc) {
		t.Errorf("peeked at no document: %v", err)
	}
}
