package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// skewWarning is the clock offset from which another peer's clock is worth a word.
const skewWarning = 2000 // ms

func (n *Node) status(ctx context.Context, _ control.StatusParams) (control.Status, error) {
	out := control.Status{PeerID: n.Self().String(), Version: extension.HostVersion, ClockSkewMS: n.cfg.Skew.Milliseconds(), Counters: n.counters()}
	if on := n.getOnline(); on != nil {
		out.Daemon, out.Addrs = true, on.net.Addrs()
	}
	for _, p := range n.knownPeers(ctx) {
		out.Peers = append(out.Peers, n.peerOut(p))
	}
	for _, s := range n.repo.List() {
		d, err := n.documentOut(ctx, s)
		if err != nil {
			return out, err
		}
		out.Documents = append(out.Documents, d)
	}
	for id, j := range n.joins.all() {
		if _, here := n.repo.Summary(id); !here {
			out.Documents = append(out.Documents, n.joinOut(id, j))
		}
	}
	slices.SortFunc(out.Documents, func(a, b control.Document) int { return strings.Compare(a.Kind+a.ID, b.Kind+b.ID) })
	return out, nil
}

func (n *Node) documentOut(ctx context.Context, s crdt.Summary) (control.Document, error) {
	out := control.Document{ID: s.ID.String(), Kind: string(s.Kind), Name: n.docName(ctx, s)}
	err := n.repo.View(ctx, s.ID, func(v *crdt.View) error { out.Heads = hexHeads(v.Heads()); return nil })
	if err != nil {
		return out, err
	}
	if out.StoredOn, err = n.storedOn(ctx, s.ID); err != nil {
		return out, err
	}
	large, err := n.contents.standing(ctx, s.ID)
	if err != nil {
		return out, err
	}
	out.Contents = n.contents.summary(s.ID, &large)
	out.Peers, err = n.documentPeers(ctx, s.ID)
	return out, err
}

// joinOut shows a document that this peer has asked for and does not have yet.
func (n *Node) joinOut(id crdt.DocID, j joinRow) control.Document {
	out := control.Document{ID: id.String(), Name: j.Name}
	t, err := crdt.ParseTicket(j.Ticket)
	if err != nil {
		return out
	}
	out.Kind = string(t.Kind)
	st := control.DocumentPeer{ID: t.Peer.String(), State: control.Offline, Reason: "the peer that issued the ticket is not connected"}
	if link := n.link(t.Peer); link != nil {
		st.State, st.Reason = control.Syncing, "asking to be let in"
		switch j.State {
		case "pending":
			st.State, st.Reason = control.Pending, "the request waits for an answer there"
		case "not_served":
			st.State, st.Reason = control.NotServed, "unknown there or no access: the ticket may be used up, expired or revoked"
		}
	}
	out.Peers = append(out.Peers, st)
	return out
}

// documentPeers says how a document stands with each other peer that may have it.
func (n *Node) documentPeers(ctx context.Context, id crdt.DocID) (control.List[control.DocumentPeer], error) {
	access, err := n.repo.Access(ctx, id)
	if err != nil {
		return nil, err
	}
	acks, err := n.repo.Acks(ctx, id)
	if err != nil {
		return nil, err
	}
	peers := access.Readers(crdt.NowMillis(n.clock))
	for p := range acks {
		peers = append(peers, p)
	}
	on := n.getOnline()
	if on != nil {
		peers = append(peers, on.talking(id)...)
	}
	large, err := n.contents.standing(ctx, id)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(peers, func(a, b crdt.PeerID) int { return slices.Compare(a[:], b[:]) })
	out := control.List[control.DocumentPeer]{}
	for _, p := range slices.Compact(peers) {
		if p != n.Self() {
			x := n.documentPeer(ctx, id, p, acks)
			n.addContents(&x, id, p, &large)
			out = append(out, x)
		}
	}
	return out, nil
}

