package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	gonet "net"
	"runtime"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// eventsEach is how many events each peer writes while it is cut off.
const eventsEach = 4

// measurePeers lets crowds of growing size write while everybody is alone, then connects all with all at
// once: how much is sent and how long it takes until all agree, against handing each change to each peer
// just once, with no network and no protocol.
func measurePeers(ctx context.Context, o *options, t *table) error {
	var per []float64 // nanoseconds for each change that a peer got
	for _, n := range o.crowds {
		progress("%d peers", n)
		var times, sent, frames pairs
		for range o.heals {
			c, err := newCrowd(ctx, n)
			if err != nil {
				return err
			}
			if err := c.measure(ctx, &times, &sent, &frames); err != nil {
				return fmt.Errorf("%d peers: %w", n, err)
			}
			if err := c.close(); err != nil {
				return err
			}
		}
		label := fmt.Sprintf("%d peers, %d events", n, n*eventsEach)
		t.add(row{what: "from the heal until all agree, every pair connected", against: "every change handed to every peer once", size: label, pairs: times, unit: inTime})
		t.add(row{what: "bytes until all are quiet", against: "every change once to every peer, raw", size: label, pairs: sent, unit: inBytes})
		t.add(row{what: "messages until all are quiet", against: "one for each pair of peers and direction", size: label, pairs: frames, unit: inCount})
		per = append(per, quantile(times.ours, 0.5)/float64(n*(n-1)*eventsEach))
	}
	if len(per) > 1 {
		var p pairs
		p.add(per[len(per)-1], per[0])
		t.add(row{what: "growth of the time for each change that a peer gets", against: "the smallest crowd", size: fmt.Sprintf("%d / %d peers", o.crowds[len(per)-1], o.crowds[0]), pairs: p, unit: inTime})
	}
	return nil
}

// measure has everybody write alone, heals, and does the same by hand on copies of the stores.
func (c *crowd) measure(ctx context.Context, times, sent, frames *pairs) error {
	for _, p := range c.peers {
		for range eventsEach {
			if _, _, err := p.write(ctx, c.doc); err != nil {
				return err
			}
		}
	}
	var copies []*peer
	for i, id := range c.ids {
		p, err := openMemory(ctx, id, c.stores[i].Clone())
		if err != nil {
			return err
		}
		if _, err := p.repo.Vector(ctx, c.doc); err != nil { // open, as the others are
			return err
		}
		copies = append(copies, p)
	}
	runtime.GC()
	raw := 0
	t0 := time.Now()
	if err := c.handOver(ctx, copies, &raw); err != nil {
		return err
	}
	byHand := time.Since(t0)
	want, _ := copies[0].repo.Summary(c.doc)
	for _, p := range copies {
		if err := p.repo.Close(); err != nil {
			return err
		}
	}
	runtime.GC()
	took, err := c.heal(ctx, want)
	if err != nil {
		return err
	}
	n := len(c.peers)
	times.addTimes(took, byHand)
	sent.add(float64(c.sent.Load()), float64(raw))
	frames.add(float64(c.frames.Load()), float64(n*(n-1)))
	return nil
}

// heal connects all with all, waits until all have the same and then until nothing is sent any more.
func (c *crowd) heal(ctx context.Context, want crdt.Summary) (time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	t0 := time.Now()
	for i := range c.peers {
		for j := range i {
			here, there := gonet.Pipe()
			wg.Go(func() { _ = c.drive(ctx, i, j, here) })
			wg.Go(func() { _ = c.drive(ctx, j, i, there) })
		}
	}
	var err error
	for _, p := range c.peers {
		err = errors.Join(err, c.wait(ctx, p, want))
	}
	took := time.Since(t0)
	for last, still := int64(-1), 0; err == nil && still < 3; {
		now := c.frames.Load()
		if still++; now != last {
			still = 0
		}
		last = now
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	wg.Wait()
	return took, err
}

func (c *crowd) wait(ctx context.Context, p *peer, want crdt.Summary) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	feed := p.repo.Watch(c.doc)
	defer feed.Close()
	for {
		if have, _ := p.repo.Summary(c.doc); have.Vector == want.Vector {
			return nil
		}
		if _, err := feed.Next(ctx); err != nil {
			return fmt.Errorf("a peer never got everything: %w", err)
		}
	}
}

func (c *crowd) drive(ctx context.Context, from, to int, conn gonet.Conn) error {
	cfg := docsync.Config{Self: c.ids[from].PeerID(), Peer: c.ids[to].PeerID(), Agent: "bench"}
	if _, err := rand.Read(cfg.Nonce[:]); err != nil {
		return err
	}
	end := &framed{ReadWriteCloser: conn, crowd: c}
	return docsync.Drive(ctx, end, docsync.NewSession(cfg), c.sides[from].host, crdt.SystemClock{})
}

func (c *crowd) close() error {
	var err error
	for i, p := range c.peers {
		c.sides[i].pages.Close()
		err = errors.Join(err, p.repo.Close())
	}
	return err
}

// framed counts the frames and bytes that are written.
type framed struct {
	io.ReadWriteCloser
	crowd *crowd
	held  []byte // of the frame under way
}

// Write implements [io.Writer].
func (f *framed) Write(b []byte) (int, error) {
	n, err := f.ReadWriteCloser.Write(b)
	f.crowd.sent.Add(int64(n))
	f.held = append(f.held, b[:n]...)
	for len(f.held) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(f.held))
		if len(f.held) < size {
			break
		}
		f.crowd.frames.Add(1)
		f.held = f.held[size:]
	}
	return n, err
}
