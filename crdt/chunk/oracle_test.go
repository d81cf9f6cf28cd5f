package chunk_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

// past lists the ancestors of heads, themselves counted.
func (w *world) past(heads []crdt.ChangeHash) map[crdt.ChangeHash]bool {
	in := map[crdt.ChangeHash]bool{}
	for _, h := range heads {
		in[h] = true
	}
	for _, c := range slices.Backward(w.all.log) { // causal order
		if in[c.Hash] {
			for _, d := range c.Deps {
				in[d] = true
			}
		}
	}
	return in
}

// visible is the definition: the set operations in the past that no operation in the past replaces.
func (w *world) visible(past map[crdt.ChangeHash]bool, store, key string) []crdt.OpID {
	live := map[crdt.OpID]bool{}
	for _, c := range w.all.log {
		if !past[c.Hash] {
			continue
		}
		for i, op := range c.Ops {
			if op.Store != store || op.Key != key {
				continue
			}
			for _, p := range op.Pred {
				delete(live, p)
			}
			if !op.Delete {
				live[crdt.OpID{Counter: c.StartOp + uint64(i), Actor: c.Actor}] = true
			}
		}
	}
	var out []crdt.OpID
	for id := range live {
		out = append(out, id)
	}
	slices.SortFunc(out, crdt.OpID.Compare)
	return out
}

// TestVisibleAgainstTheDefinition asks for what was visible at random places of random histories.
func TestVisibleAgainstTheDefinition(t *testing.T) {
	var asked, some, several int
	for seed := range uint64(150) {
		w := newWorld(t, 1000+seed)
		rnd := newRand(seed)
		for range 6 {
			p := w.prefix(rnd)
			past := w.past(p.heads)
			for _, e := range w.touched() {
				want := w.visible(past, e.Store, e.Key)
				e.Delete = true
				c, err := w.all.gate.Next(crdt.ActorID{0xee}, 1, p.heads, []crdt.Edit{e})
				if err != nil {
					t.Fatal(err)
				}
				var got []crdt.OpID
				if c != nil {
					got = c.Ops[0].Pred
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: %s/%s: visible %v, want %v", seed, e.Store, e.Key, got, want)
				}
				asked++
				some += min(1, len(want))
				several += min(1, len(want)/2)
			}
		}
	}
	t.Logf("%d places and keys, %d visible, %d with several values", asked, some, several)
	if several < 100 || some == asked {
		t.Error("the test did not meet what it is for")
	}
}

// touched lists the keys whose values can go.
func (w *world) touched() []crdt.Edit {
	var out []crdt.Edit
	for _, c := range w.all.log {
		for _, op := range c.Ops {
			s, _ := w.kind.Store(op.Store)
			e := crdt.Edit{Store: op.Store, Key: op.Key}
			if (!s.Rows || s.Deletable) && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// TestVerdictsDoNotDependOnOrder judges good and bad changes by three gates: one that took the
// document as it was written, one that took it in another order, and one that has nothing but the
// past of the change. Only a fork needs to be seen.
func TestVerdictsDoNotDependOnOrder(t *testing.T) {
	verdicts := map[crdt.Reason]int{}
	for seed := range uint64(60) {
		w := newWorld(t, 5000+seed)
		rnd := newRand(seed)
		shuffled := w.shuffled(rnd)
		for id := range 60 {
			raw := w.mutant(int(seed)*perWorld + id)
			if raw == nil {
				continue
			}
			c, err := chunk.New().Decode(w.kind, raw)
			if err != nil {
				continue
			}
			want := w.all.gate.Check(c)
			if got := shuffled.Check(c); text(got) != text(want) {
				t.Fatalf("seed %d: in another order %v, want %v", seed, got, want)
			}
			reason := reasonOf(want)
			verdicts[reason]++
			if got := w.withPastOf(c).Check(c); text(got) != text(want) && reason != crdt.ReasonFork {
				t.Fatalf("seed %d: with the past alone %v, want %v", seed, got, want)
			}
		}
	}
	t.Log(verdicts)
	for _, r := range []crdt.Reason{"", crdt.ReasonRow, crdt.ReasonRecord, crdt.ReasonSequence} {
		if verdicts[r] < 20 {
			t.Errorf("%d verdicts %q: the test did not meet what it is for", verdicts[r], r)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func reasonOf(err error) crdt.Reason {
	var r *crdt.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	if err != nil {
		return "missing"
	}
	return ""
}

// shuffled is a gate that took the document in a random causal order.
func (w *world) shuffled(rnd source) crdt.Gate {
	gate := chunk.New().NewGate(testDoc, w.kind)
	have := map[crdt.ChangeHash]bool{w.genesis().Hash: true}
	for len(have) <= len(w.all.log) {
		c := w.all.log[rnd.IntN(len(w.all.log))]
		ready := !slices.ContainsFunc(c.Deps, func(h crdt.ChangeHash) bool { return !have[h] })
		if ready && !have[c.Hash] {
			if err := gate.Check(c); err != nil {
				w.t.Fatalf("honest change refused in another order: %v", err)
			}
			gate.Absorb(c)
			have[c.Hash] = true
		}
	}
	return gate
}

func (w *world) withPastOf(c *crdt.Change) crdt.Gate {
	gate := chunk.New().NewGate(testDoc, w.kind)
	past := w.past(c.Deps)
	for _, old := range w.all.log {
		if past[old.Hash] && !bytes.Equal(old.Raw, c.Raw) {
			gate.Absorb(old)
		}
	}
	return gate
}
