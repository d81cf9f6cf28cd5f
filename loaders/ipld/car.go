package ipld

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/fluent/qp"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// A CAR file (version 1) is a header and sections, each behind its length as a varint: the header is
// dag-cbor with the roots, a section a binary CID and the bytes of its block.
const (
	maxHeader  = 64 << 10
	maxSection = MaxBlock + 64
)

// Export writes the package under root as a CAR file: one root, the blocks of [Loader.Closure] in its
// order, each once, nothing else. The same package always gives the same bytes. Every block is hashed
// again; the package is judged before the first byte is written.
func (l *Loader) Export(ctx context.Context, root string, w io.Writer) error {
	c, err := parse(root)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	walk := l.walk(ctx, l.store)
	if _, err := l.judge(walk, c); err != nil {
		return fmt.Errorf("export %s: %w", short(c), err)
	}
	if err := l.export(ctx, c, walk.order, w); err != nil {
		return fmt.Errorf("export %s: %w", short(c), err)
	}
	return nil
}

func (l *Loader) export(ctx context.Context, root cid.Cid, blocks []cid.Cid, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	head, err := carHeader(root)
	if err != nil {
		return err
	}
	if err := writeSection(out, head); err != nil {
		return err
	}
	for _, c := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := l.store.get(c)
		if err != nil {
			return err
		}
		if err := writeSection(out, c.Bytes(), data); err != nil {
			return err
		}
	}
	return out.Flush()
}

func carHeader(root cid.Cid) ([]byte, error) {
	n, err := qp.BuildMap(basicnode.Prototype.Map, 2, func(m datamodel.MapAssembler) {
		qp.MapEntry(m, "roots", qp.List(1, func(l datamodel.ListAssembler) {
			qp.ListEntry(l, qp.Link(cidlink.Link{Cid: root}))
		}))
		qp.MapEntry(m, "version", qp.Int(1))
	})
	if err != nil {
		return nil, err
	}
	return encodeCBOR(n)
}

func writeSection(w io.Writer, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(n))); err != nil {
		return err
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
