package p2p

import (
	"math/rand/v2"
	"testing"
)

// Whatever three peers do to their connections in any order, once all is allowed again each is
// connected to each, with one sync stream.
func TestChurn(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var nodes []*node
		var runs []*syncs
		for i := range 3 {
			c := newSyncs()
			runs = append(runs, c)
			nodes = append(nodes, start(t, testConfig(t, i), func(n *Network) { withEcho(n); c.serve(n) }))
		}
		each := func(fn func(a, b *node)) {
			for _, a := range nodes {
				for _, b := range nodes {
					if a != b {
						fn(a, b)
					}
				}
			}
		}
		each(func(a, b *node) {
			if err := a.Remember(contextOf(t), b.Self(), b.Addrs()); err != nil {
				t.Fatal(err)
			}
		})
		for range 60 {
			disturb(t, rng, nodes)
		}
		each(func(a, b *node) { a.Resume(b.Self()) })
		for i, n := range nodes {
			n.Want(want(nodes[(i+1)%3], nodes[(i+2)%3]))
		}
		each(func(a, b *node) {
			for ctx := contextOf(t); ; { // a connection closed there a moment ago may still look alive here
				a.await(t, b.Self(), "peace", func(s PeerState) bool { return s.Connected && s.Sync == SyncRunning && !s.Paused })
				_, err := a.ask(t, b.Self(), "hello")
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
		})
		for i, n := range nodes {
			if s := runs[i]; s.most.Load() > 2 { // one for each of the two others
				t.Errorf("seed %d: %d sync streams at once", seed, s.most.Load())
			}
			n.stop()
		}
	}
}

// disturb does one thing to one of the connections between three peers.
func disturb(t *testing.T, rng *rand.Rand, nodes []*node) {
	i := rng.IntN(3)
	a, b := nodes[i], nodes[(i+1+rng.IntN(2))%3]
	switch rng.IntN(6) {
	case 0:
		a.Pause(b.Self())
	case 1:
		a.Resume(b.Self())
	case 2:
		a.Want(want(b))
	case 3:
		a.Renew()
	case 4:
		a.Disconnect(b.Self())
	case 5:
		_, _ = a.Await(short(t), b.Self(), running)
	}
}
