package chunk

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

var (
	alice = crdt.ActorID{0x11}
	bob   = crdt.ActorID{0x22}
	doc   = crdt.DocID{7}
)

// history is a gate fed by hand, with the heads an author had last.
type history struct {
	t       testing.TB
	kind    crdt.Kind
	gate    *gate
	genesis crdt.ChangeHash
}

func newHistory(t testing.TB, kind crdt.Kind) *history {
	c := New()
	return &history{t: t, kind: kind, gate: newGate(c.Genesis(doc, kind), kind), genesis: c.Genesis(doc, kind).Hash}
}

// make encodes a change on top of deps (none: the genesis) without absorbing it.
func (h *history) make(actor crdt.ActorID, deps []*crdt.Change, edits ...crdt.Edit) *crdt.Change {
	h.t.Helper()
	heads := []crdt.ChangeHash{}
	for _, d := range deps {
		heads = append(heads, d.Hash)
	}
	if len(deps) == 0 {
		heads = append(heads, h.genesis)
	}
	slices.SortFunc(heads, compareHashes)
	c, err := h.gate.Next(actor, 5, heads, edits)
	if err != nil || c == nil {
		h.t.Fatalf("next: %v, %v", c, err)
	}
	return c
}

// judge is what a chunk from outside goes through.
func (h *history) judge(raw []byte) error {
	c, err := New().Decode(h.kind, raw)
	if err != nil {
		return err
	}
	return h.gate.Check(c)
}

func (h *history) write(actor crdt.ActorID, deps []*crdt.Change, edits ...crdt.Edit) *crdt.Change {
	h.t.Helper()
	c := h.make(actor, deps, edits...)
	if err := h.judge(c.Raw); err != nil {
		h.t.Fatal(err)
	}
	h.gate.Absorb(c)
	return c
}

func set(store, key, value string) crdt.Edit {
	return crdt.Edit{Store: store, Key: key, Value: value}
}

func row(store string, n int) crdt.Edit {
	v := fmt.Sprintf(`{"n":%d}`, n)
	return crdt.Edit{Store: store, Key: crdt.RowIDOf(v).String(), Value: v}
}

func del(e crdt.Edit) crdt.Edit { return crdt.Edit{Store: e.Store, Key: e.Key, Delete: true} }

// disputed is a history in which alice and bob set one field concurrently, and alice's next change,
// which resolves that, adds a row and deletes one.
func disputed(t testing.TB) (h *history, a1, a2, b1, next *crdt.Change) {
	h = newHistory(t, crdt.Agent)
	a1 = h.write(alice, nil, set("config", "name", `"a"`), row("memory", 1))
	b1 = h.write(bob, []*crdt.Change{a1}, set("config", "name", `"b"`))
	a2 = h.write(alice, []*crdt.Change{a1}, set("config", "name", `"c"`), row("memory", 2))
	next = h.make(alice, []*crdt.Change{a2, b1},
		set("config", "name", `"d"`), row("history", 3), del(row("memory", 1)), row("memory", 4))
	return h, a1, a2, b1, next
}

func bodyOf(t testing.TB, raw []byte) *body {
	t.Helper()
	content, _, err := open(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
