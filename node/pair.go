package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Pairing makes two peers devices of one person. One machine shows a ticket; the other dials it and
// shows the secret, which proves that a person carried the ticket over. Both then show the same four
// words, and only when a person has said on both that they are equal does each note the other and
// admit it to its documents. docs/wire.md writes the messages down.

const pairLifetime = 10 * time.Minute // of an open pairing, and the most a person may take to compare

// pairing is one attempt, on either side.
type pairing struct {
	id     string
	secret crdt.Secret
	bell   bell

	mu    sync.Mutex
	peer  crdt.PeerID
	name  string
	state string // "" until the other side is here
	mine  chan bool
}

// pairDesk holds the attempts of a running node.
type pairDesk struct {
	mu   sync.Mutex
	open map[string]*pairing
}

func (d *pairDesk) add(p *pairing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]*pairing{}
	}
	d.open[p.id] = p
}

func (d *pairDesk) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, id)
}

func (d *pairDesk) get(id string) (*pairing, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.open[id]; p != nil {
		return p, nil
	}
	return nil, &control.Error{Code: control.CodeNotFound, Cause: "pair: this pairing is over", Remedy: "start again with `chaz-peer peers pair`"}
}

// claim gives the attempt with this secret to the first peer that shows it.
func (d *pairDesk) claim(s crdt.Secret, peer crdt.PeerID) *pairing {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.open {
		p.mu.Lock()
		fits := p.secret == s && p.state == "" && p.peer.IsZero()
		if fits {
			p.peer = peer
		}
		p.mu.Unlock()
		if fits {
			return p
		}
	}
	return nil
}

func newPairing(secret crdt.Secret) (*pairing, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("pair: %w", err)
	}
	return &pairing{id: fmt.Sprintf("%x", b), secret: secret, mine: make(chan bool, 1)}, nil
}

func (n *Node) pairStart(_ context.Context, p control.PairStartParams) (control.PairTicket, error) {
	on, err := n.needOnline()
	if err != nil {
		return control.PairTicket{}, err
	}
	secret, err := crdt.NewSecret(rand.Reader)
	if err != nil {
		return control.PairTicket{}, err
	}
	pr, err := newPairing(secret)
	if err != nil {
		return control.PairTicket{}, err
	}
	life := pairLifetime
	if p.ExpiresMS > 0 {
		life = min(life, time.Duration(p.ExpiresMS)*time.Millisecond)
	}
	on.desk.add(pr)
	time.AfterFunc(life, func() { on.desk.drop(pr.id) })
	t := &crdt.PairTicket{Peer: n.Self(), Addrs: on.net.Addrs(), Secret: secret}
	return control.PairTicket{Ticket: t.String(), Pairing: pr.id, Expires: control.Time(crdt.NowMillis(n.clock) + life.Milliseconds())}, nil
}

func (n *Node) pairWait(ctx context.Context, p control.PairWaitParams) (control.Pairing, error) {
	pr, err := n.pairing(p.Pairing)
	if err != nil {
		return control.Pairing{}, err
	}
	return n.awaitPairing(ctx, pr, p.TimeoutMS, func(state string) bool { return state != "" })
}

func (n *Node) pairing(id string) (*pairing, error) {
	on, err := n.needOnline()
	if err != nil {
		return nil, err
	}
	return on.desk.get(id)
}

// awaitPairing waits until the state of an attempt is as wanted.
func (n *Node) awaitPairing(ctx context.Context, pr *pairing, timeoutMS int64, ok func(string) bool) (control.Pairing, error) {
	if timeoutMS <= 0 {
		timeoutMS = pairLifetime.Milliseconds()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeoutMS)*time.Millisecond)
	defer cancel()
	sub := pr.bell.watch()
	defer sub.stop()
	for {
		pr.mu.Lock()
		out := control.Pairing{Pairing: pr.id, Name: pr.name, State: pr.state}
		peer := pr.peer
		pr.mu.Unlock()
		if !peer.IsZero() {
			out.PeerID = peer.String()
			out.Words = strings.Join(crdt.PairWords(n.Self(), peer, pr.secret), " ")
		}
		if ok(out.State) {
			return out, nil
		}
		if !sub.wait(ctx) {
			return out, &control.Error{Code: control.CodeTimeout, Cause: "pair: the other machine did not answer in time", Remedy: "start again; both machines must run and reach each other"}
		}
	}
}

func (n *Node) pairJoin(ctx context.Context, p control.PairJoinParams) (control.Pairing, error) {
	on, err := n.needOnline()
	if err != nil {
		return control.Pairing{}, err
	}
	t, err := crdt.ParsePairTicket(strings.TrimSpace(p.Ticket))
	if err != nil {
		return control.Pairing{}, usage("copy the whole line that `chaz-peer peers pair` printed", "%s", err)
	}
	if t.Peer == n.Self() {
		return control.Pairing{}, usage("use it on the other machine", "pair: this ticket is of this very peer")
	}
	pr, err := newPairing(t.Secret)
	if err != nil {
		return control.Pairing{}, err
	}
	if err := on.net.Connect(ctx, t.Peer, t.Addrs); err != nil {
		return control.Pairing{}, &control.Error{Code: control.CodeUnavailable, Cause: fmt.Sprintf("pair with %s: %s", t.Peer.Short(), err), Remedy: "both machines must run and reach each other"}
	}
	s, err := on.net.Open(ctx, t.Peer, pairProtocol)
	if err != nil {
		return control.Pairing{}, fmt.Errorf("pair with %s: %w", t.Peer.Short(), err)
	}
	on.desk.add(pr)
	on.group.Go(func() error {
		defer on.desk.drop(pr.id)
		n.runPairing(on.ctx, s, pr)
		return nil
	})
	return n.awaitPairing(ctx, pr, p.TimeoutMS, func(state string) bool { return state != "" })
}

func (n *Node) pairConfirm(ctx context.Context, p control.PairConfirmParams) (control.Pairing, error) {
	pr, err := n.pairing(p.Pairing)
	if err != nil {
		return control.Pairing{}, err
	}
	pr.mu.Lock()
	state := pr.state
	if state == control.PairConfirm {
		pr.state = control.PairWaiting
		pr.mine <- p.Yes
	}
	pr.mu.Unlock()
	if state == "" {
		return control.Pairing{}, &control.Error{Code: control.CodeConflict, Cause: "pair: the other machine is not here yet", Remedy: "wait for the words"}
	}
	return n.awaitPairing(ctx, pr, p.TimeoutMS, func(s string) bool { return s == control.PairPaired || s == control.PairRefused })
}
