package p2p

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/docsync"
)

// syncs counts the sync runs of one side.
type syncs struct {
	now, most, total atomic.Int32
	started          chan *Stream
}

func newSyncs() *syncs { return &syncs{started: make(chan *Stream, 100)} }

// run proves the stream by an exchange of hellos and stays until the stream or ctx ends.
func (c *syncs) run(ctx context.Context, s *Stream, p crdt.PeerID) error {
	now := c.now.Add(1)
	defer c.now.Add(-1)
	c.total.Add(1)
	if now > c.most.Load() {
		c.most.Store(now)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	if _, err := io.WriteString(s, "hello"); err != nil {
		return err
	}
	var hello [5]byte
	if _, err := io.ReadFull(s, hello[:]); err != nil {
		return err
	}
	if string(hello[:]) != "hello" || s.Peer() != p {
		return errors.New("bad hello")
	}
	c.started <- s
	_, err := s.Read(hello[:])
	return err
}

func (c *syncs) serve(n *Network) { n.ServeSync(c.run) }

func running(s PeerState) bool { return s.Sync == SyncRunning }

func TestOneSyncStreamWhoeverDials(t *testing.T) {
	for _, dialler := range []int{0, 1} {
		ca, cb := newSyncs(), newSyncs()
		a, b := start(t, testConfig(t, 0), ca.serve), start(t, testConfig(t, 1), cb.serve)
		from, to := a, b
		if dialler == 1 {
			from, to = b, a
		}
		if err := from.Connect(contextOf(t), to.Self(), to.Addrs()); err != nil {
			t.Fatal(err)
		}
		<-ca.started
		<-cb.started
		a.await(t, b.Self(), "sync", running)
		b.await(t, a.Self(), "sync", running)
		// Both dialling at once, over both transports, makes no second one.
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { _ = a.Connect(contextOf(t), b.Self(), b.Addrs()) })
			wg.Go(func() { _ = b.Connect(contextOf(t), a.Self(), a.Addrs()) })
		}
		wg.Wait()
		a.stop()
		b.await(t, a.Self(), "loss", disconnected)
		b.stop()
		for side, c := range map[string]*syncs{"a": ca, "b": cb} {
			if c.most.Load() != 1 || c.total.Load() != 1 || c.now.Load() != 0 {
				t.Errorf("dialled by %d, side %s: %d runs, %d at once, %d left", dialler, side, c.total.Load(), c.most.Load(), c.now.Load())
			}
		}
	}
}

// A sync stream that either side ends is opened again, with the reason told in between.
func TestSyncStartsOverWhenItEnds(t *testing.T) {
	ca, cb := newSyncs(), newSyncs()
	a, b := start(t, testConfig(t, 0), ca.serve), start(t, testConfig(t, 1), cb.serve)
	if err := a.Connect(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		sa, sb := <-ca.started, <-cb.started
		if round%2 == 0 {
			_ = sa.Reset()
		} else {
			_ = sb.Reset()
		}
		for _, side := range []struct {
			n    *node
			peer crdt.PeerID
		}{{a, b.Self()}, {b, a.Self()}} {
			side.n.await(t, side.peer, "the end or a new one", func(s PeerState) bool {
				return s.Sync == SyncRunning || s.Sync == SyncWaiting && s.SyncError != ""
			})
		}
	}
	<-ca.started
	<-cb.started
	if s := a.await(t, b.Self(), "sync again", running); s.SyncError != "" {
		t.Errorf("error %q beside a running stream", s.SyncError)
	}
	for _, c := range []*syncs{ca, cb} {
		if c.most.Load() != 1 || c.total.Load() != 5 {
			t.Errorf("%d runs, %d at once", c.total.Load(), c.most.Load())
		}
	}
}

