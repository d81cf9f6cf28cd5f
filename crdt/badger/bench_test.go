package badger

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// BenchmarkAppend reports the median of a durable batch: of one key with 480 bytes (the raw synced
// put that other figures are ratios of), of five keys, of 2,000, and of 30 MB.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ keys, size int }{{1, 480}, {5, 300}, {2000, 200}, {60_000, 490}} {
		b.Run(fmt.Sprintf("%dx%dB", c.keys, c.size), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "store"), Options{})
			var took []time.Duration
			n := 0
			for b.Loop() {
				var batch crdt.Batch
				for range c.keys {
					batch.Put(fmt.Appendf(nil, "key/%012d", n), make([]byte, c.size))
					n++
				}
				start := time.Now()
				if err := s.Append(context.Background(), &batch); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func BenchmarkScan(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store"), Options{})
	const keys = 10_000
	if err := s.Append(context.Background(), numbered(keys, 200)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		if err := s.Scan(context.Background(), []byte("n"), nil, func(_, _ []byte) error {
			n++
			return nil
		}); err != nil || n != keys {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
}

func BenchmarkGet(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store"), Options{})
	if err := s.Append(context.Background(), numbered(10_000, 200)); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := s.Get(context.Background(), fmt.Appendf(nil, "n%06d", i*7919%10_000)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store"), Options{})
	if err := s.Append(context.Background(), numbered(60_000, 490)); err != nil {
		b.Fatal(err)
	}
	mustClose(b, s)
	for b.Loop() {
		s := open(b, s.dir, Options{})
		mustClose(b, s)
	}
}
