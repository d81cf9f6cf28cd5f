package p2p

import (
	"testing"
	"time"
)

// A peer that was killed and is back dials anew over QUIC: the connection of its life before, which
// nothing has closed, goes at once. Here that life is still there and sees it.
func TestRedialClosesLostConnection(t *testing.T) {
	a, before := start(t, testConfig(t, 0), withEcho), start(t, testConfig(t, 1), withEcho)
	before.Want(want(a))
	if err := before.Remember(contextOf(t), a.Self(), a.over("quic")); err != nil {
		t.Fatal(err)
	}
	before.await(t, a.Self(), "first connection", connected)
	before.Want(nil)
	a.await(t, before.Self(), "first connection", connected)
	old := a.host.Network().Conns()
	if len(old) != 1 {
		t.Fatalf("%d connections, want 1", len(old))
	}
	a.closeLost(old[0])
	if old[0].IsClosed() {
		t.Fatal("a connection without another one beside it was closed")
	}
	timer := time.NewTimer(lostAfter)
	defer timer.Stop()
	<-timer.C
	after := start(t, testConfig(t, 1), withEcho)
	after.Want(want(a))
	if err := after.Remember(contextOf(t), a.Self(), a.over("quic")); err != nil {
		t.Fatal(err)
	}
	after.await(t, a.Self(), "second connection", connected)
	before.await(t, a.Self(), "loss of the first connection", disconnected)
	after.mustAsk(t, a.Self())
}
