package crdt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Stored changes lie one by one under their position, or packed: a segment is the zstd of records,
// each behind its length, under the position of its first.

// segment is one packed run of records.
type segment struct{ first, count uint64 }

type cachedSegment struct {
	first   uint64
	records [][]byte
}

// maxSegment bounds the unpacked bytes of a segment, written and read.
const maxSegment = 4 << 20

var errStopScan = errors.New("stop")

// readSegments lists the segments of a document from their keys and headers.
func (r *Repo) readSegments(ctx context.Context, id DocID) ([]segment, error) {
	var out []segment
	err := r.cfg.Store.Scan(ctx, docKey(keySegment, id), nil, func(k, v []byte) error {
		n, used := binary.Uvarint(v)
		if used <= 0 || n == 0 {
			return fmt.Errorf("segment %d: no count", keyPos(k))
		}
		out = append(out, segment{keyPos(k), n})
		return nil
	})
	return out, err
}

// records calls fn for each stored change from a position on, in order. A hole is an error: nothing
// is ever deleted from the log.
func (r *Repo) records(ctx context.Context, d *document, from uint64, fn func(pos uint64, c SignedChange) error) error {
	if t := d.tail; len(t.list) > 0 && from >= t.first {
		for i := from - t.first; i < uint64(len(t.list)); i++ {
			if err := fn(t.first+i, t.list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	next := from
	emit := func(pos uint64, rec []byte) error {
		if pos != next {
			return fmt.Errorf("stored change %d is missing", next)
		}
		c, err := decodeRecord(rec)
		if err != nil {
			return fmt.Errorf("stored change %d: %w", pos, err)
		}
		next++
		return fn(pos, c)
	}
	for _, s := range d.segments {
		if s.first+s.count <= from {
			continue
		}
		recs, err := r.segment(ctx, d, s)
		if err != nil {
			return err
		}
		for i, rec := range recs {
			if pos := s.first + uint64(i); pos >= from {
				if err := emit(pos, rec); err != nil {
					return err
				}
			}
		}
	}
	return r.cfg.Store.Scan(ctx, docKey(keyChange, d.id), posKey(keyChange, d.id, next), func(k, v []byte) error {
		return emit(keyPos(k), v)
	})
}

// segment unpacks one segment; the last one used stays in memory for paging.
func (r *Repo) segment(ctx context.Context, d *document, s segment) ([][]byte, error) {
	if d.cached.records != nil && d.cached.first == s.first {
		return d.cached.records, nil
	}
	b, err := r.cfg.Store.Get(ctx, posKey(keySegment, d.id, s.first))
	if err != nil {
		return nil, fmt.Errorf("read segment %d: %w", s.first, err)
	}
	recs, err := unpackSegment(b)
	if err != nil || uint64(len(recs)) != s.count {
		return nil, fmt.Errorf("read segment %d: damaged: %w", s.first, err)
	}
	d.cached = cachedSegment{s.first, recs}
	return recs, nil
}

func packSegment(records [][]byte) ([]byte, error) {
	var plain []byte
	for _, rec := range records {
		plain = binary.AppendUvarint(plain, uint64(len(rec)))
		plain = append(plain, rec...)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("pack segment: %w", err)
	}
	defer enc.Close()
	return enc.EncodeAll(plain, binary.AppendUvarint(nil, uint64(len(records)))), nil
}

func unpackSegment(b []byte) ([][]byte, error) {
	count, used := binary.Uvarint(b)
	if used <= 0 {
		return nil, errors.New("no count")
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxSegment))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(b[used:], nil)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for len(plain) > 0 {
		n, used := binary.Uvarint(plain)
		if used <= 0 || n > uint64(len(plain)-used) {
			return nil, errors.New("cut off")
		}
		out = append(out, plain[used:used+int(n)])
		plain = plain[used+int(n):]
	}
	if uint64(len(out)) != count {
		return nil, fmt.Errorf("%d records where %d were announced", len(out), count)
	}
	return out, nil
}

// Compact packs the loose change records of a document into segments and reports how many it
// packed. Changes are never deleted: a segment and the removal of what it holds are one commit.
func (r *Repo) Compact(ctx context.Context, id DocID) (packed int, err error) {
	s, err := r.use(id)
	if err != nil {
		return 0, err
	}
	defer r.release(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.doc
	if d == nil {
		d = &document{id: id} // packing needs no more: a closed document stays closed
	}
	for {
		n, err := r.packOnce(ctx, d)
		packed += n
		if err != nil {
			s.unload() // the segment may be there all the same
		}
		if err != nil || n == 0 {
			return packed, err
		}
	}
}

// A commit takes at most 2,000 keys at the price of one sync.
const (
	packMin  = 64
	packMost = 1900
	packSize = 1 << 20 // bytes of records; compressed they fit one commit
)

func (r *Repo) packOnce(ctx context.Context, d *document) (int, error) {
	var recs [][]byte
	var first uint64
	size := 0
	err := r.cfg.Store.Scan(ctx, docKey(keyChange, d.id), nil, func(k, v []byte) error {
		if len(recs) == packMost || (size > 0 && size+len(v) > packSize) {
			return errStopScan
		}
		if len(recs) == 0 {
			first = keyPos(k)
		}
		recs, size = append(recs, slices.Clone(v)), size+len(v)
		return nil
	})
	if err != nil && err != errStopScan {
		return 0, fmt.Errorf("pack changes: %w", err)
	}
	if len(recs) < packMin {
		return 0, nil
	}
	seg, err := packSegment(recs)
	if err != nil {
		return 0, err
	}
	var b Batch
	b.Put(posKey(keySegment, d.id, first), seg)
	for i := range recs {
		b.Delete(posKey(keyChange, d.id, first+uint64(i)))
	}
	if err := r.cfg.Store.Append(ctx, &b); err != nil {
		return 0, fmt.Errorf("pack changes: %w", err)
	}
	d.segments = append(d.segments, segment{first, uint64(len(recs))})
	return len(recs), nil
}
