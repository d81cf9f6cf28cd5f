package crdt

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Page returns stored changes that a peer with the vector have lacks, oldest first, so that each
// comes after what it depends on. It leaves out the changes in without and all that depend on them.
// The page holds at most limit bytes of chunks and their keys (one change if that alone is larger)
// and no more changes than a store takes in one small commit, and ends where
// the last change of every actor in it is signed. upTo is have advanced by the page; more says that
// there is more to fetch with it.
func (r *Repo) Page(ctx context.Context, id DocID, have Vector, without map[ChangeHash]bool, limit int) (page []SignedChange, upTo Vector, more bool, err error) {
	err = r.with(ctx, id, func(_ *slot, d *document) error {
		b := &pageBuilder{doc: d, have: Vector{}, upTo: Vector{}, without: without, limit: limit, open: map[ActorID]bool{}, moved: map[ActorID]bool{}}
		maps.Copy(b.have, have)
		maps.Copy(b.upTo, have)
		start, ok := d.firstMissing(b.have)
		if !ok {
			upTo = b.upTo
			return nil
		}
		err := r.records(ctx, d, start, b.add)
		if err != nil && err != errStopScan {
			return fmt.Errorf("read page of document %s: %w", id.Short(), err)
		}
		page, upTo, more = b.finish(err == errStopScan)
		return nil
	})
	return page, upTo, more, err
}

// firstMissing is the lowest position of a change that have does not cover.
func (d *document) firstMissing(have Vector) (uint64, bool) {
	best, found := uint32(0), false
	for a, pos := range d.seqs {
		if n := have[a].Seq; n < uint64(len(pos)) && (!found || pos[n] < best) {
			best, found = pos[n], true
		}
	}
	return uint64(best), found
}

// recordKey is what a store needs for a change beside its chunk: key, length byte, and some room
// for the signatures and the rest of the commit.
const recordKey = 48

type pageBuilder struct {
	doc     *document
	have    Vector
	without map[ChangeHash]bool
	limit   int

	page   []SignedChange
	size   int
	open   map[ActorID]bool // actors whose last change in the page is not signed
	fence  map[ActorID]bool // actors that must be left out from here on
	closed int              // length of the page at its last closed place
	upTo   Vector           // have at that place
	moved  map[ActorID]bool // actors whose place in have is not in upTo
}

// add is called for each stored change in order.
func (b *pageBuilder) add(pos uint64, c SignedChange) error {
	e := b.doc.log[pos]
	if uint64(e.seq) <= b.have[e.actor].Seq {
		return nil
	}
	if b.fence[e.actor] || b.leftOut(e, c) {
		if b.fence == nil {
			b.fence = map[ActorID]bool{}
		}
		b.fence[e.actor] = true
		b.without[e.hash] = true // what depends on it is left out too
		return nil
	}
	if b.closed > 0 && (b.size+len(c.Raw)+recordKey > b.limit || len(b.page) == packMost) {
		return errStopScan
	}
	b.page = append(b.page, SignedChange{slices.Clone(c.Raw), slices.Clone(c.Sig)})
	b.size += len(c.Raw) + recordKey
	b.have[e.actor], b.moved[e.actor] = Tip{uint64(e.seq), e.hash}, true
	if e.signed {
		delete(b.open, e.actor)
	} else {
		b.open[e.actor] = true
	}
	if len(b.open) == 0 {
		b.closed = len(b.page)
		for a := range b.moved {
			b.upTo[a] = b.have[a]
		}
		clear(b.moved)
	}
	return nil
}

// leftOut reports whether the change, or one it depends on, is not to be sent. Only when something
// is left out at all does this need the dependencies, and so a decoded change.
func (b *pageBuilder) leftOut(e logEntry, c SignedChange) bool {
	if len(b.without) == 0 {
		return false
	}
	if b.without[e.hash] {
		return true
	}
	for _, dep := range changeDeps(c.Raw) {
		if b.without[dep] {
			b.without[e.hash] = true
			return true
		}
	}
	return false
}

func (b *pageBuilder) finish(stopped bool) ([]SignedChange, Vector, bool) {
	return b.page[:b.closed], b.upTo, b.closed > 0 && (stopped || b.closed < len(b.page))
}

// changeDeps reads the dependencies at the front of a stored chunk; the gate has accepted it, so
// its form is known: magic and checksum (8 bytes), type (1), length, count, hashes.
func changeDeps(raw []byte) []ChangeHash {
	skip := func(b []byte) []byte {
		for i, c := range b {
			if c < 0x80 {
				return b[i+1:]
			}
		}
		return nil
	}
	if len(raw) < 9 {
		return nil
	}
	b := skip(raw[9:])
	n, shift := 0, 0
	for i, c := range b {
		n |= int(c&0x7f) << shift
		if shift += 7; c < 0x80 || shift > 21 {
			b = b[i+1:]
			break
		}
	}
	var out []ChangeHash
	for ; n > 0 && len(b) >= 32; n, b = n-1, b[32:] {
		out = append(out, ChangeHash(b))
	}
	return out
}

// signatureAt returns the stored signature of a change, if it has one of its own.
func (r *Repo) signatureAt(ctx context.Context, d *document, a ActorID, seq uint64) ([]byte, error) {
	pos := d.seqs[a]
	if seq == 0 || seq > uint64(len(pos)) {
		return nil, nil
	}
	var sig []byte
	err := r.records(ctx, d, uint64(pos[seq-1]), func(_ uint64, c SignedChange) error {
		sig = slices.Clone(c.Sig)
		return errStopScan
	})
	if err == errStopScan {
		err = nil
	}
	return sig, err
}
