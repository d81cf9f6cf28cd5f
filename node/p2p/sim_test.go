package p2p

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/marcopolo/simnet"
	"github.com/quic-go/quic-go"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// Peers in fake time: real networks of this package, real sync sessions, repos and document core, on
// wires that are simulated. All of it runs in a bubble of testing/synctest, whose clock moves when
// nothing else does: hours take milliseconds, and a bound in seconds is a bound on what the code
// waits for, not on the machine. Only QUIC is there, because a bubble has no sockets.

// airwaves is the simulated net between the peers of one test.
type airwaves struct {
	t   *testing.T
	net *simnet.Simnet
	ids [32]byte

	mu       sync.Mutex // the net asks from several goroutines
	rng      *rand.Rand
	latency  time.Duration
	jitter   time.Duration
	loss     float64
	cut      map[[2]int]bool // from, to
	width    int             // bits a second of every peer's line
	lost     int             // packets that loss took
	passed   int
	peers    []*simPeer
	doc      crdt.DocID
	deadline time.Duration // of every wait
}

// never is when a packet arrives that does not.
const never = 1000 * time.Hour

func newAir(t *testing.T, seed uint64) *airwaves {
	a := &airwaves{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), latency: 20 * time.Millisecond, cut: map[[2]int]bool{},
		width: 20 * simnet.Mibps, deadline: 10 * time.Minute,
	}
	for i := range a.ids {
		a.ids[i] = byte(a.rng.Uint32())
	}
	a.net = &simnet.Simnet{LatencyFunc: a.delay, Logger: slog.New(slog.DiscardHandler)}
	a.net.Start()
	t.Cleanup(func() {
		for _, p := range a.peers {
			p.stop()
			p.free()
		}
		a.net.Close()
	})
	return a
}

func place4(i int) net.IP { return net.IPv4(1, 0, 0, byte(i+1)).To4() }

func (a *airwaves) delay(p *simnet.Packet) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	from, to := p.From.(*net.UDPAddr).IP.To4(), p.To.(*net.UDPAddr).IP.To4()
	switch {
	case a.cut[[2]int{int(from[3]) - 1, int(to[3]) - 1}]:
		return never
	case a.rng.Float64() < a.loss:
		a.lost++
		return never
	}
	a.passed++
	d := a.latency
	if a.jitter > 0 {
		d += time.Duration(a.rng.Int64N(int64(a.jitter)))
	}
	return d
}

// set changes the weather.
func (a *airwaves) set(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fn()
}

func (a *airwaves) counts() (lost, passed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost, a.passed
}

// partition cuts the groups off from each other, heal undoes all cuts.
func (a *airwaves) partition(groups ...[]int) {
	a.set(func() {
		for i, g := range groups {
			for _, h := range groups[i+1:] {
				for _, x := range g {
					for _, y := range h {
						a.cut[[2]int{x, y}], a.cut[[2]int{y, x}] = true, true
					}
				}
			}
		}
	})
}

func (a *airwaves) heal() { a.set(func() { clear(a.cut) }) }

// simPeer is one peer: what survives a restart, and what runs.
type simPeer struct {
	air  *airwaves
	n    int
	id   *crdt.Identity
	skew time.Duration
	port int
	book AddressBook
	repo *crdt.Repo
	host *docsync.RepoHost
	tidy func() // closes pages
	open atomic.Int32
	most atomic.Int32

	net  *Network
	wire *quicreuse.ConnManager
	end  context.CancelFunc
	done chan error
}

// add makes a peer with a lying clock. It runs at once.
func (a *airwaves) add(skew time.Duration) *simPeer {
	a.t.Helper()
	n := len(a.peers)
	seed := a.ids
	seed[0] = byte(n)
	rng := rand.NewChaCha8(seed)
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		a.t.Fatal(err)
	}
	p := &simPeer{air: a, n: n, id: id, skew: skew, port: 8000, book: newMemBook()}
	clock := crdt.SystemClock{Skew: skew}
	p.repo, err = crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	pages, err := docsync.NewPages()
	if err != nil {
		a.t.Fatal(err)
	}
	p.tidy = pages.Close
	p.host = docsync.NewRepoHost(p.repo, clock, openDoor{}, pages)
	a.peers = append(a.peers, p)
	p.start()
	return p
}

