package docsync

import (
	"bufio"
	"io"
	"sync"
)

// Limits of what waits to be written: a peer that does not read what it asks for is cut off.
const (
	maxQueuedBytes  = 16 << 20
	maxQueuedFrames = 1 << 16
)

// writer writes frames from a queue, so that the loop that steps the session never waits for the
// connection.
type writer struct {
	mu     sync.Mutex
	queue  []Send
	bytes  int
	closed bool
	wake   chan struct{} // capacity 1
}

func newWriter() *writer { return &writer{wake: make(chan struct{}, 1)} }

// add queues a frame; false when the queue is over its limit.
func (w *writer) add(s Send) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, s)
	w.bytes += len(s.Bytes)
	w.signal()
	return w.bytes <= maxQueuedBytes && len(w.queue) <= maxQueuedFrames
}

// finish lets run return when the queue is empty.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until finish or an error; written is called behind each frame that asks for it.
func (w *writer) run(conn io.Writer, stop <-chan struct{}, written func()) error {
	out := bufio.NewWriterSize(conn, 64<<10)
	for {
		w.mu.Lock()
		batch, closed := w.queue, w.closed
		w.queue, w.bytes = nil, 0
		w.mu.Unlock()
		for _, s := range batch {
			if err := WriteFrame(out, s.Bytes); err != nil {
				return err
			}
			if s.Notify {
				if err := out.Flush(); err != nil {
					return err
				}
				written()
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if len(batch) > 0 {
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-w.wake:
		case <-stop:
			return nil
		}
	}
}
