package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// peerSource asks peers for one object at a time.
type peerSource struct {
	peers    Peers
	doc      crdt.DocID
	root     string
	progress func(done, total int64)
	done     int64
}

func (s *peerSource) object(ctx context.Context, id string, _ int64) ([]byte, error) {
	var raw []byte
	err := s.peers.Objects(ctx, s.doc, s.root, []string{id}, func(got string, data []byte) error {
		if got != id {
			return fmt.Errorf("object %.60q was not asked for", got)
		}
		if len(data) > maxObject+maxHeader {
			return fmt.Errorf("object %s: %d bytes are more than the limit of %d", id, len(data), maxObject)
		}
		if _, err := verify(id, data); err != nil {
			return fmt.Errorf("object %s: %w", id, err)
		}
		raw = data
		return nil
	})
	switch {
	case raw != nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.Is(err, loaders.ErrInvalid):
		return nil, fmt.Errorf("ask peers: %w: %w", err, loaders.ErrMissing)
	case err != nil:
		// What a peer sent says nothing about the object itself.
		return nil, fmt.Errorf("ask peers: %s: %w", err.Error(), loaders.ErrMissing)
	default:
		return nil, missing("no peer has it")
	}
	s.done += int64(len(raw))
	if s.progress != nil {
		s.progress(s.done, 0)
	}
	return raw, nil
}

// Object returns an object of the commit root, in the form of [Peers.Objects]: one that is part of a
// proof which this peer has, and nothing else. It verifies it first. An error wraps
// [loaders.ErrMissing] if there is no such object here.
func (l *Loader) Object(ctx context.Context, root, id string) ([]byte, error) {
	if !isHash(root) || !isHash(id) {
		return nil, fmt.Errorf("read object %.60q of commit %.60q: %w", id, root, loaders.ErrMissing)
	}
	raw, err := l.store.from(root).object(ctx, id, maxObject)
	if err != nil {
		return nil, fmt.Errorf("read object %s of commit %s: %w", id, root, err)
	}
	if _, err := verify(id, raw); err != nil {
		return nil, fmt.Errorf("read object %s of commit %s: it is damaged: %w: %w", id, root, err, loaders.ErrMissing)
	}
	return raw, nil
}

// Proof lists the objects of a reference, the commit first; together they are all that another peer
// needs. An error wraps [loaders.ErrMissing] if some are not here.
func (l *Loader) Proof(ctx context.Context, ref extension.Ref) ([]string, error) {
	t, err := parseTarget(ref)
	if err != nil {
		return nil, fmt.Errorf("git reference: %w", err)
	}
	_, objects, err := l.load(ctx, t, l.store.from(t.sha))
	if err != nil {
		return nil, fmt.Errorf("list proof of git commit %s: %w", t.sha, err)
	}
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = o.id
	}
	return ids, nil
}
