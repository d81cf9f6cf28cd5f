package docsync

import (
	"errors"
	"io"
	"sync"
)

// pipeBuffer is how many bytes one direction of a pipe holds before a write waits.
const pipeBuffer = 256 << 10

// ErrReset is what both ends of a pipe give after a reset.
var ErrReset = errors.New("the pipe was reset")

// PipeConn is one end of a [Pipe]. Methods are safe for concurrent use.
type PipeConn struct {
	in, out *pipeHalf
}

// Pipe returns the two ends of a full-duplex connection in memory. Nothing is lost unless a fault
// is asked for.
func Pipe() (a, b *PipeConn) {
	ab, ba := newPipeHalf(), newPipeHalf()
	return &PipeConn{in: ba, out: ab}, &PipeConn{in: ab, out: ba}
}

// Fault is something that goes wrong in one direction of a pipe, once.
type Fault struct {
	After int64 // bytes written in this direction before it happens
	Kind  FaultKind
}

// FaultKind is what goes wrong.
type FaultKind uint8

// The faults.
const (
	FaultReset FaultKind = iota + 1 // both ends fail in both directions; bytes on their way are lost
	FaultCut                        // the stream ends there, as if the writer had closed it
	FaultFlip                       // the lowest bit of the next byte is inverted
)

// Inject makes a fault happen to what this end writes. Fragment, if above zero, is the most bytes
// that one Read of the other end returns.
func (c *PipeConn) Inject(f Fault, fragment int) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.fault, c.out.fragment = f, fragment
}

// Read implements [io.Reader].
func (c *PipeConn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write implements [io.Writer]. It waits while the other end does not read.
func (c *PipeConn) Write(p []byte) (int, error) {
	n, reset, err := c.out.write(p)
	if reset {
		c.Reset()
	}
	return n, err
}

// Close ends both directions. The other end still reads what was written, then io.EOF.
func (c *PipeConn) Close() error {
	c.out.end(nil)
	c.in.end(io.ErrClosedPipe)
	return nil
}

// Reset breaks both directions at once.
func (c *PipeConn) Reset() {
	c.out.end(ErrReset)
	c.in.end(ErrReset)
}

// pipeHalf is one direction.
type pipeHalf struct {
	mu       sync.Mutex
	moved    sync.Cond
	buf      []byte
	written  int64
	ended    bool
	err      error // what ended it; nil: the writer closed it
	fault    Fault
	fragment int
}

func newPipeHalf() *pipeHalf {
	h := &pipeHalf{}
	h.moved.L = &h.mu
	return h
}

func (h *pipeHalf) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended || err != nil {
		h.ended = true
		if h.err == nil {
			h.err = err
		}
		if err != nil {
			h.buf = nil
		}
	}
	h.moved.Broadcast()
}

func (h *pipeHalf) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 && !h.ended && len(p) > 0 {
		h.moved.Wait()
	}
	if len(h.buf) == 0 && h.ended {
		if h.err != nil {
			return 0, h.err
		}
		return 0, io.EOF
	}
	if h.fragment > 0 && len(p) > h.fragment {
		p = p[:h.fragment]
	}
	n := copy(p, h.buf)
	h.buf = h.buf[n:]
	h.moved.Broadcast()
	return n, nil
}

func (h *pipeHalf) write(p []byte) (n int, reset bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n < len(p) {
		for len(h.buf) >= pipeBuffer && !h.ended {
			h.moved.Wait()
		}
		if h.ended {
			if h.err != nil {
				return n, false, h.err
			}
			return n, false, io.ErrClosedPipe
		}
		part := p[n:min(len(p), n+pipeBuffer-len(h.buf))]
		var stop bool
		if part, stop, reset = h.trouble(part); reset {
			return n, true, ErrReset
		}
		h.buf = append(h.buf, part...)
		h.written += int64(len(part))
		n += len(part)
		h.moved.Broadcast()
		if stop {
			h.ended = true
			return n, false, io.ErrClosedPipe
		}
	}
	return n, false, nil
}

// trouble lets the fault happen if its place is within part.
func (h *pipeHalf) trouble(part []byte) (out []byte, stop, reset bool) {
	at := h.fault.After - h.written
	if h.fault.Kind == 0 || at < 0 || at >= int64(len(part)) {
		return part, false, false
	}
	kind := h.fault.Kind
	h.fault = Fault{}
	switch kind {
	case FaultReset:
		return nil, false, true
	case FaultCut:
		return part[:at], true, false
	}
	out = append([]byte(nil), part...)
	out[at] ^= 1
	return out, false, false
}
