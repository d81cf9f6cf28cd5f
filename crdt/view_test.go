package crdt

import (
	"slices"
	"testing"
)

// TestRowOfSeveralWriters: two peers write the same row, a third deletes what it has seen of it. In
// every order in which the changes may arrive, the row is the same, down to who brought it.
func TestRowOfSeveralWriters(t *testing.T) {
	const store, value = "memory", `{"k":1}`
	key := RowIDOf(value)
	write := func(actor byte, counter uint64) *Change {
		return &Change{
			Hash: ChangeHash{actor}, Actor: ActorID{actor}, Seq: uint64(actor) + 10, StartOp: counter, Time: int64(actor) * 100,
			Ops: []Op{{Store: store, Key: key.String(), Value: value}},
		}
	}
	erase := func(seen ...*Change) *Change {
		op := Op{Store: store, Key: key.String(), Delete: true}
		c := &Change{Hash: ChangeHash{9}, Actor: ActorID{9}, Seq: 1, StartOp: 50}
		for _, s := range seen {
			op.Pred, c.Deps = append(op.Pred, OpID{s.StartOp, s.Actor}), append(c.Deps, s.Hash)
		}
		c.Ops = []Op{op}
		return c
	}
	a, b, c := write(1, 7), write(2, 5), write(3, 6)
	for name, x := range map[string]struct {
		erased *Change
		by     *Change // of the row that is left; nil: none
	}{
		"nothing erased":  {nil, b},
		"the lowest":      {erase(b), c},
		"the lowest two":  {erase(b, c), a},
		"one that is not": {erase(a), b},
		"all":             {erase(a, b, c), nil},
	} {
		tried := 0
		for order := range permutations([]*Change{a, b, c, x.erased}) {
			if !causal(order) {
				continue
			}
			tried++
			v := newView(DocID{1}, MemoryBank, Resolve(DocID{1}, nil), nil)
			for _, ch := range order {
				if ch != nil {
					v.apply(ch)
				}
			}
			got, ok := v.Row(store, key)
			if ok != (x.by != nil) {
				t.Fatalf("%s: the row is there: %v", name, ok)
			}
			if ok && (got.Actor != x.by.Actor || got.Seq != x.by.Seq || got.Time != x.by.Time || got.Value != value || got.ID != key) {
				t.Errorf("%s: the row is by actor %x, want %x", name, got.Actor[0], x.by.Actor[0])
			}
			if n := v.RowCount(store); n != len(slices.Collect(v.Rows(store))) || (n == 1) != ok {
				t.Errorf("%s: %d rows", name, n)
			}
		}
		if tried < 4 {
			t.Errorf("%s: only %d orders tried", name, tried)
		}
	}
}

func permutations(list []*Change) func(func([]*Change) bool) {
	return func(yield func([]*Change) bool) {
		var pick func(done, rest []*Change) bool
		pick = func(done, rest []*Change) bool {
			if len(rest) == 0 {
				return yield(done)
			}
			for i := range rest {
				if !pick(append(slices.Clone(done), rest[i]), append(slices.Clone(rest[:i]), rest[i+1:]...)) {
					return false
				}
			}
			return true
		}
		pick(nil, list)
	}
}

// causal reports whether each change comes after what it depends on.
func causal(order []*Change) bool {
	seen := map[ChangeHash]bool{}
	for _, c := range order {
		if c == nil {
			continue
		}
		for _, d := range c.Deps {
			if !seen[d] {
				return false
			}
		}
		seen[c.Hash] = true
	}
	return true
}
