package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// Documents is where package documents are.
type Documents interface {
	// View reads a document; one that is not here is an error that wraps [crdt.ErrUnknownDoc].
	View(ctx context.Context, id crdt.DocID, fn func(*crdt.View) error) error
	// Obtain asks peers of the document via for doc, and waits until it is here and as new as theirs.
	// Nobody having it is an error that wraps [loaders.ErrMissing].
	Obtain(ctx context.Context, doc, via crdt.DocID) error
}

// Content loads packages by CID; the loader of such references is one.
type Content interface {
	Check(ref extension.Ref) error
	Load(ctx context.Context, ref extension.Ref) (*loaders.Package, error)
	Fetch(ctx context.Context, ref extension.Ref, from loaders.From) error
	Identify(ctx context.Context, cid string, from loaders.From) (*loaders.Manifest, error)
}

// Loader loads references of kind [extension.Eidetica]: name, db_id (a package document) and version. It
// keeps nothing and is safe for concurrent use.
type Loader struct {
	docs    Documents
	content Content
}

var _ loaders.Loader = (*Loader)(nil)

// New returns a loader that reads releases from docs and their packages from content.
func New(docs Documents, content Content) *Loader { return &Loader{docs, content} }

// Kind implements [loaders.Loader].
func (l *Loader) Kind() extension.RefKind { return extension.Eidetica }

// Check implements [loaders.Loader].
func (l *Loader) Check(ref extension.Ref) error {
	_, err := place(ref)
	return err
}

// place reads the document's id out of a reference and judges the rest.
func place(ref extension.Ref) (crdt.DocID, error) {
	doc, err := crdt.ParseDocID(ref.Field("db_id"))
	if ref.Kind() != extension.Eidetica {
		err = fmt.Errorf("the reference is of kind %.40q", string(ref.Kind()))
	}
	if err == nil {
		err = CheckVersion(ref.Version())
	}
	if err == nil {
		err = extension.CheckName(ref.Name(), ref)
	}
	if err != nil {
		return doc, fmt.Errorf("check registry reference: %w: %w", loaders.ErrInvalid, err)
	}
	return doc, nil
}

// Load implements [loaders.Loader].
func (l *Loader) Load(ctx context.Context, ref extension.Ref) (*loaders.Package, error) {
	doc, err := place(ref)
	if err != nil {
		return nil, err
	}
	r, err := l.release(ctx, doc, ref.Version())
	if err != nil {
		return nil, fmt.Errorf("load release: %w", err)
	}
	byCID, err := l.inner(ref.Name(), r)
	if err != nil {
		return nil, fmt.Errorf("load release: %w", err)
	}
	p, err := l.content.Load(ctx, byCID)
	if err != nil {
		return nil, fmt.Errorf("load release %s: %w", r.Version, err)
	}
	out := *p
	out.Ref, out.Yanked = ref, r.Yanked
	if r.SHA256 != "" && out.SHA256() != r.SHA256 {
		return nil, fmt.Errorf("load release %s: %w: the module's sha256 is not the published one", r.Version, loaders.ErrInvalid)
	}
	return &out, loaders.CheckPackage(&out)
}

// inner is the reference by CID to what a release names.
func (l *Loader) inner(name string, r Release) (extension.Ref, error) {
	ref := extension.IPLDRef(name, r.CID)
	return ref, l.content.Check(ref)
}

// release reads the release of a version.
func (l *Loader) release(ctx context.Context, doc crdt.DocID, version string) (r Release, err error) {
	err = l.docs.View(ctx, doc, func(v *crdt.View) error {
		if v.Kind() != crdt.Package {
			return fmt.Errorf("%w: the document %s is a %s, not a package", loaders.ErrInvalid, doc.Short(), v.Kind())
		}
		var there bool
		r, there, err = Find(v, version)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", loaders.ErrInvalid, err)
		case !there:
			return fmt.Errorf("%w: version %s is not among the releases that are here", loaders.ErrMissing, version)
		}
		return nil
	})
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return r, fmt.Errorf("%w: the package document %s", loaders.ErrMissing, doc.Short())
	}
	return r, err
}

// Fetch implements [loaders.Loader]: the package document if it or the version is not here, then the
// package, from peers of the session and then from peers of the package document.
func (l *Loader) Fetch(ctx context.Context, ref extension.Ref, from loaders.From) error {
	doc, err := place(ref)
	if err != nil {
		return err
	}
	r, err := l.obtain(ctx, doc, ref.Version(), from)
	if err != nil {
		return err
	}
	byCID, err := l.inner(ref.Name(), r)
	if err != nil {
		return fmt.Errorf("fetch release: %w", err)
	}
	err = l.content.Fetch(ctx, byCID, from)
	if errors.Is(err, loaders.ErrMissing) && from.Doc != doc && ctx.Err() == nil {
		from.Doc = doc
		err = l.content.Fetch(ctx, byCID, from)
	}
	if err != nil {
		return fmt.Errorf("fetch release %s: %w", r.Version, err)
	}
	return nil
}

// Identify finds out what the package of a release calls itself: it brings what is missing, as
// [Loader.Fetch] does, and returns the manifest. It is nil for a bare module, which has no name.
func (l *Loader) Identify(ctx context.Context, doc crdt.DocID, version string, from loaders.From) (*loaders.Manifest, error) {
	r, err := l.obtain(ctx, doc, version, from)
	if err != nil {
		return nil, err
	}
	m, err := l.content.Identify(ctx, r.CID, from)
	if errors.Is(err, loaders.ErrMissing) && from.Doc != doc && ctx.Err() == nil {
		from.Doc = doc
		m, err = l.content.Identify(ctx, r.CID, from)
	}
	if err != nil {
		return nil, fmt.Errorf("identify release %s: %w", version, err)
	}
	return m, nil
}

// obtain reads a release, after asking for the document if it or the version is not here.
func (l *Loader) obtain(ctx context.Context, doc crdt.DocID, version string, from loaders.From) (Release, error) {
	r, err := l.release(ctx, doc, version)
	if errors.Is(err, loaders.ErrMissing) {
		if err := l.docs.Obtain(ctx, doc, from.Doc); err != nil {
			return r, fmt.Errorf("fetch package document %s: %w", doc.Short(), err)
		}
		r, err = l.release(ctx, doc, version)
	}
	if err != nil {
		return r, fmt.Errorf("fetch release: %w", err)
	}
	return r, nil
}
