package git

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// dial resolves and connects. The check is made on the very address that is dialled, so a name can't
// answer differently between check and use.
func (l *Loader) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	listed := l.allow.has(host, port)
	if internalName(host) && !listed {
		return nil, fmt.Errorf("%s is a name of an inner network, which the policy of this peer does not list: %w", host, loaders.ErrConsent)
	}
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = l.cfg.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	err = fmt.Errorf("resolve %s: no address", host)
	for _, a := range addrs {
		a = a.WithZone("").Unmap()
		if !listed && private(a) {
			err = fmt.Errorf("%s is at %s, a private address, and the policy of this peer does not list it: %w", host, a, loaders.ErrConsent)
			continue
		}
		conn, derr := l.cfg.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if derr == nil {
			return conn, nil
		}
		err = fmt.Errorf("connect to %s: %w", host, derr)
	}
	return nil, err
}

// internalName reports whether a canonical name is one of an inner network.
func internalName(name string) bool {
	for _, suffix := range []string{"localhost", "localdomain", "internal", "local"} {
		if name == suffix || strings.HasSuffix(name, "."+suffix) {
			return true
		}
	}
	return false
}

// private reports whether an address is not one of the public internet. An IPv4 address inside an IPv6
// one counts as what it stands for.
func private(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if v4, ok := embedded(a); ok {
		a = v4
	}
	for _, r := range privateRanges() {
		if netip.MustParsePrefix(r).Contains(a) {
			return true
		}
	}
	return false
}

// embedded finds the IPv4 address that an IPv6 address leads to through a translator or a tunnel.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() || a == netip.IPv6Unspecified() || a == netip.IPv6Loopback() {
		return netip.Addr{}, false
	}
	b := a.As16()
	for _, e := range []struct {
		prefix string
		at     int
	}{
		{"64:ff9b::/96", 12},    // NAT64
		{"::ffff:0:0:0/96", 12}, // SIIT
		{"::/96", 12},           // IPv4-compatible
		{"2002::/16", 2},        // 6to4
	} {
		if netip.MustParsePrefix(e.prefix).Contains(a) {
			return netip.AddrFrom4([4]byte(b[e.at : e.at+4])), true
		}
	}
	return netip.Addr{}, false
}

// privateRanges lists what is not reached over the public internet, the metadata services of clouds
// (169.254.169.254, fd00:ec2::254, 100.100.100.200) among it.
func privateRanges() []string {
	return []string{
		"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/8",
		"100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
		"::/128", "::1/128", "fe80::/10", "fec0::/10", "fc00::/7", "ff00::/8",
		"64:ff9b:1::/48", "2001::/32", "2001:2::/48", "2001:10::/28", "100::/64", "5f00::/16",
	}
}
