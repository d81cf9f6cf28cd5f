package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// link is a sync session between peer a and a fresh peer b.
type link struct {
	*session
	netA, netB   *net
	b            *peer
	sideA, sideB *side
	bytes        atomic.Int64 // both ways, as b counts them
	stop         context.CancelFunc
	wg           sync.WaitGroup
}

// transports are measured side by side: QUIC is what two peers use when they can.
func transports() []string { return []string{"quic", "tcp"} }

// measureBootstraps lets fresh peers fetch the session, in turn with the core's own sync.
func (s *session) measureBootstraps(ctx context.Context, t *table) error {
	own, err := s.newOwnSync(ctx)
	if err != nil {
		return err
	}
	boots := s.opt.bootstraps
	if s.size > 10_000 {
		boots = min(boots, 3)
	}
	times, bytes := map[string]*pairs{}, map[string]*pairs{}
	for i := range boots {
		base, size, err := own.run(ctx)
		if err != nil {
			return err
		}
		for _, transport := range transports() {
			l, took, err := s.join(ctx, transport, i)
			if err != nil {
				return fmt.Errorf("bootstrap over %s: %w", transport, err)
			}
			if i == 0 {
				times[transport], bytes[transport] = &pairs{}, &pairs{}
			}
			times[transport].add(float64(took), base)
			bytes[transport].add(float64(l.bytes.Load()), size)
			if err := l.close(); err != nil {
				return err
			}
		}
	}
	for _, transport := range transports() {
		label := s.label + " " + transport
		t.add(row{what: "bootstrap, all checks, durable", against: "Automerge's own sync of the same in memory", size: label, pairs: *times[transport], unit: inTime, aim: 4})
		t.add(row{what: "bytes of a bootstrap", against: "Automerge's own sync of the same", size: label, pairs: *bytes[transport], unit: inBytes, aim: 0.4})
	}
	return nil
}

// measureLive measures live events over each transport and returns the times over the first.
func (s *session) measureLive(ctx context.Context, t *table) (pairs, error) {
	var first pairs
	for i, transport := range transports() {
		l, _, err := s.join(ctx, transport, s.opt.bootstraps)
		if err != nil {
			return first, fmt.Errorf("join over %s: %w", transport, err)
		}
		p, err := l.measureLive(ctx, transport, t)
		if err = errors.Join(err, l.close()); err != nil {
			return first, fmt.Errorf("live over %s: %w", transport, err)
		}
		if i == 0 {
			first = p
		}
	}
	return first, nil
}

// join lets a fresh peer fetch the session and says how long it took from opening the stream until
// all of it was durable there.
func (s *session) join(ctx context.Context, transport string, i int) (*link, time.Duration, error) {
	l := &link{session: s}
	var err error
	if l.b, err = openPeer(ctx, place(s.opt, "b-%d-%s-%d", s.size, transport, i), s.b, true); err != nil {
		return nil, 0, err
	}
	if err := l.adopt(ctx); err != nil {
		return nil, 0, err
	}
	if l.sideA, err = newSide(s.a); err != nil {
		return nil, 0, err
	}
	if l.sideB, err = newSide(l.b); err != nil {
		return nil, 0, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	var served atomic.Int64
	if l.netA, err = openNet(ctx, s.a.id, func(ctx context.Context, st *p2p.Stream) { _ = l.sideA.drive(ctx, st, &served) }); err != nil {
		return nil, 0, err
	}
	if l.netB, err = openNet(ctx, s.b, nil); err != nil {
		return nil, 0, err
	}
	if err := l.netB.connect(ctx, l.netA, transport); err != nil {
		return nil, 0, err
	}
	runtime.GC()
	took, err := l.bootstrap(ctx)
	return l, took, err
}

// adopt gives b the session's rights, as a join does before it asks for content.
func (l *link) adopt(ctx context.Context) error {
	access, err := l.a.repo.Access(ctx, l.doc)
	if err != nil {
		return err
	}
	var raw [][]byte
	for _, o := range access.Objects() {
		raw = append(raw, o.Raw)
	}
	_, err = l.b.repo.Adopt(ctx, raw)
	return err
}

func (l *link) bootstrap(ctx context.Context) (time.Duration, error) {
	want, _ := l.a.repo.Summary(l.doc)
	feed := l.b.repo.Watch(l.doc)
	defer feed.Close()
	t0 := time.Now()
	stream, err := l.netB.Open(ctx, l.netA.Self(), syncProtocol)
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	l.wg.Go(func() { ended <- l.sideB.drive(ctx, stream, &l.bytes) })
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if have, _ := l.b.repo.Summary(l.doc); have.Vector == want.Vector {
			took := time.Since(t0)
			return took, l.sideA.settled(wait)
		}
		if _, err := feed.Next(wait); err != nil {
			select {
			case ended := <-ended:
				err = ended
			default:
			}
			return 0, err
		}
	}
}

