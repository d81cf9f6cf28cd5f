package p2p

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
)

// candidates are the addresses to dial, best first.
func (n *Network) candidates(s *peerState) (addrs []ma.Multiaddr, texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var quics []ma.Multiaddr
	for _, text := range n.addrsLocked(s) {
		addr, err := ma.NewMultiaddr(text)
		if err != nil || transportOf(addr) == "" {
			continue
		}
		if transportOf(addr) == quicTransport {
			quics = append(quics, addr)
		} else {
			addrs = append(addrs, addr)
		}
	}
	addrs = window(addrs, s.fails)
	if !s.avoidQUIC || len(addrs) == 0 {
		addrs = append(window(quics, s.fails), addrs...)
	}
	for _, a := range addrs {
		texts = append(texts, a.String())
	}
	return addrs, texts
}

// dialWindow is how many addresses of one transport are dialled at a time: libp2p dials 8 for each
// peer, and old addresses that swallow packets must not keep good ones waiting.
const dialWindow = 4

// window picks the addresses for an attempt: first the best ones, after failures the others in turn.
func window(addrs []ma.Multiaddr, fails int) []ma.Multiaddr {
	if len(addrs) <= dialWindow {
		return addrs
	}
	windows := (len(addrs) + dialWindow - 1) / dialWindow
	from := (fails % windows) * dialWindow
	return slices.Clone(addrs[from:min(from+dialWindow, len(addrs))])
}

// tcpDelay is how long TCP waits for QUIC; a QUIC dial that fails starts it at once. It is long
// enough for a handshake, so that QUIC failing because of a clock is seen and told.
const tcpDelay = time.Second

// rankDials implements libp2p's DialRanker.
func rankDials(addrs []ma.Multiaddr) []network.AddrDelay {
	out := make([]network.AddrDelay, 0, len(addrs))
	for _, a := range addrs {
		if transportOf(a) == quicTransport {
			out = append(out, network.AddrDelay{Addr: a})
		}
	}
	var delay time.Duration
	if len(out) > 0 {
		delay = tcpDelay
	}
	for _, a := range addrs {
		if transportOf(a) != quicTransport {
			out = append(out, network.AddrDelay{Addr: a, Delay: delay})
		}
	}
	return out
}
