package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func getAndMissing(t *testing.T, h *handle) {
	h.want("a", "-")
	h.put("a", "1", "b", "2")
	h.want("a", "1")
	h.want("b", "2")
	h.want("", "-")
	h.want("ab", "-")
	h.want("a\x00", "-")
}

func overwriteAndDelete(t *testing.T, h *handle) {
	h.put("a", "1", "b", "2")
	h.put("a", "one")
	h.want("a", "one")
	var b crdt.Batch
	b.Delete([]byte("a"))
	b.Delete([]byte("never"))
	h.append(&b)
	h.want("a", "-")
	h.want("b", "2")
	h.put("a", "again")
	h.want("a", "again")
	h.append(&crdt.Batch{})
	h.want("a", "again")
}

func emptyKeysAndValues(t *testing.T, h *handle) {
	var b crdt.Batch
	b.Put([]byte("empty"), []byte{})
	b.Put([]byte("nil"), nil)
	b.Put([]byte{}, []byte("of the empty key"))
	h.append(&b)
	for range 2 {
		h.want("empty", "")
		h.want("nil", "")
		h.want("", "of the empty key")
		if got := h.scan("", ""); !slices.Equal(got, []string{"=of the empty key", "empty=", "nil="}) {
			t.Errorf("scan: %q", got)
		}
		h.reopen()
	}
}

func lastWriteCounts(t *testing.T, h *handle) {
	var b crdt.Batch
	b.Put([]byte("a"), []byte("first"))
	b.Delete([]byte("a"))
	b.Put([]byte("a"), []byte("last"))
	b.Put([]byte("b"), []byte("gone"))
	b.Delete([]byte("b"))
	h.append(&b)
	h.want("a", "last")
	h.want("b", "-")
	// The same in a batch of several transactions.
	b = crdt.Batch{}
	for i := range 3000 {
		b.Put([]byte("c"), fmt.Appendf(nil, "%d", i))
		b.Put(fmt.Appendf(nil, "d%04d", i), make([]byte, 400))
	}
	b.Delete([]byte("d0000"))
	h.append(&b)
	h.want("c", "2999")
	h.want("d0000", "-")
	h.want("d0001", string(make([]byte, 400)))
}

func scanOrder(t *testing.T, h *handle) {
	keys := []string{"", "\x00", "\x00\xff", "!badger!head", "a", "a\x00", "a\x00b", "a/", "ab", "b", "\xff", "\xff\xff", "\xff\xff\x00"}
	var b crdt.Batch
	for _, k := range slices.Backward(keys) {
		b.Put([]byte(k), []byte("v"))
	}
	h.append(&b)
	for _, c := range []struct{ prefix, from string }{
		{"", ""},
		{"a", ""},
		{"a", "a"},
		{"a", "a\x00"},
		{"a", "a\x00a"},
		{"a", "ac"},
		{"a", "\x00\x00"},
		{"a", "b0"},
		{"ab", "a"},
		{"\xff", ""},
		{"\xff\xff", "\xff\xff\x00"},
		{"\xff\xff\xff", ""},
		{"", "b"},
		{"", "!"},
		{"nothing", ""},
		{"\x00", "\x00\x01"},
	} {
		want := []string{}
		for _, k := range keys {
			if strings.HasPrefix(k, c.prefix) && (len(c.from) <= len(c.prefix) || k >= c.from) {
				want = append(want, k+"=v")
			}
		}
		if got := h.scan(c.prefix, c.from); !slices.Equal(got, want) {
			t.Errorf("scan %q from %q: %q, want %q", c.prefix, c.from, got, want)
		}
	}
}

// scanSeesOneState also shows that the function of a scan may write.
func scanSeesOneState(t *testing.T, h *handle) {
	h.put("a", "1", "b", "1", "c", "1")
	var seen []string
	err := h.Scan(context.Background(), nil, nil, func(key, value []byte) error {
		seen = append(seen, string(key)+"="+string(value))
		h.put("b", "2", "bb", "2", "c", "2", "d", "2")
		return nil
	})
	if want := []string{"a=1", "b=1", "c=1"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("scan: %q, %v; want %q", seen, err, want)
	}
	if got, want := h.scan("", ""), []string{"a=1", "b=2", "bb=2", "c=2", "d=2"}; !slices.Equal(got, want) {
		t.Errorf("scan afterwards: %q; want %q", got, want)
	}
}

func scanError(t *testing.T, h *handle) {
	h.put("a", "1", "b", "2", "c", "3")
	stop, n := errors.New("stop"), 0
	err := h.Scan(context.Background(), nil, nil, func(_, _ []byte) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	})
	if err != stop || n != 2 {
		t.Errorf("scan: %v after %d keys; want the function's own error after 2", err, n)
	}
	h.want("c", "3")
}

