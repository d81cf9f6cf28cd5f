package p2p

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Every test runs on real loopback sockets; none may leave a goroutine behind.
func TestMain(m *testing.M) {
	LogLibrary(testLog().Handler())
	goleak.VerifyTestMain(m)
}

// testLog prints only when somebody looks for the cause of a failure.
func testLog() *slog.Logger {
	if os.Getenv("P2P_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

const (
	loopQUIC = "/ip4/127.0.0.1/udp/0/quic-v1"
	loopTCP  = "/ip4/127.0.0.1/tcp/0"
)

// key i is the same in every run; keys are sorted by peer id, so key 0 opens sync streams to key 1.
func testKey(i int) ed25519.PrivateKey {
	keys := make([]ed25519.PrivateKey, 0, 16)
	for n := range 16 {
		seed := make([]byte, ed25519.SeedSize)
		binary.BigEndian.PutUint64(seed, uint64(n)+1)
		keys = append(keys, ed25519.NewKeyFromSeed(seed))
	}
	slices.SortFunc(keys, func(a, b ed25519.PrivateKey) int { return slices.Compare(a[32:], b[32:]) })
	return keys[i]
}

func testID(i int) crdt.PeerID { return crdt.PeerID(testKey(i)[32:]) }

func testConfig(t testing.TB, i int) Config {
	seed := [32]byte{byte(i)}
	return Config{
		Log:     testLog(),
		Key:     testKey(i),
		Listen:  []string{loopQUIC, loopTCP},
		Rand:    rand.NewChaCha8(seed),
		Backoff: Backoff{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond, Stable: 300 * time.Millisecond},
	}
}

// node is a running network; stop ends it before the test does.
type node struct {
	*Network
	stop func()
}

// start runs a network until the test ends; prepare registers handlers.
func start(t testing.TB, cfg Config, prepare func(*Network)) *node {
	t.Helper()
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(stop)
	untilOpen(t, n)
	return &node{n, stop}
}

// untilOpen waits until Run lets peers in.
func untilOpen(t testing.TB, n *Network) {
	t.Helper()
	for ctx := contextOf(t); ; runtime.Gosched() {
		n.gate.mu.RLock()
		open := n.gate.open
		n.gate.mu.RUnlock()
		if open {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the network does not start")
		}
	}
}

// contextOf bounds every wait in a test.
func contextOf(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (n *node) await(t testing.TB, p crdt.PeerID, what string, ok func(PeerState) bool) PeerState {
	t.Helper()
	state, err := n.Await(contextOf(t), p, ok)
	if err != nil {
		t.Fatalf("waiting for %s: %v; state %+v", what, err, state)
	}
	return state
}

func connected(s PeerState) bool    { return s.Connected }
func disconnected(s PeerState) bool { return !s.Connected }

// over are the addresses of a node on one transport.
func (n *node) over(transport string) []string {
	return slices.DeleteFunc(n.Addrs(), func(a string) bool { return strings.Contains(a, "/tcp/") != (transport == "tcp") })
}

// echo is a handler that sends back what it gets.
func echo(_ context.Context, s *Stream) {
	if _, err := io.Copy(s, s); err != nil {
		_ = s.Reset()
	}
}

const echoProto = "/chaz/test-echo/1"

func withEcho(n *Network) { n.Handle(echoProto, echo) }

// ask opens a stream, sends a line and returns what comes back until the end.
func (n *node) ask(t testing.TB, p crdt.PeerID, text string) (string, error) {
	t.Helper()
	s, err := n.Open(contextOf(t), p, echoProto)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if err := s.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(s, text); err != nil {
		return "", err
	}
	if err := s.CloseWrite(); err != nil {
		return "", err
	}
	got, err := io.ReadAll(s)
	return string(got), err
}

func (n *node) mustAsk(t testing.TB, p crdt.PeerID) {
	t.Helper()
	if got, err := n.ask(t, p, "hello"); err != nil || got != "hello" {
		t.Fatalf("echo: got %q, %v", got, err)
	}
}
