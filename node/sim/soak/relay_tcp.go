package soak

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// accept carries the connections that i makes to j.
func (r *relay) accept(l *net.TCPListener, i, j int) {
	for {
		in, err := l.AcceptTCP()
		if err != nil {
			if over(err) {
				return
			}
			continue
		}
		r.wg.Go(func() { r.connect(in, i, j) })
	}
}

const connectTime = 2 * time.Second

func (r *relay) connect(in *net.TCPConn, i, j int) {
	if !r.air.pass(i, j, r.done) {
		_ = in.Close()
		return
	}
	var out *net.TCPConn
	err := r.spaces[j].do(func() error {
		d := net.Dialer{Timeout: connectTime, LocalAddr: &net.TCPAddr{IP: place(i)}}
		c, err := d.Dial("tcp4", (&net.TCPAddr{IP: place(j), Port: relayPort}).String())
		if err == nil {
			out = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		_ = in.SetLinger(0) // refused, as it would be without a relay
		_ = in.Close()
		return
	}
	p := &pair{in: in, out: out, gone: make(chan struct{})}
	r.track(p, i, j)
	defer r.drop(p)
	var both sync.WaitGroup
	both.Go(func() { r.pump(p, out, in, i, j) })
	both.Go(func() { r.pump(p, in, out, j, i) })
	both.Wait()
}

// pair is one connection: its two halves.
type pair struct {
	in, out *net.TCPConn
	once    sync.Once
	gone    chan struct{}
}

// Close resets both halves, with what is under way.
func (p *pair) Close() error {
	var err error
	p.once.Do(func() {
		close(p.gone)
		err = errors.Join(p.in.SetLinger(0), p.out.SetLinger(0), p.in.Close(), p.out.Close())
	})
	return err
}

// piece is a part of a stream that is under way.
type piece struct {
	b   []byte
	due time.Time
}

const underWay = 64 // pieces

// pump copies one direction, at the pace of the weather.
func (r *relay) pump(p *pair, to, from *net.TCPConn, i, j int) {
	pieces := make(chan piece, underWay)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if n > 0 {
				select {
				case pieces <- piece{b[:n], time.Now().Add(r.air.chunk(i, j))}:
				case <-p.gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for x := range pieces {
		if !r.deliver(to, x, i, j, p.gone) {
			_ = p.Close() // nothing that comes behind it is of use
		}
	}
	_ = to.CloseWrite()
}

func (r *relay) deliver(to io.Writer, p piece, i, j int, gone <-chan struct{}) bool {
	if wait := time.Until(p.due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-gone:
			return false
		}
	}
	if !r.air.pass(i, j, gone) {
		return false
	}
	_, err := to.Write(p.b)
	return err == nil
}
