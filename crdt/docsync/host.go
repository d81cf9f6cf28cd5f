package docsync

import (
	"context"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Host does for sessions what takes time and what needs an opinion. Methods are safe for concurrent
// use; one host serves all sessions of a peer. [RepoHost] is the one over a [crdt.Repo].
type Host interface {
	// Watch opens a feed of the documents that change from now on.
	Watch() Feed
	// Describe tells what a session with peer must know of documents, of all when ids is nil. One
	// that is not here is described as gone.
	Describe(ctx context.Context, peer crdt.PeerID, ids []crdt.DocID) ([]DocInfo, error)
	// Do does a work for the session with peer. A *[ProtocolError] says that the peer is at fault
	// and ends the connection; any other error ends the exchange of that document for a while.
	Do(ctx context.Context, peer crdt.PeerID, w Work) (Result, error)
	// Notify tells what the session found out. It must not block.
	Notify(peer crdt.PeerID, n Notice)
}

// Feed tells which documents changed; [crdt.Feed] is one.
type Feed interface {
	Next(ctx context.Context) ([]crdt.DocID, error)
	Close()
}

// Policy is the opinion of the peer's owner. Methods are safe for concurrent use.
type Policy interface {
	// Syncs reports whether a document is exchanged with a peer at all, roles aside.
	Syncs(peer crdt.PeerID, doc crdt.DocID) bool
	// Redeem decides about a peer that asks to become a member, and issues what it grants before it
	// returns the empty code; else CodePending or CodeNotServed. The same request may come again,
	// with each new connection: a use of an invite must not be counted twice for one peer.
	Redeem(ctx context.Context, r Request) (Code, error)
	// AcceptOffer reports whether to keep a document that a peer offers and in which this peer is a
	// member: yes for a peer that is another device of the same person.
	AcceptOffer(ctx context.Context, peer crdt.PeerID, offered *crdt.Access) bool
	// Notice tells what a session found out. It must not block.
	Notice(peer crdt.PeerID, n Notice)
}

// Request is what a joiner asks for.
type Request struct {
	Peer   crdt.PeerID
	Doc    crdt.DocID
	Secret []byte // as it came: any length up to MaxSecret, empty without a ticket's secret
	Role   string // wanted role, or empty
	Note   string
}
