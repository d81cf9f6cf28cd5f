package ipld

import (
	"context"
	"fmt"
	"io"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// Imported says what a CAR file held.
type Imported struct {
	Root   string
	Blocks int   // that were kept
	Bytes  int64 // of those
	// Unread counts blocks below the root that a load does not read, such as other files of a
	// directory. They were not kept.
	Unread int
	// Manifest is nil for a module that holds none.
	Manifest *loaders.Manifest
}

// Import reads a CAR file with one package and keeps its blocks. The file must have exactly one root, all
// blocks of its package and none that the root does not reach, and the package must pass every check of a
// load but that of its name. Nothing is kept on failure. What was imported is not trusted by that.
// Errors wrap [loaders.ErrInvalid], or tell of r or of a failure of this machine.
func (l *Loader) Import(ctx context.Context, r io.Reader) (Imported, error) {
	in, err := l.importCAR(ctx, r)
	if err != nil {
		return Imported{}, fmt.Errorf("import CAR: %w", err)
	}
	return in, nil
}

func (l *Loader) importCAR(ctx context.Context, r io.Reader) (Imported, error) {
	a, err := l.readCAR(ctx, r)
	if err != nil {
		return Imported{}, err
	}
	if err := l.reachable(a); err != nil {
		return Imported{}, err
	}
	w := l.walk(ctx, a.blocks)
	f, err := w.readPackage(a.root, false)
	if err != nil {
		return Imported{}, err
	}
	if n := len(w.missing); n > 0 {
		return Imported{}, invalid("%d blocks of the package are not in the file, the first %s", n, short(w.missing[0]))
	}
	w = l.walk(ctx, a.blocks)
	if f, err = l.judge(w, a.root); err != nil {
		return Imported{}, err
	}
	in := Imported{Root: a.root.String(), Blocks: len(w.order), Manifest: f.manifest}
	for _, c := range a.listed {
		if !w.seen[c.KeyString()] {
			in.Unread++
		}
	}
	keep := make([]verified, len(w.order))
	for i, c := range w.order {
		keep[i] = a.blocks[string(c.Hash())]
		in.Bytes += int64(len(keep[i].data))
	}
	return in, l.store.putAll(ctx, keep)
}

// reachable refuses an archive with blocks that no chain of links from the root leads to.
func (l *Loader) reachable(a *archive) error {
	// One block may be linked under two codecs, with other links in each reading.
	seen := map[string]bool{a.root.KeyString(): true}
	reached := map[string]bool{}
	for next := []cid.Cid{a.root}; len(next) > 0; {
		c := next[len(next)-1]
		next = next[:len(next)-1]
		b, here := a.blocks[string(c.Hash())]
		if !here {
			continue
		}
		reached[string(c.Hash())] = true
		links, err := blockLinks(c, b.data)
		if err != nil {
			return err
		}
		for _, to := range links {
			if !seen[to.KeyString()] {
				seen[to.KeyString()] = true
				next = append(next, to)
			}
		}
	}
	for _, c := range a.listed {
		if !reached[string(c.Hash())] {
			return invalid("block %s is not reachable from the root", short(c))
		}
	}
	return nil
}

// blockLinks are all links in a block.
func blockLinks(c cid.Cid, block []byte) ([]cid.Cid, error) {
	where := "block " + short(c)
	switch c.Type() {
	case cid.DagProtobuf:
		n, err := decodePB(block, where)
		if err != nil {
			return nil, err
		}
		out := make([]cid.Cid, len(n.links))
		for i, l := range n.links {
			out[i] = l.cid
		}
		return out, nil
	case cid.DagCBOR, cid.DagJSON:
		n, err := decodeNode(c.Type(), block)
		if err != nil {
			return nil, invalid("%s: %w", where, err)
		}
		return nodeLinks(n, where)
	}
	return nil, nil
}
