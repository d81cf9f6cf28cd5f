package node

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/pipeline"
	"github.com/chaz-peer/chaz-peer/node/toolhost"
	"github.com/chaz-peer/chaz-peer/routine"
)

// Node is one peer. Its API ([Node.Methods]) works from [Open] on; [Node.Run] adds the network.
// Methods are safe for concurrent use.
type Node struct {
	cfg   Config
	clock crdt.Clock
	log   *slog.Logger
	home  *home
	repo  *crdt.Repo
	hub   *hub.Hub
	decls []extension.Declaration // installed, in registration order

	machine  *toolhost.Machine
	pipeline *pipeline.Runner
	routines *routine.Engine
	loading  *loading
	contents *contents

	docNames  *names // of sessions; agents and banks carry their name in the document
	peerNames *names
	catalog   *crdt.Table[catalogRow]
	requests  *crdt.Table[requestRow]
	pairs     *pairBook
	peers     *peerBook
	joins     *joinBook
	secrets   secrets
	unshared  docSet

	mu     sync.Mutex
	online *online // nil while offline

	redeem sync.Mutex // one redemption at a time: uses are counted before they are granted
	close  sync.Once
}

// catalogRow is what this peer keeps of a document beside it; never synced.
type catalogRow struct {
	Source  string `json:"source"` // cli, join, pair, demo
	Created int64  `json:"created"`
	Closed  bool   `json:"closed,omitempty"`
	// Unshared keeps the document from being exchanged with anybody.
	Unshared bool `json:"unshared,omitempty"`
}

// Open opens the home, making it on the first start: a key, a store, the first agents.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	clock := crdt.SystemClock{Skew: cfg.Skew}
	h, err := openHome(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, clock: clock, log: cfg.Log, home: h}
	if err := n.assemble(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// assemble builds everything above the store.
func (n *Node) assemble(ctx context.Context) (err error) {
	store := n.home.store
	if n.pairs, err = openPairs(ctx, store); err != nil {
		return err
	}
	n.repo, err = crdt.NewRepo(ctx, crdt.Config{
		Store: store, Identity: n.home.identity, Clock: n.clock, Codec: chunk.New(), Core: automerge.New(), Rand: rand.Reader,
		Indexes:      []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()},
		MemoryBudget: n.cfg.MemoryBudget, HomeEpoch: n.home.epoch, Owners: n.pairs.ids, IgnoreRole: n.cfg.IgnoreRole,
	})
	if err != nil {
		return err
	}
	if n.docNames, err = openNames(ctx, store, "session_names", "document"); err != nil {
		return err
	}
	if n.peerNames, err = openNames(ctx, store, "peer_names", "peer"); err != nil {
		return err
	}
	n.catalog = crdt.NewTable[catalogRow](store, "catalog")
	n.secrets = secrets{crdt.NewTable[string](store, "secrets")}
	if err := n.unshared.load(ctx, n.catalog); err != nil {
		return err
	}
	n.requests = crdt.NewTable[requestRow](store, "requests")
	if n.peers, err = openPeers(ctx, store, n.clock); err != nil {
		return err
	}
	if n.joins, err = openJoins(ctx, store); err != nil {
		return err
	}
	if err := n.openHub(ctx); err != nil {
		return err
	}
	if err := n.openLoading(); err != nil {
		return err
	}
	n.contents = newContents(n)
	if err := n.openTools(); err != nil {
		return err
	}
	n.openRoutines()
	return n.firstAgents(ctx)
}

// firstAgents makes the configured agents that this peer never made. It runs at every start: an
// agent added to the configuration later is made then, one that was forgotten is not made again.
func (n *Node) firstAgents(ctx context.Context) error {
	made := crdt.NewTable[string](n.home.store, "made_agents")
	for _, a := range n.cfg.Agents {
		_, err := made.Get(ctx, a.Name)
		if err == nil {
			continue
		}
		if !errors.Is(err, crdt.ErrNotFound) {
			return err
		}
		id, err := n.createAgent(ctx, a.Name, a.Config)
		if err != nil {
			return err
		}
		if err := made.Put(ctx, a.Name, id.String()); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the extensions, frees the documents, marks the stop as clean and lets go of the store.
// It must not run beside another method, Run included. Closing twice is closing once.
func (n *Node) Close() error {
	var err error
	n.close.Do(func() {
		if n.hub != nil {
			err = n.hub.Close(context.Background())
		}
		if n.loading != nil {
			err = errors.Join(err, n.loading.close(context.Background()))
		}
		if n.repo != nil {
			err = errors.Join(err, n.repo.Close())
		}
		err = errors.Join(err, n.home.end(context.Background()))
	})
	return err
}

// Self is this peer's id.
func (n *Node) Self() crdt.PeerID { return n.home.identity.PeerID() }

// name is what this peer calls itself to others.
func (n *Node) name() string {
	if n.cfg.Name != "" {
		return n.cfg.Name
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return host
}
