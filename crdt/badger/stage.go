package badger

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/dgraph-io/badger"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	// stageRecord is the size of a record of a stage. It is over Badger's threshold: the value log
	// carries it, the tables a pointer only. Through the tables a batch would take five times as long.
	stageRecord = 1 << 20
	// A transaction of a large batch; Badger's limits are 1.2 MB and 13,000 entries.
	copyBytes = 1_000_000
	copyOps   = 8000
)

// appendLarge commits a batch of any size by way of a stage.
func (s *Store) appendLarge(ctx context.Context, b *crdt.Batch) error {
	s.collect.RLock()
	defer s.collect.RUnlock()
	// The stage, the copy, and the tables of the copy.
	if err := s.room(3 * int64(b.Size())); err != nil {
		return err
	}
	stage := s.stages.Add(1)
	n, err := s.writeStage(ctx, stage, b.Writes)
	if err == nil {
		err = ctx.Err() // from the marker on there is no way back
	}
	if err != nil {
		if s.writable() != nil {
			return err
		}
		return errors.Join(err, s.dropStage(stage, n))
	}

	s.write.Lock()
	defer s.write.Unlock()
	s.setPin()
	marker := op{key: stagePrefix(spaceMarker, stage), value: binary.BigEndian.AppendUint32(nil, uint32(n))}
	if err := s.commit([]op{marker}); err != nil {
		s.unpin()
		return err
	}
	s.stepped()
	i := 0
	err = s.copyStage(func() (crdt.KeyWrite, error) {
		if i == len(b.Writes) {
			return crdt.KeyWrite{}, io.EOF
		}
		i++
		return b.Writes[i-1], nil
	})
	if err != nil {
		// Half is copied. The pin stays: readers have the state from before, and no write follows.
		return s.fail(fmt.Errorf("copy a staged batch (it will be finished when the store is opened again): %w", err))
	}
	s.unpin()
	// The batch is in place and durable, also if this fails: then the store writes no more, and the
	// next Open copies the batch again, which changes nothing.
	_ = s.dropStage(stage, n)
	return nil
}

