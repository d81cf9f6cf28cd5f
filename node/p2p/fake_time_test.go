package p2p

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/marcopolo/simnet"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// What a person may count on once the network works again.
const (
	reconnectIn = 20 * time.Second
	convergeIn  = 30 * time.Second
)

// lies are the clocks of the peers.
var lies = [...]time.Duration{0, 2 * time.Hour, -3 * 24 * time.Hour, 400 * 24 * time.Hour, -time.Millisecond, time.Minute, -90 * time.Minute, 0}

// met makes n peers that know each other and have the session.
func met(t *testing.T, seed uint64, n int, pairs [][2]int, prepare func(*airwaves)) *airwaves {
	t.Helper()
	a := newAir(t, seed)
	if prepare != nil {
		prepare(a)
	}
	for i := range n {
		a.add(lies[i])
	}
	a.know(pairs...)
	a.share()
	a.until("all have the session", convergeIn, a.same(a.peers...))
	return a
}

// inBubble plays a scenario in fake time. A goroutine that outlives it fails the test.
func inBubble(t *testing.T, play func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, play)
}

func TestFakePartitionHeals(t *testing.T) {
	for _, long := range []time.Duration{5 * time.Second, 45 * time.Second, 52 * time.Second, time.Minute} {
		inBubble(t, func(t *testing.T) {
			a := met(t, 1, 5, mesh(5), nil)
			a.peers[0].turn("memory", true)
			a.until("the switch is everywhere", time.Second, a.same(a.peers...))
			a.partition([]int{0, 1}, []int{2, 3, 4})
			a.peers[0].post("a", "b")
			a.peers[0].turn("memory", false)
			a.peers[3].post("c", "d", "e")
			a.peers[3].turn("web", true)
			time.Sleep(long)
			if a.same(a.peers...)() {
				t.Fatal("the partition lets something through")
			}
			if !a.same(a.peers[:2]...)() || !a.same(a.peers[2:]...)() {
				t.Errorf("the groups are not of one mind: %s", a.apart())
			}
			a.heal()
			a.until("all agree", convergeIn, a.same(a.peers...))
			a.until("all are connected", reconnectIn, a.connected(mesh(5)...))
			a.agree(5)
		})
	}
}

// After a long silence nobody tells a peer that the way is free again: it comes back when the next
// dial is due, and at once when something hints at it.
func TestFakeLongPartition(t *testing.T) {
	for i, hint := range []bool{false, false, false, true, true} {
		inBubble(t, func(t *testing.T) {
			a := met(t, 2, 2, mesh(2), nil)
			a.partition([]int{0}, []int{1})
			a.peers[1].post("written alone")
			time.Sleep([...]time.Duration{5 * time.Minute, time.Hour, 8 * time.Hour}[i%3])
			if s := a.peers[0].net.Peer(a.peers[1].id.PeerID()); s.Connected {
				t.Fatalf("still connected after all that time: %+v", s)
			}
			a.heal()
			most := a.peers[0].net.cfg.Backoff.Max + reconnectIn
			if hint {
				most = reconnectIn
				a.peers[0].net.Renew()
			}
			a.until("they are connected", most, a.connected(mesh(2)...))
			a.until("they agree", convergeIn, a.same(a.peers...))
			a.agree(1)
		})
	}
}

// When nothing arrives in one direction, nobody can tell from a slow peer for a while.
func TestFakeOneWay(t *testing.T) {
	for _, way := range [][2]int{{0, 1}, {1, 0}} {
		inBubble(t, func(t *testing.T) {
			a := met(t, 3, 3, mesh(3), nil)
			a.set(func() { a.cut[way] = true })
			a.peers[0].post("x")
			a.peers[1].post("y")
			a.until("the third peer passes it on", convergeIn, a.same(a.peers...))
			time.Sleep(2 * time.Minute)
			a.peers[way[0]].post("z")
			a.heal()
			a.until("all are connected", reconnectIn, a.connected(mesh(3)...))
			a.until("all agree", convergeIn, a.same(a.peers...))
			a.agree(3)
		})
	}
}

