package crdt

import (
	"context"
	"encoding/json"
	"fmt"
)

// Table is a peer-local table of JSON values under string keys: names, pending requests, addresses.
// It is never synced. Safe for concurrent use; each Put is durable when it returns.
type Table[T any] struct {
	store  Store
	prefix []byte
}

// NewTable opens the table of that name in store.
func NewTable[T any](store Store, name string) *Table[T] {
	return &Table[T]{store, append([]byte{keyTable}, name+"\x00"...)}
}

func (t *Table[T]) key(k string) []byte { return append(append([]byte{}, t.prefix...), k...) }

// Get returns the value of a key, or an error that wraps [ErrNotFound].
func (t *Table[T]) Get(ctx context.Context, key string) (T, error) {
	var v T
	b, err := t.store.Get(ctx, t.key(key))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return v, fmt.Errorf("read %s: %w", t.prefix[1:len(t.prefix)-1], err)
	}
	return v, nil
}

// Put sets a key.
func (t *Table[T]) Put(ctx context.Context, key string, v T) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.prefix[1:len(t.prefix)-1], err)
	}
	var batch Batch
	batch.Put(t.key(key), b)
	return t.store.Append(ctx, &batch)
}

// Delete removes a key; one that is not there is no error.
func (t *Table[T]) Delete(ctx context.Context, key string) error {
	var batch Batch
	batch.Delete(t.key(key))
	return t.store.Append(ctx, &batch)
}

// All calls fn for each row in key order until fn fails.
func (t *Table[T]) All(ctx context.Context, fn func(key string, v T) error) error {
	return t.Under(ctx, "", fn)
}

// Under is All of the keys that begin with prefix.
func (t *Table[T]) Under(ctx context.Context, prefix string, fn func(key string, v T) error) error {
	return t.store.Scan(ctx, t.key(prefix), nil, func(k, b []byte) error {
		var v T
		if err := json.Unmarshal(b, &v); err != nil {
			return fmt.Errorf("read %s: %w", t.prefix[1:len(t.prefix)-1], err)
		}
		return fn(string(k[len(t.prefix):]), v)
	})
}
