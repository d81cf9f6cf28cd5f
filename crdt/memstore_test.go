package crdt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/storetest"
)

func TestMemStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() (crdt.Store, error) {
		disk := crdt.NewMemStore()
		return func() (crdt.Store, error) {
			disk = disk.Clone()
			return disk, nil
		}
	})
}

func putMem(t *testing.T, m *crdt.MemStore, key, value string) error {
	t.Helper()
	var b crdt.Batch
	b.Put([]byte(key), []byte(value))
	return m.Append(context.Background(), &b)
}

func getMem(m *crdt.MemStore, key string) string {
	v, err := m.Get(context.Background(), []byte(key))
	if err != nil {
		return err.Error()
	}
	return string(v)
}

func TestMemStoreCloneIsACrash(t *testing.T) {
	m := crdt.NewMemStore()
	if err := putMem(t, m, "a", "1"); err != nil {
		t.Fatal(err)
	}
	after := m.Clone()
	if err := errors.Join(putMem(t, m, "a", "2"), putMem(t, after, "b", "3")); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(getMem(m, "a"), " ", getMem(m, "b"), " ", getMem(after, "a"), " ", getMem(after, "b"))
	if want := "2 not found 1 3"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got := getMem(m.Clone(), "a"); got != "2" {
		t.Errorf("clone of a closed store: %s", got)
	}
}

func TestMemStoreFails(t *testing.T) {
	broken := errors.New("broken")
	var failing string
	asked := map[string]int{}
	m := crdt.NewFailingMemStore(func(op string) error {
		asked[op]++
		if op == failing {
			return broken
		}
		return nil
	})
	if err := putMem(t, m, "a", "1"); err != nil || getMem(m, "a") != "1" {
		t.Fatalf("without a failure: %v, %s", err, getMem(m, "a"))
	}
	failing = crdt.OpAppend
	if err := putMem(t, m, "a", "2"); !errors.Is(err, broken) || getMem(m, "a") != "1" {
		t.Errorf("append: %v, then %s", err, getMem(m, "a"))
	}
	failing = crdt.OpAck
	if err := putMem(t, m, "a", "3"); !errors.Is(err, broken) || getMem(m, "a") != "3" {
		t.Errorf("ack: %v, then %s; the batch is stored", err, getMem(m, "a"))
	}
	failing = crdt.OpGet
	if _, err := m.Get(context.Background(), []byte("a")); !errors.Is(err, broken) {
		t.Errorf("get: %v", err)
	}
	failing = crdt.OpScan
	if err := m.Scan(context.Background(), nil, nil, func(_, _ []byte) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("scan: %v", err)
	}
	for _, op := range []string{crdt.OpAppend, crdt.OpAck, crdt.OpGet, crdt.OpScan} {
		if asked[op] == 0 {
			t.Errorf("never asked about %s", op)
		}
	}
}

func FuzzMemStoreBatches(f *testing.F) {
	f.Add([]byte("a1b2-a"))
	f.Fuzz(func(t *testing.T, script []byte) {
		m := crdt.NewMemStore()
		want := map[string]byte{}
		for i := 0; i+1 < len(script); i += 2 {
			var b crdt.Batch
			if key := script[i : i+1]; script[i+1] == '-' {
				b.Delete(key)
				delete(want, string(key))
			} else {
				b.Put(key, script[i+1:i+2])
				want[string(key)] = script[i+1]
			}
			if err := m.Append(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
		}
		var last []byte
		n := 0
		err := m.Scan(context.Background(), nil, nil, func(key, value []byte) error {
			if n > 0 && bytes.Compare(last, key) >= 0 || want[string(key)] != value[0] {
				t.Errorf("%q=%q after %q", key, value, last)
			}
			last = key
			n++
			return nil
		})
		if err != nil || n != len(want) {
			t.Errorf("%d keys, %v; want %d", n, err, len(want))
		}
	})
}
