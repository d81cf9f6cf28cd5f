package ipld

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// manifestGit is the name of a manifest in a git tree, which a folder may have too.
const manifestGit = "chaz-extension.json"

// PackOptions say how [Loader.Pack] makes a package.
type PackOptions struct {
	// Profile cuts the module. With another than [ProfilePlain] the root is what `ipfs add` (of a file)
	// or `ipfs add -r` (of a folder) gives for that profile.
	Profile Profile
	// Manifest is the JSON of a manifest for a single wasm file; empty is none. "wasm" is left out of it.
	Manifest []byte
}

// Packed is a package that was made.
type Packed struct {
	Root   string // the CID of the package
	Module string // the CID of the module
	SHA256 string // of the module, in hex
	Size   int64  // of the module
	// Blocks and Bytes are those of the package.
	Blocks int
	Bytes  int64
	// Manifest is nil for a module that holds none.
	Manifest *loaders.Manifest
}

// Pack makes a package of what is at path and keeps its blocks:
//
//   - a wasm file: the module alone, with the manifest embedded in it, if there is one;
//   - a wasm file and Options.Manifest: a dag-cbor manifest node that links the module;
//   - a folder with manifest.json, manifest.dag-json or chaz-extension.json, and the module that it
//     names: the same.
//
// wasm_size and wasm_sha256 are filled in where they are absent; wrong ones are an error. The same files
// always give the same CIDs. Nothing is kept unless the package would load.
func (l *Loader) Pack(ctx context.Context, path string, opt PackOptions) (Packed, error) {
	s, err := opt.Profile.cut()
	if err != nil {
		return Packed{}, fmt.Errorf("pack %s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Packed{}, fmt.Errorf("pack: %w", err)
	}
	p := &packer{loader: l, opt: opt}
	p.builder = builder{cut: s, put: p.hold}
	switch {
	case !info.IsDir():
		err = p.single(ctx, path)
	case len(opt.Manifest) > 0:
		err = errors.New("a folder has its own manifest")
	case opt.Profile == ProfilePlain:
		err = p.folder(ctx, path)
	default:
		err = p.tree(ctx, path)
	}
	if err == nil {
		err = p.finish(ctx)
	}
	if err != nil {
		return Packed{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return p.done, nil
}

// packer makes one package. It holds all its blocks until they are judged.
type packer struct {
	builder
	loader *Loader
	opt    PackOptions
	held   []verified
	root   verified // of the package
	done   Packed
}

func (p *packer) hold(_ context.Context, b verified) error {
	p.held = append(p.held, b)
	p.root = b
	return nil
}

// single packs one wasm file.
func (p *packer) single(ctx context.Context, path string) error {
	wasm, err := readUpTo(os.DirFS(filepath.Dir(path)), filepath.Base(path), p.loader.lim.WASM)
	if err != nil {
		return err
	}
	module, err := p.module(ctx, wasm)
	if err != nil {
		return err
	}
	if len(p.opt.Manifest) > 0 {
		return p.node(ctx, p.opt.Manifest, wasm, module)
	}
	return nil
}

// module cuts the wasm bytes.
func (p *packer) module(ctx context.Context, wasm []byte) (part, error) {
	if len(wasm) == 0 {
		return part{}, errors.New("the module is empty")
	}
	return p.file(ctx, bytes.NewReader(wasm), p.loader.lim.WASM)
}

// finish walks the package as another peer would, and keeps what the walk read.
func (p *packer) finish(ctx context.Context) error {
	held := memory{}
	for _, b := range p.held {
		held[string(b.cid.Hash())] = b
	}
	w := p.loader.walk(ctx, held)
	f, err := p.loader.judge(w, p.root.cid)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(f.wasm)
	p.done = Packed{
		Root: p.root.cid.String(), Module: f.module.String(), SHA256: hex.EncodeToString(sum[:]),
		Size: int64(len(f.wasm)), Blocks: len(w.order), Manifest: f.manifest,
	}
	keep := make([]verified, len(w.order))
	for i, c := range w.order {
		keep[i] = held[string(c.Hash())]
		p.done.Bytes += int64(len(keep[i].data))
	}
	return p.loader.store.putAll(ctx, keep)
}
