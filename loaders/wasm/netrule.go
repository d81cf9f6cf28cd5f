package wasm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// hostRule is one entry of capabilities.net.
type hostRule struct {
	name   string // canonical; for a suffix without "*", such as ".example.com"
	suffix bool
	addr   netip.Addr // valid if the entry names an address
	port   string     // "" is 443 and 80
}

// parseHostRule reads "host", "host:port" or "*.suffix", also with a port. IPv6 addresses stand in
// brackets. A suffix has at least two labels: nobody can judge who is behind "*.com", or "*".
func parseHostRule(s string) (hostRule, error) {
	var r hostRule
	name := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		name, r.port = s[:i], s[i+1:]
		n, err := strconv.ParseUint(r.port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != r.port {
			return r, fmt.Errorf("entry %.80q: %.20q is no port (an IPv6 address needs brackets)", s, r.port)
		}
	}
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		r.suffix, name = true, rest
	}
	if strings.Contains(name, "*") {
		return r, fmt.Errorf(`entry %.80q: "*" may only stand for the first labels, as in "*.example.com"`, s)
	}
	h, addr, err := canonicalHost(name)
	switch {
	case err != nil:
		return r, fmt.Errorf("entry %.80q: %w", s, err)
	case r.suffix && addr.IsValid():
		return r, fmt.Errorf("entry %.80q: an address has no suffix", s)
	case r.suffix && !strings.Contains(h, "."):
		return r, fmt.Errorf("entry %.80q is too wide: the suffix needs two labels", s)
	case r.suffix:
		h = "." + h
	}
	r.name, r.addr = h, addr
	return r, nil
}

func (r hostRule) matches(host, port string) bool {
	if r.port != port && (r.port != "" || port != "443" && port != "80") {
		return false
	}
	if r.suffix {
		return strings.HasSuffix(host, r.name)
	}
	return host == r.name
}

// permits reports whether an entry takes a canonical host with a port.
func (g *gate) permits(host, port string) bool {
	for _, r := range g.net {
		if r.matches(host, port) {
			return true
		}
	}
	return false
}

// reachable reports whether an address may be dialled: those of the public internet, others only if an
// entry names that very address.
func (g *gate) reachable(a netip.Addr, port string) bool {
	if !private(a) {
		return true
	}
	for _, r := range g.net {
		if r.addr.IsValid() && r.addr == a && r.matches(r.name, port) {
			return true
		}
	}
	return false
}

// canonicalHost reads a host: a lower-case ASCII name without a final dot, or an address. Names whose
// last label is a number are refused unless they are an address in the usual form, since some
// resolvers read 127.1 or 0x7f000001 as one.
func canonicalHost(s string) (string, netip.Addr, error) {
	var none netip.Addr
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return "", none, errors.New("an address with a zone")
		}
		a = a.Unmap()
		return a.String(), a, nil
	}
	name := strings.TrimSuffix(strings.ToLower(s), ".")
	if len(name) > 253 {
		return "", none, errors.New("a host name that is too long")
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", none, errors.New("no host name (write other letters in their xn-- form)")
		}
		last = label
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" || strings.Trim(last, "0123456789") == "" {
		return "", none, errors.New("no address in its usual form")
	}
	return name, none, nil
}

// target makes the host of a URL canonical, so that what is judged is what is dialled, and returns
// what the gate is asked for.
func target(u *url.URL) (string, error) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("scheme %.20q: only http and https", u.Scheme)
	}
	h, addr, err := canonicalHost(u.Hostname())
	if err != nil {
		return "", fmt.Errorf("host %.80q: %w", u.Hostname(), err)
	}
	port := u.Port()
	if addr.Is6() {
		u.Host = "[" + h + "]"
	} else {
		u.Host = h
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %.20q", port)
	} else {
		port = strconv.FormatUint(n, 10)
		u.Host += ":" + port
	}
	return net.JoinHostPort(h, port), nil
}

// entryFor is the entry of capabilities.net that would let a target pass: host alone where the port is
// one of those that need no entry.
func entryFor(target string) string {
	host, port, err := net.SplitHostPort(target)
	switch {
	case err != nil || port != "80" && port != "443":
		return target
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}
