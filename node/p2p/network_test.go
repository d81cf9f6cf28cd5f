package p2p

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func TestConnectOverEachTransport(t *testing.T) {
	for _, transport := range []string{"quic", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			a, b := start(t, testConfig(t, 0), withEcho), start(t, testConfig(t, 1), withEcho)
			if err := a.Connect(contextOf(t), b.Self(), b.over(transport)); err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct {
				n       *node
				peer    crdt.PeerID
				inbound bool
			}{{a, b.Self(), false}, {b, a.Self(), true}} {
				s := side.n.await(t, side.peer, "connection", connected)
				if s.Transport != transport || s.Inbound != side.inbound || s.Cause != CauseNone || s.Agent != "chaz-peer" {
					t.Errorf("state %+v, want transport %s, inbound %v", s, transport, side.inbound)
				}
				side.n.mustAsk(t, side.peer)
			}
		})
	}
}

func TestOpenDoesNotDial(t *testing.T) {
	a, b := start(t, testConfig(t, 0), withEcho), start(t, testConfig(t, 1), withEcho)
	if err := a.Remember(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ask(t, b.Self(), "x"); !errors.Is(err, ErrNotConnected) {
		t.Fatalf("got %v, want ErrNotConnected", err)
	}
	if err := a.Connect(contextOf(t), b.Self(), nil); err != nil {
		t.Fatal(err)
	}
	a.mustAsk(t, b.Self())
}

func TestConnectNamesTheCause(t *testing.T) {
	blocked := testID(2)
	cfg := testConfig(t, 0)
	cfg.Allow = func(p crdt.PeerID) bool { return p != blocked }
	a, b, c := start(t, cfg, nil), start(t, testConfig(t, 1), nil), start(t, testConfig(t, 2), nil)
	gone := start(t, testConfig(t, 3), nil)
	goneAddrs := gone.over("tcp")
	gone.stop()

	cases := []struct {
		name  string
		from  *node
		to    crdt.PeerID
		addrs []string
		want  Cause
	}{
		{"nobody there", a, testID(3), goneAddrs, CauseUnreachable},
		{"nothing known", a, testID(4), nil, CauseNoAddress},
		{"somebody else over tcp", a, testID(5), b.over("tcp"), CauseWrongPeer},
		{"somebody else over quic", a, testID(5), b.over("quic"), CauseWrongPeer},
		{"blocked here", a, c.Self(), c.Addrs(), CauseBlocked},
		{"blocked there over quic", c, a.Self(), a.over("quic"), CauseRefused},
		{"blocked there over tcp", c, a.Self(), a.over("tcp"), CauseRefused},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.from.Connect(contextOf(t), tc.to, tc.addrs)
			var dial *DialError
			if !errors.As(err, &dial) || dial.Cause != tc.want {
				t.Fatalf("got %v, want cause %s", err, tc.want)
			}
			if strings.Contains(dial.Detail, "\n") {
				t.Errorf("more than one line: %q", dial.Detail)
			}
		})
	}
	if err := a.Connect(contextOf(t), b.Self(), b.Addrs()); err != nil { // the control
		t.Fatal(err)
	}
	if a.Stats().RefusedConns == 0 {
		t.Error("no refused connection was counted")
	}
}

func TestPortInUse(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	other := start(t, testConfig(t, 1), nil)
	taken := append(other.Addrs(),
		"/ip4/127.0.0.1/tcp/"+port(tcp.Addr().String()),
		"/ip4/127.0.0.1/udp/"+port(udp.LocalAddr().String())+"/quic-v1")
	for _, addr := range taken {
		cfg := testConfig(t, 0)
		cfg.Listen = []string{loopTCP, addr}
		n, err := New(cfg)
		if err == nil {
			_ = n.Close()
			t.Fatalf("%s: listened on a port in use", addr)
		}
		if !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "in use") {
			t.Errorf("unclear error: %v", err)
		}
	}
}

func port(hostPort string) string {
	_, p, _ := net.SplitHostPort(hostPort)
	return p
}

func TestBadConfig(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no key", func(c *Config) { c.Key = nil }, "identity key"},
		{"listen text", func(c *Config) { c.Listen = []string{"localhost:1"} }, "localhost:1"},
		{"listen transport", func(c *Config) { c.Listen = []string{"/ip4/127.0.0.1/tcp/0/ws"} }, "quic-v1"},
		{"static without peer", func(c *Config) { c.Static = []string{loopTCP} }, "/p2p/"},
		{"static transport", func(c *Config) { c.Static = []string{"/ip4/1.2.3.4/udp/1/p2p/" + testID(1).String()} }, "quic-v1"},
		{"back-off", func(c *Config) { c.Backoff = Backoff{Min: 2, Max: 1} }, "back-off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig(t, 0)
			tc.change(&cfg)
			if n, err := New(cfg); err == nil {
				_ = n.Close()
				t.Fatal("accepted")
			} else if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not name %q", err, tc.want)
			}
		})
	}
}

// The ports of the last run are taken again where the configuration leaves them open.
func TestPreviousPorts(t *testing.T) {
	a := start(t, testConfig(t, 0), nil)
	before := a.Addrs()
	a.stop()
	cfg := testConfig(t, 0)
	cfg.Previous = before
	a = start(t, cfg, nil)
	if got := a.Addrs(); strings.Join(got, " ") != strings.Join(before, " ") {
		t.Errorf("addresses %v, want the previous %v", got, before)
	}
	cfg = testConfig(t, 1) // taken now: falls back to free ones
	cfg.Previous = before
	if got := start(t, cfg, nil).Addrs(); len(got) != len(before) {
		t.Errorf("addresses %v", got)
	}
}

func TestRunTwice(t *testing.T) {
	a := start(t, testConfig(t, 0), nil)
	if err := a.Run(context.Background()); err == nil {
		t.Error("a second Run was accepted")
	}
}

// Nobody gets in before Run and after it; afterwards Run may start anew.
func TestRunAgain(t *testing.T) {
	n, err := New(testConfig(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	withEcho(n)
	a := &node{Network: n}
	b := start(t, testConfig(t, 1), nil)
	var dial *DialError
	for range 2 {
		if err := b.Connect(contextOf(t), n.Self(), a.Addrs()); !errors.As(err, &dial) || dial.Cause != CauseRefused {
			t.Fatalf("connected to a network that does not run: %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := n.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		untilOpen(t, n)
		if err := b.Connect(contextOf(t), n.Self(), nil); err != nil {
			t.Fatal(err)
		}
		b.mustAsk(t, n.Self())
		cancel()
		wg.Wait()
		if n.Peer(b.Self()).Connected {
			t.Error("connected after Run")
		}
		b.await(t, n.Self(), "end of the connection", disconnected)
	}
}

func TestOnPeer(t *testing.T) {
	type call struct {
		peer crdt.PeerID
		on   bool
	}
	calls := make(chan call, 8)
	cfg := testConfig(t, 0)
	cfg.OnPeer = func(p crdt.PeerID, on bool) { calls <- call{p, on} }
	a, b := start(t, cfg, nil), start(t, testConfig(t, 1), nil)
	for range 2 {
		if err := b.Connect(contextOf(t), a.Self(), a.Addrs()); err != nil {
			t.Fatal(err)
		}
		if got := <-calls; got != (call{b.Self(), true}) {
			t.Fatalf("got %v", got)
		}
		b.Disconnect(a.Self())
		if got := <-calls; got != (call{b.Self(), false}) {
			t.Fatalf("got %v", got)
		}
	}
}
