package crdt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	direct "github.com/dgraph-io/badger"
	dsbadger "github.com/ipfs/go-ds-badger"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/badger"
)

// BenchmarkRawPut compares one synced put through the store, the plain arm of docs/bench, with one
// into Badger itself under the same options, in turn.
func BenchmarkRawPut(b *testing.B) {
	store, err := badger.Open(filepath.Join(b.TempDir(), "store"), badger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	o := dsbadger.DefaultOptions
	o.SyncWrites, o.NumMemtables, o.MaxTableSize, o.LevelOneSize, o.ValueLogFileSize, o.GcInterval = true, 2, 8<<20, 32<<20, 16<<20, 0
	plain, err := dsbadger.NewDatastore(b.TempDir(), &o)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	value := make([]byte, 350)
	var through, into []time.Duration
	for i := 0; b.Loop(); i++ {
		key := fmt.Appendf(nil, "%041d", i)
		var batch crdt.Batch
		batch.Put(key, value)
		start := time.Now()
		if err := store.Append(context.Background(), &batch); err != nil {
			b.Fatal(err)
		}
		through = append(through, time.Since(start))
		start = time.Now()
		if err := plain.DB.Update(func(txn *direct.Txn) error { return txn.Set(key, value) }); err != nil {
			b.Fatal(err)
		}
		into = append(into, time.Since(start))
	}
	slices.Sort(through)
	slices.Sort(into)
	b.ReportMetric(float64(through[len(through)/2].Microseconds()), "store-p50-µs")
	b.ReportMetric(float64(into[len(into)/2].Microseconds()), "badger-p50-µs")
}
