package ipld

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-unixfsnode/data"
	dagpb "github.com/ipld/go-codec-dagpb"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/fluent/qp"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
)

// Profile is how a file is cut into blocks: two profiles give one file two CIDs.
type Profile string

// The profiles.
const (
	// ProfilePlain is ours: a raw block up to 2 MiB, above that as ProfileV1.
	ProfilePlain Profile = ""
	// ProfileV1 is unixfs-v1-2025: CID version 1, raw leaves of 1 MiB, 1,024 links a node.
	ProfileV1 Profile = "v1-2025"
	// ProfileV0 is unixfs-v0-2015: CID version 0, wrapped leaves of 256 KiB, 174 links a node.
	ProfileV0 Profile = "v0-2015"
)

// cut holds the numbers of a profile.
type cut struct {
	whole  int // up to this size one raw block
	chunk  int
	links  int
	v0     bool
	rawish bool // leaves are raw blocks
}

func (p Profile) cut() (cut, error) {
	v1 := cut{whole: 1 << 20, chunk: 1 << 20, links: 1024, rawish: true}
	switch p {
	case ProfilePlain:
		v1.whole = MaxBlock
		return v1, nil
	case ProfileV1:
		return v1, nil
	case ProfileV0:
		return cut{chunk: 256 << 10, links: 174, v0: true}, nil
	}
	return cut{}, fmt.Errorf("unknown profile %q; there are %s and %s", p, ProfileV1, ProfileV0)
}

// part is a built subtree of a file or a directory.
type part struct {
	cid  cid.Cid
	size int64 // of the file below it
	tree int64 // of the blocks below it, its own included
}

// builder makes blocks and hands each to put, children before parents.
type builder struct {
	cut
	put func(ctx context.Context, b verified) error
}

// file cuts what r gives, at most limit bytes, and returns its root.
func (b *builder) file(ctx context.Context, r io.Reader, limit int64) (part, error) {
	first := make([]byte, max(b.whole, b.chunk)+1)
	n, err := io.ReadFull(r, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return part{}, err
	}
	first = first[:n]
	if int64(n) > limit {
		return part{}, fmt.Errorf("more than %d bytes", limit)
	}
	if n <= b.whole && b.rawish {
		return b.leaf(ctx, first)
	}
	leaves, err := b.leaves(ctx, io.MultiReader(&sliceReader{first}, r), limit)
	if err != nil {
		return part{}, err
	}
	for len(leaves) > 1 {
		if leaves, err = b.level(ctx, leaves); err != nil {
			return part{}, err
		}
	}
	return leaves[0], nil
}

// sliceReader is a reader that lets go of what was read.
type sliceReader struct{ rest []byte }

func (s *sliceReader) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.rest = nil
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (b *builder) leaves(ctx context.Context, r io.Reader, limit int64) ([]part, error) {
	var out []part
	for total := int64(0); ; {
		buf := make([]byte, b.chunk)
		n, err := io.ReadFull(r, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		if total += int64(n); total > limit {
			return nil, fmt.Errorf("more than %d bytes", limit)
		}
		if n > 0 || len(out) == 0 {
			leaf, err := b.leaf(ctx, buf[:n])
			if err != nil {
				return nil, err
			}
			out = append(out, leaf)
		}
		if err != nil {
			return out, nil
		}
	}
}

func (b *builder) leaf(ctx context.Context, bytes []byte) (part, error) {
	size := int64(len(bytes))
	if !b.rawish {
		block, err := encodeFile(bytes, size, nil)
		if err != nil {
			return part{}, err
		}
		return b.keep(ctx, cid.DagProtobuf, block, size, 0)
	}
	return b.keep(ctx, cid.Raw, bytes, size, 0)
}

// level puts one layer of nodes on top of parts.
func (b *builder) level(ctx context.Context, parts []part) ([]part, error) {
	var out []part
	for len(parts) > 0 {
		n := min(len(parts), b.links)
		children := parts[:n]
		parts = parts[n:]
		var size, tree int64
		for _, c := range children {
			size += c.size
			tree += c.tree
		}
		block, err := encodeFile(nil, size, children)
		if err != nil {
			return nil, err
		}
		p, err := b.keep(ctx, cid.DagProtobuf, block, size, tree)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (b *builder) keep(ctx context.Context, codec uint64, block []byte, size, below int64) (part, error) {
	if len(block) > MaxBlock {
		return part{}, errors.New("a node became larger than a block may be")
	}
	c := cidOf(codec, block)
	if b.v0 && codec == cid.DagProtobuf {
		c = cid.NewCidV0(c.Hash())
	}
	err := b.put(ctx, verified{c, block})
	return part{cid: c, size: size, tree: below + int64(len(block))}, err
}

// encodeFile is a UnixFS file node: a leaf with bytes or a node over children.
func encodeFile(inline []byte, size int64, children []part) ([]byte, error) {
	n, err := qp.BuildMap(data.Type.UnixFSData, -1, func(m datamodel.MapAssembler) {
		qp.MapEntry(m, data.Field__DataType, qp.Int(data.Data_File))
		if len(inline) > 0 {
			qp.MapEntry(m, data.Field__Data, qp.Bytes(inline))
		}
		qp.MapEntry(m, data.Field__FileSize, qp.Int(size))
		qp.MapEntry(m, data.Field__BlockSizes, qp.List(int64(len(children)), func(l datamodel.ListAssembler) {
			for _, c := range children {
				qp.ListEntry(l, qp.Int(c.size))
			}
		}))
	})
	if err != nil {
		return nil, err
	}
	fs, ok := n.(data.UnixFSData)
	if !ok {
		return nil, fmt.Errorf("UnixFS data of the kind %T", n)
	}
	return encodePB(data.EncodeUnixFSData(fs), make([]string, len(children)), children)
}

// encodePB is a dag-pb node with one named link for each child.
func encodePB(inner []byte, names []string, children []part) ([]byte, error) {
	n, err := qp.BuildMap(dagpb.Type.PBNode, 2, func(m datamodel.MapAssembler) {
		qp.MapEntry(m, "Links", qp.List(int64(len(children)), func(l datamodel.ListAssembler) {
			for i, c := range children {
				qp.ListEntry(l, qp.Map(3, func(m datamodel.MapAssembler) {
					qp.MapEntry(m, "Hash", qp.Link(cidlink.Link{Cid: c.cid}))
					qp.MapEntry(m, "Name", qp.String(names[i]))
					qp.MapEntry(m, "Tsize", qp.Int(c.tree))
				}))
			}
		}))
		qp.MapEntry(m, "Data", qp.Bytes(inner))
	})
	if err != nil {
		return nil, err
	}
	return dagpb.AppendEncode(nil, n)
}
