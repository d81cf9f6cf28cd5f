package crdt

import (
	"context"
	"errors"
)

// Errors of a [Store] that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	// ErrStoreBusy: another process has the store open.
	ErrStoreBusy = errors.New("the store is in use by another process")
	// ErrNewerStore: the store was written by a newer version of the program.
	ErrNewerStore = errors.New("the store has a newer format than this program knows")
	// ErrTornStore: the log of the store is damaged and was not repaired.
	ErrTornStore = errors.New("the store's log is damaged")
)

// Store keeps bytes under keys, in key order, durably. Implementations: [MemStore], crdt/badger.
// Methods are safe for concurrent use. Key layout: keys.go and docs/store.md.
type Store interface {
	// Get returns the value of a key, or ErrNotFound. The caller may keep the bytes.
	Get(ctx context.Context, key []byte) ([]byte, error)
	// Scan calls fn for each key with the prefix in byte order, until fn fails; key and value are
	// valid only during the call. from, if longer than prefix, is the first key visited.
	Scan(ctx context.Context, prefix, from []byte, fn func(key, value []byte) error) error
	// Append commits the batch as a whole: when it returns nil all of it is durable, when the
	// process dies at any point all or nothing of it is found afterwards. A batch may have any
	// size; small ones (512 KiB, 2,000 keys) cost one sync.
	Append(ctx context.Context, b *Batch) error
	// Close releases the store. No other method may be running.
	Close() error
}

// Batch collects the writes of one [Store.Append]. The last write of a key counts.
type Batch struct{ Writes []KeyWrite }

// KeyWrite sets a key, or deletes it when Value is nil.
type KeyWrite struct{ Key, Value []byte }

// Put adds a write; a nil value is stored as an empty one.
func (b *Batch) Put(key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	b.Writes = append(b.Writes, KeyWrite{key, value})
}

// Delete adds a deletion.
func (b *Batch) Delete(key []byte) { b.Writes = append(b.Writes, KeyWrite{Key: key}) }

// Size is the number of bytes in all keys and values.
func (b *Batch) Size() int {
	n := 0
	for _, w := range b.Writes {
		n += len(w.Key) + len(w.Value)
	}
	return n
}
