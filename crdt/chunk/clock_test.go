package chunk

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// TestClocks compares what the graph says each change has seen with plain sets of ancestors, for
// histories with few and with many actors.
func TestClocks(t *testing.T) {
	for _, actors := range []int{1, 2, 7, 60, 400} {
		rnd := rand.New(rand.NewPCG(uint64(actors), 1))
		g := newGraph(&crdt.Change{Seq: 1}, 1)
		ancestors := []map[uint32]bool{{}}
		last := make([]uint32, actors) // 0: none
		for i := uint32(1); i < 1500; i++ {
			who := rnd.IntN(actors)
			deps := randomDeps(rnd, ancestors, last[who])
			c := &crdt.Change{Seq: 1, StartOp: 1, Ops: make([]crdt.Op, 1)}
			binary.LittleEndian.PutUint32(c.Hash[:], i)
			binary.BigEndian.PutUint32(c.Actor[:], uint32(who+1))
			seen := map[uint32]bool{}
			for _, d := range deps {
				seen[d] = true
				for a := range ancestors[d] {
					seen[a] = true
				}
				c.StartOp = max(c.StartOp, uint64(g.nodes[d].maxOp)+1)
			}
			if last[who] != 0 {
				c.Seq = uint64(g.nodes[last[who]].seq) + 1
			}
			if n := g.add(c, deps); n != i {
				t.Fatalf("node %d, want %d", n, i)
			}
			last[who] = i
			ancestors = append(ancestors, seen)
		}
		compareClocks(t, rnd, g, ancestors)
	}
}

// randomDeps picks some recent changes, leaves out those that others imply, and adds own.
func randomDeps(rnd *rand.Rand, ancestors []map[uint32]bool, own uint32) []uint32 {
	var deps []uint32
	for range 1 + rnd.IntN(4) {
		deps = append(deps, uint32(max(0, len(ancestors)-1-rnd.IntN(20))))
	}
	slices.Sort(deps)
	deps = slices.Compact(deps)
	all := slices.Clone(deps)
	deps = slices.DeleteFunc(deps, func(d uint32) bool {
		return slices.ContainsFunc(all, func(e uint32) bool { return ancestors[e][d] || ancestors[own][d] })
	})
	if own != 0 || len(deps) == 0 {
		deps = append(deps, own)
	}
	slices.Sort(deps)
	return slices.Compact(deps)
}

func compareClocks(t *testing.T, rnd *rand.Rand, g *graph, ancestors []map[uint32]bool) {
	t.Helper()
	full, extra, steps := 0, 0, 0
	for i := range uint32(len(ancestors)) {
		want := make([]uint32, len(g.actors))
		for a := range ancestors[i] {
			p := g.point(a)
			want[p.actor] = max(want[p.actor], p.seq)
		}
		got := make([]uint32, len(g.actors))
		g.join(got, i)
		if !slices.Equal(got, want) {
			t.Fatalf("%d actors: node %d has seen %v, want %v", len(g.actors), i, got, want)
		}
		for range 20 {
			a := uint32(rnd.IntN(len(g.actors)))
			if seq := g.seen(i, a); seq != want[a] {
				t.Fatalf("%d actors: node %d has seen change %d of %d, want %d", len(g.actors), i, seq, a, want[a])
			}
		}
		if c := g.nodes[i].clock; c != nil {
			full += min(1, len(c.full))
			extra += len(c.extra)
		}
		steps = max(steps, int(g.nodes[i].weight))
	}
	t.Logf("%d actors: %d full vectors, %d points, at most %d steps", len(g.actors), full, extra, steps)
	if full == 0 || len(g.actors) > 3 && extra == 0 || steps > g.maxWeight() {
		t.Error("the test did not meet what it is for")
	}
}

// TestHashesThatBeginAlike: the index is by the first 8 bytes.
func TestHashesThatBeginAlike(t *testing.T) {
	g := newGraph(&crdt.Change{Seq: 1}, 1)
	for i := range byte(5) {
		c := &crdt.Change{Hash: crdt.ChangeHash{31: i + 1}, Actor: crdt.ActorID{i + 1}, Seq: 1, StartOp: 2, Ops: make([]crdt.Op, 1)}
		if _, known := g.find(c.Hash); known {
			t.Fatalf("hash %d is known before it was added", i)
		}
		g.add(c, []uint32{0})
	}
	for i := range byte(6) {
		if n, known := g.find(crdt.ChangeHash{31: i}); !known || n != uint32(i) {
			t.Errorf("hash %d: node %d, %v", i, n, known)
		}
	}
}
