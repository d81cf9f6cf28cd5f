package p2p

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

func want(peers ...*node) []crdt.PeerID {
	var out []crdt.PeerID
	for _, p := range peers {
		out = append(out, p.Self())
	}
	return out
}

// A peer that restarts on other ports finds the one it wants, which learns the new address; so when
// that one restarts in turn, the first finds it.
func TestReconnectAfterRestartOnOtherPorts(t *testing.T) {
	bookA, bookB := newMemBook(), newMemBook()
	cfgA, cfgB := testConfig(t, 0), testConfig(t, 1)
	cfgA.Book, cfgB.Book = bookA, bookB
	a, b := start(t, cfgA, withEcho), start(t, cfgB, withEcho)
	a.Want(want(b))
	b.Want(want(a))
	if err := a.Remember(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	a.await(t, b.Self(), "first connection", connected)
	b.await(t, a.Self(), "first connection", connected)

	oldB := b.Addrs()
	b.stop()
	a.await(t, b.Self(), "loss of b", disconnected)
	b = start(t, cfgB, withEcho)
	if slices.Equal(oldB, b.Addrs()) {
		t.Fatal("b came back on the same ports")
	}
	b.Want(want(a))
	a.await(t, b.Self(), "b back", connected)
	s := b.await(t, a.Self(), "b back", connected)
	if s.Inbound {
		t.Error("a can't have known where b is")
	}
	a.mustAsk(t, b.Self())
	a.await(t, b.Self(), "b's new address", func(s PeerState) bool { return slices.Contains(s.Addrs, b.over("tcp")[0]) })

	a.stop() // its book now knows b's new place
	b.await(t, testID(0), "loss of a", disconnected)
	b.Want(nil)
	a = start(t, cfgA, withEcho)
	a.Want(want(b))
	if s := a.await(t, b.Self(), "a back", connected); s.Inbound {
		t.Error("b no longer dials a")
	}
	a.mustAsk(t, b.Self())
}

func TestStaticPeersAreWanted(t *testing.T) {
	b := start(t, testConfig(t, 1), withEcho)
	cfg := testConfig(t, 0)
	for _, addr := range b.Addrs() {
		cfg.Static = append(cfg.Static, joinAddr(b.Self(), addr))
	}
	a := start(t, cfg, nil)
	a.Want(nil)
	a.await(t, b.Self(), "connection", connected)
	a.mustAsk(t, b.Self())
}

// A dropped connection comes back by itself, and after sleep all of them do at once.
func TestConnectionsComeBack(t *testing.T) {
	cfg := testConfig(t, 0)
	cfg.Backoff = Backoff{Min: 30 * time.Second, Max: time.Hour} // only Renew dials within the test
	a, b := start(t, cfg, nil), start(t, testConfig(t, 1), nil)
	a.Want(want(b))
	if err := a.Remember(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	first := a.await(t, b.Self(), "connection", connected)
	b.Disconnect(a.Self())
	if s := a.await(t, b.Self(), "loss", disconnected); s.NextDial.IsZero() {
		t.Errorf("no dial is due: %+v", s)
	}
	a.Renew()
	a.await(t, b.Self(), "connection after sleep", func(s PeerState) bool { return s.Connected && s.Since != first.Since })
}

func TestSlept(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]bool{
		sleepTick: false, 4 * sleepTick: false, time.Hour: true, -time.Hour: true, -time.Second: false,
	} {
		if slept(at, at.Add(d)) != want {
			t.Errorf("%v: want %v", d, want)
		}
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	n := &Network{cfg: testConfig(t, 0)}
	n.cfg.Backoff = Backoff{Min: time.Second, Max: time.Minute}
	differ := false
	for fails := range 80 {
		most := min(time.Minute, time.Second<<min(max(fails-1, 0), 10))
		d, e := n.delay(fails), n.delay(fails)
		if d < most/2 || d > most {
			t.Errorf("after %d failures: %v, want between %v and %v", fails, d, most/2, most)
		}
		differ = differ || d != e
	}
	if !differ {
		t.Error("no jitter")
	}
}

func TestPauseAndResume(t *testing.T) {
	a, b := start(t, testConfig(t, 0), withEcho), start(t, testConfig(t, 1), withEcho)
	c := start(t, testConfig(t, 2), withEcho)
	a.Want(want(b, c))
	b.Want(want(a))
	c.Want(want(a))
	for _, p := range []*node{b, c} {
		if err := a.Connect(contextOf(t), p.Self(), p.Addrs()); err != nil {
			t.Fatal(err)
		}
		p.await(t, a.Self(), "connection", connected)
	}
	a.Pause(b.Self())
	// At once here, and soon there.
	if s := a.Peer(b.Self()); s.Connected || !s.Paused || s.Cause != CausePaused {
		t.Errorf("paused peer: %+v", s)
	}
	if _, err := a.ask(t, b.Self(), "x"); err == nil {
		t.Error("a stream to a paused peer")
	}
	b.await(t, a.Self(), "refusal", func(s PeerState) bool { return !s.Connected && s.Cause == CauseRefused })
	if s := a.Peer(c.Self()); !s.Connected {
		t.Errorf("the third peer: %+v", s)
	}
	if err := a.Connect(contextOf(t), b.Self(), nil); err == nil {
		t.Error("dialled a paused peer")
	}
	if err := b.Connect(contextOf(t), a.Self(), nil); err == nil {
		t.Error("let a paused peer in")
	}
	a.Resume(b.Self())
	a.await(t, b.Self(), "resumed", connected)
	b.await(t, a.Self(), "resumed", connected)
	a.mustAsk(t, b.Self())
	b.mustAsk(t, a.Self())
}

// While one side pauses, no byte passes, however hard the other tries.
func TestPauseIsTight(t *testing.T) {
	var passed int
	reached := make(chan struct{}, 1000)
	count := func(n *Network) {
		n.Handle(echoProto, func(context.Context, *Stream) { reached <- struct{}{} })
	}
	a, b := start(t, testConfig(t, 0), count), start(t, testConfig(t, 1), nil)
	for range 5 {
		a.Pause(b.Self())
		b.await(t, a.Self(), "end of the connection", disconnected)
		before := a.Stats().RefusedConns
		for range 3 {
			_ = b.Connect(contextOf(t), a.Self(), a.Addrs())
			_, _ = b.ask(t, a.Self(), "x")
		}
		if a.Stats().RefusedConns == before {
			t.Fatal("nothing was refused")
		}
		select {
		case <-reached:
			t.Fatal("a stream got through a pause")
		default:
		}
		a.Resume(b.Self())
		if err := b.Connect(contextOf(t), a.Self(), a.Addrs()); err != nil {
			t.Fatal(err)
		}
		_, _ = b.ask(t, a.Self(), "x")
		<-reached // the control
		passed++
	}
	if passed != 5 {
		t.Error("the control failed")
	}
}

// What Allow says may change; Recheck acts on it.
func TestRecheck(t *testing.T) {
	var blocked atomic.Bool
	cfg := testConfig(t, 0)
	cfg.Allow = func(crdt.PeerID) bool { return !blocked.Load() }
	a, b := start(t, cfg, nil), start(t, testConfig(t, 1), withEcho)
	a.Want(want(b))
	if err := a.Connect(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	b.await(t, a.Self(), "connection", connected)
	blocked.Store(true)
	a.Recheck()
	a.await(t, b.Self(), "block", func(s PeerState) bool { return !s.Connected && s.Cause == CauseBlocked })
	b.await(t, a.Self(), "block", disconnected)
	if err := b.Connect(contextOf(t), a.Self(), a.Addrs()); err == nil {
		t.Error("a blocked peer connected")
	}
	blocked.Store(false)
	a.Recheck()
	a.await(t, b.Self(), "admission", connected)
	a.mustAsk(t, b.Self())
}