// A link that goes up and down, in steps that a connection survives and in steps that it does not:
// each time it is up for too short to do anything with it.
func TestFakeFlappingLink(t *testing.T) {
	for _, down := range []time.Duration{3 * time.Second, 35 * time.Second} {
		inBubble(t, func(t *testing.T) {
			a := met(t, 4, 2, mesh(2), nil)
			for i := range 20 {
				a.partition([]int{0}, []int{1})
				a.peers[i%2].post(fmt.Sprint(i))
				time.Sleep(down)
				a.heal()
				time.Sleep(60 * time.Millisecond)
			}
			a.peers[0].post("the last one")
			most := convergeIn
			if down > 30*time.Second { // the failed dials have added up
				most += a.peers[0].net.cfg.Backoff.Max
			}
			a.until("they agree", most, a.same(a.peers...))
			a.until("they are connected", reconnectIn, a.connected(mesh(2)...))
			a.agree(21)
		})
	}
}

func TestFakeLossAndJitter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 5, 3, mesh(3), nil)
		a.set(func() { a.loss, a.jitter, a.latency = 0.2, 200*time.Millisecond, 80*time.Millisecond })
		for i := range 40 {
			a.peers[i%3].post(fmt.Sprint(i, strings.Repeat("x", 1000)))
			time.Sleep(500 * time.Millisecond)
		}
		a.until("all agree on a lossy net", convergeIn, a.same(a.peers...))
		a.agree(40)
		if lost, _ := a.counts(); lost < 50 {
			t.Errorf("only %d packets were lost", lost)
		}
	})
}

// A and C never see each other; what one writes reaches the other through B, also when B was away in
// between.
func TestFakeChain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 6, 3, [][2]int{{0, 1}, {1, 2}}, nil)
		if a.peers[0].net.Peer(a.peers[2].id.PeerID()).Connected {
			t.Fatal("they do see each other")
		}
		a.partition([]int{0}, []int{2})
		a.peers[1].stop()
		a.peers[0].post("to C")
		a.peers[2].post("to A")
		time.Sleep(5 * time.Minute)
		a.peers[1].start()
		a.know([2]int{0, 1}, [2]int{1, 2})
		a.until("it went through B", convergeIn, a.same(a.peers...))
		a.agree(2)
	})
}

// A peer whose machine lost power comes back before the others know that it was gone, at its old address
// or at another one. Whichever side opens the sync streams, the old ones are given up.
func TestFakeCrash(t *testing.T) {
	for i, away := range []time.Duration{time.Second, 15 * time.Second, 3 * time.Minute, time.Second, 15 * time.Second, 16 * time.Second} {
		inBubble(t, func(t *testing.T) {
			a := met(t, 7, 3, mesh(3), nil)
			victim, other, third := i%3, (i+1)%3, (i+2)%3
			a.partition([]int{victim}, []int{other, third}) // its goodbye does not get out
			a.peers[victim].stop()
			a.peers[other].post("meanwhile")
			time.Sleep(away)
			a.heal()
			if i >= 3 {
				a.peers[victim].port++
			}
			a.peers[victim].start()
			a.meets(victim, other, third)
			a.until("all agree", 5*time.Second, a.same(a.peers...))
			a.until("all are connected", 5*time.Second, a.connected(mesh(3)...))
			a.agree(1)
		})
	}
}

// A narrow line with a satellite's latency: it takes as long as the bytes do, not longer by the hour.
func TestFakeNarrowLine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 8, 2, mesh(2), func(a *airwaves) {
			a.width, a.latency = simnet.Mibps/2, 300*time.Millisecond
		})
		a.partition([]int{0}, []int{1})
		for range 20 {
			a.peers[0].post(randomText(a, 16<<10))
		}
		time.Sleep(5 * time.Second)
		a.heal()
		a.until("320 kB came over half a Mbit/s", convergeIn, a.same(a.peers...))
		a.agree(20)
	})
}

