package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// online is what a node has while it runs: the network and a sync session with each connected peer.
type online struct {
	n     *Node
	ctx   context.Context // ends with Run; only for work that Run waits for
	group *errgroup.Group
	net   *p2p.Network
	host  docsync.Host
	pages *docsync.Pages
	desk  *pairDesk

	mu    sync.Mutex
	links map[crdt.PeerID]*docsync.Driver
	past  map[string]int64 // counters of sessions that are over
	tasks chan func(context.Context) error
}

// newOnline binds the listen addresses; nothing is served yet.
func (n *Node) newOnline() (*online, error) {
	on := &online{n: n, desk: &pairDesk{}, links: map[crdt.PeerID]*docsync.Driver{}, past: map[string]int64{}, tasks: make(chan func(context.Context) error, 256)}
	previous := crdt.NewTable[[]string](n.home.store, "listen")
	last, err := previous.Get(context.Background(), "addrs")
	if err != nil && !errors.Is(err, crdt.ErrNotFound) {
		return nil, err
	}
	listen := n.cfg.Listen
	if len(listen) == 0 {
		listen = p2p.DefaultListen()
	}
	p2p.LogLibrary(n.log.Handler())
	on.net, err = p2p.New(p2p.Config{
		Key: n.home.identity.PrivateKey(), Listen: listen, Previous: last, MDNS: n.cfg.MDNS, Static: n.cfg.Static,
		Book: n.peers, Clock: n.clock, Log: n.log, Agent: "chaz-peer/" + extension.HostVersion, OnPeer: on.onPeer,
	})
	if err != nil {
		return nil, remedied(err)
	}
	if on.pages, err = docsync.NewPages(); err != nil {
		return nil, errors.Join(err, on.net.Close())
	}
	on.host = syncHost{docsync.NewRepoHost(n.repo, n.clock, policy{on}, on.pages), n}
	on.net.ServeSync(on.sync)
	on.net.Handle(objectsProtocol, on.serveObjects(n.objectServer()))
	on.net.Handle(pairProtocol, func(ctx context.Context, s *p2p.Stream) { n.servePairing(ctx, s, on.desk) })
	for _, p := range n.peers.ids() {
		if n.peers.row(p).Paused {
			on.net.Pause(p)
		}
	}
	if err := previous.Put(context.Background(), "addrs", on.net.Addrs()); err != nil {
		return nil, errors.Join(err, on.close())
	}
	return on, nil
}

func (on *online) close() error {
	on.pages.Close()
	return on.net.Close()
}

// onPeer is told of connections that come and go. It does not block.
func (on *online) onPeer(p crdt.PeerID, connected bool) {
	on.n.log.Info("peer", "peer", p.Short(), "connected", connected)
	on.later(func(ctx context.Context) error {
		if slices.Contains(on.n.knownPeers(ctx), p) {
			return on.n.peers.seen(ctx, p)
		}
		return nil
	})
	on.n.peers.ring()
}

// sync runs the protocol over one stream.
func (on *online) sync(ctx context.Context, s *p2p.Stream, peer crdt.PeerID) error {
	cfg := docsync.Config{Self: on.n.Self(), Peer: peer, Agent: "chaz-peer/" + extension.HostVersion}
	if _, err := rand.Read(cfg.Nonce[:]); err != nil {
		return fmt.Errorf("start sync: %w", err)
	}
	d := docsync.NewDriver(s, docsync.NewSession(cfg), on.host, on.n.clock)
	on.mu.Lock()
	on.links[peer] = d
	on.mu.Unlock()
	on.n.peers.ring()
	on.n.loading.replay.Retry() // it may have what is missing here
	for _, j := range on.n.joins.all() {
		if t, err := crdt.ParseTicket(j.Ticket); err == nil && t.Peer == peer {
			d.Inject(joinEvent(t, j, on.n.name()))
		}
	}
	err := d.Run(ctx)
	on.mu.Lock()
	for cause, k := range d.Counters() {
		on.past[string(cause)] += int64(k)
	}
	delete(on.links, peer)
	on.mu.Unlock()
	on.n.peers.ring()
	return err
}

