package node_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// get asks another peer for a block below a root of a session, as a program would that knows all ids.
func (p *peer) get(from *peer, session, root, id string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := p.n.AskFor(ctx, from.n.Self().String(), session, root, id)
	return len(b), err
}

// Blocks go to the readers of a session that names their root, and to nobody else: all others learn the
// same, that they are not here.
func TestExtServesReadersAlone(t *testing.T) {
	t.Parallel()
	a, b := extPair(t, node.Config{})
	stranger := newPeer(t, "c", node.Config{}).online()
	one := a.switchOn(crier("crier", "hi", nil))
	private := a.pack(crier("private", "mine alone", nil))
	ask(a, control.SessionNew, control.SessionNewParams{Name: "other"})
	ask(a, control.RunCmd, control.CmdParams{Session: "other", Line: "/extensions add " + private.Ref})
	ticket := ask(a, control.SessionShare, control.SessionShareParams{Session: "other", ShareOptions: control.ShareOptions{Role: "read"}})
	ask(stranger, control.SessionJoin, control.JoinParams{Ticket: ticket.Ticket, WaitMS: patience.Milliseconds()})
	b.extState("crier", "pending")
	id := func(session string) string {
		return ask(a, control.SessionDetails, control.SessionShowParams{Session: session}).ID
	}
	here, other := id(room), id("other")
	for _, q := range []struct {
		what              string
		who               *peer
		session, root, id string
		want              bool
	}{
		{"a reader", b, here, one.Root, one.Root, true},
		{"a reader, the module", b, here, one.Root, one.Module, true},
		{"a reader of the other session", stranger, other, private.Root, private.Module, true},
		{"no member", stranger, here, one.Root, one.Root, false},
		{"no member of the other session", b, other, private.Root, private.Root, false},
		{"a root that the session does not name", b, here, private.Root, private.Root, false},
		{"the module as a root", b, here, one.Module, one.Module, false},
		{"a block of another root", b, here, one.Root, private.Module, false},
		{"a document that is nowhere", b, crdt.DocID{7}.String(), one.Root, one.Root, false},
		{"the store of the asker", a, here, private.Root, private.Module, false},
	} {
		from := a
		if q.who == a {
			from = b
		}
		got, err := q.who.get(from, q.session, q.root, q.id)
		if err != nil {
			t.Errorf("%s: %v", q.what, err) // a refusal would tell more than that it is not here
		}
		if (got > 0) != q.want {
			t.Errorf("%s: %d bytes", q.what, got)
		}
	}
	// A git commit that the session names is no key to blocks, and the other way round.
	if err := a.n.WriteActivation(room, "far", extension.GitRef("far", "https://example.org/r", private.Root)); err != nil {
		t.Fatal(err)
	}
	b.extState("far", "invalid")
	if got, err := b.get(a, here, private.Root, private.Root); got != 0 || err != nil {
		t.Errorf("by a row of another kind: %d bytes, %v", got, err)
	}
	// What was switched off is served still: who has its row may want to look at it.
	a.cmd("/extensions remove crier", "Deactivated")
	if got, err := b.get(a, here, one.Root, one.Root); got == 0 || err != nil {
		t.Errorf("switched off: %d bytes, %v", got, err)
	}
	ask(a, control.PeersPause, control.PeerParams{Peer: b.n.Self().String()})
	if got, err := b.get(a, here, one.Root, one.Root); got != 0 || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("paused: %d bytes, %v", got, err)
	}
	ask(a, control.PeersResume, control.PeerParams{Peer: b.n.Self().String()})
	until(b, control.GetStatus, control.StatusParams{}, "back", func(control.Status) bool {
		got, err := b.get(a, here, one.Root, one.Root)
		return err == nil && got > 0
	})
}
