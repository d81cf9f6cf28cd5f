package git

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// resolve gives all deltas their objects, depth first from each whole object, so that each is inflated
// once. Deltas on nothing, or on an object that was passed over, stay without a hash: nobody can ask
// for them.
func (p *pack) resolve(ctx context.Context) error {
	for i := range int32(len(p.objects)) {
		o := p.objects[i]
		if o.id.IsZero() || o.base >= 0 || o.child < 0 && len(p.waiting[o.id]) == 0 {
			continue
		}
		body, err := p.read(i)
		if err != nil {
			return err
		}
		if err := p.grow(ctx, i, body, 1, int64(len(body))); err != nil {
			return err
		}
	}
	return nil
}

// grow resolves the deltas on the object i, whose content is body. depth and stack are what the chain
// down to it holds.
func (p *pack) grow(ctx context.Context, i int32, body []byte, depth int, stack int64) error {
	if depth > p.limits.depth || stack > p.limits.stack {
		return errors.New("a chain of deltas that is too long")
	}
	typ, id := p.objects[i].typ, p.objects[i].id
	children := p.waiting[id]
	delete(p.waiting, id) // an object that is there twice gets them once
	for _, c := range children {
		p.objects[c].base = i
	}
	for c := p.objects[i].child; c >= 0; c = p.objects[c].next {
		children = append(children, c)
	}
	for _, c := range children {
		if err := ctx.Err(); err != nil {
			return err
		}
		delta, err := p.read(c)
		if err != nil {
			return err
		}
		size, err := deltaSize(delta)
		if err != nil {
			return err
		}
		if size > p.limits.object {
			continue
		}
		if p.left -= size; p.left < 0 {
			return fmt.Errorf("its objects are larger than the limit of %d bytes together", p.limits.inflated)
		}
		whole, err := packfile.PatchDelta(body, delta)
		if err != nil {
			return foreign("delta", err)
		}
		if err := p.add(c, typ, whole); err != nil {
			return err
		}
		if err := p.grow(ctx, c, whole, depth+1, stack+int64(len(whole))); err != nil {
			return err
		}
	}
	return nil
}

// deltaSize reads the size of the object that a delta makes.
func deltaSize(delta []byte) (int64, error) {
	_, n := binary.Uvarint(delta)
	if n > 0 {
		size, m := binary.Uvarint(delta[n:])
		if m > 0 && size < 1<<62 {
			return int64(size), nil
		}
	}
	return 0, errors.New("a delta without a size")
}

// object returns a raw object; ok is false if the pack has none of that name.
func (p *pack) object(id plumbing.Hash, limit int64) (raw []byte, ok bool, err error) {
	i, ok := p.byID[id]
	if !ok {
		return nil, false, nil
	}
	o := p.objects[i]
	if o.size > limit {
		return nil, true, tooLarge(o.size, limit)
	}
	var chain []int32
	for ; i >= 0; i = p.objects[i].base {
		chain = append(chain, i)
	}
	body, err := p.read(chain[len(chain)-1])
	for k := len(chain) - 2; err == nil && k >= 0; k-- {
		var delta []byte
		if delta, err = p.read(chain[k]); err == nil {
			body, err = packfile.PatchDelta(body, delta)
		}
	}
	if err != nil {
		return nil, true, fmt.Errorf("read pack: %w", err)
	}
	return encode(o.typ.String(), body), true, nil
}

// parents lists the parents of a commit, or the object of a tag.
func (p *pack) parents(id plumbing.Hash) []plumbing.Hash { return p.links[id] }

// reaches reports whether the history of a branch or tag has a commit. It passes by what is in seen,
// where the commit is not, and adds to it.
func reaches(tip, sha plumbing.Hash, seen map[plumbing.Hash]bool, parents func(plumbing.Hash) []plumbing.Hash) bool {
	for todo := []plumbing.Hash{tip}; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if h == sha {
			return true
		}
		if !seen[h] {
			seen[h] = true
			todo = append(todo, parents(h)...)
		}
	}
	return false
}
