package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/protocol"
	"pgregory.net/rapid"
)

func protocolID(s string) protocol.ID { return protocol.ID(s) }

// hold is a handler that keeps its stream until the other side ends it.
func hold(_ context.Context, s *Stream) {
	if _, err := io.WriteString(s, "x"); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, s)
}

const holdProto = "/chaz/test-hold/1"

func withHold(n *Network) { n.Handle(holdProto, hold) }

// take opens a stream and waits until its handler runs.
func (n *node) take(t *testing.T, from *node) (*Stream, error) {
	t.Helper()
	s, err := n.Open(contextOf(t), from.Self(), holdProto)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		return nil, err
	}
	return s, nil
}

func TestStreamLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limits Limits
		most   int
	}{
		{"handlers of one protocol", Limits{Handlers: 3}, 3},
		{"streams of one peer", Limits{StreamsPerPeer: 10, Handlers: 100}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig(t, 0)
			cfg.Limits = tc.limits
			a := start(t, cfg, withHold)
			b, c := start(t, testConfig(t, 1), nil), start(t, testConfig(t, 2), nil)
			for _, n := range []*node{b, c} {
				if err := n.Connect(contextOf(t), a.Self(), a.Addrs()); err != nil {
					t.Fatal(err)
				}
			}
			var held []*Stream
			for i := range 2 * tc.most {
				s, err := b.take(t, a)
				if got, want := err == nil, i < tc.most; got != want && !(i >= tc.most-1 && !got) {
					t.Fatalf("stream %d: %v", i, err)
				}
				if s != nil {
					held = append(held, s)
				}
			}
			if len(held) < tc.most-1 { // identify may hold one for a moment
				t.Fatalf("%d streams of %d", len(held), tc.most)
			}
			if tc.limits.Handlers == 3 && a.Stats().RefusedStreams != 3 {
				t.Errorf("stats %+v, want 3 refused streams", a.Stats())
			}
			// The controls: another peer still gets one, and so does this one after it let go.
			if _, err := c.take(t, a); err != nil {
				t.Errorf("the other peer: %v", err)
			}
			for _, s := range held {
				_ = s.Reset()
			}
			again := func() error { _, err := b.take(t, a); return err }
			for ctx := contextOf(t); again() != nil; {
				if ctx.Err() != nil {
					t.Fatal("no stream after the others ended")
				}
			}
		})
	}
}

func TestConnLimit(t *testing.T) {
	cfg := testConfig(t, 0)
	cfg.Limits = Limits{Conns: 2}
	a := start(t, cfg, withEcho)
	nodes := []*node{start(t, testConfig(t, 1), nil), start(t, testConfig(t, 2), nil), start(t, testConfig(t, 3), nil)}
	for i, n := range nodes {
		err := n.Connect(contextOf(t), a.Self(), a.over("tcp"))
		if (err == nil) != (i < 2) {
			t.Fatalf("connection %d: %v", i, err)
		}
		var dial *DialError
		if i == 2 && (!errors.As(err, &dial) || dial.Cause != CauseLimit && dial.Cause != CauseRefused) {
			t.Errorf("cause of %v", err)
		}
	}
	nodes[0].mustAsk(t, a.Self())
	nodes[0].stop()
	a.await(t, testID(1), "room", disconnected)
	for ctx := contextOf(t); nodes[2].Connect(contextOf(t), a.Self(), nil) != nil; {
		if ctx.Err() != nil {
			t.Fatal("no room after another peer left")
		}
	}
	nodes[2].mustAsk(t, a.Self())
}

func TestBookIsRememberedAndBounded(t *testing.T) {
	book := newMemBook()
	cfg := testConfig(t, 0)
	cfg.Book = book
	a, b := start(t, cfg, nil), start(t, testConfig(t, 1), withEcho)
	stranger := start(t, testConfig(t, 2), nil)
	var many []string
	for i := range maxAddrs + 5 {
		many = append(many, fmt.Sprintf("/ip4/10.0.0.%d/tcp/1", i))
	}
	if err := a.Remember(contextOf(t), b.Self(), many); err != nil {
		t.Fatal(err)
	}
	if got, _ := book.Addresses(contextOf(t), b.Self()); !slices.Equal(got, many[:maxAddrs]) {
		t.Fatalf("book holds %v", got)
	}
	// The peer comes by itself; what it tells goes first and pushes the oldest out.
	for _, n := range []*node{b, stranger} {
		if err := n.Connect(contextOf(t), a.Self(), a.Addrs()); err != nil {
			t.Fatal(err)
		}
	}
	a.await(t, stranger.Self(), "stranger", connected)
	a.await(t, b.Self(), "b", connected)
	a.Want(want(b))
	a.stop()
	got, _ := book.Addresses(contextOf(t), b.Self())
	if len(got) != maxAddrs || !slices.Contains(got[:2], b.Addrs()[0]) || !slices.Contains(got[:2], b.Addrs()[1]) || got[2] != many[0] {
		t.Errorf("book holds %v, want %v first", got, b.Addrs())
	}
	if got, _ := book.Addresses(contextOf(t), stranger.Self()); len(got) != 0 {
		t.Errorf("the book remembers a stranger: %v", got)
	}
	// After a restart the book alone leads there.
	a = start(t, cfg, nil)
	a.Want(want(b))
	a.await(t, b.Self(), "b from the book", connected)
	a.mustAsk(t, b.Self())
	if err := a.Remember(contextOf(t), b.Self(), []string{"http://example.org"}); err == nil {
		t.Error("remembered what is no address")
	}
	if err := a.Remember(contextOf(t), a.Self(), many); err == nil {
		t.Error("remembered addresses of itself")
	}
}