func (l *link) close() error {
	l.stop()
	l.wg.Wait()
	err := errors.Join(l.netB.close(), l.netA.close())
	l.sideA.pages.Close()
	l.sideB.pages.Close()
	return errors.Join(err, l.b.close())
}

// seen says when a row became what counts at b.
type seen struct {
	row crdt.RowID
	at  time.Time
}

// follow reports the newest row of the fold at b after each change there.
func (l *link) follow(ctx context.Context, out chan<- seen) {
	feed := l.b.repo.Watch(l.doc)
	defer feed.Close()
	for {
		if _, err := feed.Next(ctx); err != nil {
			return
		}
		var now seen
		err := l.b.repo.View(ctx, l.doc, func(v *crdt.View) error {
			log, err := logOf(v)
			if err != nil {
				return err
			}
			e, _ := log.Latest(nameOf(l.a.turn - 1))
			now = seen{e.ID, time.Now()}
			return nil
		})
		if err != nil {
			return
		}
		select {
		case out <- now:
		case <-ctx.Done():
			return
		}
	}
}

// measureLive times a write at a until b's fold shows it and both have it on disk, against a round
// trip over an open stream and a raw put on each side, in turn.
func (l *link) measureLive(ctx context.Context, transport string, t *table) (times pairs, err error) {
	echo, err := l.netB.Open(ctx, l.netA.Self(), echoProtocol)
	if err != nil {
		return times, err
	}
	defer func() { _ = echo.Reset() }()
	events := make(chan seen, 16)
	following, stop := context.WithCancel(ctx)
	defer stop()
	l.wg.Go(func() { l.follow(following, events) })

	for range l.opt.writes {
		took, err := l.liveOnce(ctx, events)
		if err != nil {
			return times, err
		}
		base, err := l.plainOnce(ctx, echo)
		if err != nil {
			return times, err
		}
		times.addTimes(took, base)
	}
	label := l.label + " " + transport
	t.add(row{what: "write on A → fold changed on B, durable on both", against: "one round trip and two raw synced puts", size: label, pairs: times, unit: inTime, aim: 3, aim99: 6})
	stop()
	for _, x := range []struct {
		what  string
		write func() error
	}{
		{"bytes of a live switch, with signature, frames and ack (mean of 60)", func() error { _, _, err := l.a.write(ctx, l.doc); return err }},
		{"bytes of a live message of 60 letters, likewise", func() error {
			return l.a.say(ctx, l.doc, "a line of what was said, long enough to be called usual here")
		}},
	} {
		bytes, err := l.liveBytes(ctx, x.write)
		if err != nil {
			return times, err
		}
		t.add(row{what: x.what, against: "its raw chunk", size: label, pairs: bytes, unit: inBytes, aim: 1.5})
	}
	return times, nil
}

// liveBytes is what passes the stream, both ways, for one change at a time: the mean, because to
// switch off takes fewer bytes than to switch on.
func (l *link) liveBytes(ctx context.Context, write func() error) (p pairs, err error) {
	const changes = 2 * extensions // each name on and off once
	var sent, chunks float64
	for range changes {
		have, err := l.a.repo.Vector(ctx, l.doc)
		if err != nil {
			return p, err
		}
		before := l.bytes.Load()
		if err := write(); err != nil {
			return p, err
		}
		if err := l.sideA.settled(ctx); err != nil {
			return p, err
		}
		raw, err := l.a.chunkBytes(ctx, l.doc, have)
		if err != nil {
			return p, err
		}
		sent, chunks = sent+float64(l.bytes.Load()-before), chunks+float64(raw)
	}
	p.add(sent/changes, chunks/changes)
	return p, nil
}

func (l *link) liveOnce(ctx context.Context, events <-chan seen) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	t0 := time.Now()
	id, _, err := l.a.write(ctx, l.doc)
	done := time.Now() // durable at a
	for err == nil {
		select {
		case e := <-events:
			if e.row != id {
				continue
			}
			if e.at.After(done) {
				done = e.at
			}
			return done.Sub(t0), l.sideA.settled(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return 0, err
}

func (l *link) plainOnce(ctx context.Context, echo *p2p.Stream) (time.Duration, error) {
	buf := make([]byte, len(l.rawA.value))
	t0 := time.Now()
	if err := l.rawA.put(ctx); err != nil {
		return 0, err
	}
	if _, err := echo.Write(l.rawA.value); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(echo, buf); err != nil {
		return 0, err
	}
	if err := l.rawB.put(ctx); err != nil {
		return 0, err
	}
	return time.Since(t0), nil
}

var _ docsync.Policy = (*side)(nil)
