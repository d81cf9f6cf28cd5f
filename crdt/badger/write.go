package badger

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"syscall"

	"github.com/dgraph-io/badger"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Up to here a batch is one transaction.
const (
	smallBytes = 512 << 10
	smallKeys  = 2000
	// smallOps bounds the entries of the transaction when split values come and go in it. Badger's
	// limits at the table size of openBadger are 1.2 MB and 13,000 entries.
	smallOps = 4000
)

// op is one Badger entry to write.
type op struct {
	key, value []byte
	meta       byte
	delete     bool
}

func (o op) size() int { return len(o.key) + len(o.value) + 16 }

// Append implements [crdt.Store]; the package comment tells how. After an error that is not about
// the batch itself, the context or the room on the disk, the store writes no more and whether the
// batch is kept shows when it is opened again.
func (s *Store) Append(ctx context.Context, b *crdt.Batch) error {
	if err := s.append(ctx, b); err != nil {
		return fmt.Errorf("append %d keys, %d bytes: %w", len(b.Writes), b.Size(), err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, b *crdt.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, w := range b.Writes {
		if len(w.Key) > crdt.MaxStoreKey {
			return fmt.Errorf("a key has %d bytes, the limit is %d", len(w.Key), crdt.MaxStoreKey)
		}
		if uint64(len(w.Value)) > math.MaxUint32*pieceSize {
			return fmt.Errorf("a value has %d bytes", len(w.Value))
		}
	}
	if err := s.room(int64(b.Size())); err != nil {
		return err
	}
	if len(b.Writes) == 0 {
		return s.writable()
	}
	if len(b.Writes) <= smallKeys && b.Size() <= smallBytes {
		if done, err := s.appendSmall(b.Writes); done || err != nil {
			return err
		}
	}
	return s.appendLarge(ctx, b)
}

// writable says why nothing can be written, if so.
func (s *Store) writable() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.closed:
		return errClosed
	case s.failed != nil:
		return fmt.Errorf("%w: %w", errStopped, s.failed)
	}
	return nil
}

// room fails if writing n bytes would eat into the reserve.
func (s *Store) room(n int64) error {
	if s.opt.Reserve < 0 {
		return nil
	}
	if free, ok := freeBytes(s.dir); ok && free-n < s.opt.Reserve {
		return fmt.Errorf("the disk is full: %d MB are free, %d MB have to stay free: %w",
			free>>20, s.opt.Reserve>>20, syscall.ENOSPC)
	}
	return nil
}

// appendSmall commits the writes as one transaction, or reports that they do not fit in one.
func (s *Store) appendSmall(writes []crdt.KeyWrite) (done bool, err error) {
	s.write.RLock()
	plain := true
	for _, w := range writes {
		if pieces(len(w.Value)) > 0 || len(s.split) > 0 && s.split[string(w.Key)] > 0 {
			plain = false
			break
		}
	}
	if plain {
		defer s.write.RUnlock()
		ops := make([]op, len(writes))
		for i, w := range writes {
			ops[i] = op{key: inSpace(spaceEntry, w.Key), value: w.Value, delete: w.Value == nil}
		}
		return true, s.commit(ops)
	}
	s.write.RUnlock()

	s.write.Lock()
	defer s.write.Unlock()
	var ops []op
	changed := map[string]int{}
	for _, w := range writes {
		old, ok := changed[string(w.Key)]
		if !ok {
			old = s.split[string(w.Key)]
		}
		ops = expand(ops, w, old)
		changed[string(w.Key)] = pieces(len(w.Value))
	}
	if len(ops) > smallOps {
		return false, nil
	}
	if err := s.commit(ops); err != nil {
		return false, err
	}
	for key, n := range changed {
		s.setSplit(key, n)
	}
	return true, nil
}

// setSplit notes how many pieces the value of a key has now.
func (s *Store) setSplit(key string, n int) {
	if n == 0 {
		delete(s.split, key)
	} else {
		s.split[key] = n
	}
}

// expand appends the Badger entries of one write to a key whose value had old pieces. Doing them
// again changes nothing.
func expand(ops []op, w crdt.KeyWrite, old int) []op {
	n := pieces(len(w.Value))
	for i := n; i < old; i++ {
		ops = append(ops, op{key: pieceKey(w.Key, i), delete: true})
	}
	for i := range n {
		part := w.Value[i*pieceSize : min((i+1)*pieceSize, len(w.Value))]
		ops = append(ops, op{key: pieceKey(w.Key, i), value: part})
	}
	entry := op{key: inSpace(spaceEntry, w.Key), value: w.Value, delete: w.Value == nil}
	switch {
	case n > 0:
		ops = append(ops, op{key: inSpace(spaceSplit, w.Key), value: binary.BigEndian.AppendUint32(nil, uint32(n))})
		entry.value, entry.meta = binary.BigEndian.AppendUint64(nil, uint64(len(w.Value))), metaSplit
	case old > 0:
		ops = append(ops, op{key: inSpace(spaceSplit, w.Key), delete: true})
	}
	return append(ops, entry)
}

// commit writes the entries as one transaction; when it returns nil they are durable. The last
// entry of a key counts. A failure to write ends all writing.
func (s *Store) commit(ops []op) error {
	if err := s.writable(); err != nil {
		return err
	}
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	for _, o := range ops {
		var err error
		if o.delete {
			err = txn.Delete(o.key)
		} else {
			err = txn.SetEntry(badger.NewEntry(o.key, o.value).WithMeta(o.meta))
		}
		if err != nil {
			return err
		}
	}
	if err := txn.Commit(); err != nil {
		return s.fail(err)
	}
	return nil
}

// fail ends all writing.
func (s *Store) fail(err error) error {
	err = withCause(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	return err
}

// causedError lets errors.Is see the cause of an error that was wrapped in the way of the
// pkg/errors that Badger uses.
type causedError struct {
	error
	cause error
}

func (e causedError) Unwrap() error { return e.cause }

func withCause(err error) error {
	cause := err
	for {
		c, ok := cause.(interface{ Cause() error })
		if !ok || c.Cause() == nil {
			break
		}
		cause = c.Cause()
	}
	if cause == err {
		return err
	}
	return causedError{err, cause}
}