func joinEvent(t *crdt.Ticket, j joinRow, name string) docsync.Join {
	ev := docsync.Join{Doc: t.Doc, Kind: t.Kind, Inviter: t.Peer, Note: name}
	if !t.Secret.IsZero() {
		ev.Secret = t.Secret[:]
	}
	if t.Secret.IsZero() {
		ev.Role = j.Role
	}
	return ev
}

// meet takes up contact with the peer of a ticket.
func (on *online) meet(ctx context.Context, t *crdt.Ticket) {
	on.wantPartners()
	if err := on.net.Remember(ctx, t.Peer, t.Addrs); err != nil {
		on.n.log.Warn("addresses of a ticket not usable", "peer", t.Peer.Short(), "cause", err)
	}
}

// startJoin asks for a document now, if its inviter is connected, and makes sure that it will be.
func (on *online) startJoin(ctx context.Context, t *crdt.Ticket) {
	on.meet(ctx, t)
	j, ok := on.n.joins.get(t.Doc)
	if d := on.n.link(t.Peer); d != nil && ok {
		d.driver.Inject(joinEvent(t, j, on.n.name()))
	}
}

func (on *online) wantPartners() { on.net.Want(on.n.partners(on.ctx)) }

// talking lists the connected peers whose sync session has something to say of a document.
func (on *online) talking(id crdt.DocID) []crdt.PeerID {
	on.mu.Lock()
	defer on.mu.Unlock()
	var out []crdt.PeerID
	for p, d := range on.links {
		for _, r := range d.Status().Docs {
			if r.Doc == id {
				out = append(out, p)
			}
		}
	}
	return out
}

// medianOffset is the median of the peers' clocks against this one's, in ms.
func (on *online) medianOffset() (int64, int) {
	on.mu.Lock()
	defer on.mu.Unlock()
	var all []int64
	for _, d := range on.links {
		if off := d.Status().ClockOffset; off != nil {
			all = append(all, *off)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], len(all)
}

// link is a running sync session with one peer.
type link struct{ driver *docsync.Driver }

func (l *link) status() docsync.PeerStatus { return l.driver.Status() }

func (n *Node) link(p crdt.PeerID) *link {
	on := n.getOnline()
	if on == nil {
		return nil
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if d := on.links[p]; d != nil {
		return &link{d}
	}
	return nil
}

// counters counts what was refused or went wrong with other peers since the start, by cause.
func (n *Node) counters() map[string]int64 {
	on := n.getOnline()
	if on == nil {
		return nil
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	out := map[string]int64{}
	for cause, k := range on.past {
		out[cause] += k
	}
	for _, d := range on.links {
		for cause, k := range d.Counters() {
			out[string(cause)] += int64(k)
		}
	}
	stats := on.net.Stats()
	out["refused_connections"] = int64(stats.RefusedConns)
	out["refused_streams"] = int64(stats.RefusedStreams)
	for cause, k := range out {
		if k == 0 {
			delete(out, cause)
		}
	}
	return out
}

// later hands work to the node's own goroutine, from places that must not block. When too much is
// waiting it is dropped: what it would do is done again at the next occasion.
func (on *online) later(fn func(context.Context) error) {
	select {
	case on.tasks <- fn:
	default:
		on.n.log.Warn("too much is waiting; a task was dropped")
	}
}

// work runs what later was given.
func (on *online) work(ctx context.Context) error {
	for {
		select {
		case fn := <-on.tasks:
			if err := fn(ctx); err != nil && ctx.Err() == nil {
				on.n.log.Error("task failed", "cause", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// ticketAddrs are the addresses that a ticket names: where this peer listens, or last listened.
func (n *Node) ticketAddrs() []string {
	var addrs []string
	if on := n.getOnline(); on != nil {
		addrs = on.net.Addrs()
	} else if last, err := crdt.NewTable[[]string](n.home.store, "listen").Get(context.Background(), "addrs"); err == nil {
		addrs = last
	}
	return addrs[:min(len(addrs), crdt.MaxTicketAddrs)]
}

// retell makes every session look at a document again whose exchange was switched on or off here.
func (on *online) retell(ctx context.Context, id crdt.DocID) error {
	on.mu.Lock()
	links := maps.Clone(on.links)
	on.mu.Unlock()
	for p, d := range links {
		docs, err := on.host.Describe(ctx, p, []crdt.DocID{id})
		if err != nil {
			return err
		}
		d.Inject(docsync.DocsChanged{Docs: docs})
	}
	return nil
}
