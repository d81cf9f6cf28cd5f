package automerge

import (
	"os"
	"testing"

	binding "github.com/automerge/automerge-go"
)

// BenchmarkOwnSync syncs a document into an empty one by the core's own protocol, in memory: what
// docs/bench measures our protocol against. CHAZ_BENCH_FILE names an Automerge file; without it the
// document is a history of 10,000 rows.
func BenchmarkOwnSync(b *testing.B) {
	full := benchDocument(b)
	sent := 0
	for b.Loop() {
		b.StopTimer()
		empty := binding.New()
		from, to := binding.NewSyncState(full), binding.NewSyncState(empty)
		sent = 0
		b.StartTimer()
		for {
			a, n := pass(b, from, to)
			c, m := pass(b, to, from)
			if sent += n + m; !a && !c {
				break
			}
		}
		b.StopTimer()
		if got, want := len(empty.Heads()), len(full.Heads()); got != want || empty.Heads()[0] != full.Heads()[0] {
			b.Fatal("the documents differ")
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(sent), "wire-B")
}

// pass hands one message over, if there is one.
func pass(b *testing.B, from, to *binding.SyncState) (any bool, bytes int) {
	msg, ok := from.GenerateMessage()
	if !ok {
		return false, 0
	}
	_, err := to.ReceiveMessage(msg.Bytes())
	check(b, err)
	return true, len(msg.Bytes())
}

func benchDocument(b *testing.B) *binding.Doc {
	path := os.Getenv("CHAZ_BENCH_FILE")
	if path == "" {
		a := newAuthor(b, "session", 1)
		a.rows(10_000)
		return a.doc
	}
	file, err := os.ReadFile(path)
	check(b, err)
	doc, err := binding.Load(file)
	check(b, err)
	return doc
}
