package wasm

import "net/netip"

// private reports whether an address is not one of the public internet: loopback, private, link-local
// (where clouds keep metadata), shared (CGNAT), unique local, multicast, and what is reserved. IPv4
// addresses inside IPv6 ones count as what they stand for.
func private(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if v4, ok := embedded(a); ok {
		a = v4
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return true // also unspecified, loopback, link-local, multicast, broadcast
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return true
		}
	}
	// In IPv6 the public internet is 2000::/3 alone.
	return a.Is6() && !netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3).Contains(a)
}

// embedded finds the IPv4 address that an IPv6 one leads to through a translator or a tunnel: NAT64,
// SIIT, IPv4-compatible, 6to4.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	zeros := func(from, to int) bool {
		for _, x := range b[from:to] {
			if x != 0 {
				return false
			}
		}
		return true
	}
	last := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b && zeros(4, 12),
		zeros(0, 8) && b[8] == 0xff && b[9] == 0xff && zeros(10, 12),
		zeros(0, 12):
		return last, true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// reserved lists what is unicast and neither private nor for strangers.
func reserved() [11]netip.Prefix {
	v4 := func(a, b, c byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, 0}), bits)
	}
	v6 := func(a, b, c, d byte, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{a, b, c, d}), bits)
	}
	return [...]netip.Prefix{
		v4(0, 0, 0, 8), v4(100, 64, 0, 10), v4(240, 0, 0, 4), // this network, shared, future
		v4(192, 0, 0, 24), v4(192, 0, 2, 24), v4(198, 18, 0, 15), // protocol assignments, documentation, benchmarks
		v4(198, 51, 100, 24), v4(203, 0, 113, 24), // documentation
		v6(0x20, 0x01, 0, 0, 23),       // protocol assignments: Teredo, ORCHID, benchmarks
		v6(0x20, 0x01, 0x0d, 0xb8, 32), // documentation
		v6(0x3f, 0xff, 0, 0, 20),       // documentation
	}
}
