package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// Source has the objects of one kind. Both methods look only below root, and must be safe for concurrent
// use.
type Source interface {
	// Get returns an object, or an error that wraps [loaders.ErrMissing].
	Get(ctx context.Context, doc crdt.DocID, root, id string) ([]byte, error)
	// Has reports whether Get would return it.
	Has(ctx context.Context, doc crdt.DocID, root, id string) (bool, error)
}

// Server answers requests. Its fields are set before its first use and not changed after.
type Server struct {
	// Allow says whether a peer may have what is below root: it must be a reader of doc, and doc must
	// name root. It may be called for any values that a stranger thinks up.
	Allow func(ctx context.Context, peer crdt.PeerID, doc crdt.DocID, root string) bool
	// Sources by kind; a kind without one is refused.
	Sources map[Kind]Source
	// MaxRequests on one stream; 0 is 64.
	MaxRequests int
}

const defaultRequests = 64

// Serve answers the requests of one stream until the other side closes it, ctx ends, or a fault; a stream
// with a deadline or a Close is interrupted when ctx ends. It does not close rw. An error of a source is
// answered as if the object were not here, and returned at the end.
func (s *Server) Serve(ctx context.Context, peer crdt.PeerID, rw io.ReadWriter) error {
	defer interrupt(ctx, rw)()
	limit := s.MaxRequests
	if limit <= 0 {
		limit = defaultRequests
	}
	c := &conversation{server: s, peer: peer, out: bufio.NewWriterSize(rw, 1<<16)}
	in := bufio.NewReader(rw)
	for n := 0; ; n++ {
		frame, err := readFrame(in, maxFrame)
		if err == io.EOF {
			return c.failed
		}
		if err == nil {
			err = c.answer(ctx, frame, n < limit)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("serve objects: %w", err), c.failed)
		}
	}
}

// conversation is one stream on the answering side.
type conversation struct {
	server *Server
	peer   crdt.PeerID
	out    *bufio.Writer
	failed error // the first error of a source
}

// errRefused ends the stream after a request that was refused.
var errRefused = errors.New("the request was refused")

func (c *conversation) answer(ctx context.Context, frame []byte, more bool) error {
	var req Request
	err := decode(frame, &req)
	if err == nil && req.Version == Version {
		err = req.check()
	}
	source := c.server.Sources[req.Kind]
	switch {
	case err != nil:
	case req.Version != Version:
		err = fmt.Errorf("version %d", req.Version)
	case source == nil:
		err = fmt.Errorf("kind %d", req.Kind)
	case !more:
		err = errors.New("too many on one stream")
	}
	if err != nil {
		refused := writeFrame(c.out, &Reply{Status: Refused})
		return errors.Join(fmt.Errorf("%w: %w", errRefused, err), refused, c.out.Flush())
	}
	allowed := c.server.Allow != nil && c.server.Allow(ctx, c.peer, req.Doc, req.Root)
	for i, id := range req.IDs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.one(ctx, &req, uint64(i), id, source, allowed); err != nil {
			return err
		}
	}
	return c.out.Flush()
}

// one answers for one id.
func (c *conversation) one(ctx context.Context, req *Request, i uint64, id string, source Source, allowed bool) error {
	reply := Reply{Index: i, Status: NotHere}
	var data []byte
	if allowed {
		var here bool
		var err error
		if req.Op == Have {
			here, err = source.Has(ctx, req.Doc, req.Root, id)
		} else {
			data, err = source.Get(ctx, req.Doc, req.Root, id)
			here = err == nil
		}
		if err != nil && !errors.Is(err, loaders.ErrMissing) && c.failed == nil {
			c.failed = fmt.Errorf("serve objects: %w", err)
		}
		if err == nil && here {
			reply.Status, reply.Size = Here, uint64(len(data))
		}
	}
	if err := writeFrame(c.out, &reply); err != nil {
		return err
	}
	_, err := c.out.Write(data)
	return err
}
