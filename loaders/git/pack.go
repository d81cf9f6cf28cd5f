package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// packLimits bound what a pack may make this peer do; its size was bounded as it came.
type packLimits struct {
	objects  int
	object   int64 // of one object; a larger one is passed over
	inflated int64 // of all together
	stack    int64 // of the chain of deltas that is being resolved
	depth    int   // of that chain
}

func newPackLimits(c Config) packLimits {
	return packLimits{objects: 1_000_000, object: maxObject, inflated: 32 * c.MaxPack, stack: 4 * maxObject, depth: 4095}
}

// packed is one object of a pack.
type packed struct {
	id     plumbing.Hash
	typ    plumbing.ObjectType // of the resolved object
	offset int64
	size   int64 // of the resolved object
	base   int32 // what it is a delta of; none is -1
	// Deltas on this object that name it by offset: the first, and the next of its siblings.
	child, next int32
}

// pack is a received pack in a file with an index in memory. go-git's own index would inflate whatever
// a header promises; this one counts first. Not safe for concurrent use.
type pack struct {
	file    *os.File
	scan    *packfile.Scanner
	limits  packLimits
	left    int64 // bytes that may still be inflated
	objects []packed
	byID    map[plumbing.Hash]int32
	waiting map[plumbing.Hash][]int32         // deltas that name their base by hash
	links   map[plumbing.Hash][]plumbing.Hash // commit → parents, tag → its object
}

// receivePack spools and indexes a pack. Every object in it gets its hash from its bytes.
func receivePack(ctx context.Context, dir string, in io.Reader, limits packLimits) (*pack, error) {
	f, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return nil, fmt.Errorf("spool pack: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file can go; else close does it
	p := &pack{
		file: f, limits: limits, left: limits.inflated,
		byID: map[plumbing.Hash]int32{}, waiting: map[plumbing.Hash][]int32{}, links: map[plumbing.Hash][]plumbing.Hash{},
	}
	if err := p.receive(ctx, in); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pack) receive(ctx context.Context, in io.Reader) error {
	if _, err := io.Copy(p.file, in); err != nil {
		return foreign("receive pack", err)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("spool pack: %w", err)
	}
	p.scan = packfile.NewScanner(p.file)
	_, count, err := p.scan.Header()
	if err != nil {
		return foreign("read pack", err)
	}
	if int64(count) > int64(p.limits.objects) {
		return fmt.Errorf("read pack: %d objects are more than the limit of %d", count, p.limits.objects)
	}
	if err := p.index(ctx, int(count)); err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	p.left = p.limits.inflated // for reading; the chains are known to be bounded
	return nil
}

func (p *pack) close() {
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}

// index reads all objects in order, then resolves the deltas from their bases on.
func (p *pack) index(ctx context.Context, count int) error {
	byOffset := map[int64]int32{}
	for i := range int32(count) {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := p.scan.NextObjectHeader()
		if err != nil {
			return foreign("object header", err)
		}
		p.objects = append(p.objects, packed{offset: h.Offset, base: -1, child: -1, next: -1})
		byOffset[h.Offset] = i
		o := &p.objects[i]
		switch h.Type {
		case plumbing.OFSDeltaObject:
			base, ok := byOffset[h.OffsetReference]
			if !ok {
				return errors.New("a delta on nothing")
			}
			o.base, o.next = base, p.objects[base].child
			p.objects[base].child = i
		case plumbing.REFDeltaObject:
			p.waiting[h.Reference] = append(p.waiting[h.Reference], i)
		case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		default:
			return errors.New("an object of unknown type")
		}
		if h.Type.IsDelta() || h.Length > p.limits.object {
			if _, err := p.inflate(h, io.Discard); err != nil {
				return err
			}
			continue
		}
		body := &bytes.Buffer{}
		if _, err := p.inflate(h, body); err != nil {
			return err
		}
		if err := p.add(i, h.Type, body.Bytes()); err != nil {
			return err
		}
	}
	return p.resolve(ctx)
}

// inflate reads the content behind a header, to the byte.
func (p *pack) inflate(h *packfile.ObjectHeader, w io.Writer) (int64, error) {
	if p.left -= h.Length; h.Length < 0 || p.left < 0 {
		return 0, fmt.Errorf("its objects are larger than the limit of %d bytes together", p.limits.inflated)
	}
	n, _, err := p.scan.NextObject(w)
	if err != nil {
		return n, foreign("object", err)
	}
	if n != h.Length {
		return n, errors.New("an object shorter than its header says")
	}
	return n, nil
}

// read inflates what is at an entry: an object, or a delta.
func (p *pack) read(i int32) ([]byte, error) {
	h, err := p.scan.SeekObjectHeader(p.objects[i].offset)
	if err != nil {
		return nil, foreign("object header", err)
	}
	if h.Length > p.limits.object {
		return nil, fmt.Errorf("an object of %d bytes", h.Length)
	}
	body := &bytes.Buffer{}
	_, err = p.inflate(h, body)
	return body.Bytes(), err
}

// add gives an entry its hash, and notes what history is made of.
func (p *pack) add(i int32, typ plumbing.ObjectType, body []byte) error {
	sum, err := hash(header(typ.String(), len(body), 0), body)
	if err != nil {
		return invalid("an object of the pack: %w", err)
	}
	o := &p.objects[i]
	o.id, o.typ, o.size = sum, typ, int64(len(body))
	if _, ok := p.byID[o.id]; ok {
		return nil
	}
	p.byID[o.id] = i
	switch typ {
	case plumbing.CommitObject:
		_, parents, err := parseCommit(body)
		if err != nil {
			return err
		}
		for _, id := range parents {
			p.links[o.id] = append(p.links[o.id], plumbing.NewHash(id))
		}
	case plumbing.TagObject:
		id, err := parseTag(body)
		if err != nil {
			return err
		}
		p.links[o.id] = []plumbing.Hash{plumbing.NewHash(id)}
	}
	return nil
}
