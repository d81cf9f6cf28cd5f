package automerge

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

var sizes = []int{1_000, 10_000, 100_000}

// history makes n changes of one row each, once for all benchmarks of that size.
func history(b *testing.B, n int) (*crdt.Change, []change) {
	b.Helper()
	a := newAuthor(b, crdt.Session, 1)
	return a.genesis, a.rows(n)
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		genesis, list := history(b, n)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			bytes := 0
			for _, c := range list {
				bytes += len(c.raw)
			}
			b.SetBytes(int64(bytes))
			for b.Loop() {
				doc, err := New().Build(genesis, sequence(list))
				check(b, err)
				doc.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}

// BenchmarkFeed compares the ways of giving 10,000 changes to the core: one call for each, pages of
// different sizes, and all of it as one file.
func BenchmarkFeed(b *testing.B) {
	const n = 10_000
	genesis, list := history(b, n)
	ways := map[string]func(h handle){}
	for _, page := range []int{1, 16, 64, 256, 1024, n} {
		ways[fmt.Sprintf("changes=%d", page)] = func(h handle) {
			var buf []byte
			for part := range slices.Chunk(list, page) {
				buf = buf[:0]
				for _, c := range part {
					buf = append(buf, c.raw...)
				}
				check(b, h.load(buf))
			}
		}
	}
	for name, feed := range ways {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h, err := loadHandle(genesis.Raw)
				check(b, err)
				feed(h)
				h.free()
			}
		})
	}
	b.Run("file", func(b *testing.B) {
		all := slices.Clone(genesis.Raw)
		for _, c := range list {
			all = append(all, c.raw...)
		}
		for b.Loop() {
			h, err := loadHandle(all)
			check(b, err)
			h.free()
		}
	})
	b.Run("known", func(b *testing.B) {
		h, err := loadHandle(genesis.Raw)
		check(b, err)
		defer h.free()
		check(b, feed(h, sequence(list)))
		for i := 0; b.Loop(); i++ {
			if !h.known(list[i%n].hash) {
				b.Fatal("unknown")
			}
		}
	})
}

// BenchmarkApply adds one change to a document of n rows.
func BenchmarkApply(b *testing.B) {
	for _, n := range sizes {
		const more = 2000
		genesis, list := history(b, n+more)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			var doc crdt.CoreDoc
			defer func() { doc.Close() }()
			for i := 0; b.Loop(); i++ {
				if i%more == 0 {
					b.StopTimer()
					if doc != nil {
						doc.Close()
					}
					var err error
					doc, err = New().Build(genesis, sequence(list[:n]))
					check(b, err)
					b.StartTimer()
				}
				c := list[n+i%more]
				check(b, doc.Apply(c.hash, c.raw))
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	for _, n := range sizes {
		genesis, list := history(b, n)
		doc, err := New().Build(genesis, sequence(list))
		check(b, err)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.SetBytes(int64(len(doc.Save())))
			}
		})
		doc.Close()
	}
}

// BenchmarkMemory reports the resident memory of an open document.
func BenchmarkMemory(b *testing.B) {
	for _, n := range sizes {
		genesis, list := history(b, n)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			before := settled(b) // without the history's author
			var total, rest int
			for b.Loop() {
				doc, err := New().Build(genesis, sequence(list))
				check(b, err)
				total += settled(b) - before
				doc.Close()
				rest += settled(b) - before
			}
			b.ReportMetric(float64(total)/float64(b.N*n), "resident-B/row")
			b.ReportMetric(float64(rest)/float64(b.N), "left-B")
		})
	}
}

// settled is the resident memory after the binding's finalizers, which free what the history's author
// held, have run: a finalizer of our own set behind them says so.
func settled(b *testing.B) int {
	b.Helper()
	for range 3 { // what one finalizer lets go may wait for another
		done := make(chan struct{})
		runtime.SetFinalizer(&struct{ c chan struct{} }{done}, func(x *struct{ c chan struct{} }) { close(x.c) })
		runtime.GC()
		<-done
	}
	Trim()
	n, err := resident()
	check(b, err)
	return n
}
