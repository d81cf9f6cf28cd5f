package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/loaders"
	"github.com/chaz-peer/chaz-peer/loaders/ipld/exchange"
	"github.com/chaz-peer/chaz-peer/loaders/registry"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// objectsProtocol is spoken on streams of its own, so that a large module never stands before a change.
const objectsProtocol = "/chaz/objects/1"

// serveObjects answers one stream of another peer.
func (on *online) serveObjects(server *exchange.Server) func(ctx context.Context, s *p2p.Stream) {
	return func(ctx context.Context, s *p2p.Stream) {
		heard := *server
		heard.Sources = maps.Clone(server.Sources)
		heard.Sources[exchange.Block] = askedSource{server.Sources[exchange.Block], on.n.contents, s.Peer()}
		if err := heard.Serve(ctx, s.Peer(), s); err != nil && ctx.Err() == nil {
			on.n.log.Debug("serving objects ended", "peer", s.Peer().Short(), "cause", err)
		}
	}
}

func (n *Node) objectServer() *exchange.Server {
	return &exchange.Server{
		Allow: n.mayHave,
		Sources: map[exchange.Kind]exchange.Source{
			exchange.Block: n.loading.ipld.Source(), exchange.GitObject: gitSource{n},
		},
	}
}

// mayHave reports whether a peer may have what is below a root: it reads the document, which is not paused
// or taken back, and the document names the root.
func (n *Node) mayHave(ctx context.Context, peer crdt.PeerID, doc crdt.DocID, root string) bool {
	if n.peers.row(peer).Paused || n.unshared.has(doc) {
		return false
	}
	sum, ok := n.repo.Summary(doc)
	if !ok {
		return false
	}
	access, err := n.repo.Access(ctx, doc)
	if err != nil || access.RoleAt(peer, crdt.NowMillis(n.clock)) < crdt.Read {
		return false
	}
	named := false
	err = n.repo.View(ctx, doc, func(v *crdt.View) error {
		switch sum.Kind {
		case crdt.Session:
			named = namesRoot(v, root)
		case crdt.Package:
			for _, r := range registry.Releases(v) {
				named = named || r.CID == root
			}
		}
		return nil
	})
	return err == nil && named
}

// namesRoot looks for a root in what a session's log ever switched on, and in its large entries.
func namesRoot(v *crdt.View, root string) bool {
	log, err := activationLog(v)
	if err != nil {
		return false
	}
	for name := range log.State() {
		for _, e := range log.History(name) {
			if e.Rule != activation.RuleIgnored && e.Kind == activation.Activated && rootOf(e.Ref) == root {
				return true
			}
		}
	}
	return crdt.SessionView{View: v}.Log().HasContent(root)
}

// rootOf is under what an object is asked for that belongs to a reference; empty for kinds without objects.
func rootOf(ref extension.Ref) string {
	switch ref.Kind() {
	case extension.IPLD:
		return ref.Field("cid")
	case extension.Git:
		if sha := ref.Field("sha"); isCommit(sha) { // else it could name a CID
			return sha
		}
	}
	return ""
}

// isCommit reports whether a text is a full hash of git.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// askTime bounds what one peer may take to answer for one round of objects.
const askTime = 60 * time.Second

// askObjects asks the connected readers of a document one after the other until nothing is missing.
func (n *Node) askObjects(ctx context.Context, doc crdt.DocID, req exchange.Request, got func(id string, data []byte) error) error {
	on := n.getOnline()
	if on == nil {
		return fmt.Errorf("%s: %w", noDaemon, loaders.ErrMissing)
	}
	peers, err := n.readersOnline(ctx, on, doc)
	if err != nil {
		return err
	}
	want := map[string]bool{}
	for _, id := range req.IDs {
		want[id] = true
	}
	var faults []error
	for _, p := range peers {
		if len(want) == 0 {
			break
		}
		err := on.askPeer(ctx, p, req, want, got)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			n.log.Warn("a peer gave no objects", "peer", p.Short(), "doc", doc.Short(), "cause", err)
			faults = append(faults, err)
		}
	}
	if len(want) > 0 && len(faults) > 0 {
		return errors.Join(faults...)
	}
	return nil
}

// askPeer asks one peer for what is still wanted, and takes off the list what came.
func (on *online) askPeer(ctx context.Context, p crdt.PeerID, req exchange.Request, want map[string]bool, got func(id string, data []byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	s, err := on.net.Open(ctx, p, objectsProtocol)
	if err != nil {
		return err
	}
	defer func() { _ = s.Reset() }()
	ids := make([]string, 0, len(want))
	for _, id := range req.IDs {
		if want[id] {
			ids = append(ids, id)
		}
	}
	req.IDs = ids
	return exchange.NewClient(s, exchange.Max{}).Get(ctx, req, func(id string, data []byte) error {
		if err := got(id, data); err != nil {
			return err
		}
		delete(want, id)
		return nil
	})
}

// readersOnline lists the connected peers that read a document and with which it is exchanged.
func (n *Node) readersOnline(ctx context.Context, on *online, doc crdt.DocID) ([]crdt.PeerID, error) {
	if n.unshared.has(doc) {
		return nil, nil
	}
	access, err := n.repo.Access(ctx, doc)
	if err != nil {
		return nil, err
	}
	now := crdt.NowMillis(n.clock)
	var out []crdt.PeerID
	for _, p := range on.connected() {
		if p != n.Self() && access.RoleAt(p, now) >= crdt.Read && !n.peers.row(p).Paused {
			out = append(out, p)
		}
	}
	return out, nil
}

// connected lists the peers with a sync session.
func (on *online) connected() []crdt.PeerID {
	on.mu.Lock()
	defer on.mu.Unlock()
	out := make([]crdt.PeerID, 0, len(on.links))
	for p := range on.links {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b crdt.PeerID) int { return slices.Compare(a[:], b[:]) })
	return out
}

// blockPeers asks peers for blocks.
type blockPeers struct{ n *Node }

// Blocks implements [ipld.Peers].
func (b blockPeers) Blocks(ctx context.Context, doc crdt.DocID, root string, want []string, got func(id string, data []byte) error) error {
	return b.n.askObjects(ctx, doc, exchange.Request{Kind: exchange.Block, Doc: doc, Root: root, IDs: want}, got)
}

// gitPeers asks peers for git objects.
type gitPeers struct{ n *Node }

// Objects implements [git.Peers].
func (g gitPeers) Objects(ctx context.Context, doc crdt.DocID, root string, want []string, got func(id string, data []byte) error) error {
	return g.n.askObjects(ctx, doc, exchange.Request{Kind: exchange.GitObject, Doc: doc, Root: root, IDs: want}, got)
}

// gitSource serves the objects of proofs.
type gitSource struct{ n *Node }

// Get implements [exchange.Source].
func (g gitSource) Get(ctx context.Context, _ crdt.DocID, root, id string) ([]byte, error) {
	return g.n.loading.git.Object(ctx, root, id)
}

// Has implements [exchange.Source].
func (g gitSource) Has(ctx context.Context, _ crdt.DocID, root, id string) (bool, error) {
	_, err := g.n.loading.git.Object(ctx, root, id)
	if errors.Is(err, loaders.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}