func bytesBelongToTheCaller(t *testing.T, h *handle) {
	key, value := []byte("key"), []byte("value")
	var b crdt.Batch
	b.Put(key, value)
	h.append(&b)
	copy(key, "xxx")
	copy(value, "xxxxx")
	h.want("key", "value")
	got, err := h.Get(context.Background(), []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "yyyyy")
	h.want("key", "value")
	h.put("key", "other")
	if string(got) != "yyyyy" {
		t.Errorf("the bytes of an earlier Get changed to %q", got)
	}
}

func keyLimit(t *testing.T, h *handle) {
	longest := strings.Repeat("k", crdt.MaxStoreKey)
	h.put(longest, "v")
	h.want(longest, "v")
	var b crdt.Batch
	b.Put([]byte("beside"), nil)
	b.Put([]byte(longest+"k"), nil)
	if err := h.Append(context.Background(), &b); err == nil {
		t.Error("a longer key was taken")
	}
	h.want("beside", "-")
	h.want(longest+"k", "-")
	h.put("after", "v")
}

func reopen(t *testing.T, h *handle) {
	want := []string{}
	for i := range 20 {
		k, v := fmt.Sprintf("k%02d", i), strings.Repeat("v", i*100)
		h.put(k, v)
		if i%5 == 4 {
			var b crdt.Batch
			b.Delete([]byte(k))
			h.append(&b)
			h.reopen()
		} else {
			want = append(want, k+"="+v)
		}
		if got := h.scan("", ""); !slices.Equal(got, want) {
			t.Fatalf("after %d: %d entries, want %d", i, len(got), len(want))
		}
	}
}

func canceled(t *testing.T, h *handle) {
	h.put("a", "1", "b", "2")
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := h.Scan(ctx, nil, nil, func(_, _ []byte) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("scan: %v after %d keys", err, n)
	}
	var b crdt.Batch
	b.Put([]byte("c"), nil)
	if err := h.Append(ctx, &b); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if _, err := h.Get(ctx, []byte("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v", err)
	}
	h.want("c", "-")
	h.put("c", "3")
	h.want("c", "3")
}

func closed(t *testing.T, h *handle) {
	h.put("a", "1")
	s := h.Store
	h.close()
	ctx := context.Background()
	var b crdt.Batch
	b.Put([]byte("a"), []byte("2"))
	_, get := s.Get(ctx, []byte("a"))
	scan := s.Scan(ctx, nil, nil, func(_, _ []byte) error { return nil })
	for name, err := range map[string]error{"get": get, "scan": scan, "append": s.Append(ctx, &b), "close": s.Close()} {
		if err == nil || errors.Is(err, crdt.ErrNotFound) {
			t.Errorf("%s on a closed store: %v", name, err)
		}
	}
	h.reopen()
	h.want("a", "1")
}

// bigValues goes over the sizes at which a store may change how it keeps a value.
func bigValues(t *testing.T, h *handle) {
	value := func(seed byte, n int) string {
		v := bytes.Repeat([]byte{seed, 1, 2, 3, 5, 7, 11}, n/7+1)[:n]
		for i := 0; i+4 < n; i += 1000 {
			copy(v[i:], fmt.Appendf(nil, "%04d", i/1000%10000))
		}
		return string(v)
	}
	sizes := []int{59_999, 60_000, 60_001, 65_499, 65_500, 65_536, 120_000, 120_001, 511 << 10, 513 << 10, 1 << 20, 3_000_000}
	for i, n := range sizes {
		h.put(fmt.Sprintf("big%02d", i), value(byte(i), n))
	}
	check := func() {
		t.Helper()
		n := 0
		if err := h.Scan(context.Background(), []byte("big"), nil, func(key, v []byte) error {
			if string(v) != value(byte(n), sizes[n]) {
				t.Errorf("scan: %q has %s, want %d bytes", key, brief(v), sizes[n])
			}
			n++
			return nil
		}); err != nil || n != len(sizes) {
			t.Errorf("scan: %d values, %v", n, err)
		}
		for i, n := range sizes {
			h.want(fmt.Sprintf("big%02d", i), value(byte(i), n))
		}
	}
	check()
	h.reopen()
	check()
	// Each size replaced by each of its neighbours, up and down, in small and large batches.
	slices.Reverse(sizes)
	for i, n := range sizes {
		h.put(fmt.Sprintf("big%02d", i), value(byte(i), n))
	}
	check()
	h.reopen()
	check()
	var b crdt.Batch
	for i := range sizes {
		b.Delete(fmt.Appendf(nil, "big%02d", i))
	}
	b.Put([]byte("small"), []byte("v"))
	h.append(&b)
	if got := h.scan("", ""); !slices.Equal(got, []string{"small=v"}) {
		t.Errorf("after deletion: %d entries", len(got))
	}
	huge := value(9, 17<<20)
	h.put("huge", huge)
	h.want("huge", huge)
	h.put("huge", "small again")
	h.want("huge", "small again")
}
