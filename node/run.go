package node

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Ready is what a node says when it serves.
type Ready struct {
	PeerID string
	Addrs  []string
}

// Run goes online, serves the local API and calls ready; it returns when ctx ends and everything it
// started is gone. runtimeDir takes the socket when the path of the home is too long for one.
//
// Start: store and documents (in Open), network addresses, API socket, then all of it at once. Stop
// is the reverse: the API takes no new calls, sync sessions end, the network closes. Close frees
// documents and store.
func (n *Node) Run(ctx context.Context, runtimeDir string, ready func(Ready)) error {
	if err := n.machine.CheckSandbox(ctx); err != nil {
		return err
	}
	on, err := n.newOnline()
	if err != nil {
		return err
	}
	server, err := control.New(control.Config{Home: n.cfg.Home, Methods: n.Methods(), TCP: n.cfg.ControlTCP, RuntimeDir: runtimeDir, Log: n.log})
	if err != nil {
		return errors.Join(err, on.close())
	}
	netCtx, stopNet := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNet()
	on.group, on.ctx = errgroup.WithContext(netCtx)
	n.setOnline(on)
	on.wantPartners()
	if err := n.routines.Load(ctx); err != nil {
		n.setOnline(nil)
		return errors.Join(err, server.Close(), on.close())
	}
	// The look at every document above was the largest there will be for long; what it took is given
	// back to the system.
	debug.FreeOSMemory()
	on.group.Go(func() error { return on.net.Run(on.ctx) })
	on.group.Go(func() error { return on.work(on.ctx) })
	on.group.Go(func() error { return n.home.store.Run(on.ctx) })
	on.group.Go(func() error { return on.keep(on.ctx) })
	on.group.Go(func() error { return on.follow(on.ctx) })
	on.group.Go(func() error { return n.hub.Run(on.ctx) })
	on.group.Go(func() error { return n.routines.Run(on.ctx) })
	if err := n.loading.wake(ctx); err != nil {
		n.log.Error("sessions with external extensions were not read", "cause", err)
	}
	on.group.Go(func() error { return n.loading.replay.Run(on.ctx) })
	on.group.Go(func() error { return n.contents.Run(on.ctx, on) })
	ready(Ready{PeerID: n.Self().String(), Addrs: on.net.Addrs()})

	serveCtx, stopServe := context.WithCancel(ctx)
	defer stopServe()
	context.AfterFunc(on.ctx, stopServe) // a part that fails ends all
	err = server.Run(serveCtx)
	stopNet()
	err = errors.Join(err, on.group.Wait())
	n.setOnline(nil)
	err = errors.Join(err, server.Close(), on.close())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (n *Node) setOnline(on *online) {
	n.mu.Lock()
	n.online = on
	n.mu.Unlock()
}

// How often the store is tidied up.
const packEvery = 10 * time.Minute

// keep packs the change logs of documents now and then.
func (on *online) keep(ctx context.Context) error {
	t := time.NewTicker(packEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		for _, s := range on.n.repo.List() {
			if _, err := on.n.repo.Compact(ctx, s.ID); err != nil && ctx.Err() == nil && !errors.Is(err, crdt.ErrUnknownDoc) {
				on.n.log.Error("packing failed", "doc", s.ID.Short(), "cause", err)
			}
		}
	}
}

// follow keeps the peers to be in touch with in step with the access logs, and wakes those who wait
// for a change.
func (on *online) follow(ctx context.Context) error {
	feed := on.n.repo.Changes()
	defer feed.Close()
	seen := map[crdt.DocID][32]byte{}
	for {
		ids, err := feed.Next(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, crdt.ErrFeedClosed) {
				return nil
			}
			return err
		}
		moved := false
		for _, id := range ids {
			if sum, ok := on.n.repo.Summary(id); ok && seen[id] != sum.Access {
				seen[id], moved = sum.Access, true
			}
			on.n.reloadRoutines(ctx, id)
			if sum, ok := on.n.repo.Summary(id); ok && sum.Kind == crdt.Session {
				on.n.loading.replay.Touch(id)
				on.n.contents.touch(id)
			}
		}
		if moved {
			on.wantPartners()
		}
		on.n.peers.ring()
	}
}