func TestMergeAddrs(t *testing.T) {
	addr := rapid.Custom(func(t *rapid.T) string {
		host, p := rapid.IntRange(1, 4).Draw(t, "host"), rapid.IntRange(1, 9).Draw(t, "port")
		if rapid.Bool().Draw(t, "quic") {
			return fmt.Sprintf("/ip4/10.0.0.%d/udp/%d/quic-v1", host, p)
		}
		return fmt.Sprintf("/ip4/10.0.0.%d/tcp/%d", host, p)
	})
	rapid.Check(t, func(t *rapid.T) {
		fresh := rapid.SliceOfN(addr, 0, 24).Draw(t, "fresh")
		known := rapid.SliceOfN(addr, 0, 24).Draw(t, "known")
		moved := rapid.Bool().Draw(t, "moved")
		got := mergeAddrs(fresh, known, moved)
		if len(got) > maxAddrs {
			t.Fatalf("%d addresses", len(got))
		}
		seen := map[string]bool{}
		for _, a := range got {
			if seen[a] || !slices.Contains(fresh, a) && !slices.Contains(known, a) {
				t.Fatalf("%s twice or from nowhere", a)
			}
			seen[a] = true
			if moved && !slices.Contains(fresh, a) && slices.ContainsFunc(fresh, func(f string) bool { return place(f) == place(a) }) {
				t.Fatalf("%s is an old port", a)
			}
		}
		for _, a := range fresh[:min(len(fresh), maxAddrs)] {
			if !seen[a] {
				t.Fatalf("lost the fresh %s", a)
			}
		}
		if !slices.Equal(mergeAddrs(got, known, moved), got) && len(got) < maxAddrs {
			t.Fatal("not idempotent")
		}
	})
}

func TestSplitAddr(t *testing.T) {
	p := testID(1)
	for _, addr := range []string{loopQUIC, loopTCP, "/dns4/example.org/tcp/4001", "/ip6/::1/udp/1/quic-v1"} {
		got, rest, err := splitAddr(joinAddr(p, addr))
		if err != nil || got != p || rest != addr {
			t.Errorf("%s: %v %s %v", addr, got, rest, err)
		}
	}
	id := p.String()
	for text, want := range map[string]string{
		"": "", "nonsense": "nonsense", loopTCP: "/p2p/", "/p2p/" + id: "quic-v1",
		"/ip4/1.2.3.4/tcp/1/ws/p2p/" + id: "quic-v1", "/ip4/1.2.3.4/p2p/" + id: "quic-v1",
		"/ip4/1.2.3.4/tcp/1/p2p/QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N": "Ed25519",
		"/ip4/1.2.3.4/tcp/1/p2p/" + id + "/p2p-circuit/p2p/" + id:               "quic-v1",
		"/dns4/" + strings.Repeat("a", 400) + "/tcp/1/p2p/" + id:                "longer",
	} {
		if _, _, err := splitAddr(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzSplitAddr(f *testing.F) {
	f.Add(joinAddr(testID(1), loopQUIC))
	f.Add("/ip6zone/x/ip6/fe80::1/tcp/1/p2p/" + testID(1).String())
	f.Fuzz(func(t *testing.T, text string) {
		p, addr, err := splitAddr(text)
		if err != nil {
			return
		}
		if checkAddr(addr) != nil {
			t.Fatalf("%q split off %q, which is no address", text, addr)
		}
		if q, again, err := splitAddr(joinAddr(p, addr)); err != nil || q != p || again != addr {
			t.Fatalf("%q does not come back: %q %v", text, again, err)
		}
		_, _ = place(addr), mergeAddrs([]string{addr}, []string{addr}, true)
	})
}
