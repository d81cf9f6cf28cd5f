package chunk

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

var benchSizes = []int{1000, 10_000, 100_000}

func BenchmarkDecode(b *testing.B) {
	for _, ops := range []int{1, 100, 1000} {
		h := newHistory(b, crdt.Session)
		var edits []crdt.Edit
		for i := range ops {
			edits = append(edits, benchRow(i))
		}
		raw := h.make(alice, nil, edits...).Raw
		b.Run(fmt.Sprintf("ops=%d", ops), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New().Decode(crdt.Session, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchRow is an activation event of the usual size.
func benchRow(i int) crdt.Edit {
	v := fmt.Sprintf(`{"extension_ref":{"kind":"builtin","name":"memory"},"kind":"activated","name":"memory","timestamp":%d}`, i)
	return crdt.Edit{Store: "extensions", Key: crdt.RowIDOf(v).String(), Value: v}
}

// benchLog is a session that actors write in turn, each on top of what is there; every tenth change
// sets a field instead of adding a row.
func benchLog(b *testing.B, n, actors int) ([]*crdt.Change, *gate) {
	h := newHistory(b, crdt.Session)
	out := make([]*crdt.Change, 0, n)
	heads := []crdt.ChangeHash{h.genesis}
	for i := range n {
		e := benchRow(i)
		if i%10 == 0 {
			e = set("agents", fmt.Sprint("a/", i%700), fmt.Sprint(i))
		}
		actor := crdt.ActorID{byte(i % actors), byte(i % actors >> 8), 1}
		c, err := h.gate.Next(actor, 1, heads, []crdt.Edit{e})
		if err != nil {
			b.Fatal(err)
		}
		h.gate.Absorb(c)
		heads = []crdt.ChangeHash{c.Hash}
		out = append(out, c)
	}
	return out, h.gate
}

// BenchmarkBootstrap judges and absorbs a whole document; memory is what the gate keeps.
func BenchmarkBootstrap(b *testing.B) {
	for _, actors := range []int{3, 1000} {
		for _, n := range benchSizes {
			log, _ := benchLog(b, n, actors)
			b.Run(fmt.Sprintf("actors=%d/changes=%d", actors, n), func(b *testing.B) {
				var g crdt.Gate
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				for b.Loop() {
					g = New().NewGate(doc, crdt.Session)
					for _, c := range log {
						if err := g.Check(c); err != nil {
							b.Fatal(err)
						}
						g.Absorb(c)
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/change")
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "heapB/change")
				b.ReportMetric(float64(g.Size())/float64(n), "sizeB/change")
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range benchSizes {
		log, g := benchLog(b, n, 3)
		heads := []crdt.ChangeHash{log[n-1].Hash}
		old := []crdt.ChangeHash{log[n/2].Hash} // another's half the document ago
		for name, deps := range map[string][]crdt.ChangeHash{"newest": heads, "stale": old} {
			c, err := g.Next(crdt.ActorID{0xee}, 1, deps, []crdt.Edit{set("agents", "a/0", "1"), benchRow(n)})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/changes=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := g.Check(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, n := range benchSizes {
		log, g := benchLog(b, n, 3)
		heads := []crdt.ChangeHash{log[n-1].Hash}
		edits := []crdt.Edit{benchRow(n)}
		b.Run(fmt.Sprintf("changes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Next(log[0].Actor, 1, heads, edits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPartition absorbs the writes of two actors who set one field n times each without seeing
// each other, one after the other: the case in which no change lies on top of all that is there.
func BenchmarkPartition(b *testing.B) {
	for _, n := range []int{1000, 10_000, 50_000} {
		var log []*crdt.Change
		for _, actor := range []crdt.ActorID{alice, bob} {
			h := newHistory(b, crdt.Session)
			heads := []crdt.ChangeHash{h.genesis}
			for i := range n {
				c, err := h.gate.Next(actor, 1, heads, []crdt.Edit{set("routines", "last", fmt.Sprint(i))})
				if err != nil {
					b.Fatal(err)
				}
				h.gate.Absorb(c)
				heads = []crdt.ChangeHash{c.Hash}
				log = append(log, c)
			}
		}
		b.Run(fmt.Sprintf("changes=%d", 2*n), func(b *testing.B) {
			for b.Loop() {
				absorbAll(b, log)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log)), "ns/change")
		})
	}
}

// BenchmarkCrowd absorbs one change of each of many actors, none of whom saw another, and one that
// depends on all of them.
func BenchmarkCrowd(b *testing.B) {
	for _, n := range []int{100, 1000, crdt.MaxDeps} {
		h := newHistory(b, crdt.Session)
		var log []*crdt.Change
		for i := range n {
			c := h.write(crdt.ActorID{byte(i), byte(i >> 8), 1}, nil, set("routines", "last", fmt.Sprint(i)))
			log = append(log, c)
		}
		log = append(log, h.write(alice, log, set("routines", "last", `"end"`)))
		b.Run(fmt.Sprintf("actors=%d", n), func(b *testing.B) {
			for b.Loop() {
				absorbAll(b, log)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log)), "ns/change")
		})
	}
}

func absorbAll(b *testing.B, log []*crdt.Change) {
	g := New().NewGate(doc, crdt.Session)
	for _, c := range log {
		if err := g.Check(c); err != nil {
			b.Fatal(err)
		}
		g.Absorb(c)
	}
}
