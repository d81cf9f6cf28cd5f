package engine

import (
	"encoding/binary"
	"slices"
)

// arena is the exchange memory of one call: blocks that guest and host pass to each other by offset.
// Offset 0 is nothing. It is not safe for concurrent use; there is one for each instance.
type arena struct {
	limit  int64
	buf    []byte  // the index is the offset
	blocks []block // in the order of their offsets
}

type block struct {
	at, size uint64
	free     bool
}

const (
	arenaBase = 16 // so that no block has offset 0
	// blockCost is what a block takes of the limit beside its bytes.
	blockCost = 32
	// keepArena is how much an instance keeps between calls.
	keepArena = 256 << 10
)

// reset forgets all blocks.
func (a *arena) reset() {
	if cap(a.buf) > keepArena {
		a.buf = nil
	}
	if cap(a.blocks) > keepArena/blockCost {
		a.blocks = nil
	}
	a.buf, a.blocks = append(a.buf[:0], make([]byte, arenaBase)...), a.blocks[:0]
}

// alloc answers with the offset of a new block of zeros, 0 for an empty one, or false when the limit is
// reached.
func (a *arena) alloc(n uint64) (uint64, bool) {
	if n == 0 {
		return 0, true
	}
	at := uint64(len(a.buf))
	if n > uint64(a.limit) || int64(at+n)+blockCost*int64(len(a.blocks)+1) > a.limit {
		return 0, false
	}
	size := int(n+7) &^ 7 // the next block is aligned
	a.buf = slices.Grow(a.buf, size)[:int(at)+size]
	clear(a.buf[at:])
	a.blocks = append(a.blocks, block{at: at, size: n})
	return at, true
}

// free gives a block back. Its room is used again once everything after it is free too; offsets are
// never given out twice while an older block lives behind them.
func (a *arena) free(at uint64) {
	i, ok := a.find(at)
	if !ok {
		return
	}
	a.blocks[i].free = true
	for n := len(a.blocks); n > 0 && a.blocks[n-1].free; n-- {
		a.buf = a.buf[:a.blocks[n-1].at]
		a.blocks = a.blocks[:n-1]
	}
}

// length is the size of the block that begins at an offset, 0 if none does.
func (a *arena) length(at uint64) uint64 {
	i, ok := a.find(at)
	if !ok || a.blocks[i].free {
		return 0
	}
	return a.blocks[i].size
}

func (a *arena) find(at uint64) (int, bool) {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].at == at { // by far the most asked
		return n - 1, true
	}
	return slices.BinarySearchFunc(a.blocks, at, func(b block, at uint64) int {
		switch {
		case b.at < at:
			return -1
		case b.at > at:
			return 1
		}
		return 0
	})
}

// bytes are n bytes at an offset, or false where the arena does not have them.
func (a *arena) bytes(at, n uint64) ([]byte, bool) {
	size := uint64(len(a.buf))
	if at < arenaBase || at > size || n > size-at {
		return nil, false
	}
	return a.buf[at : at+n], true
}

// block are the bytes of the block that begins at an offset; offset 0 is the empty one.
func (a *arena) block(at uint64) ([]byte, bool) {
	if at == 0 {
		return nil, true
	}
	n := a.length(at)
	if n == 0 {
		return nil, false
	}
	return a.bytes(at, n)
}

// put makes a block of these bytes.
func (a *arena) put(b []byte) (uint64, bool) {
	at, ok := a.alloc(uint64(len(b)))
	if ok && at != 0 {
		copy(a.buf[at:], b)
	}
	return at, ok
}

func (a *arena) loadU64(at uint64) (uint64, bool) {
	b, ok := a.bytes(at, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

func (a *arena) storeU64(at, v uint64) bool {
	b, ok := a.bytes(at, 8)
	if ok {
		binary.LittleEndian.PutUint64(b, v)
	}
	return ok
}
