package git

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Remove drops all that is here of the commit of ref, also for other references to the same commit. It is
// no error if there is nothing.
func (l *Loader) Remove(ctx context.Context, ref extension.Ref) error {
	t, err := parseTarget(ref)
	if err != nil {
		return fmt.Errorf("git reference: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.store.remove(t.sha); err != nil {
		return fmt.Errorf("remove git commit %s: %w", t.sha, err)
	}
	return nil
}

// Swept is what [Loader.Sweep] found.
type Swept struct {
	Commits []string // sorted
	Bytes   int64
}

// Sweep drops the proofs of all commits that no reference in keep names (references of other kinds are
// passed over), and what a crash left behind. With dry it only says what it would drop.
func (l *Loader) Sweep(ctx context.Context, keep []extension.Ref, dry bool) (Swept, error) {
	kept := map[string]bool{}
	for _, ref := range keep {
		if ref.Kind() == extension.Git {
			kept[ref.Field("sha")] = true
		}
	}
	var out Swept
	have, err := l.store.commits()
	if err != nil {
		return out, fmt.Errorf("sweep git commits: %w", err)
	}
	for _, sha := range slices.Sorted(maps.Keys(have)) {
		if kept[sha] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if !dry {
			if err := l.store.remove(sha); err != nil {
				return out, fmt.Errorf("sweep git commit %s: %w", sha, err)
			}
		}
		out.Commits = append(out.Commits, sha)
		out.Bytes += have[sha]
	}
	if dry {
		return out, nil
	}
	if err := l.store.clean(); err != nil {
		return out, fmt.Errorf("sweep git commits: %w", err)
	}
	return out, nil
}
