package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// generation is a batch that writes n keys under a prefix, each value beginning with gen.
func generation(prefix string, gen uint32, n, size int) *crdt.Batch {
	var b crdt.Batch
	for i := range n {
		v := make([]byte, max(size, 8))
		binary.BigEndian.PutUint32(v, gen)
		binary.BigEndian.PutUint32(v[len(v)-4:], uint32(i))
		b.Put(fmt.Appendf(nil, "%s%06d", prefix, i), v)
	}
	return &b
}

// readGeneration scans what generation wrote and fails if it is not one batch as a whole. It
// returns 0 before the first.
func readGeneration(s crdt.Store, prefix string, n int) (gen uint32, err error) {
	i := 0
	err = s.Scan(context.Background(), []byte(prefix), nil, func(key, v []byte) error {
		g, at := binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[len(v)-4:])
		if i == 0 {
			gen = g
		}
		if g != gen || at != uint32(i) {
			return fmt.Errorf("key %d of generation %d holds key %d of generation %d", i, gen, at, g)
		}
		i++
		return nil
	})
	if err == nil && i != 0 && i != n {
		err = fmt.Errorf("generation %d has %d of %d keys", gen, i, n)
	}
	return gen, err
}

func bigBatch(t *testing.T, h *handle) {
	const keys, size = 60_000, 490
	ctx := context.Background()
	done := make(chan struct{})
	var before, after int
	var reader sync.WaitGroup
	reader.Go(func() {
		for last := false; ; {
			gen, err := readGeneration(h.Store, "k", keys)
			if err != nil {
				t.Error(err)
				return
			}
			if gen == 0 {
				before++
			} else {
				after++
			}
			if last {
				return
			}
			select {
			case <-done:
				last = true
			default:
			}
		}
	})
	h.put("other", "1")
	h.append(generation("k", 1, keys, size))
	close(done)
	reader.Wait()
	if before == 0 || after == 0 {
		t.Errorf("read %d times before and %d times after the batch; the test needs both", before, after)
	}
	h.reopen()
	if gen, err := readGeneration(h.Store, "k", keys); err != nil || gen != 1 {
		t.Errorf("after reopening: generation %d, %v", gen, err)
	}
	// Given up on the way: nothing of it is there.
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := h.Append(canceled, generation("k", 2, keys, size)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if gen, err := readGeneration(h.Store, "k", keys); err != nil || gen != 1 {
		t.Errorf("after a canceled batch: generation %d, %v", gen, err)
	}
	h.want("other", "1")
}

// batchesAreSeenWhole replaces keys in small and large batches while others read and write.
func batchesAreSeenWhole(t *testing.T, h *handle) {
	sets := []struct {
		prefix    string
		keys, gen int
		size      int
	}{{"small", 50, 60, 100}, {"large", 3000, 5, 200}, {"split", 4, 12, 70_000}, {"both", 4, 4, 300_000}}
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for _, c := range sets {
		seen := map[uint32]bool{}
		readers.Go(func() {
			var newest uint32
			for last := false; ; {
				gen, err := readGeneration(h.Store, c.prefix, c.keys)
				if err != nil || gen < newest {
					t.Errorf("%s: generation %d after %d, %v", c.prefix, gen, newest, err)
					return
				}
				newest = gen
				seen[gen] = true
				if last {
					break
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
			if !seen[uint32(c.gen)] {
				t.Errorf("%s: the last generation was never read", c.prefix)
			}
		})
		writers.Go(func() {
			for g := 1; g <= c.gen; g++ {
				if err := h.Append(context.Background(), generation(c.prefix, uint32(g), c.keys, c.size)); err != nil {
					t.Error(err)
					return
				}
				// A writer reads its own writes at once.
				if gen, err := readGeneration(h.Store, c.prefix, c.keys); err != nil || gen != uint32(g) {
					t.Errorf("%s: wrote generation %d, read %d, %v", c.prefix, g, gen, err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

func manyWriters(t *testing.T, h *handle) {
	const writers, rounds = 8, 40
	var wg sync.WaitGroup
	var acked atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				var b crdt.Batch
				b.Put(fmt.Appendf(nil, "w%d/%03d", w, i), fmt.Appendf(nil, "%d", i))
				b.Put(fmt.Appendf(nil, "w%d/last", w), fmt.Appendf(nil, "%d", i))
				if err := h.Append(context.Background(), &b); err != nil {
					t.Error(err)
					return
				}
				acked.Add(1)
				got, err := h.Get(context.Background(), fmt.Appendf(nil, "w%d/last", w))
				if err != nil || string(got) != fmt.Sprint(i) {
					t.Errorf("writer %d reads %q after writing %d, %v", w, got, i, err)
				}
			}
		})
	}
	wg.Wait()
	h.reopen()
	if n := len(h.scan("w", "")); acked.Load() != writers*rounds || n != writers*(rounds+1) {
		t.Errorf("%d batches acknowledged, %d keys found", acked.Load(), n)
	}
}
