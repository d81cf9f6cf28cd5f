package p2p

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// DefaultListen are the listen addresses when [Config].Listen is empty: every IPv4 interface, a port
// chosen by the system, over QUIC and over TCP.
func DefaultListen() []string {
	return []string{"/ip4/0.0.0.0/udp/0/quic-v1", "/ip4/0.0.0.0/tcp/0"}
}

// Config says how a [Network] behaves. Only Key is required.
type Config struct {
	// Key is the identity of this peer.
	Key ed25519.PrivateKey
	// Listen are multiaddrs: /ip4/…/udp/PORT/quic-v1 or /ip4/…/tcp/PORT (also ip6). Port 0 lets the
	// system choose. Each must work, or New fails.
	Listen []string
	// Previous are the addresses of the last run ([Network.Addrs]). Where Listen leaves the port
	// open, the previous port is tried first, so that remembered addresses survive a restart.
	Previous []string
	// MDNS announces this peer on the local network and looks for others.
	MDNS bool
	// Static are multiaddrs that end in /p2p/PEER. Their peers are always wanted.
	Static []string
	// Book remembers addresses between runs; one in memory when nil.
	Book AddressBook
	// Clock stamps what [PeerState] shows; it decides nothing.
	Clock crdt.Clock
	// Rand feeds the jitter of dial delays; crypto/rand when nil.
	Rand io.Reader
	Log  *slog.Logger
	// Agent is the name and version that other peers see.
	Agent string
	// Allow says whether a peer may be connected at all, in either direction; everybody when nil.
	// It is called while a handshake waits and must not block or call the Network.
	Allow func(crdt.PeerID) bool
	// OnPeer is told when a peer becomes connected and when it no longer is, one call at a time
	// from one goroutine. A change that was undone before the call is not told.
	OnPeer  func(p crdt.PeerID, connected bool)
	Limits  Limits
	Backoff Backoff
}

// Limits bounds what all peers together and one peer may use. A zero field takes its default.
type Limits struct {
	Conns          int   // connections, default 256
	ConnsPerPeer   int   // default 8: both sides may dial at once over two transports
	Streams        int   // default 4096
	StreamsPerPeer int   // default 128, half of them inbound
	Handlers       int   // running handlers of one protocol for one peer, default 16
	Memory         int64 // bytes of stream and connection windows, default 512 MiB
	MemoryPerPeer  int64 // default 64 MiB
}

// Backoff says when a peer that can't be reached is tried again, and when a sync stream that ended
// is opened again. A zero field takes its default.
type Backoff struct {
	Min    time.Duration // delay after the first failure, default 500 ms
	Max    time.Duration // default 60 s
	Stable time.Duration // a connection or stream that lived so long counts as a success, default 10 s
}

func (c *Config) fill() error {
	if len(c.Key) != ed25519.PrivateKeySize {
		return errors.New("start network: no identity key")
	}
	if len(c.Listen) == 0 {
		c.Listen = DefaultListen()
	}
	if c.Book == nil {
		c.Book = newMemBook()
	}
	if c.Clock == nil {
		c.Clock = crdt.SystemClock{}
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Agent == "" {
		c.Agent = "chaz-peer"
	}
	c.Limits.fill()
	c.Backoff.fill()
	if c.Backoff.Min > c.Backoff.Max {
		return fmt.Errorf("start network: back-off minimum %v is above its maximum %v", c.Backoff.Min, c.Backoff.Max)
	}
	return nil
}

func (l *Limits) fill() {
	setDefault(&l.Conns, 256)
	setDefault(&l.ConnsPerPeer, 8)
	setDefault(&l.Streams, 4096)
	setDefault(&l.StreamsPerPeer, 128)
	setDefault(&l.Handlers, 16)
	setDefault(&l.Memory, 512<<20)
	setDefault(&l.MemoryPerPeer, 64<<20)
}

func (b *Backoff) fill() {
	setDefault(&b.Min, 500*time.Millisecond)
	setDefault(&b.Max, time.Minute)
	setDefault(&b.Stable, 10*time.Second)
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
