package badger

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dgraph-io/badger"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// snapshot is a read transaction that several readers share.
type snapshot struct {
	txn  *badger.Txn
	refs atomic.Int64
}

func (p *snapshot) release() {
	if p.refs.Add(-1) == 0 {
		p.txn.Discard()
	}
}

// view returns a read transaction and what gives it back.
func (s *Store) view(ctx context.Context) (*badger.Txn, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, nil, errClosed
	}
	if p := s.pin; p != nil {
		p.refs.Add(1) // the store's own reference is held while the pin is set
		return p.txn, p.release, nil
	}
	txn := s.db.NewTransaction(false)
	return txn, txn.Discard, nil
}

// setPin lets all readers see the store as it is now, until unpin.
func (s *Store) setPin() {
	p := &snapshot{txn: s.db.NewTransaction(false)}
	p.refs.Store(1)
	s.mu.Lock()
	s.pin = p
	s.mu.Unlock()
}

func (s *Store) unpin() {
	s.mu.Lock()
	p := s.pin
	s.pin = nil
	s.mu.Unlock()
	if p != nil {
		p.release()
	}
}

// Get implements [crdt.Store].
func (s *Store) Get(ctx context.Context, key []byte) ([]byte, error) {
	txn, done, err := s.view(ctx)
	if err != nil {
		return nil, fmt.Errorf("get %x: %w", key, err)
	}
	defer done()
	item, err := txn.Get(inSpace(spaceEntry, key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, crdt.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get %x: %w", key, err)
	}
	var value []byte
	err = withValue(txn, item, key, func(v []byte) error {
		value = append([]byte{}, v...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("get %x: %w", key, err)
	}
	return value, nil
}

// Scan implements [crdt.Store]. It sees the store as it was when Scan was called; fn may call the
// store. The error of fn is returned as it is.
func (s *Store) Scan(ctx context.Context, prefix, from []byte, fn func(key, value []byte) error) error {
	txn, done, err := s.view(ctx)
	if err != nil {
		return fmt.Errorf("scan %x: %w", prefix, err)
	}
	defer done()
	start := prefix
	if len(from) > len(prefix) && bytes.Compare(from, prefix) > 0 {
		start = from
	}
	// Values are in the tables: fetching them ahead would only cost a goroutine each.
	it := txn.NewIterator(badger.IteratorOptions{Prefix: inSpace(spaceEntry, prefix)})
	defer it.Close()
	for it.Seek(inSpace(spaceEntry, start)); it.Valid(); it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := it.Item().Key()[1:]
		err := withValue(txn, it.Item(), key, func(v []byte) error { return fn(key, v) })
		if err != nil {
			return err
		}
	}
	return nil
}

// withValue calls fn with the value of an entry; the bytes are valid during the call.
func withValue(txn *badger.Txn, item *badger.Item, key []byte, fn func([]byte) error) error {
	if item.UserMeta() != metaSplit {
		return item.Value(fn)
	}
	var size uint64
	if err := item.Value(func(v []byte) error {
		if len(v) != 8 {
			return fmt.Errorf("%w: the length of a split value has %d bytes", crdt.ErrTornStore, len(v))
		}
		size = binary.BigEndian.Uint64(v)
		return nil
	}); err != nil {
		return err
	}
	value := make([]byte, 0, min(size, 64<<20))
	for n := 0; uint64(len(value)) < size; n++ {
		piece, err := txn.Get(pieceKey(key, n))
		if err != nil {
			return fmt.Errorf("%w: piece %d of a split value: %w", crdt.ErrTornStore, n, err)
		}
		before := len(value)
		if err := piece.Value(func(v []byte) error {
			value = append(value, v...)
			return nil
		}); err != nil {
			return err
		}
		if len(value) == before || uint64(len(value)) > size {
			return fmt.Errorf("%w: piece %d of a split value has a wrong length", crdt.ErrTornStore, n)
		}
	}
	return fn(value)
}

// each calls fn for the Badger keys with the prefix, for what the store reads for itself.
func (s *Store) each(prefix []byte, fn func(txn *badger.Txn, item *badger.Item) error) error {
	return s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
		defer it.Close()
		for it.Seek(prefix); it.Valid(); it.Next() {
			if err := fn(txn, it.Item()); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadSplit reads which keys have split values.
func (s *Store) loadSplit() error {
	return s.each([]byte{spaceSplit}, func(_ *badger.Txn, item *badger.Item) error {
		return item.Value(func(v []byte) error {
			if len(v) != 4 {
				return fmt.Errorf("%w: a number of pieces has %d bytes", crdt.ErrTornStore, len(v))
			}
			s.split[string(item.Key()[1:])] = int(binary.BigEndian.Uint32(v))
			return nil
		})
	})
}
