package ipld

import (
	"context"
	"fmt"

	"github.com/ipfs/go-cid"
)

// Closure returns the blocks under root that a load reads, each once, depth first: of a package, or of
// content that is a file. It reads inner blocks and looks only for the size of the leaves. If blocks are
// missing, it returns those that are here and an error that wraps [loaders.ErrMissing].
func (l *Loader) Closure(ctx context.Context, root string) ([]string, error) {
	c, err := parse(root)
	if err != nil {
		return nil, fmt.Errorf("walk blocks: %w", err)
	}
	w, err := l.shape(ctx, l.store, c)
	if err == nil {
		err = w.absent()
	}
	if err != nil {
		err = fmt.Errorf("walk blocks of %s: %w", short(c), err)
	}
	return texts(w.order), err
}

// shape walks root without keeping bytes.
func (l *Loader) shape(ctx context.Context, src source, root cid.Cid) (*walk, error) {
	if root.Type() != cid.DagProtobuf {
		w := l.walk(ctx, src)
		_, err := w.readPackage(root, false)
		return w, err
	}
	// A file may be content, which may be larger than a module.
	lim := l.lim
	lim.WASM = max(lim.WASM, lim.Content)
	w := newWalk(ctx, src, lim, lim.WASM)
	_, err := w.readPackage(root, false)
	return w, err
}
