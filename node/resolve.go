package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// sessions lists the sessions here as candidates for a reference.
func (n *Node) sessions() []candidate {
	var out []candidate
	for _, s := range n.repo.List() {
		if s.Kind == crdt.Session {
			out = append(out, candidate{s.ID.String(), n.docNames.of(s.ID.String())})
		}
	}
	return out
}

func (n *Node) findSession(ref string) (crdt.DocID, error) {
	id, err := pick("session", ref, n.sessions())
	if err != nil {
		return crdt.DocID{}, err
	}
	return crdt.ParseDocID(id)
}

func (n *Node) findAgent(ctx context.Context, ref string) (crdt.DocID, error) {
	var all []candidate
	for _, s := range n.repo.List() {
		if s.Kind == crdt.Agent {
			all = append(all, candidate{s.ID.String(), n.docName(ctx, s)})
		}
	}
	id, err := pick("agent", ref, all)
	if err != nil {
		return crdt.DocID{}, err
	}
	return crdt.ParseDocID(id)
}

// findDefaultAgent finds an agent that new sessions get. Where several have its name, as they do
// after pairing, it is the one that runs here.
func (n *Node) findDefaultAgent(ctx context.Context, name string) (crdt.DocID, error) {
	id, err := n.findAgent(ctx, name)
	var e *control.Error
	if !errors.As(err, &e) || e.Code != control.CodeAmbiguous {
		return id, err
	}
	var mine []crdt.DocID
	for _, s := range n.repo.List() {
		if s.Kind != crdt.Agent || n.docName(ctx, s) != name {
			continue
		}
		a, err := n.agentEntry(ctx, s.ID)
		if err != nil {
			return crdt.DocID{}, err
		}
		if a.HomePeer == n.Self().String() {
			mine = append(mine, s.ID)
		}
	}
	if len(mine) != 1 {
		return crdt.DocID{}, err
	}
	return mine[0], nil
}

func (n *Node) findPeer(ctx context.Context, ref string) (crdt.PeerID, error) {
	if p, err := crdt.ParsePeerID(ref); err == nil {
		return p, nil
	}
	var all []candidate
	for _, p := range n.knownPeers(ctx) {
		all = append(all, candidate{p.String(), n.peerNames.of(p.String())})
	}
	id, err := pick("peer", ref, all)
	if err != nil {
		return crdt.PeerID{}, err
	}
	return crdt.ParsePeerID(id)
}

// docName is what a document is called here: its local name, else what it says of itself. A session
// has only the local one.
func (n *Node) docName(ctx context.Context, s crdt.Summary) string {
	name := n.docNames.of(s.ID.String())
	if name != "" || s.Kind == crdt.Session {
		return name
	}
	err := n.repo.View(ctx, s.ID, func(v *crdt.View) error {
		if name = v.Text(crdt.MetaStore, crdt.MetaDisplay); name == "" {
			name = v.Text(crdt.MetaStore, crdt.MetaName)
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return name
}

// cataloged returns the peer-local row of a document; one that has none gets the zero row.
func (n *Node) cataloged(ctx context.Context, id crdt.DocID) (catalogRow, error) {
	row, err := n.catalog.Get(ctx, id.String())
	if errors.Is(err, crdt.ErrNotFound) {
		return catalogRow{}, nil
	}
	return row, err
}

// usage is a refusal of parameters.
func usage(remedy, format string, args ...any) error {
	return &control.Error{Code: control.CodeUsage, Cause: fmt.Sprintf(format, args...), Remedy: remedy}
}

// denied turns a missing right into an answer with a remedy.
func denied(err error) error {
	if errors.Is(err, crdt.ErrNoRight) {
		return &control.Error{Code: control.CodeDenied, Cause: err.Error(), Remedy: "ask an admin of the document for a ticket with a higher role"}
	}
	return err
}
