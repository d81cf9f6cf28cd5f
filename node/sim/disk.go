package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// What the disk does at its next write.
type diskFault uint8

const (
	diskFine    diskFault = iota
	diskLose              // the process dies before the batch is down
	diskTear              // it dies while the batch is being written
	diskDieLate           // it dies when the batch is down and nobody was told
	diskFull              // the write fails
	diskUnsure            // the write fails, and the batch is down
)

var (
	errFull   = errors.New("no space left on the simulated disk")
	errUnsure = errors.New("the simulated disk failed, maybe after it wrote")
	errDead   = errors.New("the simulated process is dead")
)

// disk is a [crdt.Store] of one life of a process. What is down is in base; what a dying process was
// writing is in tail and counts only if it is whole.
type disk struct {
	base *crdt.MemStore
	mu   sync.Mutex // a store may be used from anywhere; runs use it from one goroutine
	tail []byte
	next diskFault
	cut  func(n int) int // how much of n bytes of a torn write is down
	hit  func(diskFault) // told when a fault strikes
	dead bool
	down map[crdt.ChangeHash]struct{} // changes that are down, those in segments too
}

func newDisk() *disk { return &disk{base: crdt.NewMemStore(), down: map[crdt.ChangeHash]struct{}{}} }

// backup is a copy of what is down.
func (d *disk) backup() *disk { return &disk{base: d.base.Clone(), down: maps.Clone(d.down)} }

// reopen is what the next process finds: the torn end is dropped, as a store with checksums does.
func (d *disk) reopen() *disk {
	out := d.backup()
	if b, ok := decodeBatch(d.tail); ok {
		_ = out.write(b) // a batch that was refused before is refused again
	}
	return out
}

func (d *disk) gone() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// Get implements [crdt.Store].
func (d *disk) Get(ctx context.Context, key []byte) ([]byte, error) {
	if d.gone() {
		return nil, errDead
	}
	return d.base.Get(ctx, key)
}

// Scan implements [crdt.Store].
func (d *disk) Scan(ctx context.Context, prefix, from []byte, fn func(key, value []byte) error) error {
	if d.gone() {
		return errDead
	}
	return d.base.Scan(ctx, prefix, from, fn)
}

// Append implements [crdt.Store].
func (d *disk) Append(ctx context.Context, b *crdt.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := d.next
	if fault != diskFine {
		d.hit(fault)
	}
	switch fault {
	case diskFull:
		return errFull // until somebody makes room
	case diskLose, diskTear, diskDieLate:
		d.dead = true
		if fault == diskTear {
			whole := encodeBatch(b)
			d.tail = whole[:d.cut(len(whole))]
		}
		if fault == diskDieLate {
			_ = d.write(b) // whether or not: nobody will be told
		}
		return errDead
	}
	d.next = diskFine
	err := d.write(b)
	if err == nil && fault == diskUnsure {
		err = errUnsure
	}
	return err
}

// Close implements [crdt.Store].
func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	d.dead = true
	return nil
}

// write puts a batch down and notes which changes are there: a record under 'c' is a length byte, the
// signature and the chunk. Packing moves records; a record that goes without a segment is taken back.
func (d *disk) write(b *crdt.Batch) error {
	packs := false
	for _, w := range b.Writes {
		switch {
		case len(w.Key) == 0:
		case w.Key[0] == 'p':
			packs = true
		case w.Key[0] == 'c' && w.Value != nil:
			d.down[recordHash(w.Value)] = struct{}{}
		case w.Key[0] == 'c' && !packs:
			if old, err := d.base.Get(context.Background(), w.Key); err == nil {
				delete(d.down, recordHash(old))
			}
		}
	}
	return d.base.Append(context.Background(), b)
}

// recordHash is the hash of the change in a record.
func recordHash(record []byte) crdt.ChangeHash {
	if len(record) == 0 || len(record) < 9+int(record[0]) {
		return crdt.ChangeHash{}
	}
	return sha256.Sum256(record[9+int(record[0]):])
}

// encodeBatch writes a batch as one record of a log: checksum, then each write behind its lengths.
func encodeBatch(b *crdt.Batch) []byte {
	out := make([]byte, 4, 4+b.Size()+8*len(b.Writes))
	for _, w := range b.Writes {
		out = binary.AppendUvarint(out, uint64(len(w.Key)))
		out = append(out, w.Key...)
		if w.Value == nil {
			out = append(out, 0)
			continue
		}
		out = binary.AppendUvarint(out, uint64(len(w.Value))+1)
		out = append(out, w.Value...)
	}
	binary.LittleEndian.PutUint32(out, crc32.ChecksumIEEE(out[4:]))
	return out
}

func decodeBatch(raw []byte) (*crdt.Batch, bool) {
	if len(raw) < 4 || crc32.ChecksumIEEE(raw[4:]) != binary.LittleEndian.Uint32(raw) {
		return nil, false
	}
	b := &crdt.Batch{}
	for raw = raw[4:]; len(raw) > 0; {
		n, used := binary.Uvarint(raw)
		key := raw[used : used+int(n)]
		raw = raw[used+int(n):]
		n, used = binary.Uvarint(raw)
		raw = raw[used:]
		if n == 0 {
			b.Delete(key)
			continue
		}
		b.Put(key, raw[:n-1])
		raw = raw[n-1:]
	}
	return b, true
}
