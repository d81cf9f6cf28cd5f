package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// pairProtocol is the stream protocol of pairing: one JSON object a line, each at most 1 KiB.
const pairProtocol = "/chaz/pair/1"

const maxPairLine = 1 << 10

type pairMessage struct {
	Secret  []byte `json:"secret,omitempty"` // hello, from the one who holds the ticket
	Name    string `json:"name,omitempty"`   // hello, both ways
	Confirm *bool  `json:"confirm,omitempty"`
}

// servePairing answers a peer that holds a ticket. Whoever does not show the right secret is told
// nothing.
func (n *Node) servePairing(ctx context.Context, s *p2p.Stream, desk *pairDesk) {
	_ = s.SetDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReaderSize(s, maxPairLine)
	m, err := readPair(in)
	if err != nil {
		_ = s.Reset()
		return
	}
	var pr *pairing
	if len(m.Secret) == len(crdt.Secret{}) {
		pr = desk.claim(crdt.Secret(m.Secret), s.Peer())
	}
	if pr == nil {
		n.log.Warn("a peer tried to pair without a valid ticket", "peer", s.Peer().Short())
		_ = s.Reset()
		return
	}
	if err := writePair(s, pairMessage{Name: n.name()}); err != nil {
		_ = s.Reset()
		return
	}
	n.finishPairing(ctx, s, in, pr, m.Name)
	desk.drop(pr.id)
}

// runPairing is the side that holds the ticket.
func (n *Node) runPairing(ctx context.Context, s *p2p.Stream, pr *pairing) {
	_ = s.SetDeadline(time.Now().Add(30 * time.Second))
	in := bufio.NewReaderSize(s, maxPairLine)
	if err := writePair(s, pairMessage{Secret: pr.secret[:], Name: n.name()}); err != nil {
		pr.set(control.PairRefused)
		return
	}
	m, err := readPair(in)
	if err != nil {
		_ = s.Reset()
		pr.set(control.PairRefused)
		return
	}
	n.finishPairing(ctx, s, in, pr, m.Name)
}

// finishPairing is what both sides do once the secret is known to be right: show the words, send
// the own person's answer, wait for the other's.
func (n *Node) finishPairing(ctx context.Context, s *p2p.Stream, in *bufio.Reader, pr *pairing, name string) {
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(pairLifetime))
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	pr.mu.Lock()
	pr.peer, pr.name, pr.state = s.Peer(), harmless(name), control.PairConfirm
	pr.mu.Unlock()
	pr.bell.ring()
	theirs := make(chan bool, 1)
	go func() {
		m, err := readPair(in)
		theirs <- err == nil && m.Confirm != nil && *m.Confirm
	}()
	mine, other := false, false
	for answers := 0; answers < 2; answers++ {
		select {
		case mine = <-pr.mine:
			if err := writePair(s, pairMessage{Confirm: &mine}); err != nil || !mine {
				pr.set(control.PairRefused)
				return
			}
		case other = <-theirs:
			if !other {
				pr.set(control.PairRefused)
				return
			}
		case <-ctx.Done():
			pr.set(control.PairRefused)
			return
		}
	}
	if err := n.paired(ctx, s.Peer(), pr.name); err != nil {
		n.log.Error("pairing failed", "peer", s.Peer().Short(), "cause", err)
		pr.set(control.PairRefused)
		return
	}
	pr.set(control.PairPaired)
}

func (pr *pairing) set(state string) {
	pr.mu.Lock()
	pr.state = state
	pr.mu.Unlock()
	pr.bell.ring()
}

// paired notes another device and admits it to every document that this one owns or administers.
func (n *Node) paired(ctx context.Context, peer crdt.PeerID, name string) error {
	if err := n.pairs.add(ctx, peer, pairRow{Name: name, Since: crdt.NowMillis(n.clock)}); err != nil {
		return err
	}
	if n.peerNames.of(peer.String()) == "" && checkName(name) == nil {
		if err := n.peerNames.set(ctx, peer.String(), n.peerNames.free(peer.String(), name)); err != nil {
			return err
		}
	}
	for _, s := range n.repo.List() {
		if err := n.admitDevice(ctx, s.ID, peer); err != nil {
			return err
		}
	}
	n.want(peer)
	return nil
}

func (n *Node) admitDevice(ctx context.Context, id crdt.DocID, peer crdt.PeerID) error {
	access, err := n.repo.Access(ctx, id)
	if err != nil || n.roleIn(access) < crdt.Admin {
		return err
	}
	return n.grant(ctx, id, peer, crdt.Admin, crdt.ObjectID{})
}

func writePair(s *p2p.Stream, m pairMessage) error {
	b, err := json.Marshal(m)
	if err == nil {
		_, err = s.Write(append(b, '\n'))
	}
	return err
}

func readPair(in *bufio.Reader) (pairMessage, error) {
	var m pairMessage
	line, err := in.ReadSlice('\n')
	if err != nil {
		return m, fmt.Errorf("read pairing message: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("read pairing message: %w", err)
	}
	return m, nil
}
