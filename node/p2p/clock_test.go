package p2p

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// aheadBy gives a network the QUIC certificate that libp2p would have made on a machine whose clock
// is ahead by d: valid from an hour before its start. Everything else, the handshake and its
// verification by the other side's libp2p included, is the real thing. libp2p has no option for it,
// hence the reach into its transport.
func aheadBy(t *testing.T, n *Network, d time.Duration) {
	t.Helper()
	key, err := crypto.UnmarshalEd25519PrivateKey(n.cfg.Key)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(d)
	id, err := libp2ptls.NewIdentity(key, libp2ptls.WithCertTemplate(&x509.Certificate{
		SerialNumber: big.NewInt(start.Unix()),
		Subject:      pkix.Name{SerialNumber: rand.Text()},
		NotBefore:    start.Add(-time.Hour),
		NotAfter:     start.AddDate(100, 0, 0),
	}))
	if err != nil {
		t.Fatal(err)
	}
	transport := n.host.Network().(*swarm.Swarm).TransportForListening(ma.StringCast(loopQUIC))
	field := reflect.ValueOf(transport).Elem().FieldByName("identity")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*libp2ptls.Identity]() {
		t.Fatalf("libp2p's %T has no identity to replace", transport)
	}
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(id))
}

// A pair of which one machine's real clock is two hours ahead connects, whoever dials: QUIC is
// refused by the side that is behind, TCP with Noise works, and the dialling side names the clock.
func TestWrongRealClockConnects(t *testing.T) {
	for _, tc := range []struct {
		name        string
		ahead       time.Duration
		futureDials bool
		transport   string
		cause       Cause
		says        string
	}{
		{"dialled, 30 min ahead", 30 * time.Minute, false, "quic", CauseNone, ""},
		{"dials, 30 min ahead", 30 * time.Minute, true, "quic", CauseNone, ""},
		{"dialled, 2 h ahead", 2 * time.Hour, false, "tcp", CauseClock, "not yet valid"},
		{"dials, 2 h ahead", 2 * time.Hour, true, "tcp", CauseClock, "bad certificate"},
		{"dialled, 70 years ahead", 70 * 365 * 24 * time.Hour, false, "tcp", CauseClock, "not yet valid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			future := start(t, testConfig(t, 0), func(n *Network) { withEcho(n); aheadBy(t, n, tc.ahead) })
			sane := start(t, testConfig(t, 1), withEcho)
			from, to := sane, future
			if tc.futureDials {
				from, to = future, sane
			}
			if err := from.Connect(contextOf(t), to.Self(), to.Addrs()); err != nil {
				t.Fatal(err)
			}
			s := from.await(t, to.Self(), "connection", connected)
			if s.Transport != tc.transport || s.Cause != tc.cause || !strings.Contains(s.LastError, tc.says) {
				t.Errorf("state %+v, want %s with cause %q", s, tc.transport, tc.cause)
			}
			from.mustAsk(t, to.Self())
		})
	}
}

// Without TCP such a pair can't connect: the cause is told all the same, and the dial loop of a
// wanted peer gets there once TCP is offered.
func TestWrongRealClockWithoutTCP(t *testing.T) {
	for _, futureDials := range []bool{false, true} {
		to := start(t, testConfig(t, 0), func(n *Network) { aheadBy(t, n, 2*time.Hour) })
		from := start(t, testConfig(t, 1), nil)
		if futureDials {
			from, to = to, from
		}
		if err := from.Remember(contextOf(t), to.Self(), to.over("quic")); err != nil {
			t.Fatal(err)
		}
		from.Want([]crdt.PeerID{to.Self()})
		from.await(t, to.Self(), "the cause", func(s PeerState) bool { return s.Cause == CauseClock && !s.Connected })
		if err := from.Remember(contextOf(t), to.Self(), to.over("tcp")); err != nil {
			t.Fatal(err)
		}
		from.await(t, to.Self(), "connection over TCP, the clock named", func(s PeerState) bool {
			return s.Connected && s.Transport == "tcp" && s.Cause == CauseClock
		})
	}
}
