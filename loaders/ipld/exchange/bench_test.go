package exchange_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
)

// tcpPair is two ends of one loopback connection.
func tcpPair(tb testing.TB) (here, there net.Conn) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			close(accepted)
			return
		}
		accepted <- c
	}()
	if here, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	there, ok := <-accepted
	if !ok {
		tb.Fatal("no connection")
	}
	tb.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

// overTCP is a loader's view of one peer at the other end of a connection.
type overTCP struct{ client *exchange.Client }

func (o overTCP) Blocks(ctx context.Context, doc crdt.DocID, root string, want []string, got func(string, []byte) error) error {
	return o.client.Get(ctx, exchange.Request{Kind: exchange.Block, Doc: doc, Root: root, IDs: want}, got)
}

// BenchmarkFetch compares fetching content by CID from a peer, with the checks and a durable write, with
// copying the same bytes over the same kind of connection and hashing them. The metric "ratio" is the one
// median over the other.
func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{350_000, 1_400_000, 1_900_000, 8_000_000} {
		b.Run(fmt.Sprintf("%.2fMB", float64(size)/1e6), func(b *testing.B) {
			content := bytes.Repeat([]byte("chaz-peer "), size/10)
			for i := 0; i < len(content); i += 8 {
				binary.LittleEndian.PutUint64(content[i:], uint64(i)*0x9e3779b97f4a7c15)
			}
			serving := loaderIn(b, nil)
			id, _, err := serving.PutBytes(b.Context(), bytes.NewReader(content))
			if err != nil {
				b.Fatal(err)
			}
			source := serving.Source()
			var fetch, plain []time.Duration
			for b.Loop() {
				fetch = append(fetch, fetchOnce(b, source, id, int64(len(content))))
				plain = append(plain, copyOnce(b, content))
			}
			b.ReportMetric(ms(fetch), "ms/fetch")
			b.ReportMetric(ms(plain), "ms/copy")
			b.ReportMetric(ms(fetch)/ms(plain), "ratio")
		})
	}
}

func ms(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}

func fetchOnce(b *testing.B, source *ipld.Source, id string, size int64) time.Duration {
	here, there := tcpPair(b)
	server := exchange.Server{
		Allow:   func(context.Context, crdt.PeerID, crdt.DocID, string) bool { return true },
		Sources: map[exchange.Kind]exchange.Source{exchange.Block: source},
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(b.Context(), crdt.PeerID{}, there) }()
	l := loaderIn(b, overTCP{exchange.NewClient(here, exchange.Max{})})
	start := time.Now()
	err := l.FetchContent(b.Context(), id, size, loaders.From{})
	took := time.Since(start)
	here.Close()
	if err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	return took
}

func copyOnce(b *testing.B, content []byte) time.Duration {
	here, there := tcpPair(b)
	sent := make(chan error, 1)
	start := time.Now()
	go func() { _, err := there.Write(content); there.Close(); sent <- err }()
	got, err := io.ReadAll(here)
	sum := sha256.Sum256(got)
	took := time.Since(start)
	if err != nil || <-sent != nil || sum != sha256.Sum256(content) {
		b.Fatal("the plain copy failed")
	}
	return took
}
