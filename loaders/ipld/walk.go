package ipld

import (
	"context"
	"errors"
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// source is where a walk finds blocks. get hashes what it returns, or returns what was hashed when it
// came; an error wraps [loaders.ErrMissing] if the block is not there.
type source interface {
	get(c cid.Cid) ([]byte, error)
	stat(c cid.Cid) (size int64, here bool, err error)
}

// walk follows links from one root and counts. It goes on past blocks that are missing, as far as it can
// without them, so that they can be asked for together.
type walk struct {
	ctx context.Context
	src source
	lim Limits

	visits  int       // blocks come to, the same one again counts again
	bytes   int64     // of blocks
	order   []cid.Cid // each block that is here once, depth first
	missing []cid.Cid // each block that is not here once
	why     error     // what the source said of the first of them, if it was asked for its bytes
	seen    map[string]bool
	content int64 // declared bytes of the module or content, once they are known
	quota   int64 // how many bytes of blocks it may come to
}

func newWalk(ctx context.Context, src source, lim Limits, content int64) *walk {
	return &walk{ctx: ctx, src: src, lim: lim, seen: map[string]bool{}, quota: content + lim.Manifest + framing(content)}
}

// errAbsent stops the part of a walk that can't go on without a block; the walk has noted it.
var errAbsent = errors.New("a block is not here")

// visit counts one more block before it is read.
func (w *walk) visit(depth int, where string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.visits++; w.visits > w.lim.Blocks {
		return invalid("%s: more than %d blocks", where, w.lim.Blocks)
	}
	if depth > w.lim.Depth {
		return invalid("%s: %d links below the root, the limit is %d", where, depth, w.lim.Depth)
	}
	return nil
}

// weigh counts the bytes of a block.
func (w *walk) weigh(n int64, where string) error {
	if n > MaxBlock {
		return invalid("%s: a block of %d bytes, the limit is %d", where, n, MaxBlock)
	}
	if w.bytes += n; w.bytes > w.quota {
		return invalid("%s: more than %d bytes of blocks", where, w.quota)
	}
	return nil
}

// block reads one block. It returns errAbsent for one that is not here.
func (w *walk) block(c cid.Cid, depth int, where string) ([]byte, error) {
	if err := w.visit(depth, where); err != nil {
		return nil, err
	}
	data, err := w.src.get(c)
	if errors.Is(err, loaders.ErrMissing) {
		if len(w.missing) == 0 {
			w.why = err
		}
		w.miss(c)
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	w.note(c)
	return data, w.weigh(int64(len(data)), where)
}

// leaf is block for one whose bytes are not wanted: it gives the size alone.
func (w *walk) leaf(c cid.Cid, depth int, where string) (int64, error) {
	if err := w.visit(depth, where); err != nil {
		return 0, err
	}
	size, here, err := w.src.stat(c)
	if err != nil {
		return 0, err
	}
	if !here {
		w.miss(c)
		return 0, errAbsent
	}
	w.note(c)
	return size, w.weigh(size, where)
}

// The key is the CID: one block under two codecs is read in two ways, though it is stored once.
func (w *walk) first(c cid.Cid) bool {
	again := w.seen[c.KeyString()]
	w.seen[c.KeyString()] = true
	return !again
}

func (w *walk) note(c cid.Cid) {
	if w.first(c) {
		w.order = append(w.order, c)
	}
}

func (w *walk) miss(c cid.Cid) {
	if w.first(c) {
		w.missing = append(w.missing, c)
	}
}

// absent is the error for a walk that ended with blocks missing, nil for one that did not.
func (w *walk) absent() error {
	if len(w.missing) == 0 {
		return nil
	}
	why := w.why
	if why == nil {
		why = fmt.Errorf("block %s: %w", short(w.missing[0]), loaders.ErrMissing)
	}
	if n := len(w.missing); n > 1 {
		return fmt.Errorf("%d blocks, the first: %w", n, why)
	}
	return why
}

// texts are CIDs as the exported API has them.
func texts(cids []cid.Cid) []string {
	out := make([]string, len(cids))
	for i, c := range cids {
		out[i] = c.String()
	}
	return out
}
