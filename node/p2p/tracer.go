package p2p

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
)

// tracer hears of each failed attempt of a dial. libp2p tells the errors of a dial only when all its
// attempts fail, and a pair with a wrong clock is exactly the one where QUIC fails and TCP works.
type tracer struct {
	mu     sync.Mutex
	failed map[string]error // by address
}

const maxTraced = 256

func newTracer() *tracer { return &tracer{failed: map[string]error{}} }

// FailedDialing implements libp2p's MetricsTracer, as do the methods below.
func (t *tracer) FailedDialing(addr ma.Multiaddr, err error, cause error) {
	if errors.Is(err, context.Canceled) || errors.Is(cause, context.Canceled) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) >= maxTraced {
		clear(t.failed)
	}
	t.failed[addr.String()] = err
}

func (*tracer) OpenedConnection(network.Direction, crypto.PubKey, network.ConnectionState, ma.Multiaddr) {
}

func (*tracer) ClosedConnection(network.Direction, time.Duration, network.ConnectionState, ma.Multiaddr) {
}
func (*tracer) CompletedHandshake(time.Duration, network.ConnectionState, ma.Multiaddr)   {}
func (*tracer) DialCompleted(bool, int, time.Duration)                                    {}
func (*tracer) DialRankingDelay(time.Duration)                                            {}
func (*tracer) UpdatedBlackHoleSuccessCounter(string, swarm.BlackHoleState, int, float64) {}

// take returns a failure at one of addrs that names a wrong clock, and forgets all of theirs. A name
// stands for any host with its port, because libp2p reports what it resolved.
func (t *tracer) take(addrs []string) *DialError {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *DialError
	for at, err := range t.failed {
		if !slices.ContainsFunc(addrs, func(a string) bool { return a == at || strings.HasPrefix(a, "/dns") && tail(a) == tail(at) }) {
			continue
		}
		delete(t.failed, at)
		if found == nil && classify(err) == CauseClock {
			found = &DialError{Cause: CauseClock, Detail: at + ": " + oneLine(err)}
		}
	}
	return found
}

// tail is an address without its host.
func tail(addr string) string {
	parts := strings.SplitN(addr, "/", 4)
	return parts[len(parts)-1]
}
