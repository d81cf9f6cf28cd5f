package chunk_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/automerge/automerge-go"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
)

var kinds = []crdt.Kind{crdt.Session, crdt.Agent, crdt.MemoryBank, crdt.SkillBank, crdt.Package}

func TestGenesisIsWhatTheCoreCommits(t *testing.T) {
	for _, kind := range kinds {
		genesis := chunk.New().Genesis(testDoc, kind)
		c := newCore(t, crdt.ActorID{})
		for _, s := range kind.Stores() {
			if err := c.doc.RootMap().Set(s.Name, automerge.NewMap()); err != nil {
				t.Fatal(err)
			}
		}
		op := genesis.Ops[0]
		raw := c.commit([]crdt.Op{op}, 0)
		if !bytes.Equal(raw, genesis.Raw) {
			t.Errorf("%s: genesis\n%x\nthe core's\n%x", kind, genesis.Raw, raw)
		}
		if got := c.heads(); !slices.Equal(got, []crdt.ChangeHash{genesis.Hash}) {
			t.Errorf("%s: hash %v, the core's heads %v", kind, genesis.Hash, got)
		}
	}
}

// TestCoreWritesTheSameBytes lets peers write concurrently and exchange parts of their logs, in
// different orders, and compares every change with what the core makes of the same operations.
func TestCoreWritesTheSameBytes(t *testing.T) {
	var changes, conflicts, deletes, merges, stale int
	for seed := range uint64(60) {
		rnd := newRand(seed)
		kind := kinds[seed%uint64(len(kinds))]
		genesis := chunk.New().Genesis(testDoc, kind)
		peers := make([]*peer, 2+rnd.IntN(4))
		cores := make([]*core, len(peers))
		for i := range peers {
			// Actors above and below each other in byte order.
			peers[i] = newPeer(t, kind, byte(37*(i+1)))
			cores[i] = newCore(t, peers[i].actor, genesis.Raw)
		}
		for range 60 {
			i, j := rnd.IntN(len(peers)), rnd.IntN(len(peers))
			if i != j && rnd.IntN(2) == 0 {
				for _, c := range peers[i].pull(peers[j], 1+rnd.IntN(10)) {
					cores[i].load(c.Raw)
				}
			}
			c := peers[i].write(randomEdits(rnd, peers[i]))
			if c == nil {
				continue
			}
			if raw := cores[i].commit(c.Ops, c.Time); !bytes.Equal(raw, c.Raw) {
				t.Fatalf("seed %d: change\n%x\nthe core's\n%x\n%+v", seed, c.Raw, raw, c)
			}
			if got := cores[i].heads(); !slices.Equal(got, peers[i].heads) {
				t.Fatalf("seed %d: heads %v, the core's %v", seed, peers[i].heads, got)
			}
			changes++
			merges += min(1, len(c.Deps)/2)
			for _, op := range c.Ops {
				conflicts += min(1, len(op.Pred)/2)
				if op.Delete {
					deletes++
				}
			}
		}
		for _, p := range peers {
			for _, q := range peers {
				stale += len(p.pull(q, -1))
			}
		}
		tidy()
	}
	t.Logf("%d changes, %d merges, %d conflicts resolved, %d deletes, %d taken late", changes, merges, conflicts, deletes, stale)
	if changes < 2000 || merges < 100 || conflicts < 50 || deletes < 100 || stale < 1000 {
		t.Error("the test did not meet what it is for")
	}
}

// TestCoreTakesWhatIsLegalAtTheLimits: the largest changes, and a field set to the value it has, which
// the core would not write itself but must take.
func TestCoreTakesWhatIsLegalAtTheLimits(t *testing.T) {
	p := newPeer(t, crdt.Session, 0x10)
	mine := newCore(t, p.actor, chunk.New().Genesis(testDoc, p.kind).Raw)
	other := newCore(t, crdt.ActorID{0x99}, chunk.New().Genesis(testDoc, p.kind).Raw)
	var many []crdt.Edit
	for i := range crdt.MaxOps {
		many = append(many, crdt.Edit{Store: "agents", Key: fmt.Sprint("k", i), Value: "1"})
	}
	long := `"` + strings.Repeat("é", crdt.MaxValue/2-1) + `"`
	for name, edits := range map[string][]crdt.Edit{
		"operations": many,
		"value":      {{Store: "entries", Key: crdt.RowIDOf(long).String(), Value: long}},
		"key":        {{Store: "routines", Key: strings.Repeat("k", crdt.MaxKey), Value: "1"}},
	} {
		c := p.write(edits)
		if raw := mine.commit(c.Ops, c.Time); !bytes.Equal(raw, c.Raw) {
			t.Errorf("%s: %d bytes, the core's %d", name, len(c.Raw), len(raw))
		}
		other.load(c.Raw)
	}
	c := p.write(many[:1])
	other.load(c.Raw)
	if got := other.heads(); !slices.Equal(got, p.heads) {
		t.Errorf("heads %v, the core's %v", p.heads, got)
	}
	if loaded, err := automerge.Load(other.doc.Save()); err != nil || fmt.Sprint(loaded.Heads()) != fmt.Sprint(other.doc.Heads()) {
		t.Errorf("saved and loaded: %v", err)
	}
}