// addContents says what large content a peer is not known to have, which keeps it from being counted as
// one that has everything.
func (n *Node) addContents(out *control.DocumentPeer, id crdt.DocID, p crdt.PeerID, large *standing) {
	if large.total() == 0 {
		return
	}
	lacks, said := n.contents.lacks(id, p, large)
	out.ContentsMissing = &lacks
	if lacks == 0 {
		return
	}
	there := " not known to be there"
	if said && n.link(p) != nil {
		there = " not there yet"
	}
	if out.Reason != "" {
		out.Reason += "; "
	}
	out.Reason += largeContents(int(lacks)) + there
}

// largeContents is the beginning of a sentence.
func largeContents(n int) string {
	if n == 1 {
		return "1 large content is"
	}
	return fmt.Sprintf("%d large contents are", n)
}

func (n *Node) documentPeer(ctx context.Context, id crdt.DocID, p crdt.PeerID, acks map[crdt.PeerID]crdt.Vector) control.DocumentPeer {
	out := control.DocumentPeer{ID: p.String()}
	out.State, out.Reason = n.peerState(p)
	if ack, ok := acks[p]; ok {
		if mine, err := n.repo.Vector(ctx, id); err == nil {
			there := int64(ack.Missing(mine))
			out.MissingThere = &there
		}
	}
	link := n.link(p)
	if link == nil {
		return out
	}
	for _, d := range link.status().Docs {
		if d.Doc != id {
			continue
		}
		out.State, out.Reason = control.State(d.State), d.Reason
		out.MissingHere, out.MissingThere = signed(d.MissingHere, out.MissingHere), signed(d.MissingThere, out.MissingThere)
		if d.State == docsync.InSync {
			zero := int64(0)
			out.MissingHere, out.MissingThere = &zero, &zero
		}
		return out
	}
	if out.State == control.InSync {
		out.State, out.Reason = control.NotServed, "the peer has shown no interest in it"
	}
	return out
}

func signed(v *uint64, otherwise *int64) *int64 {
	if v == nil {
		return otherwise
	}
	x := int64(*v)
	return &x
}

// peerState is how this peer stands with another one as a whole.
func (n *Node) peerState(p crdt.PeerID) (control.State, string) {
	if n.peers.row(p).Paused {
		return control.Paused, "paused here; `chaz-peer peers resume` lets it in again"
	}
	on := n.getOnline()
	if on == nil {
		return control.Offline, "no daemon runs here"
	}
	st := on.net.Peer(p)
	link := n.link(p)
	switch {
	case st.Paused:
		return control.Paused, "paused here; `chaz-peer peers resume` lets it in again"
	case st.Sync == p2p.SyncIncompatible:
		return control.Incompatible, st.SyncError
	case link != nil:
		s := link.status()
		return control.State(s.State), s.Reason
	case st.Connected:
		return control.Syncing, orElse(st.SyncError, "connected, the sync stream is being opened")
	}
	return control.Offline, offlineReason(st)
}

func offlineReason(st p2p.PeerState) string {
	switch st.Cause {
	case p2p.CauseNoAddress:
		return "no address of it is known; a fresh ticket, or the local network, brings one"
	case p2p.CauseClock:
		return "its clock or this one is more than an hour off, so its certificate was refused: " + st.LastError
	case p2p.CauseNone:
		return "not connected"
	}
	return orElse(st.LastError, string(st.Cause))
}

func (n *Node) peerOut(p crdt.PeerID) control.Peer {
	out := control.Peer{ID: p.String(), Name: n.peerNames.of(p.String()), Paired: n.pairs.has(p), Warnings: control.List[string]{}}
	row := n.peers.row(p)
	out.Addrs = control.List[string](row.Addrs)
	if row.LastSeen != 0 {
		at := control.Time(row.LastSeen)
		out.LastSeen = &at
	}
	out.State, out.Reason = n.peerState(p)
	if link := n.link(p); link != nil {
		s := link.status()
		now := control.Time(crdt.NowMillis(n.clock))
		out.LastSeen = &now
		out.ClockOffsetMS = s.ClockOffset
		if off := s.ClockOffset; off != nil && (*off > skewWarning || *off < -skewWarning) {
			out.Warnings = append(out.Warnings, fmt.Sprintf("its clock is %s %s this one's", span(abs(*off)), ahead(*off)))
		}
	}
	if on := n.getOnline(); on != nil {
		if st := on.net.Peer(p); st.Connected && st.Cause == p2p.CauseClock {
			out.Warnings = append(out.Warnings, "a machine's real clock is off by more than an hour: QUIC was refused, TCP is used")
		}
	}
	return out
}

