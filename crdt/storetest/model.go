package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// model compares the store with a map under random batches, reads and reopenings. All runs share
// one store, each under a prefix of its own.
func model(t *testing.T, h *handle) {
	run := 0
	small := rapid.Custom(func(r *rapid.T) string {
		return rapid.StringMatching(`[ab\x00\xff]{0,3}`).Draw(r, "key")
	})
	rapid.Check(t, func(r *rapid.T) {
		run++
		prefix := fmt.Sprintf("run%06d/", run)
		want := map[string]string{}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				var b crdt.Batch
				for range rapid.IntRange(0, 6).Draw(r, "writes") {
					key := prefix + small.Draw(r, "k")
					if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
						b.Delete([]byte(key))
						delete(want, key)
						continue
					}
					n := rapid.SampledFrom([]int{0, 1, 1, 7, 7, 30, 30, 300, 300, 500, 500, 60_000, 60_001, 130_000}).Draw(r, "size")
					value := strings.Repeat(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(r, "fill"), n)
					b.Put([]byte(key), []byte(value))
					want[key] = value
				}
				h.append(&b)
			},
			"get": func(r *rapid.T) {
				key := prefix + small.Draw(r, "k")
				value, ok := want[key]
				if !ok {
					value = "-"
				}
				h.want(key, value)
			},
			"scan": func(r *rapid.T) {
				p, from := prefix+small.Draw(r, "prefix"), prefix+small.Draw(r, "from")
				h.compare(r, want, p, from)
			},
			"reopen": func(r *rapid.T) {
				if rapid.IntRange(0, 20).Draw(r, "really") == 0 {
					h.reopen()
				}
			},
			"": func(r *rapid.T) {
				if h.t.Failed() {
					r.Fatal("store and model differ")
				}
			},
		})
		h.compare(r, want, prefix, "")
	})
}

func (h *handle) compare(r *rapid.T, want map[string]string, prefix, from string) {
	expected := []string{}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if strings.HasPrefix(k, prefix) && (len(from) <= len(prefix) || k >= from) {
			expected = append(expected, k+"="+want[k])
		}
	}
	if got := h.scan(prefix, from); !slices.Equal(got, expected) {
		r.Fatalf("scan %q from %q: %d entries, want %d", prefix, from, len(got), len(expected))
	}
}
