package ipld

import (
	"errors"

	"github.com/ipfs/go-cid"
)

// file is a UnixFS file or a raw block under a walk.
type file struct {
	w     *walk
	where string
	limit int64 // of its bytes
	// keep says that the bytes are wanted, not the blocks alone.
	keep bool
	out  []byte
	size int64 // bytes come to so far, by what the blocks hold
	gaps bool  // blocks were missing: out and size are not all of it
}

// unknown is the declared size where nothing declares one: at the root.
const unknown = -1

// readFile walks the file under c. The walk's missing blocks say what it lacks; its bytes are complete
// only if there are none.
func (w *walk) readFile(c cid.Cid, depth int, where string, limit int64, keep bool) ([]byte, error) {
	f := &file{w: w, where: where, limit: limit, keep: keep}
	if err := f.follow(c, depth, unknown); err != nil {
		return nil, err
	}
	return f.out, nil
}

// readContent is readFile for a root that must have exactly size bytes.
func (w *walk) readContent(c cid.Cid, size int64, keep bool) ([]byte, error) {
	const where = "content"
	if size < 0 || size > w.lim.Content {
		return nil, invalid("%s: a size of %d bytes, the limit is %d", where, size, w.lim.Content)
	}
	w.content = size
	f := &file{w: w, where: where, limit: size, keep: keep}
	if err := f.follow(c, 0, size); err != nil {
		return nil, err
	}
	return f.out, nil
}

// follow reads the part of the file under c, which the link to it declares to have want bytes.
func (f *file) follow(c cid.Cid, depth int, want int64) error {
	var err error
	switch {
	case c.Type() == cid.DagProtobuf:
		err = f.node(c, depth, want)
	case c.Type() != cid.Raw:
		return invalid("%s: a part with the codec %s, a file has raw and dag-pb", f.where, codecName(c.Type()))
	case want > MaxBlock:
		return invalid("%s: a block of %d bytes, the limit is %d", f.where, want, MaxBlock)
	case f.keep:
		err = f.rawBytes(c, depth, want)
	default:
		err = f.rawSize(c, depth, want)
	}
	if errors.Is(err, errAbsent) {
		f.gaps = true
		return f.grow(max(want, 0)) // what is missing is counted as it is declared
	}
	return err
}

func (f *file) rawBytes(c cid.Cid, depth int, want int64) error {
	data, err := f.w.block(c, depth, f.where)
	if err != nil {
		return err
	}
	return f.take(data, want)
}

func (f *file) rawSize(c cid.Cid, depth int, want int64) error {
	n, err := f.w.leaf(c, depth, f.where)
	if err != nil {
		return err
	}
	if want != unknown && n != want {
		return f.lie(want, n)
	}
	return f.grow(n)
}

func (f *file) take(data []byte, want int64) error {
	if n := int64(len(data)); want != unknown && n != want {
		return f.lie(want, n)
	}
	return f.add(data)
}

func (f *file) node(c cid.Cid, depth int, want int64) error {
	block, err := f.w.block(c, depth, f.where)
	if err != nil {
		return err
	}
	n, err := decodePB(block, f.where)
	if err != nil {
		return err
	}
	if !n.isFile() {
		return invalid("%s: %s where a file is due", f.where, n.kindName())
	}
	return f.parts(n, depth, want)
}

// parts holds a file node against what the link to it and the node itself declare, before it follows a
// link, and again after: a lie about a size stops the walk at once.
func (f *file) parts(n *pbNode, depth int, want int64) error {
	if len(n.sizes) != len(n.links) {
		return invalid("%s: %d links but %d sizes", f.where, len(n.links), len(n.sizes))
	}
	if want != unknown && n.size != want {
		return f.lie(want, n.size)
	}
	sum := int64(len(n.inline))
	for _, s := range n.sizes {
		if s < 0 || s > f.limit {
			return invalid("%s: a part is said to have %d bytes, the limit is %d", f.where, s, f.limit)
		}
		sum += s
	}
	if sum != n.size {
		return f.lie(n.size, sum)
	}
	if f.size+sum > f.limit {
		return invalid("%s: more than %d bytes", f.where, f.limit)
	}
	if want == unknown || depth == 0 {
		f.w.content = sum
		if f.keep {
			f.out = make([]byte, 0, sum)
		}
	}
	if len(n.links) > f.w.lim.Blocks-f.w.visits {
		return invalid("%s: more than %d blocks", f.where, f.w.lim.Blocks)
	}
	if err := f.add(n.inline); err != nil {
		return err
	}
	for i, l := range n.links {
		if err := f.follow(l.cid, depth+1, n.sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) add(data []byte) error {
	if err := f.grow(int64(len(data))); err != nil {
		return err
	}
	if f.keep && !f.gaps {
		f.out = append(f.out, data...)
	}
	return nil
}

func (f *file) grow(n int64) error {
	if f.size += n; f.size > f.limit {
		return invalid("%s: more than %d bytes", f.where, f.limit)
	}
	return nil
}

func (f *file) lie(declared, actual int64) error {
	return invalid("%s: a size of %d bytes is declared, but it is %d", f.where, declared, actual)
}
