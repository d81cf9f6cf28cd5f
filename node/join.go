package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// join asks the peer that a ticket names for its document. It returns when the document is here,
// when the answer is a human's to give, or when WaitMS is over; the asking goes on either way.
func (n *Node) join(ctx context.Context, p control.JoinParams) (control.Joined, error) {
	t, err := crdt.ParseTicket(strings.TrimSpace(p.Ticket))
	if err != nil {
		return control.Joined{}, usage("copy the whole line that `chaz-peer … share` printed", "%s", err)
	}
	out := control.Joined{ID: t.Doc.String(), Kind: string(t.Kind)}
	if p.Name != "" {
		if err := checkName(p.Name); err != nil {
			return out, err
		}
		if id, taken := n.docNames.byName(p.Name); taken && id != out.ID {
			return out, &control.Error{Code: control.CodeConflict, Cause: fmt.Sprintf("join as %s: another session here has this name", p.Name), Remedy: "choose another name"}
		}
	}
	if t.Peer == n.Self() {
		if _, here := n.repo.Summary(t.Doc); here {
			out.State = control.StateReady
			return out, nil
		}
		return out, usage("use the ticket on another machine", "join: this ticket was issued by this very peer, which no longer has the document")
	}
	role := p.Role
	if role == "" && t.Secret.IsZero() {
		role = orElse(t.Role.String(), "read")
	}
	if role != "" {
		if _, err := crdt.ParseRole(role); err != nil {
			return out, usage("use read, write or admin", "join: %s", err)
		}
	}
	if err := n.peers.SetAddresses(ctx, t.Peer, mergeAddrs(t.Addrs, n.peers.row(t.Peer).Addrs)); err != nil {
		return out, err
	}
	row := joinRow{Ticket: t.String(), Name: p.Name, Role: role, Since: crdt.NowMillis(n.clock)}
	if err := n.joins.put(ctx, t.Doc, row); err != nil {
		return out, err
	}
	on := n.getOnline()
	if on == nil {
		out.State, out.Reason = control.Offline, "no daemon runs here: the join is noted and starts with `chaz-peer run`"
		return out, nil
	}
	on.startJoin(ctx, t)
	return n.awaitJoin(ctx, t, p.WaitMS, out)
}

func mergeAddrs(a, b []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range append(append([]string{}, a...), b...) {
		if !seen[s] && len(out) < crdt.MaxTicketAddrs {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// defaultJoinWait is how long a join waits for its document unless told otherwise.
const defaultJoinWait = 30 * time.Second

func (n *Node) awaitJoin(ctx context.Context, t *crdt.Ticket, waitMS int64, out control.Joined) (control.Joined, error) {
	wait := defaultJoinWait
	if waitMS > 0 {
		wait = time.Duration(waitMS) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	sub := n.peers.watch()
	defer sub.stop()
	for {
		row, waiting := n.joins.get(t.Doc)
		switch {
		case !waiting:
			out.State = control.StateReady
			return out, nil
		case row.State == "pending":
			out.State, out.Reason = control.Pending, "a person on the other side will decide; the document comes by itself then"
			return out, nil
		case row.State == "not_served":
			out.State, out.Reason = control.NotServed, "unknown there or no access: the ticket may be used up, expired or revoked"
			return out, nil
		}
		if !sub.wait(ctx) {
			out.State, out.Reason = n.peerState(t.Peer)
			if out.State != control.Offline && out.State != control.Paused {
				out.State, out.Reason = control.Offline, "connected, but the document is not complete yet: "+out.Reason
			}
			return out, nil
		}
	}
}

// joined is called when a document that was asked for is complete here.
func (n *Node) joined(ctx context.Context, id crdt.DocID) error {
	row, ok := n.joins.get(id)
	if !ok {
		return nil
	}
	if err := n.settleIn(ctx, id, row.Name, "join"); err != nil {
		return err
	}
	if err := n.joins.drop(ctx, id); err != nil {
		return err
	}
	n.peers.ring()
	return nil
}

// settleIn gives a document that came from elsewhere its place here: a row in the catalogue, a
// name, and the other devices of this person among its members.
func (n *Node) settleIn(ctx context.Context, id crdt.DocID, name, source string) error {
	sum, ok := n.repo.Summary(id)
	if !ok {
		return nil
	}
	if err := n.catalog.Put(ctx, id.String(), catalogRow{Source: source, Created: crdt.NowMillis(n.clock)}); err != nil {
		return err
	}
	if sum.Kind == crdt.Session && n.docNames.of(id.String()) == "" {
		if name == "" {
			err := n.repo.View(ctx, id, func(v *crdt.View) error { name = crdt.SessionView{View: v}.Name(); return nil })
			if err != nil {
				return err
			}
			if checkName(name) != nil {
				name = ""
			}
		}
		if name != "" {
			if err := n.docNames.set(ctx, id.String(), n.docNames.free(id.String(), name)); err != nil {
				return err
			}
		}
	}
	for _, p := range n.pairs.ids() {
		if err := n.admitDevice(ctx, id, p); err != nil {
			return err
		}
	}
	return nil
}
