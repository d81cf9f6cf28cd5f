package activation

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// oracle is the fold word by word, in quadratic time.
func oracle(events []Event) map[string]crdt.RowID {
	out := map[string]crdt.RowID{}
	for _, e := range events {
		wins := true
		for _, o := range events {
			if o.Name != e.Name {
				continue
			}
			if slices.Contains(o.Prev, e.ID) {
				wins = false
			}
			void := slices.ContainsFunc(events, func(x Event) bool { return x.Name == o.Name && slices.Contains(x.Prev, o.ID) })
			if void || o.ID == e.ID {
				continue
			}
			later := o.Timestamp > e.Timestamp
			tie := o.Timestamp == e.Timestamp
			off := o.Kind == Deactivated && e.Kind == Activated
			same := o.Kind == e.Kind
			if later || tie && off || tie && same && bytes.Compare(o.ID[:], e.ID[:]) > 0 {
				wins = false
			}
		}
		if wins {
			out[e.Name] = e.ID
		}
	}
	return out
}

func row(e Event) crdt.Row { return crdt.Row{ID: e.ID, Value: e.Text, Author: crdt.PeerID{1}} }

func logOf(events iter.Seq[Event]) *Log {
	l := NewLog()
	for e := range events {
		l.Row(Store, row(e))
	}
	return l
}

func sameState(s State, want map[string]crdt.RowID) bool {
	if len(s) != len(want) {
		return false
	}
	for name, e := range s {
		if want[name] != e.ID {
			return false
		}
	}
	return true
}

var stamps = []int64{math.MinInt64, math.MinInt64 + 1, -62135596800000, -1, 0, 1, 1000, 1786000000000, 1786000000050, 1786003600000, 4070908800000, 253402300799999, math.MaxInt64 - 1, math.MaxInt64}

var names = []string{"web", "memory", "notes", "a"}

// mustEvent writes any row, however mischievous; extra makes rows of one meaning different.
func mustEvent(t testing.TB, kind Kind, name string, ts int64, prev []crdt.RowID, extra int) Event {
	fields := map[string]any{"kind": string(kind), "name": name, "timestamp": ts}
	if len(prev) > 0 {
		fields["prev"] = prev
	}
	if kind == Activated {
		fields["extension_ref"] = extension.BuiltinRef(name, "0.0.1")
	}
	if extra > 0 {
		fields["x"] = extra
	}
	text, err := crdt.Canonical(fields)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(crdt.RowIDOf(text), text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// anyLog draws rows that a hostile writer could have made: any stamp, prev of any rows and of none.
func anyLog(t *rapid.T, tb testing.TB, most int) []Event {
	var events []Event
	for i := range rapid.IntRange(0, most).Draw(t, "rows") {
		kind := rapid.SampledFrom([]Kind{Activated, Deactivated}).Draw(t, "kind")
		name := rapid.SampledFrom(names).Draw(t, "name")
		ts := rapid.SampledFrom(stamps).Draw(t, "stamp")
		var prev []crdt.RowID
		for range rapid.IntRange(0, 2).Draw(t, "prevs") {
			switch {
			case len(events) > 0 && rapid.IntRange(0, 3).Draw(t, "which") > 0:
				prev = append(prev, rapid.SampledFrom(events).Draw(t, "prev").ID)
			case rapid.Bool().Draw(t, "foresee"):
				// The hash of a row that somebody may want to write next.
				next := mustEvent(tb, rapid.SampledFrom([]Kind{Activated, Deactivated}).Draw(t, "k"), name, ts, nil, 0)
				prev = append(prev, next.ID)
			default:
				prev = append(prev, crdt.RowID{byte(i)})
			}
		}
		events = append(events, mustEvent(tb, kind, name, ts, prev, rapid.IntRange(0, 2).Draw(t, "extra")))
	}
	return events
}

// Equal rows give equal sets in any order, grouping and repetition: P1, P4.
func TestFoldIsAFunctionOfTheSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := 40
		if rapid.Bool().Draw(rt, "small") {
			most = 6
		}
		events := anyLog(rt, t, most)
		want := oracle(events)
		if s := Fold(slices.Values(events)); !sameState(s, want) {
			rt.Fatalf("Fold gives %v, want %v", s, want)
		}
		check := func(order []Event) {
			if s := logOf(slices.Values(order)).State(); !sameState(s, want) {
				rt.Fatalf("Log gives %v, want %v", s, want)
			}
		}
		if len(events) <= 6 {
			permute(events, 0, check)
			return
		}
		for range 10 {
			order := rapid.Permutation(events).Draw(rt, "order")
			again := rapid.SliceOf(rapid.SampledFrom(events)).Draw(rt, "again")
			check(append(slices.Clone(again), order...))
		}
	})
}

func permute(e []Event, k int, do func([]Event)) {
	if k == len(e) {
		do(e)
		return
	}
	for i := k; i < len(e); i++ {
		e[k], e[i] = e[i], e[k]
		permute(e, k+1, do)
		e[k], e[i] = e[i], e[k]
	}
}

// A row of one name changes only that name: P4.
func TestRowsOfOneNameChangeOnlyThatName(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := anyLog(rt, t, 20)
		l := NewLog()
		for _, e := range events {
			before := l.State()
			l.Row(Store, row(e))
			after := l.State()
			delete(before, e.Name)
			delete(after, e.Name)
			if !before.Equal(after) {
				rt.Fatalf("a row of %s changed another name", e.Name)
			}
		}
	})
}

// A fresh local write is visible locally for any prior log and clock: P2.
func TestFreshWriteIsVisibleOnAnyLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := logOf(slices.Values(anyLog(rt, t, 20)))
		for range rapid.IntRange(1, 8).Draw(rt, "writes") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			kind := rapid.SampledFrom([]Kind{Activated, Deactivated}).Draw(rt, "kind")
			var rows []Event
			var err error
			want := extension.BuiltinRef(name, rapid.SampledFrom([]string{"0.0.1", "0.0.2"}).Draw(rt, "version"))
			if l.Active(name) && rapid.Bool().Draw(rt, "upgrade") {
				kind = Activated
				rows, err = l.Upgrade(name, want)
			} else {
				rows, err = l.Next(rapid.SampledFrom(stamps).Draw(rt, "now"), kind, name, want)
			}
			if err != nil {
				rt.Fatal(err)
			}
			for _, e := range rows {
				l.Row(Store, row(e))
			}
			last := rows[len(rows)-1]
			if cur, _ := l.Latest(name); cur.ID != last.ID || l.Active(name) != (kind == Activated) || l.Disabled(name) != (kind == Deactivated) {
				rt.Fatalf("wrote %s, the log says %v", last.Text, cur)
			}
		}
	})
}
