package ipld

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-unixfsnode/data"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// The names of a manifest in a directory.
const (
	manifestJSON    = "manifest.json"
	manifestDAGJSON = "manifest.dag-json"
)

// found is what a walk of a package came to. With blocks missing it is what could be known without them.
type found struct {
	manifest *loaders.Manifest // nil for a module without a node or directory around it
	module   cid.Cid           // root of the module; undefined if the way to it is missing
	wasm     []byte            // if it was asked for and nothing is missing
}

// readPackage walks the package under root. What is missing it notes in w.missing.
func (w *walk) readPackage(root cid.Cid, keep bool) (found, error) {
	var f found
	var err error
	switch root.Type() {
	case cid.DagCBOR, cid.DagJSON:
		f, err = w.nodePackage(root, keep)
	case cid.Raw:
		f.module = root
		f.wasm, err = w.readFile(root, 0, "module", w.lim.WASM, keep)
	case cid.DagProtobuf:
		f, err = w.pbPackage(root, keep)
	default:
		err = invalid("unsupported codec %s", codecName(root.Type()))
	}
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return f, err
}

// nodePackage reads a manifest node and the module that it links.
func (w *walk) nodePackage(root cid.Cid, keep bool) (found, error) {
	block, err := w.block(root, 0, "manifest")
	if err != nil {
		return found{}, err
	}
	if int64(len(block)) > w.lim.Manifest {
		return found{}, invalid("manifest: %d bytes, the limit is %d", len(block), w.lim.Manifest)
	}
	m, module, err := manifestNode(root.Type(), block, w.lim.Manifest)
	if err != nil {
		return found{}, err
	}
	wasm, err := w.readFile(module, 1, "module", w.lim.WASM, keep)
	return found{m, module, wasm}, err
}

// manifestNode decodes a manifest block and returns it with the link to its module.
func manifestNode(kind uint64, block []byte, limit int64) (*loaders.Manifest, cid.Cid, error) {
	n, err := decodeNode(kind, block)
	if err != nil {
		return nil, cid.Undef, invalid("manifest: not strict %s: %w", codecName(kind), err)
	}
	if _, err := nodeLinks(n, "manifest"); err != nil {
		return nil, cid.Undef, err
	}
	text, err := nodeJSON(n)
	if err != nil {
		return nil, cid.Undef, invalid("manifest: %w", err)
	}
	m, err := parseManifest(text, limit)
	if err != nil {
		return nil, cid.Undef, err
	}
	if m.WASM.CID == "" {
		return nil, cid.Undef, invalid(`manifest: "wasm" is a path; in a node it must be a link`)
	}
	module, err := parse(m.WASM.CID)
	if err != nil {
		return nil, cid.Undef, err
	}
	if t := module.Type(); t != cid.Raw && t != cid.DagProtobuf {
		return nil, cid.Undef, invalid("manifest: the module has the codec %s; it must be raw or dag-pb", codecName(t))
	}
	return m, module, nil
}

func parseManifest(text []byte, limit int64) (*loaders.Manifest, error) {
	return loaders.ParseManifestUpTo(text, int(limit))
}

// pbPackage reads a file that is a module, or a directory.
func (w *walk) pbPackage(root cid.Cid, keep bool) (found, error) {
	block, err := w.block(root, 0, "root")
	if err != nil {
		return found{}, err
	}
	n, err := decodePB(block, "root")
	if err != nil {
		return found{}, err
	}
	switch {
	case n.isFile():
		f := &file{w: w, where: "module", limit: w.lim.WASM, keep: keep}
		err := f.parts(n, 0, unknown)
		return found{module: root, wasm: f.out}, err
	case n.kind == data.Data_Directory:
		return w.dirPackage(n, keep)
	}
	return found{}, invalid("root: %s; a module is a file, a package a node or a plain directory", n.kindName())
}

// dirPackage reads the manifest of a directory and the module that it names, and nothing else.
func (w *walk) dirPackage(dir *pbNode, keep bool) (found, error) {
	entries, err := w.entries(dir, "directory")
	if err != nil {
		return found{}, err
	}
	plain, isPlain := entries[manifestJSON]
	strict, isStrict := entries[manifestDAGJSON]
	if isPlain == isStrict {
		return found{}, invalid("directory: it must hold one of %s and %s", manifestJSON, manifestDAGJSON)
	}
	link := plain
	if isStrict {
		link = strict
	}
	text, err := w.readFile(link, 1, "manifest", w.lim.Manifest, true)
	if err != nil || len(w.missing) > 0 {
		return found{}, err
	}
	if isStrict {
		if text, err = strictJSON(text); err != nil {
			return found{}, err
		}
	}
	m, err := parseManifest(text, w.lim.Manifest)
	if err != nil {
		return found{}, err
	}
	if m.WASM.Path == "" {
		return found{}, invalid(`manifest: "wasm" is a link; in a directory it must be a path`)
	}
	module, depth, err := w.resolve(entries, m.WASM.Path)
	if err != nil {
		return found{manifest: m}, err
	}
	wasm, err := w.readFile(module, depth, "module", w.lim.WASM, keep)
	return found{m, module, wasm}, err
}

func strictJSON(text []byte) ([]byte, error) {
	n, err := decodeJSON(text)
	if err != nil {
		return nil, invalid("manifest: not strict dag-json: %w", err)
	}
	if _, err := nodeLinks(n, "manifest"); err != nil {
		return nil, err
	}
	if text, err = nodeJSON(n); err != nil {
		return nil, invalid("manifest: %w", err)
	}
	return text, nil
}

// entries are the links of a directory by name.
func (w *walk) entries(dir *pbNode, where string) (map[string]cid.Cid, error) {
	if len(dir.links) > w.lim.Entries {
		return nil, invalid("%s: %d entries, the limit is %d", where, len(dir.links), w.lim.Entries)
	}
	out := make(map[string]cid.Cid, len(dir.links))
	for _, l := range dir.links {
		if _, twice := out[l.name]; twice {
			return nil, invalid("%s: two entries have the name %q", where, l.name)
		}
		out[l.name] = l.cid
	}
	return out, nil
}

// resolve goes down a relative path to a file; depth is that of the file's block.
func (w *walk) resolve(entries map[string]cid.Cid, to string) (c cid.Cid, depth int, err error) {
	steps := strings.Split(to, "/")
	if path.Clean(to) != to || path.IsAbs(to) || slices.Contains(steps, "..") || to == "." {
		return cid.Undef, 0, invalid("manifest: %q is not a plain relative path", to)
	}
	for i, name := range steps {
		c, ok := entries[name]
		if !ok {
			return cid.Undef, 0, invalid("manifest: the directory has no %q", path.Join(steps[:i+1]...))
		}
		if i == len(steps)-1 {
			return c, i + 1, nil
		}
		where := fmt.Sprintf("directory %q", path.Join(steps[:i+1]...))
		if c.Type() != cid.DagProtobuf {
			return cid.Undef, 0, invalid("%s: it is a file", where)
		}
		block, err := w.block(c, i+1, where)
		if err != nil {
			return cid.Undef, 0, err
		}
		n, err := decodePB(block, where)
		if err != nil {
			return cid.Undef, 0, err
		}
		if n.kind != data.Data_Directory {
			return cid.Undef, 0, invalid("%s: it is %s", where, n.kindName())
		}
		if entries, err = w.entries(n, where); err != nil {
			return cid.Undef, 0, err
		}
	}
	return cid.Undef, 0, invalid("manifest: an empty path")
}
