package ipld

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// KeepOptions of [Loader.Keep].
type KeepOptions struct {
	// Delete removes what is listed; without it Keep only lists.
	Delete bool
	// Before, if set, lists only blocks that were last put before it: what is being fetched or packed
	// now may have no root yet.
	Before time.Time
}

// Swept is what no root reaches.
type Swept struct {
	Blocks []Stored // in the order of List
	Bytes  int64
	// Broken maps roots that lead to no package or content to why. Of such a root the blocks are kept
	// that were read before the fault.
	Broken map[string]string
	// Kept counts blocks that stay.
	Kept int
}

// Keep lists the blocks that none of the roots reaches, and deletes them if it is told to. roots are all
// CIDs of packages and content that anything still names. A root whose blocks are missing in part keeps
// the others. It fails without deleting if it can't read the store.
func (l *Loader) Keep(ctx context.Context, roots []string, opt KeepOptions) (Swept, error) {
	out := Swept{Broken: map[string]string{}}
	reached := map[string]bool{}
	for _, root := range roots {
		if err := l.mark(ctx, root, reached, out.Broken); err != nil {
			return Swept{}, fmt.Errorf("look for unused blocks: %w", err)
		}
	}
	list, err := l.store.List()
	if err != nil {
		return Swept{}, fmt.Errorf("look for unused blocks: %w", err)
	}
	for _, b := range list {
		if reached[b.ID] || !opt.Before.IsZero() && !b.Put.Before(opt.Before) {
			out.Kept++
			continue
		}
		out.Blocks = append(out.Blocks, b)
		out.Bytes += b.Size
	}
	if !opt.Delete {
		return out, nil
	}
	for _, b := range out.Blocks {
		if err := l.store.Delete(b.ID); err != nil {
			return out, fmt.Errorf("delete unused blocks: %w", err)
		}
	}
	return out, nil
}

// mark adds the blocks under root to reached, under the ids that List gives.
func (l *Loader) mark(ctx context.Context, root string, reached map[string]bool, broken map[string]string) error {
	c, err := parse(root)
	if err != nil {
		broken[root] = err.Error()
		return nil
	}
	w, err := l.shape(ctx, l.store, c)
	if errors.Is(err, loaders.ErrInvalid) {
		broken[root] = err.Error()
	} else if err != nil {
		return err
	}
	reached[rawID(c)] = true
	for _, b := range w.order {
		reached[rawID(b)] = true
	}
	return nil
}
