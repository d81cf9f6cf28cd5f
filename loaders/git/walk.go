package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// proof is the chain of objects from a commit to the files of one package.
type proof struct {
	objects []object // commit first, each once
	// manifest is nil for a bare module.
	manifest *loaders.Manifest
	wasm     []byte
}

// walker follows the chain. It asks for one object at a time and for none that a verified one does not
// name, so what a source can make this peer read is bounded.
type walker struct {
	src   source
	proof proof
}

// walk reads a package from a source and verifies each object on the way. An error that wraps
// ErrInvalid is about the content of the commit: no other source can do better.
func walk(ctx context.Context, src source, t target, maxWASM int64) (proof, error) {
	w := &walker{src: src}
	commit, err := w.get(ctx, t.sha, commitType, maxCommit)
	if err != nil {
		return proof{}, err
	}
	root, _, err := parseCommit(commit.body)
	if err != nil {
		return proof{}, invalid("commit %s: %w", t.sha, err)
	}
	file := t.wasm
	if file == "" {
		if file, err = w.readManifest(ctx, root, t); err != nil {
			return proof{}, err
		}
	}
	blob, err := w.file(ctx, root, file, maxWASM)
	if err != nil {
		return proof{}, err
	}
	w.proof.wasm = blob
	return w.proof, nil
}

// readManifest returns the path of the module that the manifest names.
func (w *walker) readManifest(ctx context.Context, root string, t target) (string, error) {
	blob, err := w.file(ctx, root, t.manifestPath(), loaders.MaxManifest)
	if err != nil {
		return "", err
	}
	m, err := loaders.ParseManifest(blob)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.manifestPath(), err)
	}
	if m.WASM.Path == "" {
		return "", invalid("%s: wasm is no relative path", t.manifestPath())
	}
	file, err := t.inside(m.WASM.Path)
	if err != nil {
		return "", invalid("%s: wasm: %w", t.manifestPath(), err)
	}
	w.proof.manifest = m
	return file, nil
}

// file reads the blob at a path.
func (w *walker) file(ctx context.Context, root, path string, limit int64) ([]byte, error) {
	tree, names := root, strings.Split(path, "/")
	for i, name := range names {
		o, err := w.get(ctx, tree, treeType, maxTree)
		if err != nil {
			return nil, err
		}
		e, err := findEntry(o.body, name)
		if err == nil {
			err = e.checkMode(i == len(names)-1)
		}
		if err != nil {
			return nil, invalid("%s: %w", strings.Join(names[:i+1], "/"), err)
		}
		tree = e.id
	}
	o, err := w.get(ctx, tree, blobType, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.HasPrefix(o.body, []byte("version https://git-lfs.github.com/spec/")) {
		return nil, invalid("%s: LFS pointer: commit the %s itself", path, suffix(path))
	}
	return o.body, nil
}

func suffix(path string) string {
	if strings.HasSuffix(path, ".wasm") {
		return ".wasm"
	}
	return "file"
}

// get returns one verified object of the wanted type.
func (w *walker) get(ctx context.Context, id, typ string, limit int64) (object, error) {
	for _, o := range w.proof.objects {
		if o.id == id {
			return o, o.check(typ, limit)
		}
	}
	raw, err := w.src.object(ctx, id, limit)
	if err != nil {
		return object{}, fmt.Errorf("%s %s: %w", typ, id, err)
	}
	o, err := verify(id, raw)
	switch {
	case errors.Is(err, errCollision):
		return object{}, invalid("%s %s: %w", typ, id, err)
	case err != nil:
		// The right bytes may come from elsewhere.
		return object{}, fmt.Errorf("%s %s is damaged: %w: %w", typ, id, err, loaders.ErrMissing)
	}
	if err := o.check(typ, limit); err != nil {
		return object{}, err
	}
	w.proof.objects = append(w.proof.objects, o)
	return o, nil
}

func (o object) check(typ string, limit int64) error {
	switch {
	case o.typ != typ && o.typ == tagType:
		return invalid("%s names an annotated tag, not a commit", o.id)
	case o.typ != typ:
		return invalid("%s is a %s, not a %s", o.id, o.typ, typ)
	case int64(len(o.body)) > limit:
		return fmt.Errorf("%s %s: %w", typ, o.id, tooLarge(int64(len(o.body)), limit))
	}
	return nil
}