// writeStage writes the batch as records of a stage and returns how many there are, also when it
// fails.
func (s *Store) writeStage(ctx context.Context, stage uint64, writes []crdt.KeyWrite) (n int, err error) {
	p := packer{s: s}
	record := make([]byte, 0, stageRecord)
	end := func() error {
		if err := errors.Join(ctx.Err(), s.room(stageRecord)); err != nil {
			return err
		}
		o := op{key: stageKey(stage, n), value: record}
		n, record = n+1, make([]byte, 0, stageRecord)
		return p.add(o)
	}
	add := func(data []byte) error {
		for len(data) > 0 {
			k := min(len(data), stageRecord-len(record))
			record, data = append(record, data[:k]...), data[k:]
			if len(record) == stageRecord {
				if err := end(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, w := range writes {
		if err := add(stageHeader(w)); err != nil {
			return n, err
		}
		if err := add(w.Value); err != nil {
			return n, err
		}
	}
	if len(record) > 0 {
		if err := end(); err != nil {
			return n, err
		}
	}
	return n, p.flush()
}

// stageHeader is what stands before the value of a write in a stage: the length of the key, the
// key, and 0 for a deletion or 1 + the length of the value.
func stageHeader(w crdt.KeyWrite) []byte {
	h := binary.AppendUvarint(nil, uint64(len(w.Key)))
	h = append(h, w.Key...)
	if w.Value == nil {
		return append(h, 0)
	}
	return binary.AppendUvarint(h, 1+uint64(len(w.Value)))
}

// readStaged is the inverse of writeStage for one write; io.EOF at the end.
func readStaged(r *bufio.Reader) (w crdt.KeyWrite, err error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return w, err // io.EOF: the end
	}
	if n > crdt.MaxStoreKey {
		return w, fmt.Errorf("a staged key has %d bytes", n)
	}
	w.Key = make([]byte, n)
	if _, err := io.ReadFull(r, w.Key); err != nil {
		return w, fmt.Errorf("read a staged key: %w", noEOF(err))
	}
	n, err = binary.ReadUvarint(r)
	if err != nil {
		return w, fmt.Errorf("read a staged length: %w", noEOF(err))
	}
	if n == 0 {
		return w, nil
	}
	value, err := io.ReadAll(io.LimitReader(r, int64(min(n-1, 1<<62))))
	if err != nil || uint64(len(value)) != n-1 {
		return w, fmt.Errorf("read a staged value of %d bytes: %w", n-1, noEOF(err))
	}
	w.Value = value
	return w, nil
}

func noEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// copyStage puts the writes into place.
func (s *Store) copyStage(next func() (crdt.KeyWrite, error)) error {
	p := packer{s: s}
	for {
		w, err := next()
		if err == io.EOF {
			return p.flush()
		}
		if err != nil {
			return err
		}
		for _, o := range expand(nil, w, s.split[string(w.Key)]) {
			if err := p.add(o); err != nil {
				return err
			}
		}
		s.setSplit(string(w.Key), pieces(len(w.Value)))
	}
}

// packer commits entries in transactions as large as Badger takes.
type packer struct {
	s    *Store
	ops  []op
	size int
}

func (p *packer) add(o op) error {
	if len(p.ops) == copyOps || p.size+o.size() > copyBytes {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.ops, p.size = append(p.ops, o), p.size+o.size()
	return nil
}

func (p *packer) flush() error {
	if len(p.ops) == 0 {
		return nil
	}
	if err := p.s.commit(p.ops); err != nil {
		return err
	}
	p.s.stepped()
	p.ops, p.size = p.ops[:0], 0
	return nil
}

// dropStage removes a stage of n records, its validity no later than its first record.
func (s *Store) dropStage(stage uint64, n int) error {
	p := packer{s: s}
	err := p.add(op{key: stagePrefix(spaceMarker, stage), delete: true})
	for i := 0; i < n && err == nil; i++ {
		err = p.add(op{key: stageKey(stage, i), delete: true})
	}
	if err != nil {
		return err
	}
	return p.flush()
}

func (s *Store) stepped() {
	if s.step != nil {
		s.step()
	}
}

// finishStages copies the valid stages of a crashed process into place and removes all.
func (s *Store) finishStages() error {
	valid := map[uint64]int{}
	err := s.each([]byte{spaceMarker}, func(_ *badger.Txn, item *badger.Item) error {
		return item.Value(func(v []byte) error {
			if len(item.Key()) != 9 || len(v) != 4 {
				return fmt.Errorf("%w: the marker of a staged batch has a wrong length", crdt.ErrTornStore)
			}
			valid[binary.BigEndian.Uint64(item.Key()[1:])] = int(binary.BigEndian.Uint32(v))
			return nil
		})
	})
	if err != nil {
		return err
	}
	for stage, n := range valid { // there is one at most: the next marker waits for the end of the copy
		r := bufio.NewReader(&stageReader{s: s, stage: stage, records: n})
		if err := s.copyStage(func() (crdt.KeyWrite, error) { return readStaged(r) }); err != nil {
			return err
		}
		if err := s.dropStage(stage, n); err != nil {
			return err
		}
	}
	return s.dropRemains()
}

// dropRemains removes records of stages that never became valid, or were in place already.
func (s *Store) dropRemains() error {
	p := packer{s: s}
	err := s.each([]byte{spaceStage}, func(_ *badger.Txn, item *badger.Item) error {
		return p.add(op{key: item.KeyCopy(nil), delete: true})
	})
	if err != nil {
		return err
	}
	return p.flush()
}

// stageReader reads the records of a stage one after the other.
type stageReader struct {
	s       *Store
	stage   uint64
	records int
	next    int
	rest    []byte
}

func (r *stageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.next == r.records {
			return 0, io.EOF
		}
		err := r.s.db.View(func(txn *badger.Txn) error {
			item, err := txn.Get(stageKey(r.stage, r.next))
			if err != nil {
				return err
			}
			r.rest, err = item.ValueCopy(nil)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("%w: record %d of a staged batch: %w", crdt.ErrTornStore, r.next, err)
		}
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
