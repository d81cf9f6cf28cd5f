package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/badger"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/node/p2p"
)

// extensions is how many names the events switch, in turn.
const extensions = 30

func nameOf(turn int) string { return fmt.Sprintf("ext%d", turn%extensions) }

// refs are what the names stand for; a program has them ready.
func refs() (out [extensions]extension.Ref) {
	for i := range out {
		out[i] = extension.BuiltinRef(nameOf(i), "1.0.0")
	}
	return out
}

// peer is a repo on a disk.
type peer struct {
	id    *crdt.Identity
	store *badger.Store
	repo  *crdt.Repo
	refs  [extensions]extension.Ref
	turn  int // events written
}

// openPeer opens or makes a peer; without sync it fills quickly and must not be measured.
func openPeer(ctx context.Context, dir string, id *crdt.Identity, sync bool) (*peer, error) {
	store, err := badger.Open(dir, badger.Options{NoSync: !sync})
	if err != nil {
		return nil, err
	}
	p := &peer{id: id, store: store, refs: refs()}
	p.repo, err = crdt.NewRepo(ctx, crdt.Config{
		Store: store, Identity: id, Clock: crdt.SystemClock{}, Codec: chunk.New(), Core: automerge.New(), Rand: rand.Reader,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()}, MemoryBudget: 1 << 30,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return p, nil
}

func (p *peer) close() error { return errors.Join(p.repo.Close(), p.store.Close()) }

// write switches the next name, in one change, and returns the row.
func (p *peer) write(ctx context.Context, doc crdt.DocID) (row crdt.RowID, name string, err error) {
	kind, name, ref := activation.Activated, nameOf(p.turn), p.refs[p.turn%extensions]
	if p.turn/extensions%2 == 1 {
		kind = activation.Deactivated
	}
	p.turn++
	err = p.repo.Update(ctx, doc, func(tx *crdt.Tx) error {
		log, err := logOf(tx.View)
		if err != nil {
			return err
		}
		events, err := log.Next(tx.Now(), kind, name, ref)
		if err != nil {
			return err
		}
		for _, e := range events {
			if row, err = tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return nil
	})
	return row, name, err
}

// say adds an entry to the conversation, in one change.
func (p *peer) say(ctx context.Context, doc crdt.DocID, text string) error {
	return p.repo.Update(ctx, doc, func(tx *crdt.Tx) error {
		_, err := crdt.AddEntry(tx, crdt.Entry{Sender: "user", Content: text})
		return err
	})
}

// chunkBytes sums the chunks that a peer with the vector have lacks.
func (p *peer) chunkBytes(ctx context.Context, doc crdt.DocID, have crdt.Vector) (total int, err error) {
	for more := true; more; {
		var page []crdt.SignedChange
		if page, have, more, err = p.repo.Page(ctx, doc, have, nil, 1<<20); err != nil {
			return 0, err
		}
		for _, c := range page {
			total += len(c.Raw)
		}
	}
	return total, nil
}

func logOf(v *crdt.View) (*activation.Log, error) {
	log, ok := v.Index(activation.IndexName).(*activation.Log)
	if !ok {
		return nil, errors.New("the document has no activation log")
	}
	return log, nil
}

// net is a peer's place on the loopback.
type net struct {
	*p2p.Network
	stop context.CancelFunc
	done chan error
}

const (
	echoProtocol = "/chaz/bench-echo/1"
	syncProtocol = "/chaz/bench-sync/1"
)

// openNet runs a network whose other sides get what serve does.
func openNet(ctx context.Context, id *crdt.Identity, serve func(context.Context, *p2p.Stream)) (*net, error) {
	n, err := p2p.New(p2p.Config{Key: id.PrivateKey(), Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"}})
	if err != nil {
		return nil, err
	}
	n.Handle(echoProtocol, func(_ context.Context, s *p2p.Stream) { _, _ = io.Copy(s, s) })
	n.Handle(syncProtocol, serve)
	ctx, cancel := context.WithCancel(ctx)
	out := &net{n, cancel, make(chan error, 1)}
	go func() { out.done <- n.Run(ctx) }()
	return out, nil
}

func (n *net) close() error {
	n.stop()
	return errors.Join(<-n.done, n.Close())
}

// connect dials over one transport until the other side, which may be starting, answers.
func (n *net) connect(ctx context.Context, to *net, transport string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		for _, a := range to.Addrs() {
			if strings.Contains(a, "/"+transport) && n.Connect(ctx, to.Self(), []string{a}) == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("connect over %s: %w", transport, ctx.Err())
		}
	}
}

// counted counts the bytes that pass a stream, both ways.
type counted struct {
	*p2p.Stream
	bytes *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Stream.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}

// side is one end of a sync session: the opinion of its owner, who lets everybody in.
type side struct {
	peer  *peer
	host  *docsync.RepoHost
	pages *docsync.Pages
	state chan docsync.State // the newest state of the document, capacity 1
}

func newSide(p *peer) (*side, error) {
	pages, err := docsync.NewPages()
	if err != nil {
		return nil, err
	}
	s := &side{peer: p, pages: pages, state: make(chan docsync.State, 1)}
	s.host = docsync.NewRepoHost(p.repo, crdt.SystemClock{}, s, pages)
	return s, nil
}

func (s *side) Syncs(crdt.PeerID, crdt.DocID) bool { return true }

func (s *side) Redeem(context.Context, docsync.Request) (docsync.Code, error) {
	return docsync.CodeNotServed, nil
}

func (s *side) AcceptOffer(context.Context, crdt.PeerID, *crdt.Access) bool { return false }

func (s *side) Notice(_ crdt.PeerID, n docsync.Notice) {
	if x, ok := n.(docsync.StatusChanged); ok {
		select {
		case <-s.state:
		default:
		}
		s.state <- x.Status.State
	}
}

// settled waits until the document is in sync.
func (s *side) settled(ctx context.Context) error {
	for {
		select {
		case st := <-s.state:
			if st == docsync.InSync {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drive runs the protocol over a stream until ctx ends.
func (s *side) drive(ctx context.Context, stream *p2p.Stream, bytes *atomic.Int64) error {
	cfg := docsync.Config{Self: s.peer.repo.Self(), Peer: stream.Peer(), Agent: "bench"}
	if _, err := rand.Read(cfg.Nonce[:]); err != nil {
		return err
	}
	return docsync.Drive(ctx, counted{stream, bytes}, docsync.NewSession(cfg), s.host, crdt.SystemClock{})
}

func newIdentity() (*crdt.Identity, error) { return crdt.NewIdentity(rand.Reader) }

// place is a folder of its own for each store.
func place(o *options, format string, args ...any) string {
	return filepath.Join(o.dir, fmt.Sprintf(format, args...))
}
