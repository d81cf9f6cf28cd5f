package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	gonet "net"
	"os"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// ways is a pair of connected peers, one of which has content.
type ways struct {
	o          *options
	netA, netB *net
	n          int // fetches done
}

// measureObjects lets a peer fetch content by CID from another, checked and durable, against copying the
// same bytes over a fresh TCP connection and hashing them, with and without one synced write.
func measureObjects(ctx context.Context, o *options, t *table) error {
	progress("content by CID")
	store, err := ipld.Open(place(o, "serving"))
	if err != nil {
		return err
	}
	serving := ipld.New(ipld.Config{Store: store})
	server := exchange.Server{
		Allow:   func(context.Context, crdt.PeerID, crdt.DocID, string) bool { return true },
		Sources: map[exchange.Kind]exchange.Source{exchange.Block: serving.Source()},
	}
	serve := func(ctx context.Context, s *p2p.Stream) { _ = server.Serve(ctx, s.Peer(), s) }
	for _, transport := range transports() {
		w := &ways{o: o}
		if err := w.connect(ctx, transport, serve); err != nil {
			return err
		}
		for _, size := range []int{350_000, 1_400_000, 1_900_000, 8_000_000} {
			content := make([]byte, size)
			if _, err := rand.Read(content); err != nil {
				return err
			}
			id, _, err := serving.PutBytes(ctx, bytes.NewReader(content))
			if err != nil {
				return err
			}
			if err := w.measure(ctx, t, id, content, fmt.Sprintf("%.2f MB %s", float64(size)/1e6, transport)); err != nil {
				return err
			}
		}
		if err := errors.Join(w.netB.close(), w.netA.close()); err != nil {
			return err
		}
	}
	return nil
}

func (w *ways) connect(ctx context.Context, transport string, serve func(context.Context, *p2p.Stream)) error {
	a, err1 := newIdentity()
	b, err2 := newIdentity()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var err error
	if w.netA, err = openNet(ctx, a, serve); err != nil {
		return err
	}
	if w.netB, err = openNet(ctx, b, nil); err != nil {
		return err
	}
	return w.netB.connect(ctx, w.netA, transport)
}

func (w *ways) measure(ctx context.Context, t *table, id string, content []byte, size string) error {
	var written, plain pairs
	for i := range w.o.fetches + 1 {
		ours, err1 := w.fetch(ctx, id, content)
		copied, err2 := w.copy(content, false)
		durable, err3 := w.copy(content, true)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if i > 0 { // the first warms the way
			written.addTimes(ours, durable)
			plain.addTimes(ours, copied)
		}
	}
	what := "T5 code by CID from a peer: fetch, verify, store durably"
	t.add(row{what: what, against: "copy over TCP, SHA-256, one synced write", size: size, pairs: written, unit: inTime, aim: 2})
	t.add(row{what: what, against: "copy over TCP, SHA-256, kept nowhere", size: size, pairs: plain, unit: inTime, aim: 5})
	return nil
}

// streams asks the other peer over a fresh stream, as a node does.
type streams struct{ w *ways }

// Blocks implements [ipld.Peers].
func (s streams) Blocks(ctx context.Context, doc crdt.DocID, root string, want []string, got func(string, []byte) error) error {
	stream, err := s.w.netB.Open(ctx, s.w.netA.Self(), syncProtocol)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Reset() }()
	return exchange.NewClient(stream, exchange.Max{}).Get(ctx, exchange.Request{Kind: exchange.Block, Doc: doc, Root: root, IDs: want}, got)
}

func (w *ways) fetch(ctx context.Context, id string, content []byte) (time.Duration, error) {
	w.n++
	dir := place(w.o, "fetch-%s-%d", w.netB.Self().Short(), w.n)
	store, err := ipld.Open(dir)
	if err != nil {
		return 0, err
	}
	l := ipld.New(ipld.Config{Store: store, Peers: streams{w}})
	t0 := time.Now()
	err = l.FetchContent(ctx, id, int64(len(content)), loaders.From{})
	took := time.Since(t0)
	if err != nil {
		return 0, err
	}
	got, err := l.ReadBytes(ctx, id, int64(len(content)))
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("other bytes came")
	}
	return took, errors.Join(err, os.RemoveAll(dir))
}

// copy sends the bytes over a fresh connection; they may be kept in a file that is synced.
func (w *ways) copy(content []byte, keep bool) (time.Duration, error) {
	ln, err := gonet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	sent := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			_, err = c.Write(content)
			err = errors.Join(err, c.Close())
		}
		sent <- err
	}()
	want := sha256.Sum256(content)
	t0 := time.Now()
	c, err := gonet.Dial("tcp", ln.Addr().String())
	if err != nil {
		return 0, err
	}
	got := make([]byte, len(content))
	if _, err := io.ReadFull(c, got); err != nil {
		return 0, err
	}
	same := sha256.Sum256(got) == want
	if keep {
		if err := writeSynced(place(w.o, "copy"), got); err != nil {
			return 0, err
		}
	}
	took := time.Since(t0)
	if !same {
		err = errors.New("the plain copy has other bytes")
	}
	return took, errors.Join(err, c.Close(), <-sent)
}

func writeSynced(path string, b []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
