package git

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// nameless stands for a name that is not known yet: a package brings its own, a bare module is checked
// under this one.
const nameless = "nameless"

// Identify finds out what the package of a commit calls itself: it brings what is missing, as
// [Loader.Fetch] does, and returns the manifest. It is nil for a bare module, which has no name.
func (l *Loader) Identify(ctx context.Context, repo, sha string, from loaders.From) (*loaders.Manifest, error) {
	t, err := parseTarget(extension.GitRef(nameless, repo, sha))
	if err != nil {
		return nil, fmt.Errorf("git reference: %w", err)
	}
	t.anyName = true
	if err := l.fetch(ctx, t, from, Options{}); err != nil {
		return nil, fmt.Errorf("fetch git commit %s: %w", sha, err)
	}
	p, _, err := l.load(ctx, t, l.store.from(sha))
	if err != nil {
		return nil, fmt.Errorf("load git commit %s: %w", sha, err)
	}
	if p.Manifest.Synthetic {
		return nil, nil
	}
	return p.Manifest, nil
}