// openDoor exchanges everything with everybody who may have it.
type openDoor struct{}

// Syncs implements [docsync.Policy].
func (openDoor) Syncs(crdt.PeerID, crdt.DocID) bool { return true }

// Redeem implements [docsync.Policy].
func (openDoor) Redeem(context.Context, docsync.Request) (docsync.Code, error) {
	return docsync.CodeNotServed, nil
}

// AcceptOffer implements [docsync.Policy].
func (openDoor) AcceptOffer(context.Context, crdt.PeerID, *crdt.Access) bool { return true }

// Notice implements [docsync.Policy].
func (openDoor) Notice(crdt.PeerID, docsync.Notice) {}

// wires puts simulated ones in the place of sockets.
func (p *simPeer) wires() libp2p.Option {
	line := simnet.LinkSettings{BitsPerSecond: p.air.width}
	return libp2p.QUICReuse(
		func(reset quic.StatelessResetKey, token quic.TokenGeneratorKey, opts ...quicreuse.Option) (*quicreuse.ConnManager, error) {
			cm, err := quicreuse.NewConnManager(reset, token, opts...)
			p.wire = cm
			return cm, err
		},
		quicreuse.OverrideSourceIPSelector(func() (quicreuse.SourceIPSelector, error) { return sourceIP{place4(p.n)}, nil }),
		quicreuse.OverrideListenUDP(func(_ string, at *net.UDPAddr) (net.PacketConn, error) {
			return p.air.net.NewEndpoint(at, simnet.NodeBiDiLinkSettings{Downlink: line, Uplink: line}), nil
		}))
}

type sourceIP struct{ ip net.IP }

// PreferredSourceIPForDestination implements [quicreuse.SourceIPSelector].
func (s sourceIP) PreferredSourceIPForDestination(*net.UDPAddr) (net.IP, error) { return s.ip, nil }

func (p *simPeer) addr() string { return fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", place4(p.n), p.port) }

// start runs the network of the peer, with the waiting times of production.
func (p *simPeer) start() {
	p.air.t.Helper()
	seed := p.air.ids
	seed[0], seed[1] = byte(p.n), 1
	n, err := newNetwork(Config{
		Key: ed25519.PrivateKey(p.id.PrivateKey()), Listen: []string{p.addr()}, Book: p.book, Log: testLog(),
		Clock: crdt.SystemClock{Skew: p.skew}, Rand: rand.NewChaCha8(seed),
	}, p.wires())
	if err != nil {
		p.air.t.Fatal(err)
	}
	n.ServeSync(p.sync)
	withHold(n)
	ctx, end := context.WithCancel(context.Background())
	p.net, p.end, p.done = n, end, make(chan error, 1)
	go func() { p.done <- n.Run(ctx) }()
	untilOpen(p.air.t, n)
}

// stop ends the network; the repo stays, as a disk would.
func (p *simPeer) stop() {
	if p.end == nil {
		return
	}
	p.end()
	err := errors.Join(<-p.done, p.net.Close(), p.wire.Close())
	if p.end = nil; err != nil {
		p.air.t.Errorf("stop peer %d: %v", p.n, err)
	}
}

func (p *simPeer) free() {
	p.tidy()
	if err := p.repo.Close(); err != nil {
		p.air.t.Errorf("close repo %d: %v", p.n, err)
	}
}

func (p *simPeer) sync(ctx context.Context, s *Stream, peer crdt.PeerID) error {
	if now := p.open.Add(1); now > p.most.Load() {
		p.most.Store(now)
	}
	defer p.open.Add(-1)
	cfg := docsync.Config{Self: p.id.PeerID(), Peer: peer, Agent: "sim/1"}
	cfg.Nonce[0], cfg.Nonce[1] = byte(p.n), byte(p.most.Load())
	return docsync.NewDriver(s, docsync.NewSession(cfg), p.host, crdt.SystemClock{Skew: p.skew}).Run(ctx)
}
