package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// listenAddrs are the multiaddrs of one place to listen: itself, or TCP and QUIC on an IP:PORT.
func listenAddrs(s string) ([]string, error) {
	fault := fmt.Errorf("%q is not an address: want IP:PORT, /ip4/IP/tcp/PORT or /ip4/IP/udp/PORT/quic-v1 (or ip6)", clipText(s))
	if strings.HasPrefix(s, "/") {
		rest, ok := cutTransport(s, "ip4", "ip6")
		if !ok || rest != "" {
			return nil, fault
		}
		return []string{s}, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err == nil && host == "" {
		host = "0.0.0.0"
	}
	ip, ipErr := netip.ParseAddr(host)
	if err != nil || ipErr != nil || ip.Zone() != "" || !isPort(port) {
		return nil, fault
	}
	base := "/ip4/"
	if ip.Is6() {
		base = "/ip6/"
	}
	base += ip.String()
	return []string{base + "/udp/" + port + "/quic-v1", base + "/tcp/" + port}, nil
}

// peerAddr checks a multiaddr that names a peer.
func peerAddr(s string) ([]string, error) {
	rest, ok := cutTransport(s, "ip4", "ip6", "dns", "dns4", "dns6")
	if !ok {
		return nil, fmt.Errorf("%q is not an address: want /ip4/IP/tcp/PORT/p2p/ID or /ip4/IP/udp/PORT/quic-v1/p2p/ID (or ip6, dns, dns4, dns6)", clipText(s))
	}
	id, ok := strings.CutPrefix(rest, "/p2p/")
	if !ok {
		return nil, fmt.Errorf("%q names no peer: it must end in /p2p/ID", clipText(s))
	}
	if _, err := crdt.ParsePeerID(id); err != nil {
		return nil, err
	}
	return []string{s}, nil
}

// cutTransport takes host, port and transport off the front of a multiaddr: those that peers speak,
// TCP and QUIC.
func cutTransport(s string, hosts ...string) (rest string, ok bool) {
	part := strings.SplitN(s, "/", 6) // "", kind of host, host, tcp or udp, port, rest
	if len(part) < 5 || part[0] != "" || !isHost(part[1], part[2], hosts) || !isPort(part[4]) {
		return "", false
	}
	if len(part) == 6 {
		rest = "/" + part[5]
	}
	switch part[3] {
	case "tcp":
		return rest, true
	case "udp":
		rest, ok = strings.CutPrefix(rest, "/quic-v1")
		return rest, ok && (rest == "" || rest[0] == '/')
	}
	return "", false
}

func isHost(kind, host string, kinds []string) bool {
	known := false
	for _, k := range kinds {
		known = known || k == kind
	}
	ip, err := netip.ParseAddr(host)
	switch kind {
	case "ip4":
		return known && err == nil && ip.Is4()
	case "ip6":
		return known && err == nil && ip.Is6() && ip.Zone() == ""
	}
	return known && host != "" && !strings.ContainsAny(host, " \t")
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}
