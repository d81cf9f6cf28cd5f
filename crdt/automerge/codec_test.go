package automerge

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// writer writes a document as the product does, with the codec, and keeps what must be read from it
// by the decoded operations alone: per field the writes that nothing replaced.
type writer struct {
	actor  crdt.ActorID
	gate   crdt.Gate
	core   crdt.CoreDoc
	fields map[field]map[crdt.OpID]string
	done   []*crdt.Change
	seen   map[crdt.ChangeHash]bool
}

type field struct{ store, key string }

// failer is a testing.TB or a *rapid.T.
type failer interface{ Fatal(args ...any) }

func newWriter(t failer, core *Core, kind crdt.Kind, actor byte) *writer {
	codec, id := chunk.New(), crdt.DocID{1, 2, 3}
	genesis := codec.Genesis(id, kind)
	doc, err := core.Build(genesis, sequence(nil))
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{
		actor:  crdt.ActorID(bytes.Repeat([]byte{actor}, 16)),
		gate:   codec.NewGate(id, kind),
		core:   doc,
		fields: map[field]map[crdt.OpID]string{},
		seen:   map[crdt.ChangeHash]bool{},
	}
	w.note(genesis, uint64(len(kind.Stores()))+1)
	return w
}

func (w *writer) write(t failer, edits ...crdt.Edit) *crdt.Change {
	c, err := w.gate.Next(w.actor, 1, w.core.Heads(), edits)
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		w.take(t, c)
	}
	return c
}

// take adds own changes and those of others.
func (w *writer) take(t failer, changes ...*crdt.Change) {
	for _, c := range changes {
		if w.seen[c.Hash] {
			continue
		}
		if err := w.gate.Check(c); err != nil {
			t.Fatal(err)
		}
		if err := w.core.Apply(c.Hash, c.Raw); err != nil {
			t.Fatal(err)
		}
		w.gate.Absorb(c)
		w.note(c, c.StartOp)
	}
}

func (w *writer) note(c *crdt.Change, firstOp uint64) {
	w.done, w.seen[c.Hash] = append(w.done, c), true
	for i, op := range c.Ops {
		f := field{op.Store, op.Key}
		if w.fields[f] == nil {
			w.fields[f] = map[crdt.OpID]string{}
		}
		for _, p := range op.Pred {
			delete(w.fields[f], p)
		}
		if !op.Delete {
			w.fields[f][crdt.OpID{Counter: firstOp + uint64(i), Actor: c.Actor}] = op.Value
		}
	}
}

// stores is what must be read: of several writes the one with the greatest operation id.
func (w *writer) stores(kind crdt.Kind) Stores {
	out := Stores{}
	for _, s := range kind.Stores() {
		out[s.Name] = map[string]string{}
	}
	for f, writes := range w.fields {
		var best crdt.OpID
		for id, value := range writes {
			if out[f.store][f.key] == "" || id.Compare(best) > 0 {
				best, out[f.store][f.key] = id, value
			}
		}
	}
	return out
}

// Whatever two writers do apart and together, the core takes every change of the codec, both end
// with equal heads, and what Automerge reads from the file is what the decoded operations say.
func TestCoreReadsWhatTheOperationsSay(t *testing.T) {
	core := New()
	conflicts := 0
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kinds()).Draw(rt, "kind")
		peers := []*writer{newWriter(rt, core, kind, 1), newWriter(rt, core, kind, 2), newWriter(rt, core, kind, 3)}
		for _, p := range peers {
			defer p.core.Close()
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "peer")
			if rapid.IntRange(0, 3).Draw(rt, "meet") == 0 {
				peers[i].take(rt, peers[(i+1)%3].done...)
				continue
			}
			peers[i].write(rt, drawEdits(rt, kind)...)
		}
		for range 2 {
			for i := range peers {
				peers[i].take(rt, peers[(i+1)%3].done...)
			}
		}
		want := peers[0].stores(kind)
		for _, writes := range peers[0].fields {
			if len(writes) > 1 {
				conflicts++
			}
		}
		for i, p := range peers {
			if !slices.Equal(p.core.Heads(), peers[0].core.Heads()) {
				rt.Fatalf("peer %d has heads %v, peer 0 %v", i, p.core.Heads(), peers[0].core.Heads())
			}
			got, err := readStores(bytes.NewReader(p.core.Save()))
			if err != nil {
				rt.Fatal(err)
			}
			for name := range want {
				if a, b := fmt.Sprint(got[name]), fmt.Sprint(want[name]); a != b {
					rt.Fatalf("peer %d reads %s from %s, the operations say %s", i, a, name, b)
				}
			}
		}
	})
	if core.Open() != 0 {
		t.Errorf("%d documents are left open", core.Open())
	}
	if conflicts == 0 {
		t.Error("no field was ever written by two at once: the test shows nothing")
	}
}

func drawEdits(rt *rapid.T, kind crdt.Kind) []crdt.Edit {
	var edits []crdt.Edit
	taken := map[field]bool{}
	for range rapid.IntRange(1, 4).Draw(rt, "edits") {
		s := rapid.SampledFrom(kind.Stores()).Draw(rt, "store")
		e := crdt.Edit{Store: s.Name, Key: rapid.SampledFrom([]string{"a", "b/ü"}).Draw(rt, "key")}
		e.Value = fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "value"))
		if s.Rows {
			e.Key = crdt.RowIDOf(e.Value).String()
		}
		if (s.Deletable || !s.Rows) && rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
			e.Value, e.Delete = "", true
		}
		if f := (field{e.Store, e.Key}); !taken[f] {
			taken[f] = true
			edits = append(edits, e)
		}
	}
	return edits
}

// sample is a document of a kind with values that are hard to carry in every store, written with the
// codec by two writers who did not see each other, and what must be read from it.
func sample(t testing.TB, kind crdt.Kind) (crdt.CoreDoc, Stores) {
	t.Helper()
	core := New()
	a, b := newWriter(t, core, kind, 1), newWriter(t, core, kind, 2)
	t.Cleanup(a.core.Close)
	t.Cleanup(b.core.Close)
	for i, s := range kind.Stores() {
		var edits [2][]crdt.Edit
		for j, value := range []string{
			`{"timestamp":-9223372036854775808,"next":9223372036854775807}`,
			`{"content":"größer, 日本語, 🙂👩‍👩‍👧, \u0000\u2028, \"quoted\" \\ <b>&amp;"}`,
			`["é","é"]`, `""`, `null`, `1.7976931348623157e308`,
		} {
			e := crdt.Edit{Store: s.Name, Key: fmt.Sprintf("ключ🔑/%s/%d", s.Name, i+j), Value: value}
			if s.Rows {
				e.Key = crdt.RowIDOf(value).String()
			}
			edits[j%2] = append(edits[j%2], e)
		}
		a.write(t, edits[0]...)
		b.write(t, edits[1]...)
	}
	a.take(t, b.done...)
	return a.core, a.stores(kind)
}

func kinds() []crdt.Kind {
	return []crdt.Kind{crdt.Session, crdt.Agent, crdt.MemoryBank, crdt.SkillBank, crdt.Package}
}
