package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// atOnce is how many fetches from hosts run at a time; others wait.
const atOnce = 2

// Loader loads references of kind git. Safe for concurrent use; it holds nothing that must be closed.
type Loader struct {
	cfg   Config
	allow hostList
	store *store
	slots chan struct{}
}

var _ loaders.Loader = (*Loader)(nil)

// New returns a loader on the proofs in cfg.Dir.
func New(cfg Config) (*Loader, error) {
	cfg = cfg.withDefaults()
	if cfg.Dir == "" || cfg.ABI == nil {
		return nil, errors.New("open git loader: the folder for proofs and the judge of modules must be given")
	}
	allow, err := newHostList(cfg.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("open git loader: %w", err)
	}
	for _, dir := range cfg.AllowLocal {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("open git loader: the allowed folder %.200q is no absolute path", dir)
		}
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open git loader: %w", err)
	}
	return &Loader{cfg: cfg, allow: allow, store: &store{dir: cfg.Dir}, slots: make(chan struct{}, atOnce)}, nil
}

// Kind implements [loaders.Loader].
func (l *Loader) Kind() extension.RefKind { return extension.Git }

// Check implements [loaders.Loader]: sha is 40 lower-case hex digits; repo is an https (or http) address
// or the absolute path of a folder, without credentials, query or tricks, and at most one fragment
// "#path=FOLDER" or "#wasm=FILE". Whether this peer may contact the place is asked in Fetch.
func (l *Loader) Check(ref extension.Ref) error {
	if _, err := parseTarget(ref); err != nil {
		return fmt.Errorf("git reference: %w", err)
	}
	return nil
}

// Load implements [loaders.Loader]. It reads the proof and follows it from ref's commit again. A file of
// the store that was changed counts as missing; Fetch replaces it.
func (l *Loader) Load(ctx context.Context, ref extension.Ref) (*loaders.Package, error) {
	t, err := parseTarget(ref)
	if err != nil {
		return nil, fmt.Errorf("git reference: %w", err)
	}
	p, _, err := l.load(ctx, t, l.store.from(t.sha))
	if err != nil {
		return nil, fmt.Errorf("load git commit %s: %w", t.sha, err)
	}
	return p, nil
}

// load makes the package of what a source has, all of it verified.
func (l *Loader) load(ctx context.Context, t target, src source) (*loaders.Package, []object, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	pr, err := walk(ctx, src, t, l.cfg.MaxWASM)
	if err != nil {
		return nil, nil, err
	}
	if t.anyName && pr.manifest != nil {
		t.ref = extension.GitRef(pr.manifest.Name, t.ref.Field("repo"), t.sha)
	}
	p := &loaders.Package{Ref: t.ref, Manifest: pr.manifest, WASM: pr.wasm}
	if p.Manifest == nil {
		p.Manifest, err = loaders.SyntheticManifest(t.ref.Name(), pr.wasm, l.cfg.ABI)
		if err != nil && !errors.Is(err, loaders.ErrInvalid) {
			err = invalid("%s: %w", t.wasm, err) // about the module, so it will not pass
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err := loaders.CheckPackage(p); err != nil {
		return nil, nil, err
	}
	return p, pr.objects, nil
}
