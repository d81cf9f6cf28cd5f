package p2p

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
)

// newHost makes a host that does not listen yet.
func newHost(cfg Config, g *gate, tracer swarm.MetricsTracer, wires []libp2p.Option) (host.Host, error) {
	key, err := crypto.UnmarshalEd25519PrivateKey(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("start network: read identity key: %w", err)
	}
	limits, err := newResourceManager(cfg.Limits)
	if err != nil {
		return nil, fmt.Errorf("start network: set resource limits: %w", err)
	}
	conns, err := connmgr.NewConnManager(cfg.Limits.Conns/2, max(1, cfg.Limits.Conns*3/4))
	if err != nil {
		return nil, fmt.Errorf("start network: bound connections: %w", err)
	}
	h, err := libp2p.New(
		libp2p.Identity(key),
		libp2p.UserAgent(cfg.Agent),
		libp2p.NoListenAddrs, // listen does it, one address at a time, to see every error
		libp2p.Transport(quic.NewTransport),
		// Port sharing would let two programs listen on one TCP port without an error.
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ConnectionGater(g),
		libp2p.ResourceManager(limits),
		libp2p.ConnectionManager(conns),
		libp2p.DisableRelay(),
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.DisableMetrics(),
		libp2p.Ping(false),
		// With few peers, most of them often away, these would take absence for a broken network.
		libp2p.UDPBlackHoleSuccessCounter(nil),
		libp2p.IPv6BlackHoleSuccessCounter(nil),
		libp2p.SwarmOpts(swarm.WithDialRanker(rankDials), swarm.WithMetricsTracer(tracer)),
		libp2p.ChainOptions(wires...),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start network: %w", err), conns.Close(), limits.Close())
	}
	return h, nil
}

// listen opens every listen address of the configuration, with the ports of the last run where the
// configuration leaves them open and they are free.
func listen(h host.Host, cfg Config) error {
	for _, text := range cfg.Listen {
		addr, err := parseAddr(text)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		if transportOf(addr) == "" {
			return fmt.Errorf("listen: %w", errTransport(text))
		}
		if before := previousPort(addr, cfg.Previous); before != nil && h.Network().Listen(before) == nil {
			continue
		}
		if err := h.Network().Listen(addr); err != nil {
			return explainListen(text, err)
		}
	}
	return nil
}

func explainListen(addr string, err error) error {
	// The swarm keeps of its transports' errors only the text.
	if errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
		return fmt.Errorf("listen on %s: the port is in use by another program; choose another port or 0", addr)
	}
	return fmt.Errorf("listen on %s: %w", addr, err)
}

// previousPort is addr, whose port is 0, with the port that an address of the last run had on the
// same transport and IP version; nil if there is none.
func previousPort(addr ma.Multiaddr, previous []string) ma.Multiaddr {
	if addr[1].Value() != "0" {
		return nil
	}
	for _, text := range previous {
		old, err := parseAddr(text)
		if err != nil || transportOf(old) != transportOf(addr) || old[0].Protocol().Code != addr[0].Protocol().Code {
			continue
		}
		with := append(ma.Multiaddr{addr[0], old[1]}, addr[2:]...)
		return with
	}
	return nil
}
