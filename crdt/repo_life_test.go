package crdt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestCompactKeepsEverything(t *testing.T) {
	a, b := newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore())
	id := a.create(t)
	for i := range 300 {
		a.post(t, id, fmt.Sprint(i))
	}
	n, err := a.Compact(context.Background(), id)
	if err != nil || n < 300 {
		t.Fatalf("packed %d, %v", n, err)
	}
	for i := range 100 {
		a.post(t, id, fmt.Sprint("late", i))
	}
	if _, err := a.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	a.post(t, id, "last")
	a.reopen(t)
	if got := len(a.texts(t, id)); got != 401 {
		t.Errorf("%d entries after packing and reopening, want 401", got)
	}
	a.grant(t, id, b, crdt.Read)
	b.pull(t, a, id)
	if x, y := a.texts(t, id), b.texts(t, id); !slices.Equal(x, y) {
		t.Errorf("b has %d entries of %d", len(y), len(x))
	}
}

func TestEvictionKeepsNothingOpen(t *testing.T) {
	a := newPeer(t, 1, crdt.NewMemStore())
	a.cfg.MemoryBudget = 1
	a.reopen(t)
	var ids []crdt.DocID
	for range 20 {
		id := a.create(t)
		a.post(t, id, "x")
		ids = append(ids, id)
	}
	if n := a.Loaded(); n > 1 {
		t.Errorf("%d documents in memory under a budget of one byte", n)
	}
	for _, id := range ids {
		a.post(t, id, "y")
		if got := a.texts(t, id); len(got) != 2 {
			t.Errorf("after eviction: %v", got)
		}
	}
}

// A write whose commit fails leaves the document as it was; one that fails after it became durable
// leaves it as the store has it. Memory never says another thing than the store.
func TestFailedCommit(t *testing.T) {
	for op, kept := range map[string]int{crdt.OpAppend: 1, crdt.OpAck: 2} {
		fail := false
		a := newPeer(t, 1, crdt.NewFailingMemStore(func(at string) error {
			if fail && at == op {
				return errors.New("no space left on device")
			}
			return nil
		}))
		id := a.create(t)
		a.post(t, id, "one")
		fail = true
		err := a.Update(context.Background(), id, func(tx *crdt.Tx) error {
			_, err := crdt.AddEntry(tx, crdt.Entry{Content: "two"})
			return err
		})
		if err == nil {
			t.Fatal("the failed commit was reported as done")
		}
		fail = false
		if got := a.texts(t, id); len(got) != kept {
			t.Errorf("%s: after the failed commit: %v", op, got)
		}
		a.post(t, id, "three")
		if got := a.texts(t, id); len(got) != kept+1 {
			t.Errorf("%s: after the next commit: %v", op, got)
		}
		a.reopen(t)
		if _, err := a.Rebuild(context.Background(), id); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}

func TestBulkIsAllOrNothing(t *testing.T) {
	a := newPeer(t, 1, crdt.NewMemStore())
	id := a.create(t)
	big := func(bulk bool) error {
		return a.Update(context.Background(), id, func(tx *crdt.Tx) error {
			if bulk {
				tx.Bulk()
			}
			for i := range 3000 {
				if _, err := crdt.AddEntry(tx, crdt.Entry{Content: fmt.Sprint(i), Timestamp: int64(i + 1)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := big(false); err == nil || len(a.texts(t, id)) != 0 {
		t.Errorf("3,000 rows in one change: %v", err)
	}
	if err := big(true); err != nil {
		t.Fatal(err)
	}
	got := a.texts(t, id)
	if len(got) != 3000 || got[0] != "0" || got[2999] != "2999" {
		t.Errorf("%d entries", len(got))
	}
	a.reopen(t)
	if _, err := a.Rebuild(context.Background(), id); err != nil {
		t.Error(err)
	}
}

func TestRowLimits(t *testing.T) {
	a := newPeer(t, 1, crdt.NewMemStore())
	id := a.create(t)
	for _, c := range []struct {
		size int
		ok   bool
	}{{crdt.MaxValue - 300, true}, {crdt.MaxValue + 1, false}} {
		text := make([]byte, c.size)
		for i := range text {
			text[i] = 'x'
		}
		err := a.Update(context.Background(), id, func(tx *crdt.Tx) error {
			_, err := crdt.AddEntry(tx, crdt.Entry{Content: string(text)})
			return err
		})
		if (err == nil) != c.ok {
			t.Errorf("%d bytes: %v", c.size, err)
		}
	}
}

func TestEntriesOrderAndStamp(t *testing.T) {
	a := newPeer(t, 1, crdt.NewMemStore())
	id := a.create(t)
	add := func(text string, at int64) {
		err := a.Update(context.Background(), id, func(tx *crdt.Tx) error {
			_, err := crdt.AddEntry(tx, crdt.Entry{Content: text, Timestamp: at})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("future", math.MaxInt64-1)
	add("past", math.MinInt64)
	add("now", 0)
	add("after now", 0)
	if got := fmt.Sprint(a.texts(t, id)[:2]); got != "[past future]" {
		t.Errorf("order %v", a.texts(t, id))
	}
	add("same", 5)
	add("same", 5)
	if got := len(a.texts(t, id)); got != 6 {
		t.Errorf("%d entries: saying the same twice must be two rows", got)
	}
}

// Concurrent writers never lose a row or a field, whatever the order of exchange.
func TestRandomExchange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ps := []*peer{newPeer(t, 1, crdt.NewMemStore()), newPeer(t, 2, crdt.NewMemStore()), newPeer(t, 3, crdt.NewMemStore())}
		id := ps[0].create(t)
		for _, p := range ps[1:] {
			ps[0].grant(t, id, p, crdt.Admin)
			p.pull(t, ps[0], id)
		}
		posted := 0
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			p := rapid.SampledFrom(ps).Draw(rt, "peer")
			switch rapid.IntRange(0, 4).Draw(rt, "act") {
			case 0, 1:
				p.post(t, id, fmt.Sprint(posted))
				posted++
			case 2:
				key := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
				err := p.Update(context.Background(), id, func(tx *crdt.Tx) error {
					if rapid.Bool().Draw(rt, "delete") {
						return tx.Delete("routines", key)
					}
					return tx.Set("routines", key, posted)
				})
				if err != nil {
					rt.Fatal(err)
				}
			case 3:
				p.pull(t, rapid.SampledFrom(ps).Draw(rt, "from"), id)
			case 4:
				p.reopen(t)
			}
		}
		for range 2 {
			for _, p := range ps {
				for _, q := range ps {
					p.pull(t, q, id)
				}
			}
		}
		want := state(t, ps[0], id)
		for _, p := range ps {
			if got := state(t, p, id); got != want {
				rt.Fatalf("peers differ:\n%s\n%s", want, got)
			}
			if _, err := p.Rebuild(context.Background(), id); err != nil {
				rt.Fatal(err)
			}
			if got := state(t, p, id); got != want {
				rt.Fatalf("rebuilt differs:\n%s\n%s", want, got)
			}
		}
		if got := len(ps[0].texts(t, id)); got != posted {
			rt.Fatalf("%d of %d entries", got, posted)
		}
	})
}

// state is everything that a person would see of a document.
func state(t *testing.T, p *peer, id crdt.DocID) string {
	t.Helper()
	out := fmt.Sprintln(p.texts(t, id))
	err := p.View(context.Background(), id, func(v *crdt.View) error {
		for _, s := range v.Kind().Stores() {
			for k, val := range v.Records(s.Name) {
				out += fmt.Sprintln(s.Name, k, val)
			}
		}
		out += fmt.Sprintln(v.Heads())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
