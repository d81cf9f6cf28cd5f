package docsync

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// drive runs two hosts over a pipe until stop is called; the errors of both ends come back.
func drive(t *testing.T, a, b *memHost, ca, cb io.ReadWriteCloser, n byte) (da, db *Driver, stop func() (error, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	mk := func(h, o *memHost, conn io.ReadWriteCloser, nonce byte) *Driver {
		return NewDriver(conn, NewSession(Config{Self: h.self, Peer: o.self, Nonce: [16]byte{nonce, n}}), h, crdt.SystemClock{})
	}
	da, db = mk(a, b, ca, 1), mk(b, a, cb, 2)
	errA, errB := make(chan error, 1), make(chan error, 1)
	go func() { errA <- da.Run(ctx) }()
	go func() { errB <- db.Run(ctx) }()
	return da, db, func() (error, error) { cancel(); return <-errA, <-errB }
}

// await waits until a host has everything of a document that another one has.
func await(t *testing.T, id crdt.DocID, from, to *memHost) {
	t.Helper()
	feed := to.watch()
	defer feed.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for !to.vector(id).Covers(from.vector(id)) || to.vector(id) == nil {
		if _, err := feed.Next(ctx); err != nil {
			t.Fatalf("waiting for the document: %v; there %v, here %v", err, from.vector(id), to.vector(id))
		}
	}
}

func TestDriverOverPipe(t *testing.T) {
	w := newWorld(t, 1, 2)
	a, b := w.hosts[0], w.hosts[1]
	id := w.shared(1, 200)
	a.limit = 2000
	a.accept[b.self] = true
	ca, cb := Pipe()
	ca.Inject(Fault{}, 7) // reads in small pieces
	da, _, stop := drive(t, a, b, ca, cb, 1)
	await(t, id, a, b)
	for i := range 20 {
		b.write(id, text("from b %d", i))
		a.write(id, text("from a %d", i))
	}
	await(t, id, a, b)
	await(t, id, b, a)
	other := b.create(9)
	b.write(other, text("x"))
	b.grant(other, a.self, crdt.Read)
	await(t, other, b, a)
	if st := da.Status(); st.Protocol != 1 || len(st.Docs) == 0 || st.ClockOffset == nil {
		t.Errorf("status %+v", st)
	}
	if ea, eb := stop(); !errors.Is(ea, context.Canceled) || eb == nil {
		t.Errorf("ended with %v and %v", ea, eb)
	}
}

func TestDriverJoin(t *testing.T) {
	w := newWorld(t, 1, 2)
	a, b := w.hosts[0], w.hosts[1]
	id := a.create(1)
	a.write(id, text("x"))
	a.secret["s"] = crdt.Read
	ca, cb := Pipe()
	_, db, stop := drive(t, a, b, ca, cb, 1)
	db.Inject(Join{Doc: id, Kind: crdt.Session, Inviter: a.self, Secret: []byte("s")})
	await(t, id, a, b)
	stop()
}

// TestDriverResets: connections break at every place of a sync, new ones go on where they were.
func TestDriverResets(t *testing.T) {
	w := newWorld(t, 1, 2)
	a, b := w.hosts[0], w.hosts[1]
	id := w.shared(1, 100)
	a.limit = 500
	resets := 0
	for n := range 40 {
		ca, cb := Pipe()
		kind := FaultReset
		if n%3 == 1 {
			kind = FaultCut
		}
		ca.Inject(Fault{After: int64(100 + n*n*40), Kind: kind}, 0)
		da, _, stop := drive(t, a, b, ca, cb, byte(n))
		for b.vector(id) == nil || !b.vector(id).Covers(a.vector(id)) {
			if st := da.Status(); st.State == Behind {
				break
			}
			feed := b.watch()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_, err := feed.Next(ctx)
			cancel()
			feed.Close()
			if err != nil && ca.broke() {
				break
			}
		}
		ea, _ := stop()
		if !errors.Is(ea, context.Canceled) {
			resets++
		}
	}
	ca, cb := Pipe()
	_, _, stop := drive(t, a, b, ca, cb, 99)
	await(t, id, a, b)
	stop()
	if resets == 0 {
		t.Error("no connection broke")
	}
}

// broke reports whether the pipe has ended.
func (c *PipeConn) broke() bool {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.ended
}

// TestDriverFlip: a bit that flips on the way ends the connection and harms nothing.
func TestDriverFlip(t *testing.T) {
	w := newWorld(t, 1, 2)
	a, b := w.hosts[0], w.hosts[1]
	ca, cb := Pipe()
	ca.Inject(Fault{After: 5, Kind: FaultFlip}, 0) // the type of the hello
	_, _, stop := drive(t, a, b, ca, cb, 1)
	var f *ProtocolError
	waitEnd(t, cb)
	if _, eb := stop(); !errors.As(eb, &f) {
		t.Errorf("ended with %v", eb)
	}
}

func waitEnd(t *testing.T, c *PipeConn) {
	t.Helper()
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	for !c.out.ended {
		c.out.moved.Wait()
	}
}

// TestDriverTellsWhy: the other side learns why it was cut off, by a frame, before the end.
func TestDriverTellsWhy(t *testing.T) {
	w := newWorld(t, 1, 2)
	ca, cb := Pipe()
	d := NewDriver(ca, NewSession(Config{Self: w.hosts[0].self, Peer: w.hosts[1].self, Nonce: [16]byte{1}}), w.hosts[0], crdt.SystemClock{})
	end := make(chan error, 1)
	go func() { end <- d.Run(context.Background()) }()
	if _, err := cb.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	var last Frame
	for {
		b, err := ReadFrame(cb)
		if err != nil {
			break
		}
		if last, err = Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	if f, ok := last.(*Error); !ok || f.Code != CodeProtocol {
		t.Errorf("the last frame is %#v", last)
	}
	var proto *ProtocolError
	if err := <-end; !errors.As(err, &proto) || proto.Cause != CauseOversize || d.Counters()[CauseOversize] != 1 {
		t.Errorf("ended with %v", err)
	}
}

// TestDriverEndsWithPeer: the end of the stream ends Run, with io.EOF.
func TestDriverEndsWithPeer(t *testing.T) {
	w := newWorld(t, 1, 2)
	ca, cb := Pipe()
	end := make(chan error, 1)
	go func() {
		end <- Drive(context.Background(), ca, NewSession(Config{Self: w.hosts[0].self, Peer: w.hosts[1].self}), w.hosts[0], crdt.SystemClock{})
	}()
	cb.Close()
	if err := <-end; !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", err)
	}
}

// TestDriverSlowReader: a peer that asks and does not read is cut off.
func TestDriverSlowReader(t *testing.T) {
	w := newWorld(t, 1, 2)
	ca, cb := Pipe()
	end := make(chan error, 1)
	go func() {
		end <- Drive(context.Background(), ca, NewSession(Config{Self: w.hosts[0].self, Peer: w.hosts[1].self}), w.hosts[0], crdt.SystemClock{})
	}()
	hello, err := Encode(&Hello{Min: 1, Max: 1, Nonce: [16]byte{2}})
	if err != nil {
		t.Fatal(err)
	}
	ping, err := Encode(&Ping{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	var flood bytes.Buffer
	for range 1000 {
		if err := WriteFrame(&flood, ping); err != nil {
			t.Fatal(err)
		}
	}
	err = WriteFrame(cb, hello)
	for err == nil {
		_, err = cb.Write(flood.Bytes())
	}
	var proto *ProtocolError
	if err := <-end; !errors.As(err, &proto) || proto.Cause != CauseSlow {
		t.Errorf("ended with %v", err)
	}
}

func TestPipe(t *testing.T) {
	a, b := Pipe()
	go func() {
		a.Write(bytes.Repeat([]byte("x"), 3*pipeBuffer))
		a.Close()
	}()
	got, err := io.ReadAll(b)
	if err != nil || len(got) != 3*pipeBuffer {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Error("wrote to a closed pipe")
	}
	a, b = Pipe()
	a.Inject(Fault{After: 2, Kind: FaultFlip}, 1)
	if _, err := a.Write([]byte("abcd")); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if got, _ := io.ReadAll(b); string(got) != "abbd" {
		t.Errorf("read %q", got)
	}
	a, b = Pipe()
	a.Inject(Fault{After: 2, Kind: FaultCut}, 0)
	a.Write([]byte("abcd"))
	if got, err := io.ReadAll(b); string(got) != "ab" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	a, b = Pipe()
	a.Inject(Fault{After: 2, Kind: FaultReset}, 0)
	if _, err := a.Write([]byte("abcd")); !errors.Is(err, ErrReset) {
		t.Errorf("wrote: %v", err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, ErrReset) {
		t.Errorf("read: %v", err)
	}
}
