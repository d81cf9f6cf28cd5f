package p2p

import (
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// Bounds on remembered addresses.
const (
	maxAddrs   = 16  // addresses remembered for one peer
	maxAddrLen = 256 // characters of one address
)

// splitAddr splits a multiaddr that ends in /p2p/PEER into the peer and the address before it. It
// refuses transports that this program does not have.
func splitAddr(text string) (crdt.PeerID, string, error) {
	addr, err := parseAddr(text)
	if err != nil {
		return crdt.PeerID{}, "", err
	}
	dial, id := peer.SplitAddr(addr)
	if id == "" {
		return crdt.PeerID{}, "", fmt.Errorf("parse address %q: it must end in /p2p/ and a peer id", text)
	}
	p, ok := fromLibp2p(id)
	if !ok {
		return crdt.PeerID{}, "", fmt.Errorf("parse address %q: the peer id is not an Ed25519 one", text)
	}
	if transportOf(dial) == "" {
		return crdt.PeerID{}, "", errTransport(text)
	}
	return p, dial.String(), nil
}

// checkAddr says what is wrong with an address to dial, without /p2p/.
func checkAddr(text string) error {
	addr, err := parseAddr(text)
	if err != nil {
		return err
	}
	if transportOf(addr) == "" {
		return errTransport(text)
	}
	return nil
}

func errTransport(text string) error {
	return fmt.Errorf("use address %q: want /ip4/HOST/udp/PORT/quic-v1 or /ip4/HOST/tcp/PORT (ip6, dns4, dns6 likewise)", text)
}

func parseAddr(text string) (ma.Multiaddr, error) {
	if len(text) > maxAddrLen+64 {
		return nil, fmt.Errorf("parse address: longer than %d characters", maxAddrLen)
	}
	addr, err := ma.NewMultiaddr(text)
	if err != nil {
		return nil, fmt.Errorf("parse address %q: %w", text, err)
	}
	return addr, nil
}

// The transports as [PeerState].Transport shows them.
const (
	quicTransport = "quic"
	tcpTransport  = "tcp"
)

// transportOf names the transport of an address: exactly host/udp/quic-v1 or host/tcp, else "".
func transportOf(addr ma.Multiaddr) string {
	codes := make([]int, 0, len(addr))
	for _, c := range addr {
		codes = append(codes, c.Protocol().Code)
	}
	if len(codes) == 0 || !slices.Contains([]int{ma.P_IP4, ma.P_IP6, ma.P_DNS, ma.P_DNS4, ma.P_DNS6}, codes[0]) {
		return ""
	}
	switch {
	case slices.Equal(codes[1:], []int{ma.P_UDP, ma.P_QUIC_V1}):
		return quicTransport
	case slices.Equal(codes[1:], []int{ma.P_TCP}):
		return tcpTransport
	}
	return ""
}

// learnable reports whether an address that a peer told about itself over a connection from remote
// is worth dialling: an IP address (a name could be made to point anywhere), reachable from where
// that peer was met.
func learnable(addr, remote ma.Multiaddr) bool {
	if transportOf(addr) == "" || len(addr.String()) > maxAddrLen {
		return false
	}
	if code := addr[0].Protocol().Code; code != ma.P_IP4 && code != ma.P_IP6 {
		return false
	}
	if manet.IsIPUnspecified(addr) || manet.IsIP6LinkLocal(addr) {
		return false
	}
	return !manet.IsIPLoopback(addr) || manet.IsIPLoopback(remote)
}

// place is an address without its port: two addresses of one peer at one place are an old and a new
// port.
func place(text string) string {
	addr, err := ma.NewMultiaddr(text)
	if err != nil || len(addr) == 0 {
		return text
	}
	return addr[0].String() + transportOf(addr)
}

// mergeAddrs puts fresh before known, without repetitions, at most [maxAddrs]. Known addresses at a
// place where fresh has one are dropped: the port there changed.
func mergeAddrs(fresh, known []string, samePlace bool) []string {
	var out []string
	places := map[string]bool{}
	for _, a := range fresh {
		places[place(a)] = true
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range known {
		if !slices.Contains(out, a) && !(samePlace && places[place(a)]) {
			out = append(out, a)
		}
	}
	return out[:min(len(out), maxAddrs)]
}
