package ipld

import (
	"context"
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// Peers brings blocks from the peers of one document.
type Peers interface {
	// Blocks asks the peers that read doc for blocks of the package or content under root, at most 1,024
	// at once, and gives each that came to got, which keeps data. It calls got one at a time and not
	// after it returned. An error of got ends the exchange with the peer that sent the block; another
	// may be asked for it. That nobody has a block is no error.
	Blocks(ctx context.Context, doc crdt.DocID, root string, want []string, got func(id string, data []byte) error) error
}

// Config of a [Loader]. Store must be set.
type Config struct {
	Store *Store
	// Peers may be nil: then nothing is fetched.
	Peers Peers
	// CustomSection returns the content of a custom section of a wasm module. nil finds none.
	CustomSection func(wasm []byte, name string) ([]byte, bool)
	// ABI tells the interface of a module from its exports, for modules without any manifest. nil
	// refuses them.
	ABI    func(wasm []byte) (string, error)
	Limits Limits
}

// Loader is the [loaders.Loader] of references by CID, and what else is done with packages in a store.
// Safe for concurrent use.
type Loader struct {
	store   *Store
	peers   Peers
	section func(wasm []byte, name string) ([]byte, bool)
	abi     func(wasm []byte) (string, error)
	lim     Limits
}

var _ loaders.Loader = (*Loader)(nil)

// New makes a loader. It does nothing by itself and needs no end.
func New(c Config) *Loader {
	return &Loader{store: c.Store, peers: c.Peers, section: c.CustomSection, abi: c.ABI, lim: c.Limits.withDefaults()}
}

// Kind is [extension.IPLD].
func (l *Loader) Kind() extension.RefKind { return extension.IPLD }

// Check judges the shape of a reference: its kind, its name, and a CID that passes the gate.
func (l *Loader) Check(ref extension.Ref) error {
	_, err := l.root(ref)
	return err
}

func (l *Loader) root(ref extension.Ref) (cid.Cid, error) {
	if ref.Kind() != extension.IPLD {
		return cid.Undef, invalid("a reference of the kind %q, not %q", ref.Kind(), extension.IPLD)
	}
	if err := extension.CheckName(ref.Name(), ref); err != nil {
		return cid.Undef, invalid("reference: %w", err)
	}
	return parse(ref.Field("cid"))
}

// Load reads the package from the store alone. Every block is hashed again. Errors wrap
// [loaders.ErrMissing] or [loaders.ErrInvalid], or tell of a failure of this machine.
func (l *Loader) Load(ctx context.Context, ref extension.Ref) (*loaders.Package, error) {
	root, err := l.root(ref)
	if err != nil {
		return nil, fmt.Errorf("load extension: %w", err)
	}
	p, err := l.load(l.walk(ctx, l.store), root, ref)
	if err != nil {
		return nil, fmt.Errorf("load extension %s: %w", ref.Name(), err)
	}
	return p, nil
}

func (l *Loader) walk(ctx context.Context, src source) *walk {
	return newWalk(ctx, src, l.lim, l.lim.WASM)
}

// load assembles and judges the package of a reference from what w finds.
func (l *Loader) load(w *walk, root cid.Cid, ref extension.Ref) (*loaders.Package, error) {
	f, err := w.readPackage(root, true)
	if err == nil {
		err = w.absent()
	}
	if err != nil {
		return nil, err
	}
	m := f.manifest
	if m == nil {
		if m, err = l.bareManifest(ref.Name(), f.wasm); err != nil {
			return nil, err
		}
	}
	p := &loaders.Package{Ref: ref, Manifest: m, WASM: f.wasm, Root: root.String()}
	if err := loaders.CheckPackage(p); err != nil {
		return nil, err
	}
	return p, nil
}

// judge is load without a reference to hold the package against: a bare module without a manifest passes.
// f.manifest is set for one that embeds it, too.
func (l *Loader) judge(w *walk, root cid.Cid) (found, error) {
	f, err := w.readPackage(root, true)
	if err == nil {
		err = w.absent()
	}
	if err != nil {
		return found{}, err
	}
	if text, ok := l.embedded(f.wasm); ok && f.manifest == nil {
		if f.manifest, err = embeddedManifest(text, f.wasm); err != nil {
			return found{}, err
		}
	}
	if f.manifest == nil {
		return f, nil
	}
	ref := extension.IPLDRef(f.manifest.Name, root.String())
	return f, loaders.CheckPackage(&loaders.Package{Ref: ref, Manifest: f.manifest, WASM: f.wasm, Root: root.String()})
}
