package ipld

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-unixfsnode/data"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/fluent/qp"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// folder packs a folder as a manifest node. It reads the manifest and the module, inside the folder only.
func (p *packer) folder(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := manifestName(root.FS())
	if err != nil {
		return err
	}
	text, err := readUpTo(root.FS(), name, p.loader.lim.Manifest)
	if err != nil {
		return err
	}
	var fields struct {
		WASM string `json:"wasm"`
	}
	if err := json.Unmarshal(text, &fields); err != nil || fields.WASM == "" {
		return fmt.Errorf(`%s: "wasm" must be the path of the module`, name)
	}
	if !fs.ValidPath(fields.WASM) {
		return fmt.Errorf("%s: %q is not a plain relative path", name, fields.WASM)
	}
	wasm, err := readUpTo(root.FS(), fields.WASM, p.loader.lim.WASM)
	if err != nil {
		return err
	}
	module, err := p.module(ctx, wasm)
	if err != nil {
		return err
	}
	return p.node(ctx, text, wasm, module)
}

func manifestName(dir fs.FS) (string, error) {
	var have []string
	for _, name := range []string{manifestJSON, manifestDAGJSON, manifestGit} {
		if _, err := fs.Stat(dir, name); err == nil {
			have = append(have, name)
		}
	}
	switch len(have) {
	case 0:
		return "", fmt.Errorf("the folder has no %s", manifestJSON)
	case 1:
		return have[0], nil
	}
	return "", fmt.Errorf("the folder has more than one manifest: %s", strings.Join(have, ", "))
}

// node makes the manifest node from the JSON of a manifest.
func (p *packer) node(ctx context.Context, text, wasm []byte, module part) error {
	n, err := decodeJSON(text)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if n.Kind() != datamodel.Kind_Map {
		return errors.New("manifest: not a JSON object")
	}
	sum := sha256.Sum256(wasm)
	if err := agree(n, int64(len(wasm)), hex.EncodeToString(sum[:])); err != nil {
		return err
	}
	n, err = qp.BuildMap(basicnode.Prototype.Map, -1, func(m datamodel.MapAssembler) {
		for it := n.MapIterator(); !it.Done(); {
			k, v, err := it.Next()
			if err != nil {
				panic(err) // qp returns it
			}
			key, err := k.AsString()
			if err != nil {
				panic(err)
			}
			if key != "wasm" && key != "wasm_size" && key != "wasm_sha256" {
				qp.MapEntry(m, key, qp.Node(v))
			}
		}
		qp.MapEntry(m, "wasm", qp.Link(cidlink.Link{Cid: module.cid}))
		qp.MapEntry(m, "wasm_size", qp.Int(int64(len(wasm))))
		qp.MapEntry(m, "wasm_sha256", qp.Bytes(sum[:]))
	})
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	block, err := encodeCBOR(n)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return p.hold(ctx, verified{cidOf(cid.DagCBOR, block), block})
}

// agree refuses a manifest whose size or hash is that of another module.
func agree(n datamodel.Node, size int64, sum string) error {
	if v, err := n.LookupByString("wasm_size"); err == nil {
		if said, err := v.AsInt(); err != nil || said != size {
			return fmt.Errorf("manifest: wasm_size is not that of the module, %d", size)
		}
	}
	v, err := n.LookupByString("wasm_sha256")
	if err != nil {
		return nil // absent
	}
	said, err := v.AsString()
	if raw, notBytes := v.AsBytes(); notBytes == nil {
		said, err = hex.EncodeToString(raw), nil
	}
	if err != nil || !strings.EqualFold(said, sum) {
		return fmt.Errorf("manifest: wasm_sha256 is not that of the module, %s", sum)
	}
	return nil
}

// tree packs a folder as it is, as `ipfs add -r` does: without hidden files.
func (p *packer) tree(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := p.directory(ctx, root.FS(), ".", 0); err != nil {
		return err
	}
	return nil
}

func (p *packer) directory(ctx context.Context, dir fs.FS, name string, depth int) (part, error) {
	if depth > p.loader.lim.Depth {
		return part{}, fmt.Errorf("%s: too deep", name)
	}
	entries, err := fs.ReadDir(dir, name)
	if err != nil {
		return part{}, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if len(entries) > p.loader.lim.Entries {
		return part{}, fmt.Errorf("%s: %d entries, the limit is %d", name, len(entries), p.loader.lim.Entries)
	}
	var names []string
	var parts []part
	var below int64
	for _, e := range entries {
		child, err := p.entry(ctx, dir, path.Join(name, e.Name()), e, depth)
		if err != nil {
			return part{}, err
		}
		names = append(names, e.Name())
		parts = append(parts, child)
		below += child.tree
	}
	block, err := encodePB(dirData(), names, parts)
	if err != nil {
		return part{}, err
	}
	return p.keep(ctx, cid.DagProtobuf, block, 0, below)
}

func (p *packer) entry(ctx context.Context, dir fs.FS, name string, e fs.DirEntry, depth int) (part, error) {
	switch {
	case e.IsDir():
		return p.directory(ctx, dir, name, depth+1)
	case !e.Type().IsRegular():
		return part{}, fmt.Errorf("%s: neither a file nor a folder", name)
	}
	content, err := readUpTo(dir, name, p.loader.lim.WASM)
	if err != nil {
		return part{}, err
	}
	return p.file(ctx, bytes.NewReader(content), p.loader.lim.WASM)
}

// dirData is the UnixFS data of a directory.
func dirData() []byte { return []byte{0x08, byte(data.Data_Directory)} }

func readUpTo(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return out, err
}
