package exchange

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chaz-peer/chaz-peer/loaders/ipld"
)

// ErrRefused: the other side does not take the request, such as one of a version that it does not speak.
var ErrRefused = errors.New("the peer refused the request")

// Client asks over one stream, one call at a time. Not safe for concurrent use.
type Client struct {
	rw  io.ReadWriter
	in  *bufio.Reader
	max Max
	// broken is the error after which the place in the stream is lost.
	broken error
}

// Max bounds what a [Client] takes. Zero fields are the defaults.
type Max struct {
	Item  int64 // bytes of one object; ipld.MaxBlock for blocks whatever is said, 16 MiB for git objects
	Total int64 // bytes of all objects of one call; 128 MiB
}

// NewClient asks over rw, which stays the caller's to close.
func NewClient(rw io.ReadWriter, limits Max) *Client {
	if limits.Item <= 0 {
		limits.Item = 16 << 20
	}
	if limits.Total <= 0 {
		limits.Total = 128 << 20
	}
	return &Client{rw: rw, in: bufio.NewReaderSize(rw, 1<<16), max: limits}
}

// Get asks for the bytes of the ids of req and gives each that came to got, in the order of req.IDs; got
// keeps data. Version and Op of req are set here. Blocks are checked against their ids first, git objects
// are not. Get stops at the first object that is wrong or too large, at the first error of got, which it
// returns wrapped, and when ctx ends; the client is then of no further use. Ids that the other side does
// not have are left out.
func (c *Client) Get(ctx context.Context, req Request, got func(id string, data []byte) error) error {
	req.Op = Get
	left := c.max.Total
	return c.call(ctx, &req, func(id string, size uint64) error {
		limit := min(c.max.Item, left)
		if req.Kind == Block {
			limit = min(ipld.MaxBlock, left)
		}
		if size > uint64(limit) {
			return fmt.Errorf("object %s: %d bytes, the limit is %d", id, size, limit)
		}
		left -= int64(size)
		data, err := c.read(int64(size))
		if err != nil {
			return fmt.Errorf("object %s: %w", id, err)
		}
		if req.Kind == Block {
			if err := ipld.Verify(id, data); err != nil {
				return err
			}
		}
		return got(id, data)
	})
}

// Have asks which of the ids of req the other side has.
func (c *Client) Have(ctx context.Context, req Request) ([]string, error) {
	req.Op = Have
	var out []string
	err := c.call(ctx, &req, func(id string, size uint64) error {
		if size != 0 {
			return fmt.Errorf("object %s: bytes that were not asked for", id)
		}
		out = append(out, id)
		return nil
	})
	return out, err
}

// call writes the request and reads its replies. here is called for each object that the other side has.
func (c *Client) call(ctx context.Context, req *Request, here func(id string, size uint64) error) error {
	req.Version = Version
	if err := req.check(); err != nil {
		return fmt.Errorf("ask peer: %w", err)
	}
	if c.broken != nil {
		return fmt.Errorf("ask peer: after an earlier fault: %w", c.broken)
	}
	defer interrupt(ctx, c.rw)()
	err := writeFrame(c.rw, req)
	for i := 0; i < len(req.IDs) && err == nil; i++ {
		err = c.reply(ctx, req, i, here)
	}
	if err == nil {
		return nil
	}
	c.broken = err
	if ctx.Err() != nil {
		err = ctx.Err() // what the interrupted stream says is of no interest
	}
	return fmt.Errorf("ask peer: %w", err)
}

func (c *Client) reply(ctx context.Context, req *Request, i int, here func(id string, size uint64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := readFrame(c.in, maxHeader)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	var r Reply
	if err := decode(frame, &r); err != nil {
		return fmt.Errorf("reply %d: %w", i, err)
	}
	switch {
	case r.Status == Refused:
		return ErrRefused
	case r.Index != uint64(i):
		return fmt.Errorf("reply %d: it is for the id %d", i, r.Index)
	case r.Status == Here:
		return here(req.IDs[i], r.Size)
	case r.Status == NotHere && r.Size == 0:
		return nil
	}
	return fmt.Errorf("reply %d: unknown status %d", i, r.Status)
}

// trustedSize is how much is allocated on the word of the other side alone.
const trustedSize = 2 << 20

func (c *Client) read(size int64) ([]byte, error) {
	if size <= trustedSize {
		data := make([]byte, size)
		_, err := io.ReadFull(c.in, data)
		return data, noEOF(err)
	}
	var out bytes.Buffer
	out.Grow(trustedSize)
	_, err := io.CopyN(&out, c.in, size)
	return out.Bytes(), noEOF(err)
}

// noEOF tells the end of a stream within an object from the end between two.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