// randomText does not compress.
func randomText(a *airwaves, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + a.rng.IntN(90))
	}
	return string(b)
}

func TestFakeManyWriters(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n, each = 8, 6
		a := met(t, 9, n, mesh(n), nil)
		for i := range each {
			for _, p := range a.peers {
				p.post(fmt.Sprint(i))
				p.turn("memory", (p.n+i)%2 == 0)
			}
			time.Sleep(10 * time.Millisecond)
		}
		a.until("all agree", 5*time.Second, a.same(a.peers...))
		a.agree(n * each)
		for _, p := range a.peers {
			if int(p.most.Load()) > n {
				t.Errorf("peer %d had %d sync sessions at a time, with %d others", p.n, p.most.Load(), n-1)
			}
		}
	})
}

// A peer that takes all streams it can get does not keep the others, or its own sync, from working.
func TestFakeGreedyPeer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 10, 3, mesh(3), nil)
		victim, greedy := a.peers[0], a.peers[2]
		var held []*Stream
		for range 200 {
			s, err := greedy.net.Open(contextOf(t), victim.id.PeerID(), holdProto)
			if err == nil {
				held = append(held, s)
				_, _ = s.Write([]byte("x")) // the stream is not there before its first byte
			}
		}
		time.Sleep(time.Second)
		if got := victim.net.Stats().RefusedStreams; got == 0 {
			t.Error("nothing was refused")
		}
		if len(held) < victim.net.cfg.Limits.Handlers {
			t.Fatalf("only %d streams were opened", len(held))
		}
		victim.net.mu.Lock()
		handlers := victim.net.handled[handlerKey{holdProto, greedy.id.PeerID()}]
		victim.net.mu.Unlock()
		if handlers != victim.net.cfg.Limits.Handlers {
			t.Errorf("%d handlers run for one peer, want %d", handlers, victim.net.cfg.Limits.Handlers)
		}
		victim.post("to all")
		a.peers[1].post("to all")
		greedy.post("mine too")
		a.until("all agree", time.Second, a.same(a.peers...))
		a.agree(3)
		for _, s := range held {
			_ = s.Reset()
		}
	})
}

// A night in which nothing happens costs no connection, no stream and no goroutine.
func TestFakeQuietNight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 11, 3, mesh(3), nil)
		a.until("all are connected", reconnectIn, a.connected(mesh(3)...))
		time.Sleep(time.Minute)
		synctest.Wait()
		since := map[crdt.PeerID]time.Time{}
		for _, s := range a.peers[0].net.Peers() {
			since[s.ID] = s.Since
		}
		before := runtime.NumGoroutine()
		_, packets := a.counts()
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, %d an evening before", after, before)
		}
		for _, s := range a.peers[0].net.Peers() {
			if !s.Connected || !s.Since.Equal(since[s.ID]) {
				t.Errorf("the connection of the evening is gone: %+v", s)
			}
		}
		_, now := a.counts()
		t.Logf("%d packets in six hours between three peers", now-packets)
		a.peers[1].post("good morning")
		a.until("it is there at once", time.Second, a.same(a.peers...))
		a.agree(1)
	})
}

// A paused peer gets nothing and learns why; resumed, it has all within the bounds.
func TestFakePause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := met(t, 12, 2, mesh(2), nil)
		a.peers[0].net.Pause(a.peers[1].id.PeerID())
		a.peers[0].post("not yet")
		time.Sleep(time.Hour)
		if a.same(a.peers...)() {
			t.Fatal("it got through a pause")
		}
		if s := a.peers[1].net.Peer(a.peers[0].id.PeerID()); s.Cause != CauseRefused {
			t.Errorf("the paused one is told %q", s.Cause)
		}
		a.peers[0].net.Resume(a.peers[1].id.PeerID())
		a.until("they are connected", reconnectIn, a.connected(mesh(2)...))
		a.until("they agree", convergeIn, a.same(a.peers...))
		a.agree(1)
	})
}
