package toolhost

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// host is the host of a URL in canonical form: a lower-case ASCII name without a final dot, or an
// address.
type host struct {
	name string
	addr netip.Addr // valid for a literal
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// canonicalHost reads a host. Whatever the last label of a name is a number is an IPv4 address in
// one of the forms of inet_aton (decimal, octal, hexadecimal, one to four parts) or an error, since
// some resolvers would read it as one.
func canonicalHost(s string) (host, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if strings.Contains(s, ":") {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			return host{}, fmt.Errorf("host %.80q is no address", s)
		case a.Zone() != "":
			return host{}, fmt.Errorf("host %.80q has a zone", s)
		}
		return host{addr: a.Unmap()}, nil
	}
	name, err := idna.Lookup.ToASCII(s)
	if err != nil {
		// Names with "_" exist, and are ASCII already.
		if name, err = idna.Punycode.ToASCII(s); err != nil || name != s || !asciiName(s) {
			return host{}, fmt.Errorf("host %.80q is no name", s)
		}
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "" || len(name) > 253 || !asciiName(name) {
		return host{}, fmt.Errorf("host %.80q is no name", s)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !numeric(last) {
		return host{name: name}, nil
	}
	a, err := parseIPv4(name)
	if err != nil {
		return host{}, fmt.Errorf("host %.80q: %w", s, err)
	}
	return host{addr: a}, nil
}

// asciiName reports whether a name has labels of letters, digits, "-" and "_" alone.
func asciiName(s string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// parseIPv4 reads the forms of inet_aton in lower case.
func parseIPv4(s string) (netip.Addr, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, errors.New("an IPv4 address has at most four parts")
	}
	var v uint64
	for i, p := range parts {
		base, digits := 10, p
		if hex, ok := strings.CutPrefix(p, "0x"); ok {
			base, digits = 16, "0"+hex
		} else if len(p) > 1 && p[0] == '0' {
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n >= 1<<bits {
			return netip.Addr{}, errors.New("no IPv4 address")
		}
		v = v<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), nil
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

// private reports whether an address is not one of the public internet. IPv4 addresses inside IPv6
// ones (mapped, compatible, translated, 6to4) count as what they stand for.
func private(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		if v4, ok := embedded(a); ok {
			a = v4
		}
	}
	for _, p := range privateRanges() {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// embedded finds the IPv4 address that an IPv6 address leads to through a translator or a tunnel.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	at := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), // NAT64, RFC 6052
		netip.MustParsePrefix("::ffff:0:0:0/96").Contains(a): // SIIT, RFC 7915
		return at(12)
	case netip.MustParsePrefix("::/96").Contains(a) && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback():
		return at(12) // IPv4-compatible, RFC 4291
	case netip.MustParsePrefix("2002::/16").Contains(a): // 6to4, RFC 3056
		return at(2)
	}
	return netip.Addr{}, false
}

func privateRanges() [23]netip.Prefix {
	v4 := func(a, b, c, d byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, d}), bits)
	}
	v6 := func(a, b, c, d byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{a, b, c, d}), bits)
	}
	return [...]netip.Prefix{
		v4(127, 0, 0, 0, 8), v4(10, 0, 0, 0, 8), v4(172, 16, 0, 0, 12), v4(192, 168, 0, 0, 16),
		v4(169, 254, 0, 0, 16), v4(0, 0, 0, 0, 8), v4(100, 64, 0, 0, 10),
		v4(192, 0, 0, 0, 24), v4(198, 18, 0, 0, 15), // protocol assignments, benchmarks
		v4(224, 0, 0, 0, 4), v4(240, 0, 0, 0, 4), // multicast; reserved and broadcast
		netip.PrefixFrom(netip.IPv6Unspecified(), 128), netip.PrefixFrom(netip.IPv6Loopback(), 128),
		v6(0xfe, 0x80, 0, 0, 10), v6(0xfc, 0, 0, 0, 7), v6(0xff, 0, 0, 0, 8), v6(0xfe, 0xc0, 0, 0, 10),
		netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of an inner network, RFC 8215
		netip.MustParsePrefix("2001::/32"),      // Teredo
		netip.MustParsePrefix("100::/64"),       // discard
		netip.MustParsePrefix("2001:2::/48"),    // benchmarks
		netip.MustParsePrefix("2001:10::/28"),   // ORCHID, not routed
		netip.MustParsePrefix("5f00::/16"),      // segment routing
	}
}
