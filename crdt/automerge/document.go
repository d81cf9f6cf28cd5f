package automerge

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
)

var errClosed = errors.New("the document is closed")

// document implements [crdt.CoreDoc]. The lock turns a use from two goroutines, or after Close,
// into waiting, an error or a panic with words; without it that would be damaged C memory.
type document struct {
	core *Core

	mu     sync.Mutex
	closed bool
	handle handle
}

// Apply implements [crdt.CoreDoc]. On error the document is as it was: bytes that are not the
// change, and changes whose dependencies are missing, do not reach the core, which would keep the
// latter aside and let them appear later. Errors are *[ChangeError]; a change that is there already
// is no error.
func (d *document) Apply(hash crdt.ChangeHash, raw []byte) error {
	return d.ApplyPage(func(yield func(crdt.ChangeHash, []byte) bool) { yield(hash, raw) })
}

// ApplyPage implements [crdt.CoreDoc]. The error is a *[ChangeError] that names the first change
// that was not taken; those before it are in the document. A chunk's bytes need to be valid only
// until the sequence goes on; the sequence must not use the document.
func (d *document) ApplyPage(chunks iter.Seq2[crdt.ChangeHash, []byte]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("apply changes: %w", errClosed)
	}
	if err := feed(d.handle, chunks); err != nil {
		return fmt.Errorf("apply changes: %w", err)
	}
	return nil
}

// Heads implements [crdt.CoreDoc]; it panics after Close.
func (d *document) Heads() []crdt.ChangeHash {
	heads := use(d, "read heads", handle.heads)
	slices.SortFunc(heads, func(a, b crdt.ChangeHash) int { return bytes.Compare(a[:], b[:]) })
	return heads
}

// Save implements [crdt.CoreDoc]; it panics after Close.
func (d *document) Save() []byte { return use(d, "save", handle.save) }

// Close implements [crdt.CoreDoc]. A second Close does nothing.
func (d *document) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	d.handle.free()
	d.handle = handle{}
	d.core.open.Add(-1)
}

// use runs a reading call that can only fail by a mistake in this program: use after Close, or a
// core that answers with another type than its interface says.
func use[T any](d *document, what string, read func(handle) (T, error)) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		panic(fmt.Errorf("automerge: %s: %w", what, errClosed))
	}
	v, err := read(d.handle)
	if err != nil {
		panic(fmt.Errorf("automerge: %s: %w", what, err))
	}
	return v
}