func abs(v int64) int64 { return max(v, -v) }

func ahead(off int64) string {
	if off > 0 {
		return "ahead of"
	}
	return "behind"
}

func (n *Node) peersList(ctx context.Context, _ control.PeersListParams) (control.List[control.Peer], error) {
	out := control.List[control.Peer]{}
	for _, p := range n.knownPeers(ctx) {
		out = append(out, n.peerOut(p))
	}
	return out, nil
}

func (n *Node) peersName(ctx context.Context, p control.PeerNameParams) (control.Peer, error) {
	id, err := n.findPeer(ctx, p.Peer)
	if err != nil {
		return control.Peer{}, err
	}
	if err := n.peerNames.set(ctx, id.String(), strings.TrimSpace(p.Name)); err != nil {
		return control.Peer{}, err
	}
	return n.peerOut(id), nil
}

func (n *Node) peersPause(ctx context.Context, p control.PeerParams) (control.Peer, error) {
	return n.setPaused(ctx, p.Peer, true)
}

func (n *Node) peersResume(ctx context.Context, p control.PeerParams) (control.Peer, error) {
	return n.setPaused(ctx, p.Peer, false)
}

// setPaused stops or starts all traffic with a peer; it lasts over restarts.
func (n *Node) setPaused(ctx context.Context, ref string, paused bool) (control.Peer, error) {
	id, err := n.findPeer(ctx, ref)
	if err != nil {
		return control.Peer{}, err
	}
	if err := n.peers.change(ctx, id, func(r *peerRow) { r.Paused = paused }); err != nil {
		return control.Peer{}, err
	}
	if on := n.getOnline(); on != nil {
		if paused {
			on.net.Pause(id)
		} else {
			on.net.Resume(id)
		}
	}
	n.peers.ring()
	return n.peerOut(id), nil
}

// knownPeers lists the peers that share a document with this one, are paired, were named, met or
// hold a ticket's promise, in id order.
func (n *Node) knownPeers(ctx context.Context) []crdt.PeerID {
	out := append(n.peers.ids(), n.pairs.ids()...)
	out = append(out, n.partners(ctx)...)
	slices.SortFunc(out, func(a, b crdt.PeerID) int { return slices.Compare(a[:], b[:]) })
	return slices.DeleteFunc(slices.Compact(out), func(p crdt.PeerID) bool { return p == n.Self() })
}

// partners lists the peers to keep in touch with: members of documents here, devices, inviters.
func (n *Node) partners(ctx context.Context) []crdt.PeerID {
	seen := map[crdt.PeerID]bool{}
	for _, s := range n.repo.List() {
		access, err := n.repo.Access(ctx, s.ID)
		if ctx.Err() != nil {
			break // the caller is gone, or the daemon stops
		}
		if err != nil {
			n.log.Error("access log unreadable", "doc", s.ID.Short(), "cause", err)
			continue
		}
		for _, p := range access.Readers(crdt.NowMillis(n.clock)) {
			seen[p] = true
		}
	}
	for _, p := range n.pairs.ids() {
		seen[p] = true
	}
	for _, j := range n.joins.all() {
		if t, err := crdt.ParseTicket(j.Ticket); err == nil {
			seen[t.Peer] = true
		}
	}
	delete(seen, n.Self())
	out := make([]crdt.PeerID, 0, len(seen))
	for p := range seen {
		out = append(out, p)
	}
	return out
}
