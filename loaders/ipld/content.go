package ipld

import (
	"context"
	"fmt"
	"io"
)

// PutBytes keeps what r gives, at most Limits.Content bytes, as a raw block or a UnixFS file with the
// profile [ProfileV1]. The same bytes always get the same CID. If it fails, some blocks may stay until
// [Loader.Keep].
func (l *Loader) PutBytes(ctx context.Context, r io.Reader) (id string, size int64, err error) {
	s, err := ProfileV1.cut()
	if err != nil {
		return "", 0, fmt.Errorf("put content: %w", err)
	}
	batch := &batch{store: l.store}
	b := &builder{cut: s, put: batch.add}
	root, err := b.file(ctx, r, l.lim.Content)
	if err == nil {
		err = batch.flush(ctx)
	}
	if err != nil {
		return "", 0, fmt.Errorf("put content: %w", err)
	}
	return root.cid.String(), root.size, nil
}

// ReadBytes returns the content under id, which must have exactly size bytes. Every block is hashed again.
// Errors wrap [loaders.ErrMissing] or [loaders.ErrInvalid], or tell of a failure of this machine.
func (l *Loader) ReadBytes(ctx context.Context, id string, size int64) ([]byte, error) {
	c, err := parse(id)
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	w := newWalk(ctx, l.store, l.lim, size)
	out, err := w.readContent(c, size, true)
	if err == nil {
		err = w.absent()
	}
	if err != nil {
		return nil, fmt.Errorf("read content %s: %w", short(c), err)
	}
	return out, nil
}

// ContentBlocks are the blocks of content. While inner blocks are missing, what is below them is not
// known and is left out.
type ContentBlocks struct {
	All     []string // the missing ones last
	Missing []string // those that are not here
	Here    int64    // bytes of the blocks that are here
}

// Blocks lists the blocks of content of exactly size bytes. An error wraps [loaders.ErrInvalid], or tells
// of a failure of this machine.
func (l *Loader) Blocks(ctx context.Context, id string, size int64) (ContentBlocks, error) {
	c, err := parse(id)
	if err != nil {
		return ContentBlocks{}, fmt.Errorf("list blocks of content: %w", err)
	}
	w := newWalk(ctx, l.store, l.lim, size)
	if _, err := w.readContent(c, size, false); err != nil {
		return ContentBlocks{}, fmt.Errorf("list blocks of content %s: %w", short(c), err)
	}
	out := ContentBlocks{Missing: texts(w.missing), Here: w.bytes}
	out.All = append(texts(w.order), out.Missing...)
	return out, nil
}

// batchBytes is how much a batch holds before it writes.
const batchBytes = 8 << 20

// batch writes blocks of its own making in groups.
type batch struct {
	store *Store
	held  []verified
	bytes int
}

func (b *batch) add(ctx context.Context, v verified) error {
	b.held = append(b.held, v)
	if b.bytes += len(v.data); b.bytes < batchBytes {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) flush(ctx context.Context) error {
	err := b.store.putAll(ctx, b.held)
	b.held, b.bytes = nil, 0
	return err
}