// The opener's newer stream replaces its older one; a stream from the other side is reset.
func TestSecondSyncStream(t *testing.T) {
	ca, cb := newSyncs(), newSyncs()
	a, b := start(t, testConfig(t, 0), ca.serve), start(t, testConfig(t, 1), cb.serve)
	if err := a.Connect(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	<-ca.started
	<-cb.started

	wrong, err := b.Open(contextOf(t), a.Self(), docsync.ProtocolID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(wrong, "hello"); err == nil {
		_, err = io.ReadAll(wrong)
	}
	if err == nil {
		t.Error("a sync stream in the wrong direction was served")
	}
	if a.Stats().WrongWaySyncs != 1 || ca.total.Load() != 1 {
		t.Errorf("stats %+v, %d runs", a.Stats(), ca.total.Load())
	}

	second, err := a.Open(contextOf(t), b.Self(), docsync.ProtocolID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(second, "hello"); err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(second, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("the second stream is not served: %v", err)
	}
	<-cb.started
	if cb.most.Load() != 1 || b.Stats().ReplacedSyncs != 1 {
		t.Errorf("%d runs at once, stats %+v", cb.most.Load(), b.Stats())
	}
	// a's own loop lost its stream and opens the next, which replaces the second in turn.
	<-cb.started
	b.await(t, a.Self(), "sync", running)
	if cb.most.Load() != 1 {
		t.Errorf("%d runs at once", cb.most.Load())
	}
}

// foreign is a libp2p host that knows nothing of us.
func foreign(t *testing.T, i int, protos ...string) (host.Host, crdt.PeerID) {
	t.Helper()
	key, err := crypto.UnmarshalEd25519PrivateKey(testKey(i))
	if err != nil {
		t.Fatal(err)
	}
	h, err := libp2p.New(libp2p.Identity(key), libp2p.ListenAddrStrings(loopTCP), libp2p.Security(noise.ID, noise.New),
		libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.UserAgent("else\n1.0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	for _, p := range protos {
		h.SetStreamHandler(protocolID(p), func(s network.Stream) { _ = s.Reset() })
	}
	return h, testID(i)
}

func TestForeignPeerIsIncompatible(t *testing.T) {
	for _, i := range []int{0, 2} { // as the opener of sync streams and as the other
		for _, tc := range []struct {
			protos []string
			says   string
		}{
			{nil, `calls itself "else 1.0"`},
			{[]string{"/chaz/sync/2", "/chaz/sync/3"}, "speaks /chaz/sync/2, /chaz/sync/3, this program speaks /chaz/sync/1"},
		} {
			c := newSyncs()
			a := start(t, testConfig(t, 1), c.serve)
			h, id := foreign(t, i, tc.protos...)
			if err := a.Connect(contextOf(t), id, []string{h.Addrs()[0].String()}); err != nil {
				t.Fatal(err)
			}
			// libp2p may tell the protocols in two parts, hence no look at the first reason.
			a.await(t, id, "verdict "+tc.says, func(s PeerState) bool {
				return s.Sync == SyncIncompatible && strings.Contains(s.SyncError, tc.says)
			})
			if c.total.Load() != 0 {
				t.Error("sync ran with a foreign peer")
			}
			// The control: the same peer learns the protocol while connected.
			h.SetStreamHandler(docsync.ProtocolID, func(s network.Stream) { _, _ = io.Copy(s, s) })
			if i == 2 { // a opens
				<-c.started
				a.await(t, id, "sync", running)
			} else {
				a.await(t, id, "sync", func(s PeerState) bool { return s.Sync == SyncWaiting })
			}
			a.stop()
		}
	}
}

// A peer that completes the handshake and then says nothing is not connected, and is dropped.
func TestSilentPeer(t *testing.T) {
	a := start(t, testConfig(t, 1), nil)
	h, id := foreign(t, 0)
	h.RemoveStreamHandler("/ipfs/id/1.0.0")
	addr := ma.StringCast(a.over("tcp")[0])
	pid, err := toLibp2p(a.Self())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Connect(contextOf(t), peer.AddrInfo{ID: pid, Addrs: []ma.Multiaddr{addr}}); err != nil {
		t.Fatal(err)
	}
	if s := a.Peer(id); s.Connected {
		t.Errorf("connected without identification: %+v", s)
	}
	a.sweepSilent(time.Now())
	if len(h.Network().Conns()) != 1 {
		t.Fatal("swept too early")
	}
	a.sweepSilent(time.Now().Add(identifyTimeout))
	if got := len(a.host.Network().Conns()); got != 0 {
		t.Errorf("%d silent connections left", got)
	}
}
