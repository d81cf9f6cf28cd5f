package crdt_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// benchPeer is a repo in memory: these benchmarks show the processor's part of a write, a read of a
// page and a page taken in; docs/bench shows them on a disk, against what they are built on.
type benchPeer struct {
	*crdt.Repo
	id *crdt.Identity
}

func newBenchPeer(b *testing.B) *benchPeer {
	b.Helper()
	id, err := crdt.NewIdentity(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	r, err := crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rand.Reader,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()}, MemoryBudget: 1 << 30,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return &benchPeer{r, id}
}

// event switches a name, in one change.
func (p *benchPeer) event(b *testing.B, doc crdt.DocID, i int) {
	name := fmt.Sprintf("ext%d", i%30)
	kind := activation.Activated
	if i/30%2 == 1 {
		kind = activation.Deactivated
	}
	err := p.Update(context.Background(), doc, func(tx *crdt.Tx) error {
		log := tx.Index(activation.IndexName).(*activation.Log)
		events, err := log.Next(tx.Now(), kind, name, extension.BuiltinRef(name, "1.0.0"))
		for _, e := range events {
			if _, err = tx.PutRow(activation.Store, e.Text); err != nil {
				break
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// session makes a session of n events.
func (p *benchPeer) session(b *testing.B, n int) crdt.DocID {
	b.Helper()
	doc, err := p.Create(context.Background(), crdt.Session, func(tx *crdt.Tx) error { return tx.Set("meta", "name", "bench") })
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		p.event(b, doc, i)
	}
	return doc
}

func (p *benchPeer) objects(b *testing.B, doc crdt.DocID) (raw [][]byte) {
	b.Helper()
	access, err := p.Access(context.Background(), doc)
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range access.Objects() {
		raw = append(raw, o.Raw)
	}
	return raw
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			p := newBenchPeer(b)
			doc := p.session(b, n)
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				p.event(b, doc, i)
			}
		})
	}
	b.Run("entry", func(b *testing.B) {
		p := newBenchPeer(b)
		doc := p.session(b, 1)
		b.ReportAllocs()
		for b.Loop() {
			err := p.Update(context.Background(), doc, func(tx *crdt.Tx) error {
				_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "user", Content: "a line of what was said, of a usual length"})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchPages reads a whole session as pages, the newest signature of each page kept.
func benchPages(b *testing.B, p *benchPeer, doc crdt.DocID, limit int) (pages [][]crdt.SignedChange) {
	b.Helper()
	have := crdt.Vector{}
	for more := true; more; {
		var page []crdt.SignedChange
		var err error
		if page, have, more, err = p.Page(context.Background(), doc, have, nil, limit); err != nil {
			b.Fatal(err)
		}
		for i := range page[:max(len(page)-1, 0)] {
			page[i].Sig = nil
		}
		pages = append(pages, page)
	}
	return pages
}

func BenchmarkPages(b *testing.B) {
	const n = 10_000
	p := newBenchPeer(b)
	doc := p.session(b, n)
	b.ReportAllocs()
	for b.Loop() {
		benchPages(b, p, doc, 512<<10)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/change")
}

// BenchmarkTakeIn applies a session of 10,000 events page by page to a fresh document.
func BenchmarkTakeIn(b *testing.B) {
	const n = 10_000
	p := newBenchPeer(b)
	doc := p.session(b, n)
	pages, objects := benchPages(b, p, doc, 512<<10), p.objects(b, doc)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		q := newBenchPeer(b)
		if _, err := q.Adopt(context.Background(), objects); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, page := range pages {
			verdicts, err := q.Apply(context.Background(), doc, page)
			if err != nil || verdicts[len(verdicts)-1].State != crdt.Accepted {
				b.Fatal(err, verdicts[len(verdicts)-1])
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/change")
}

// BenchmarkTakeOne applies single live events.
func BenchmarkTakeOne(b *testing.B) {
	const n = 10_000
	p := newBenchPeer(b)
	doc := p.session(b, n)
	q := newBenchPeer(b)
	if _, err := q.Adopt(context.Background(), p.objects(b, doc)); err != nil {
		b.Fatal(err)
	}
	have := crdt.Vector{}
	take := func() {
		page, upTo, _, err := p.Page(context.Background(), doc, have, nil, 512<<10)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := q.Apply(context.Background(), doc, page); err != nil {
			b.Fatal(err)
		}
		have = upTo
	}
	for have.Missing(mustVector(b, p, doc)) > 0 {
		take()
	}
	b.ReportAllocs()
	for i := n; b.Loop(); i++ {
		b.StopTimer()
		p.event(b, doc, i)
		b.StartTimer()
		take()
	}
}

func mustVector(b *testing.B, p *benchPeer, doc crdt.DocID) crdt.Vector {
	v, err := p.Vector(context.Background(), doc)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// BenchmarkOpen loads a document into memory: views and gate from the stored changes.
func BenchmarkOpen(b *testing.B) {
	const n = 10_000
	p := newBenchPeer(b)
	doc := p.session(b, n)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Rebuild(context.Background(), doc); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/change")
}

// BenchmarkView is the price of asking the repo for a view.
func BenchmarkView(b *testing.B) {
	p := newBenchPeer(b)
	doc := p.session(b, 100)
	on := false
	b.ReportAllocs()
	for b.Loop() {
		err := p.View(context.Background(), doc, func(v *crdt.View) error {
			on = v.Index(activation.IndexName).(*activation.Log).Active("ext7")
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	_ = on
}
