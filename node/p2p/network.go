package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Network is this peer's place among the others. Register what it serves ([Network.Handle],
// [Network.ServeSync]) before Run; all other methods may be called at any time from any goroutine.
type Network struct {
	cfg     Config
	self    crdt.PeerID
	host    host.Host
	gate    *gate
	tracer  *tracer
	dials   chan struct{} // one slot for each dial that may run
	dirty   *dirtySet     // peers whose connectedness OnPeer has yet to hear
	learned *dirtySet     // peers whose addresses the book has yet to take
	sync    SyncFunc
	counts  counters

	mu      sync.Mutex
	peers   map[crdt.PeerID]*peerState
	static  map[crdt.PeerID][]string
	nearby  []Nearby
	handled map[handlerKey]int // running handlers
	mdnsErr error
	ctx     context.Context // of Run; nil while it does not run
	wg      sync.WaitGroup  // goroutines of Run
}

const maxDials = 16

// New makes a network and opens its listen addresses. It talks to nobody before Run. Close it.
func New(cfg Config) (*Network, error) { return newNetwork(cfg) }

// newNetwork is New with other wires: tests put simulated ones in the place of sockets.
func newNetwork(cfg Config, wires ...libp2p.Option) (*Network, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	n := &Network{
		cfg:     cfg,
		self:    crdt.PeerID(cfg.Key[32:]),
		gate:    newGate(cfg.Allow),
		tracer:  newTracer(),
		dials:   make(chan struct{}, maxDials),
		dirty:   newDirtySet(),
		learned: newDirtySet(),
		peers:   map[crdt.PeerID]*peerState{},
		static:  map[crdt.PeerID][]string{},
		handled: map[handlerKey]int{},
	}
	for _, text := range cfg.Static {
		p, addr, err := splitAddr(text)
		if err != nil {
			return nil, fmt.Errorf("start network: static address: %w", err)
		}
		if p != n.self {
			n.static[p] = append(n.static[p], addr)
		}
	}
	h, err := newHost(cfg, n.gate, n.tracer, wires)
	if err != nil {
		return nil, err
	}
	if err := listen(h, cfg); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	n.host = h
	n.Want(nil)
	return n, nil
}

// Self is this peer's id.
func (n *Network) Self() crdt.PeerID { return n.self }

// Addrs are the addresses under which this peer can be reached, one for each interface and
// transport, QUIC first, without /p2p/. They change when the machine changes networks.
func (n *Network) Addrs() []string {
	addrs, err := n.host.Network().InterfaceListenAddresses()
	if err != nil {
		// The interfaces can't be read: what was asked for is better than nothing.
		addrs = n.host.Network().ListenAddresses()
	}
	out := make([]string, 0, len(addrs))
	for _, a := range addrs {
		out = append(out, a.String())
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(-cmp.Compare(strings.Count(a, "/quic"), strings.Count(b, "/quic")), strings.Compare(a, b))
	})
	return out
}

// Run connects wanted peers and serves streams until ctx ends, then closes all connections and
// returns when every handler and every goroutine it started is gone. It can run once at a time.
func (n *Network) Run(ctx context.Context) error {
	events, err := n.subscribe()
	if err != nil {
		return fmt.Errorf("run network: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	if n.ctx != nil {
		n.mu.Unlock()
		return errors.Join(errors.New("run network: it runs already"), events.Close())
	}
	n.ctx = ctx
	n.mu.Unlock()

	bundle := &network.NotifyBundle{ConnectedF: n.connOpened, DisconnectedF: n.connClosed}
	n.host.Network().Notify(bundle)
	n.gate.setOpen(true)
	n.spawn(func(ctx context.Context) { n.watch(ctx, events) })
	n.spawn(n.tellPeers)
	n.spawn(n.writeBook)
	n.spawn(n.watchSleep)
	n.startKeepers()

	<-ctx.Done()
	n.gate.setOpen(false)
	n.mu.Lock()
	n.ctx = nil // from here on spawn refuses
	n.mu.Unlock()
	n.closeConns(func(crdt.PeerID) bool { return true })
	n.wg.Wait()
	n.host.Network().StopNotify(bundle)
	n.forgetConns()
	if err := events.Close(); err != nil {
		return fmt.Errorf("stop network: %w", err)
	}
	return nil
}

// Close releases the listen addresses and everything else. Run must have returned.
func (n *Network) Close() error {
	if err := n.host.Close(); err != nil {
		return fmt.Errorf("close network: %w", err)
	}
	return nil
}

// spawn runs fn in a goroutine that Run waits for; it does nothing and reports false when Run does
// not run.
func (n *Network) spawn(fn func(ctx context.Context)) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spawnLocked(fn)
}

func (n *Network) spawnLocked(fn func(ctx context.Context)) bool {
	ctx := n.ctx
	if ctx == nil || ctx.Err() != nil {
		return false
	}
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		fn(ctx)
	}()
	return true
}

// closeConns closes every connection to a peer that which selects.
func (n *Network) closeConns(which func(crdt.PeerID) bool) {
	for _, id := range n.host.Network().Peers() {
		if p, ok := fromLibp2p(id); !ok || which(p) {
			if err := n.host.Network().ClosePeer(id); err != nil {
				n.cfg.Log.Debug("close connection", "peer", id.String(), "err", err)
			}
		}
	}
}
