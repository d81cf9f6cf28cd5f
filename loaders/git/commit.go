package git

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// CommitFiles makes a bare repository in a new folder with one commit on the branch main, which holds the
// files, by slash-separated path. It returns the commit's hash. It is how a package gets into a repository
// on a machine without git.
func CommitFiles(dir string, files map[string][]byte) (sha string, err error) {
	repo, err := gogit.PlainInit(dir, true)
	if err != nil {
		return "", fmt.Errorf("make repository %s: %w", dir, err)
	}
	tree, err := writeTree(repo.Storer, files)
	if err != nil {
		return "", fmt.Errorf("commit files: %w", err)
	}
	who := gitobject.Signature{Name: "chaz-peer", Email: "chaz-peer@localhost", When: time.Now().UTC()}
	id, err := writeObject(repo.Storer, &gitobject.Commit{Author: who, Committer: who, Message: "package\n", TreeHash: tree})
	if err != nil {
		return "", fmt.Errorf("commit files: %w", err)
	}
	head := plumbing.NewBranchReferenceName("main")
	if err := repo.Storer.SetReference(plumbing.NewHashReference(head, id)); err != nil {
		return "", fmt.Errorf("commit files: %w", err)
	}
	if err := repo.Storer.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, head)); err != nil {
		return "", fmt.Errorf("commit files: %w", err)
	}
	return id.String(), nil
}

// encoder is an object that can be written into a store.
type encoder interface {
	Encode(o plumbing.EncodedObject) error
}

func writeObject(s storer.EncodedObjectStorer, v encoder) (plumbing.Hash, error) {
	o := s.NewEncodedObject()
	if err := v.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.SetEncodedObject(o)
}

// writeTree writes the files as a tree and returns its hash.
func writeTree(s storer.EncodedObjectStorer, files map[string][]byte) (plumbing.Hash, error) {
	below := map[string]map[string][]byte{}
	var t gitobject.Tree
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := checkPath(name); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%.80q: %w", path.Clean(name), err)
		}
		if dir, rest, ok := strings.Cut(name, "/"); ok {
			if below[dir] == nil {
				below[dir] = map[string][]byte{}
			}
			below[dir][rest] = files[name]
			continue
		}
		id, err := writeBlob(s, files[name])
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, gitobject.TreeEntry{Name: name, Mode: filemode.Regular, Hash: id})
	}
	for dir, inside := range below {
		id, err := writeTree(s, inside)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, gitobject.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: id})
	}
	slices.SortFunc(t.Entries, func(a, b gitobject.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return writeObject(s, &t)
}

// sortName is what git orders the entries of a tree by.
func sortName(e gitobject.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func writeBlob(s storer.EncodedObjectStorer, b []byte) (id plumbing.Hash, err error) {
	o := s.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return id, err
	}
	if _, err := w.Write(b); err != nil {
		return id, err
	}
	if err := w.Close(); err != nil {
		return id, err
	}
	return s.SetEncodedObject(o)
}
