package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// allowsLocal compares names only: a folder that nobody named is not even looked at.
func (l *Loader) allowsLocal(path string) bool {
	for _, dir := range l.cfg.AllowLocal {
		if within(filepath.Clean(dir), path) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or below it; both are clean.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// local is a repository in a folder, read as files: its configuration, hooks and work tree are not.
type local struct {
	path string
	objs *filesystem.Storage
}

// openLocal opens the folder. Links on the way must not lead out of what is allowed, unless a person
// named this very path.
func (l *Loader) openLocal(path string, named bool) (*local, error) {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(path))
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w: %w", path, plainPathError(err), loaders.ErrMissing)
	}
	if !named && !l.reallyAllows(real) {
		return nil, fmt.Errorf("open repository %s: it leads out of the folders that this peer may read: %w", path, loaders.ErrMissing)
	}
	for _, dir := range []string{filepath.Join(real, ".git"), real} {
		if isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs")) {
			fs := osfs.New(dir, osfs.WithBoundOS())
			return &local{path: path, objs: filesystem.NewStorage(fs, cache.NewObjectLRU(8*cache.MiByte))}, nil
		}
	}
	return nil, fmt.Errorf("open repository %s: there is none (a linked work tree is not one): %w", path, loaders.ErrMissing)
}

func (l *Loader) reallyAllows(real string) bool {
	for _, dir := range l.cfg.AllowLocal {
		if d, err := filepath.EvalSymlinks(dir); err == nil && within(d, real) {
			return true
		}
	}
	return false
}

func plainPathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// isDir reports whether path is a folder itself, not a link to one.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func (r *local) close() {}

func (r *local) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("read %s: %w", r.path, err)
}

func (r *local) find(ctx context.Context, sha string, anyway bool) (string, error) {
	refs, err := r.objs.IterReferences()
	if err != nil {
		return "", fmt.Errorf("list branches and tags: %w", err)
	}
	defer refs.Close()
	want, seen := plumbing.NewHash(sha), map[plumbing.Hash]bool{}
	for {
		ref, err := refs.Next()
		switch {
		case errors.Is(err, io.EOF) && anyway:
			return "", nil
		case errors.Is(err, io.EOF):
			return "", unreachable()
		case err != nil:
			return "", fmt.Errorf("list branches and tags: %w", err)
		case ref.Type() != plumbing.HashReference || !branchOrTag(ref.Name().String()):
			continue
		}
		parents := func(h plumbing.Hash) []plumbing.Hash {
			var ids []plumbing.Hash
			if err == nil {
				ids, err = r.links(ctx, h)
			}
			return ids
		}
		found := reaches(ref.Hash(), want, seen, parents)
		switch {
		case err != nil:
			return "", fmt.Errorf("search %.200s: %w", ref.Name(), err)
		case found:
			return ref.Name().String(), nil
		}
	}
}

// links returns the parents of a commit, or what a tag names. What is not here (a shallow clone) or is
// neither has none.
func (r *local) links(ctx context.Context, h plumbing.Hash) (ids []plumbing.Hash, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := r.object(ctx, h.String(), maxCommit)
	if errors.Is(err, loaders.ErrMissing) || errors.Is(err, loaders.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := verify(h.String(), raw)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	var parents []string
	switch o.typ {
	case commitType:
		_, parents, err = parseCommit(o.body)
	case tagType:
		parents = make([]string, 1)
		parents[0], err = parseTag(o.body)
	}
	for _, id := range parents {
		ids = append(ids, plumbing.NewHash(id))
	}
	return ids, err
}

// object implements [source].
func (r *local) object(_ context.Context, id string, limit int64) ([]byte, error) {
	h := plumbing.NewHash(id)
	size, err := r.objs.EncodedObjectSize(h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, missing("not in the repository")
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if size > limit {
		return nil, tooLarge(size, limit)
	}
	o, err := r.objs.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	in, err := o.Reader()
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	defer in.Close()
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return encode(o.Type().String(), body), nil
}
