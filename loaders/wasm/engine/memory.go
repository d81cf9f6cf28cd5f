package engine

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// linear is the memory of one instance. The runtime has one limit for everything it runs; here each
// instance has its own, and knows afterwards that it was met. The address range is taken whole and given
// back whole, so that growing never copies, pages that were never touched cost nothing, and what a
// closed instance had is free at once, without the garbage collector.
type linear struct {
	limit uint64
	buf   []byte // the range, as long as it may ever be
	full  bool   // the limit stopped it from growing
}

// Allocate is for [experimental.MemoryAllocator]; a module has one memory at most.
func (l *linear) Allocate(_, most uint64) experimental.LinearMemory {
	l.Free()
	l.buf = reserve(int(min(most, l.limit)))
	return l
}

// Reallocate returns nil where the guest may not have as much: its memory.grow then answers -1.
func (l *linear) Reallocate(size uint64) []byte {
	if size > uint64(len(l.buf)) {
		l.full = l.full || size > l.limit
		return nil
	}
	return l.buf[:size:size]
}

// Free gives the range back. Nothing of the instance may run any more.
func (l *linear) Free() {
	release(l.buf)
	l.buf = nil
}

// withMemory makes a context in which instances get their memory from l.
func withMemory(ctx context.Context, l *linear) context.Context {
	return experimental.WithMemoryAllocator(ctx, l)
}
