package p2p

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const inNamespace = "P2P_TEST_NAMESPACE"

// Multicast DNS is tested in a network namespace of its own: no packet leaves the machine, and no
// other program there answers.
func TestMDNS(t *testing.T) {
	const plain = "ip link set lo up"
	switch os.Getenv(inNamespace) {
	case "":
		t.Run("multicast", func(t *testing.T) {
			isolate(t, plain+" && ip link set lo multicast on && ip route add 224.0.0.0/4 dev lo", "multicast")
		})
		t.Run("no multicast", func(t *testing.T) { isolate(t, plain, "plain") })
	case "multicast":
		t.Run("finds only the wanted", mdnsFindsWanted)
		t.Run("finds the restarted", mdnsFindsRestarted)
	case "plain":
		t.Run("works without", mdnsUnavailable)
	}
}

// isolate runs TestMDNS in a namespace that the shell command prepares.
func isolate(t *testing.T, prepare, mode string) {
	if out, err := exec.Command("unshare", "-n", "sh", "-c", prepare).CombinedOutput(); err != nil {
		t.Skipf("no private network namespace on this machine (unshare -n needs the right to make one): %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-n", "sh", "-c", prepare+` && exec "$0" -test.run '^TestMDNS$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), inNamespace+"="+mode)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in the namespace: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func mdnsConfig(t *testing.T, i int) Config {
	cfg := testConfig(t, i)
	cfg.MDNS = true
	return cfg
}

func mdnsFindsWanted(t *testing.T) {
	a := start(t, mdnsConfig(t, 0), withEcho)
	a.Want([]crdt.PeerID{testID(1)})
	b, stranger := start(t, mdnsConfig(t, 1), nil), start(t, mdnsConfig(t, 2), nil)
	a.await(t, b.Self(), "b by multicast DNS", connected)
	for ctx := contextOf(t); !slices.ContainsFunc(a.Nearby(), func(n Nearby) bool { return n.ID == stranger.Self() }); {
		if ctx.Err() != nil {
			t.Fatalf("the stranger is not noted: %v", a.Nearby())
		}
		_, _ = a.Await(short(t), b.Self(), disconnected)
	}
	if s := a.Peer(stranger.Self()); s.Connected {
		t.Errorf("a stranger was dialled: %+v", s)
	}
	if err := a.MDNSError(); err != nil {
		t.Error(err)
	}
}

// short gives other goroutines a moment.
func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func mdnsFindsRestarted(t *testing.T) {
	a, b := start(t, mdnsConfig(t, 0), withEcho), start(t, mdnsConfig(t, 1), nil)
	a.Want(want(b))
	a.await(t, b.Self(), "b", connected)
	old := b.Addrs()
	for range 2 {
		b.stop()
		a.await(t, testID(1), "loss of b", disconnected)
		b = start(t, mdnsConfig(t, 1), withEcho) // it does not want a, so a has to find it
		if slices.Equal(old, b.Addrs()) {
			t.Fatal("b came back on the same ports")
		}
		a.await(t, b.Self(), "b on its new ports", connected)
		b.mustAsk(t, a.Self())
	}
}

// Without a multicast interface the network works, and says what does not.
func mdnsUnavailable(t *testing.T) {
	a := start(t, mdnsConfig(t, 0), withEcho)
	b := start(t, testConfig(t, 1), nil)
	if err := b.Connect(contextOf(t), a.Self(), a.Addrs()); err != nil {
		t.Fatal(err)
	}
	b.mustAsk(t, a.Self())
	a.await(t, b.Self(), "b", connected)
	if a.MDNSError() == nil || b.MDNSError() != nil {
		t.Errorf("errors %v and %v, want one from the side that has it on", a.MDNSError(), b.MDNSError())
	}
}

// Announcements can be forged: they neither keep us dialling nor crowd out good addresses.
func TestForgedAnnouncements(t *testing.T) {
	a, b := start(t, testConfig(t, 0), nil), start(t, testConfig(t, 1), withEcho)
	a.Want(want(b))
	if err := a.Remember(contextOf(t), b.Self(), b.Addrs()); err != nil {
		t.Fatal(err)
	}
	a.await(t, b.Self(), "connection", connected)
	for i := range 500 {
		a.sawNearby(Nearby{ID: b.Self(), Addrs: []string{"/ip4/127.0.0.1/tcp/" + string(rune('1'+i%9))}})
		a.sawNearby(Nearby{ID: crdt.PeerID{byte(i), byte(i >> 8)}, Addrs: []string{loopTCP}})
	}
	if got := len(a.Nearby()); got != maxNearby {
		t.Errorf("%d strangers noted, want %d", got, maxNearby)
	}
	if got := a.Peer(b.Self()).Addrs; len(got) != 3 || !slices.Contains(got, b.Addrs()[0]) || !slices.Contains(got, b.Addrs()[1]) {
		t.Errorf("addresses %v", got)
	}
	b.Disconnect(a.Self())
	a.await(t, b.Self(), "connection again", connected)
}
