package docsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// flushTime is how long a failed session tries to tell the other peer why.
const flushTime = 2 * time.Second

// Driver runs a session over a connection: a goroutine that reads, one that writes, one that
// follows the host's feed, some that work, and one loop that steps the session and never waits for
// any of them.
type Driver struct {
	conn  io.ReadWriteCloser
	host  Host
	clock crdt.Clock
	peer  crdt.PeerID

	mu      sync.Mutex // guards sess
	sess    *Session
	inject  chan struct{} // capacity 1
	inboxMu sync.Mutex
	inbox   []Event
}

// NewDriver returns the driver of a session that has not started. Run takes the connection over.
func NewDriver(conn io.ReadWriteCloser, sess *Session, host Host, clock crdt.Clock) *Driver {
	return &Driver{conn: conn, host: host, clock: clock, peer: sess.cfg.Peer, sess: sess, inject: make(chan struct{}, 1)}
}

// Drive runs a session until its stream ends; see [Driver.Run].
func Drive(ctx context.Context, conn io.ReadWriteCloser, sess *Session, host Host, clock crdt.Clock) error {
	return NewDriver(conn, sess, host, clock).Run(ctx)
}

// Inject gives the session an event from outside ([Join], [Leave], [DocsChanged]). It does not
// block and may be called before, during and after Run, from any goroutine.
func (d *Driver) Inject(ev Event) {
	d.inboxMu.Lock()
	d.inbox = append(d.inbox, ev)
	d.inboxMu.Unlock()
	select {
	case d.inject <- struct{}{}:
	default:
	}
}

// Status is [Session.Status], from any goroutine.
func (d *Driver) Status() PeerStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sess.Status()
}

// Counters is [Session.Counters], from any goroutine.
func (d *Driver) Counters() map[Cause]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sess.Counters()
}

// broken ends a session from the driver's side.
type broken struct{ err error }

func (broken) event() {}

// Run runs the session. It returns when ctx ends, the stream ends or the session fails, after every
// goroutine it started is gone and the connection is closed. The error says why: ctx.Err(), io.EOF
// (wrapped) when the other side closed the stream, what the connection failed with, a
// *[ProtocolError], *[RemoteError] or *[IncompatibleError]. It is never nil. Call it once.
func (d *Driver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	feed := d.host.Watch()
	r := &run{
		Driver: d, ctx: ctx, writer: newWriter(), timer: time.NewTimer(time.Hour),
		events: make(chan Event, 64), ended: make(chan error, 2), wrote: make(chan struct{}),
	}
	r.lanes = newLanes(
		func(ctx context.Context, w Work) (Result, error) { return d.host.Do(ctx, d.peer, w) },
		func(_ context.Context, w WorkDone) { r.post(w) })
	err := r.start(feed)
	if err == nil {
		err = r.loop()
	}
	r.flush()
	cancel()
	feed.Close()
	closeNow(d.conn)
	r.timer.Stop()
	r.wg.Wait()
	r.lanes.wait()
	return err
}

// closeNow closes a connection and wakes whoever reads from it or writes to it.
func closeNow(conn io.ReadWriteCloser) {
	if c, ok := conn.(interface{ SetDeadline(time.Time) error }); ok {
		_ = c.SetDeadline(time.Unix(1, 0)) // a connection without deadlines is woken by its close
	}
	_ = conn.Close() // the session is over either way
}

// run is what a running driver needs.
type run struct {
	*Driver
	ctx    context.Context
	writer *writer
	lanes  *lanes
	timer  *time.Timer
	events chan Event
	ended  chan error    // why reading, writing or the feed ended
	wrote  chan struct{} // closed when the writer is done
	wg     sync.WaitGroup
	failed error
}

// start tells the session all documents and begins. The feed is open already, so that no change
// falls between.
func (r *run) start(feed Feed) error {
	defer func() {
		r.wg.Go(r.write)
		r.wg.Go(r.read)
	}()
	docs, err := r.host.Describe(r.ctx, r.peer, nil)
	if err != nil {
		return fmt.Errorf("start sync: %w", err)
	}
	r.wg.Go(func() { r.follow(feed) })
	r.step(DocsChanged{docs})
	r.step(Start{})
	return r.failed
}

func (r *run) loop() error {
	for r.failed == nil {
		select {
		case ev := <-r.events:
			r.step(ev)
		case <-r.timer.C:
			r.step(Tick{})
		case <-r.inject:
			r.inboxMu.Lock()
			inbox := r.inbox
			r.inbox = nil
			r.inboxMu.Unlock()
			for _, ev := range inbox {
				r.step(ev)
			}
		case err := <-r.ended:
			return err
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	return r.failed
}

// step steps the session and does what it asks for. It does not block.
func (r *run) step(ev Event) {
	r.mu.Lock()
	actions := r.sess.Step(r.clock.Now(), ev)
	r.mu.Unlock()
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			if !r.writer.add(a) && r.failed == nil {
				r.step(broken{bad(CauseSlow, "more than %d bytes wait to be written", maxQueuedBytes)})
			}
		case SetTimer:
			r.timer.Reset(a.After)
		case Fail:
			if r.failed == nil {
				r.failed = a.Err
			}
		case Work:
			r.lanes.add(r.ctx, a)
		case Notice:
			r.host.Notify(r.peer, a)
		}
	}
}

func (r *run) post(ev Event) {
	select {
	case r.events <- ev:
	case <-r.ctx.Done():
	}
}

func (r *run) end(err error) {
	select {
	case r.ended <- err:
	case <-r.ctx.Done():
	}
}

func (r *run) read() {
	for {
		b, err := ReadFrame(r.conn)
		var proto *ProtocolError
		switch {
		case err == nil:
			r.post(FrameIn{b})
			if r.ctx.Err() != nil {
				return
			}
			continue
		case errors.As(err, &proto):
			r.post(broken{err})
		default:
			r.end(fmt.Errorf("read from peer: %w", err))
		}
		return
	}
}

func (r *run) write() {
	defer close(r.wrote)
	err := r.writer.run(r.conn, r.ctx.Done(), func() { r.post(Written{}) })
	if err != nil {
		r.end(fmt.Errorf("write to peer: %w", err))
	}
}

func (r *run) follow(feed Feed) {
	for {
		ids, err := feed.Next(r.ctx)
		var docs []DocInfo
		if err == nil {
			docs, err = r.host.Describe(r.ctx, r.peer, ids)
		}
		if err != nil {
			r.end(fmt.Errorf("follow documents: %w", err))
			return
		}
		r.post(DocsChanged{docs})
	}
}

// flush gives the writer a moment to get out why the session failed. Frames that still come in and
// results of works are passed over meanwhile.
func (r *run) flush() {
	r.writer.finish()
	if r.failed == nil {
		return
	}
	limit := time.NewTimer(flushTime)
	defer limit.Stop()
	for {
		select {
		case <-r.wrote:
			return
		case <-limit.C:
			return
		case <-r.ctx.Done():
			return
		case <-r.events:
		case <-r.ended:
			return
		}
	}
}
