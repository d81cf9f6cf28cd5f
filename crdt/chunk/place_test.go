package chunk

import (
	"errors"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// rebased encodes c with other dependencies; the first operation follows them.
func rebased(h *history, c *crdt.Change, deps ...*crdt.Change) []byte {
	b := bodyOf(h.t, c.Raw)
	b.deps, b.startOp = nil, 0
	for _, d := range deps {
		b.deps = append(b.deps, d.Hash)
		b.startOp = max(b.startOp, d.StartOp+uint64(len(d.Ops)))
	}
	slices.SortFunc(b.deps, compareHashes)
	return b.encode()
}

func TestPlaceInTheSequence(t *testing.T) {
	h := newHistory(t, crdt.Session)
	a1 := h.write(alice, nil, row("entries", 1))
	b1 := h.write(bob, []*crdt.Change{a1}, row("entries", 2))
	a2 := h.write(alice, []*crdt.Change{b1}, row("entries", 3))
	c := h.make(bob, []*crdt.Change{a2}, row("entries", 4)) // bob's second
	if len(c.Deps) != 2 {
		t.Fatalf("dependencies %v, want the head and bob's own", c.Deps)
	}
	if err := h.judge(c.Raw); err != nil {
		t.Fatalf("control: own previous change, implied by another dependency: %v", err)
	}
	wantReason(t, "own previous change not listed", h.judge(rebased(h, c, a2)), crdt.ReasonSequence)
	wantReason(t, "implied dependency", h.judge(rebased(h, c, a2, b1, a1)), crdt.ReasonSequence)
	b2 := h.write(bob, []*crdt.Change{b1}, row("entries", 5)) // concurrent to a2
	c = h.make(bob, []*crdt.Change{a2}, row("entries", 6))
	if err := h.judge(c.Raw); err != nil {
		t.Fatalf("control: two heads: %v", err)
	}
	wantReason(t, "implied dependency among concurrent ones", h.judge(rebased(h, c, b2, a1)), crdt.ReasonSequence)
}

// TestTwoOfItsOwnActor: both orders of the two hashes have to be refused.
func TestTwoOfItsOwnActor(t *testing.T) {
	orders := map[int]int{}
	for n := range 20 {
		h := newHistory(t, crdt.Session)
		b1 := h.write(bob, nil, row("entries", n))
		b2 := h.write(bob, []*crdt.Change{b1}, row("entries", n+100))
		c := h.make(bob, []*crdt.Change{b2}, row("entries", n+200))
		if err := h.judge(rebased(h, c, b2)); err != nil {
			t.Fatalf("control: %v", err)
		}
		wantReason(t, "two of its own actor", h.judge(rebased(h, c, b1, b2)), crdt.ReasonSequence)
		orders[compareHashes(b1.Hash, b2.Hash)]++
	}
	if len(orders) != 2 {
		t.Error("the test met one order only")
	}
}

func TestForkIsToldApart(t *testing.T) {
	h, a1, a2, b1, next := disputed(t)
	other := h.make(alice, []*crdt.Change{a2, b1}, row("history", 9))
	if err := h.judge(other.Raw); err != nil {
		t.Fatalf("control: %v", err)
	}
	h.gate.Absorb(next)
	wantReason(t, "second branch at the end", h.judge(other.Raw), crdt.ReasonFork)
	b := bodyOf(t, a2.Raw)
	b.time++
	wantReason(t, "second branch further back", h.judge(b.encode()), crdt.ReasonFork)
	b.startOp++
	wantReason(t, "a branch that is wrong anyway", h.judge(b.encode()), crdt.ReasonSequence)
	for _, c := range []*crdt.Change{a1, a2, b1, next} {
		if err := h.judge(c.Raw); err != nil {
			t.Errorf("a change that is here: %v", err)
		}
		before := len(h.gate.graph.nodes)
		h.gate.Absorb(c)
		if len(h.gate.graph.nodes) != before {
			t.Error("a change that is here was absorbed again")
		}
	}
}

func TestMissingDependencies(t *testing.T) {
	h, _, _, b1, next := disputed(t)
	late := newHistory(t, crdt.Agent)
	var missing *crdt.MissingError
	if err := late.judge(next.Raw); !errors.As(err, &missing) || len(missing.Deps) != 2 {
		t.Fatalf("got %v, want two missing dependencies", err)
	}
	late.gate.Absorb(next) // must not disturb
	if err := late.judge(b1.Raw); !errors.As(err, &missing) || len(missing.Deps) != 1 {
		t.Errorf("got %v, want one missing dependency", err)
	}
	b := bodyOf(t, next.Raw)
	b.ops[opHistory].value += " "
	wantReason(t, "wrong whatever its dependencies are", late.judge(b.encode()), crdt.ReasonRow)
	if err := h.judge(next.Raw); err != nil {
		t.Errorf("control: %v", err)
	}
}
