package ipld

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// Identify finds out what a root calls itself: it brings what is missing, as [Loader.Fetch] does, and
// returns the manifest. It is nil for a module that holds none, which has no name.
func (l *Loader) Identify(ctx context.Context, id string, from loaders.From) (*loaders.Manifest, error) {
	root, err := parse(id)
	if err != nil {
		return nil, fmt.Errorf("identify: %w", err)
	}
	var m *loaders.Manifest
	err = l.fetch(ctx, root, from, l.lim.WASM, func(w *walk) error {
		_, err := w.readPackage(root, false)
		return err
	}, func(w *walk) error {
		f, err := l.judge(w, root)
		m = f.manifest
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("identify %s: %w", short(root), err)
	}
	return m, nil
}
