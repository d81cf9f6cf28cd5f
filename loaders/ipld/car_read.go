package ipld

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
)

// archive is a CAR file in memory, each block checked against its CID.
type archive struct {
	root   cid.Cid
	blocks memory
	listed []cid.Cid
	seen   map[string]bool // what is listed
}

// readCAR reads a whole CAR file within the limits. Its errors wrap loaders.ErrInvalid, but for those of
// r.
func (l *Loader) readCAR(ctx context.Context, r io.Reader) (*archive, error) {
	in := &carReader{r: bufio.NewReaderSize(r, 1<<16), left: l.lim.CAR, limit: l.lim.CAR}
	head, err := in.section(maxHeader, "header")
	if err == io.EOF {
		return nil, invalid("an empty file")
	}
	if err != nil {
		return nil, err
	}
	a := &archive{blocks: memory{}, seen: map[string]bool{}}
	if a.root, err = carRoot(head); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		where := fmt.Sprintf("section %d", len(a.listed))
		section, err := in.section(maxSection, where)
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		if len(a.listed) == l.lim.Blocks {
			return nil, invalid("more than %d blocks", l.lim.Blocks)
		}
		if err := a.add(section, where); err != nil {
			return nil, err
		}
	}
}

func (a *archive) add(section []byte, where string) error {
	n, c, err := cid.CidFromBytes(section)
	if err != nil {
		return invalid("%s: %v", where, err)
	}
	if err := admit(c, where); err != nil {
		return err
	}
	data := section[n:]
	if err := verify(c, data); err != nil {
		return invalid("%s, block %s: %w", where, short(c), err)
	}
	if a.seen[c.KeyString()] {
		return invalid("%s: block %s stands twice", where, short(c))
	}
	a.seen[c.KeyString()] = true
	a.blocks[string(c.Hash())] = verified{c, data}
	a.listed = append(a.listed, c)
	return nil
}

// carRoot reads the header: exactly {"roots": [one link], "version": 1}.
func carRoot(head []byte) (cid.Cid, error) {
	n, err := decodeCBOR(head)
	if err != nil {
		return cid.Undef, invalid("header: not strict dag-cbor: %w", err)
	}
	if v, err := n.LookupByString("version"); err != nil {
		return cid.Undef, invalid("header: no version")
	} else if version, err := v.AsInt(); err != nil || version != 1 {
		return cid.Undef, invalid("header: a version that is not 1")
	}
	roots, err := n.LookupByString("roots")
	if err != nil || roots.Kind() != datamodel.Kind_List {
		return cid.Undef, invalid("header: no list of roots")
	}
	if roots.Length() != 1 {
		return cid.Undef, invalid("header: %d roots, there must be one", roots.Length())
	}
	if n.Length() != 2 {
		return cid.Undef, invalid("header: fields besides roots and version")
	}
	links, err := nodeLinks(roots, "header, roots")
	if err != nil {
		return cid.Undef, err
	}
	if len(links) != 1 {
		return cid.Undef, invalid("header: the root is no link")
	}
	return links[0], nil
}

// carReader reads length-prefixed sections and counts.
type carReader struct {
	r           *bufio.Reader
	left, limit int64
}

// section returns the next one, or io.EOF between two.
func (c *carReader) section(limit int64, where string) ([]byte, error) {
	n, size, err := c.varint(where)
	if err != nil {
		return nil, err
	}
	if n == 0 || n > uint64(limit) {
		return nil, invalid("%s: a length of %d bytes, it may be 1 to %d", where, n, limit)
	}
	if c.left -= int64(n) + int64(size); c.left < 0 {
		return nil, invalid("more than %d bytes", c.limit)
	}
	out := make([]byte, n)
	if _, err := io.ReadFull(c.r, out); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, invalid("%s: the file ends in the middle", where)
	} else if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return out, nil
}

// varint reads a length in its shortest form.
func (c *carReader) varint(where string) (n uint64, size int, err error) {
	for shift := 0; ; shift += 7 {
		b, err := c.r.ReadByte()
		switch {
		case err == io.EOF && size == 0:
			return 0, 0, io.EOF
		case err == io.EOF:
			return 0, 0, invalid("%s: the file ends in the middle", where)
		case err != nil:
			return 0, 0, fmt.Errorf("read: %w", err)
		}
		if size++; size > 5 {
			return 0, 0, invalid("%s: a length that is too long", where)
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if b == 0 && size > 1 {
				return 0, 0, invalid("%s: a length that is not in its shortest form", where)
			}
			return n, size, nil
		}
	}
}
