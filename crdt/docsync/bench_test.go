package docsync

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// benchPage is a page of changes of the size of activation events.
func benchPage(n int) []crdt.SignedChange {
	var page []crdt.SignedChange
	for i := range n {
		hash := sha256.Sum256(fmt.Append(nil, i))
		raw := fmt.Appendf(hash[:], `{"kind":"activated","name":"ext-%d","extension_ref":{"kind":"builtin","name":"ext-%d","version":"1.0.0"},"timestamp":%d}`, i, i, 1_700_000_000_000+i)
		raw = append(raw, hash[:]...)
		page = append(page, crdt.SignedChange{Raw: raw})
	}
	page[n-1].Sig = make([]byte, 64)
	return page
}

func BenchmarkPage(b *testing.B) {
	p := newTestPages(b)
	for _, n := range []int{1, 100, 2000} {
		page := benchPage(n)
		size := 0
		for _, c := range page {
			size += len(c.Raw)
		}
		packed, err := p.Encode(page)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/%d", n), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportMetric(float64(len(packed))/float64(size), "ratio")
			for b.Loop() {
				if _, err := p.Encode(page); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := p.Decode(packed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLiveChange measures the protocol's own part of one live change, from the host's notice on
// one side to the ack on the same side: every Step of both sessions, encoding and decoding. The
// hosts' work is done beforehand.
func BenchmarkLiveChange(b *testing.B) {
	for _, actors := range []int{1, 100} {
		b.Run(fmt.Sprintf("actors=%d", actors), func(b *testing.B) { benchLive(b, actors) })
	}
}

func benchLive(b *testing.B, actors int) {
	p := newTestPages(b)
	data, err := p.Encode(benchPage(1))
	if err != nil {
		b.Fatal(err)
	}
	l := newBenchLink(b, actors)
	var wire, n int
	for b.Loop() {
		n++
		tip := crdt.Tip{Seq: uint64(n + 1), Hash: crdt.ChangeHash{byte(n), byte(n >> 8), byte(n >> 16)}}
		wire += l.live(data, tip)
	}
	b.ReportMetric(float64(wire)/float64(n), "wire-B/op")
	b.ReportMetric(float64(wire)/float64(n)/float64(len(benchPage(1)[0].Raw)), "ratio")
}

// benchLink is two sessions with an open channel whose work the benchmark answers itself.
type benchLink struct {
	b      *testing.B
	a, c   *Session
	w      *world
	doc    crdt.DocID
	vector crdt.Vector
	info   DocInfo
	actor  crdt.ActorID
}

func newBenchLink(b *testing.B, actors int) *benchLink {
	w := newWorld(b, 0, 2)
	id := w.shared(1, 1)
	for i := 1; i < actors; i++ {
		c := memChange{Actor: crdt.ActorID{byte(i)}, Seq: 1}
		c.finish(true)
		w.hosts[0].docs[id].add(c)
		o := memObject{Kind: "actor", Doc: id, Actor: c.Actor}
		w.hosts[0].docs[id].objs[o.id()] = o
	}
	l := w.connect(0, 1)
	w.settle()
	w.alive(l)
	h := w.hosts[0]
	if len(h.vector(id)) != actors || w.hosts[1].vector(id).Digest() != h.vector(id).Digest() {
		b.Fatal("not in sync at the start")
	}
	return &benchLink{b: b, a: l.a.sess, c: l.b.sess, w: w, doc: id, vector: h.vector(id), info: h.info(w.hosts[1].self, id), actor: h.actorOf(id)}
}

func (l *benchLink) live(data []byte, tip crdt.Tip) (bytes int) {
	v := l.vector
	v[l.actor] = tip
	l.info.Vector = v.Digest()
	var page, ack []byte
	for _, act := range l.a.Step(l.w.now, DocsChanged{[]DocInfo{l.info}}) {
		if w, ok := act.(LoadPage); ok {
			r := PageLoaded{Info: l.info, Page: data, UpTo: v, Vector: v}
			for _, act := range l.a.Step(l.w.now, WorkDone{Work: w, Result: r}) {
				if s, ok := act.(Send); ok {
					page = s.Bytes
				}
			}
		}
	}
	l.a.Step(l.w.now, Written{})
	for _, act := range l.c.Step(l.w.now, FrameIn{page}) {
		if w, ok := act.(ApplyPage); ok {
			r := PageApplied{Info: l.info, Verdicts: []crdt.Verdict{{Hash: tip.Hash, Actor: l.actor, Seq: tip.Seq}}}
			for _, act := range l.c.Step(l.w.now, WorkDone{Work: w, Result: r}) {
				if s, ok := act.(Send); ok {
					ack = s.Bytes
				}
			}
		}
	}
	l.a.Step(l.w.now, FrameIn{ack})
	if page == nil || ack == nil || l.a.err != nil || l.c.err != nil {
		l.b.Fatalf("page %d bytes, ack %d bytes, %v, %v", len(page), len(ack), l.a.err, l.c.err)
	}
	return len(page) + len(ack) + 8
}
