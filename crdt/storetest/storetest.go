// Package storetest is the conformance suite of [crdt.Store]: what every store does, whatever it is
// made of. Only tests import it. What is special to one store (a torn disk, a second process) is
// tested beside that store.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Fresh prepares a store without contents and returns what opens it. The suite closes the store
// before it opens it again, and what was stored is there again.
type Fresh func(t *testing.T) (open func() (crdt.Store, error))

// Run tests the store.
func Run(t *testing.T, fresh Fresh) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *handle)
	}{
		{"GetAndMissing", getAndMissing},
		{"OverwriteAndDelete", overwriteAndDelete},
		{"EmptyKeysAndValues", emptyKeysAndValues},
		{"LastWriteOfAKeyCounts", lastWriteCounts},
		{"ScanOrderPrefixFrom", scanOrder},
		{"ScanSeesOneState", scanSeesOneState},
		{"ScanReturnsTheErrorOfItsFunction", scanError},
		{"BytesBelongToTheCaller", bytesBelongToTheCaller},
		{"KeysHaveALimit", keyLimit},
		{"Reopen", reopen},
		{"Canceled", canceled},
		{"Closed", closed},
		{"BigValues", bigValues},
		{"BatchOf30MB", bigBatch},
		{"BatchesAreSeenWhole", batchesAreSeenWhole},
		{"ManyWritersAndReaders", manyWriters},
		{"Model", model},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &handle{t: t, open: fresh(t)}
			h.reopen()
			t.Cleanup(h.close)
			c.test(t, h)
		})
	}
}

// handle is a store under test that can be closed and opened again.
type handle struct {
	crdt.Store
	t    *testing.T
	open func() (crdt.Store, error)
}

func (h *handle) reopen() {
	h.t.Helper()
	h.close()
	s, err := h.open()
	if err != nil {
		h.t.Fatalf("open: %v", err)
	}
	h.Store = s
}

func (h *handle) close() {
	h.t.Helper()
	if h.Store == nil {
		return
	}
	if err := h.Close(); err != nil {
		h.t.Errorf("close: %v", err)
	}
	h.Store = nil
}

func (h *handle) put(pairs ...string) {
	h.t.Helper()
	var b crdt.Batch
	for i := 0; i < len(pairs); i += 2 {
		b.Put([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	h.append(&b)
}

func (h *handle) append(b *crdt.Batch) {
	h.t.Helper()
	if err := h.Append(context.Background(), b); err != nil {
		h.t.Fatal(err)
	}
}

// want fails unless the key has the value; "-" stands for no such key.
func (h *handle) want(key, value string) {
	h.t.Helper()
	got, err := h.Get(context.Background(), []byte(key))
	switch {
	case value == "-":
		if !errors.Is(err, crdt.ErrNotFound) {
			h.t.Errorf("get %q: %d bytes, %v; want ErrNotFound", key, len(got), err)
		}
	case err != nil:
		h.t.Errorf("get %q: %v", key, err)
	case got == nil || string(got) != value:
		h.t.Errorf("get %q: %s; want %s", key, brief(got), brief([]byte(value)))
	}
}

func brief(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// scan lists "key=value" of what is found.
func (h *handle) scan(prefix, from string) []string {
	h.t.Helper()
	out := []string{}
	var last []byte
	err := h.Scan(context.Background(), []byte(prefix), []byte(from), func(key, value []byte) error {
		if last != nil && bytes.Compare(last, key) >= 0 {
			h.t.Errorf("scan: %q comes after %q", key, last)
		}
		last = bytes.Clone(key)
		out = append(out, string(key)+"="+string(value))
		return nil
	})
	if err != nil {
		h.t.Errorf("scan %q from %q: %v", prefix, from, err)
	}
	return out
}
