package main

import (
	"context"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type peersListCmd struct{}

// Run lists the known peers.
func (peersListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersList, control.PeersListParams{}, func(p *page, peers control.List[control.Peer]) {
		if len(peers) == 0 {
			p.line(plain, "No peers yet. Share something (chaz-peer session share S) or pair a machine (chaz-peer peers pair).")
			return
		}
		p.peers("", peers)
	})
}

type peersPendingCmd struct{}

// Run lists who asks for access. What a request says of itself is marked as unverified.
func (peersPendingCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersPending, control.PendingParams{}, func(p *page, all control.List[control.JoinRequest]) {
		if len(all) == 0 {
			p.line(plain, "Nobody is waiting.")
			return
		}
		var rows []row
		for _, r := range all {
			x := row{cells: []string{cut(r.ID, 10), r.Role, r.Kind + " " + orID(r.Name, shortDoc(r.Document)), called(r.PeerName, shortPeer(r.PeerID)), a.when(r.Received)}}
			if r.Label != "" {
				x.below = []string{"calls itself (unverified): " + quarantine(r.Label)}
			}
			rows = append(rows, x)
		}
		p.table("", []string{"REQUEST", "ROLE", "FOR", "FROM", "RECEIVED"}, rows)
		p.line(dim, "Decide with: chaz-peer peers approve REQUEST, or peers reject REQUEST")
	})
}

// quarantine shows text that a stranger chose: one line, 48 characters.
func quarantine(s string) string {
	const most = 48
	r := []rune(clean(s))
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}

type peersApproveCmd struct {
	Request string   `arg:"" help:"The request (chaz-peer peers pending)."`
	Role    roleFlag `placeholder:"R" help:"Grant this role instead of the one asked for: read, write or admin."`
}

// Run grants a request.
func (c *peersApproveCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersApprove, control.ApproveParams{Request: c.Request, Role: string(c.Role)}, func(p *page, r control.JoinRequest) {
		p.line(good, "%s may now %s %s %s.", called(r.PeerName, shortPeer(r.PeerID)), clean(r.Role), clean(r.Kind), called(r.Name, shortDoc(r.Document)))
	})
}

type peersRejectCmd struct {
	Request string `arg:"" help:"The request (chaz-peer peers pending)."`
}

// Run refuses a request.
func (c *peersRejectCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersReject, control.RejectParams{Request: c.Request}, func(p *page, r control.JoinRequest) {
		p.line(plain, "The request of %s is refused.", called(r.PeerName, shortPeer(r.PeerID)))
	})
}

type peersNameCmd struct {
	Peer string `arg:"" help:"The peer: its id, the beginning of it, or its present name."`
	Name string `arg:"" optional:"" help:"The name; none takes the present one away."`
}

// Run names a peer.
func (c *peersNameCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersName, control.PeerNameParams{Peer: c.Peer, Name: c.Name}, func(p *page, x control.Peer) {
		if x.Name == "" {
			p.line(plain, "%s has no name now.", shortPeer(x.ID))
			return
		}
		p.line(plain, "%s is called %s here.", shortPeer(x.ID), clean(x.Name))
	})
}

type peersPauseCmd struct {
	Peer string `arg:"" help:"The peer."`
}

// Run stops syncing with a peer.
func (c *peersPauseCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersPause, control.PeerParams{Peer: c.Peer}, func(p *page, x control.Peer) {
		p.line(warn, "Nothing is synced with %s until: chaz-peer peers resume %s", called(x.Name, shortPeer(x.ID)), clean(orID(x.Name, shortPeer(x.ID))))
	})
}

type peersResumeCmd struct {
	Peer string `arg:"" help:"The peer."`
}

// Run syncs with a paused peer again.
func (c *peersResumeCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.PeersResume, control.PeerParams{Peer: c.Peer}, func(p *page, x control.Peer) {
		p.line(good, "Syncing with %s again.", called(x.Name, shortPeer(x.ID)))
	})
}
