package ipld

import (
	"context"
	"errors"
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// maxWant is how many blocks Peers is asked for at once.
const maxWant = 1024

// Fetch brings the blocks of the package here that are missing, from the peers of from.Doc alone. The
// package is assembled and judged in memory and only then written: of one that is invalid nothing stays.
// If nobody has some blocks, those that came and belong to it stay, and the error wraps
// [loaders.ErrMissing].
func (l *Loader) Fetch(ctx context.Context, ref extension.Ref, from loaders.From) error {
	root, err := l.root(ref)
	if err != nil {
		return fmt.Errorf("fetch extension: %w", err)
	}
	err = l.fetch(ctx, root, from, l.lim.WASM, func(w *walk) error {
		_, err := w.readPackage(root, false)
		return err
	}, func(w *walk) error {
		_, err := l.load(w, root, ref)
		return err
	})
	if err != nil {
		return fmt.Errorf("fetch extension %s: %w", ref.Name(), err)
	}
	return nil
}

// FetchContent brings the blocks of content of exactly size bytes here that are missing, as [Loader.Fetch]
// does. Content that turns out to have another size is invalid as soon as its root is here.
func (l *Loader) FetchContent(ctx context.Context, id string, size int64, from loaders.From) error {
	root, err := parse(id)
	if err != nil {
		return fmt.Errorf("fetch content: %w", err)
	}
	step := func(w *walk) error {
		_, err := w.readContent(root, size, false)
		return err
	}
	if err := l.fetch(ctx, root, from, size, step, step); err != nil {
		return fmt.Errorf("fetch content %s: %w", short(root), err)
	}
	return nil
}

// fetch asks for what a walk misses until it misses nothing. shape walks without the bytes of leaves,
// judge walks for good.
func (l *Loader) fetch(ctx context.Context, root cid.Cid, from loaders.From, size int64, shape, judge func(*walk) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.lim.FetchTime)
	defer cancel()
	c := &cargo{base: l.store, held: map[string]verified{}, stage: l.store.stage(), progress: from.Progress}
	err := l.complete(ctx, c, root, from, size, shape, judge)
	// What is kept is checked and belongs to the root, also if something failed: the next try goes on
	// from there. Of what is invalid nothing stays.
	return errors.Join(err, c.end(!errors.Is(err, loaders.ErrInvalid)))
}

func (l *Loader) complete(ctx context.Context, c *cargo, root cid.Cid, from loaders.From, size int64, shape, judge func(*walk) error) error {
	// Each round gets at least one level further; a block that rotted in the store costs one more.
	for range 2 * (l.lim.Depth + 2) {
		w := newWalk(ctx, c, l.lim, size)
		if err := shape(w); err != nil {
			return err
		}
		if len(w.missing) == 0 {
			w = newWalk(ctx, c, l.lim, size)
			if err := judge(w); !errors.Is(err, loaders.ErrMissing) {
				return err
			}
		}
		if err := l.ask(ctx, c, root, from, w); err != nil {
			return err
		}
	}
	return fmt.Errorf("the blocks of %s keep going: %w", short(root), loaders.ErrMissing)
}

// ask gets at least one of the blocks that w misses, or fails.
func (l *Loader) ask(ctx context.Context, c *cargo, root cid.Cid, from loaders.From, w *walk) error {
	if l.peers == nil {
		return w.absent()
	}
	c.expect(w)
	before := c.count()
	var failed error
	for want := w.missing; len(want) > 0 && c.full() == nil && ctx.Err() == nil; {
		n := min(len(want), maxWant)
		failed = errors.Join(failed, l.peers.Blocks(ctx, from.Doc, root.String(), texts(want[:n]), c.take))
		want = want[n:]
	}
	switch {
	case c.full() != nil:
		return c.full()
	case c.count() > before:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the time for it is over: %w", w.absent())
	case ctx.Err() != nil:
		return ctx.Err()
	}
	// What a peer did wrong says nothing about the content: another may have it.
	if failed = errors.Join(failed, c.wrong()); failed != nil {
		return fmt.Errorf("no peer that was asked gave it (%v): %w", failed, w.absent())
	}
	return fmt.Errorf("no peer that was asked has it: %w", w.absent())
}
