package extension

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// hostPort is one host (or all below a suffix) on one port: what a pattern of Net means comes down to
// a list of these, so that sets of patterns can be compared.
type hostPort struct {
	host string // lower case; "*.suffix"; an IPv6 address in brackets
	port uint16
}

// The ports that a pattern without one means.
const (
	httpsPort = 443
	httpPort  = 80
)

// parseNet reads one pattern of Net.
func parseNet(pattern string) ([]hostPort, error) {
	host, port, err := splitPort(pattern)
	if err == nil {
		err = checkHost(host)
	}
	if err != nil {
		return nil, fmt.Errorf("host %.80q: %w", pattern, err)
	}
	if port != 0 {
		return []hostPort{{host, port}}, nil
	}
	return []hostPort{{host, httpsPort}, {host, httpPort}}, nil
}

func splitPort(pattern string) (host string, port uint16, err error) {
	text, has := "", false
	if strings.HasPrefix(pattern, "[") {
		end := strings.IndexByte(pattern, ']') + 1
		host, text = pattern[:end], pattern[end:]
		if text != "" {
			if text, has = strings.CutPrefix(text, ":"); !has {
				return "", 0, errors.New("what stands behind ] is no port")
			}
		}
	} else {
		host, text, has = strings.Cut(pattern, ":")
	}
	if !has {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return "", 0, errors.New("the port must be a number from 1 to 65535")
	}
	return host, uint16(n), nil
}

func checkHost(host string) error {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !a.Is6() || a.Zone() != "" || a.Is4In6() || "["+a.String()+"]" != host {
			return errors.New("want an IPv6 address in its short form")
		}
		return nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return errors.New(`a star may only be the first label, as in "*.example.org"`)
	}
	labels := strings.Split(name, ".")
	if wild && len(labels) < 2 {
		return errors.New("a star needs at least two labels behind it")
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() && !wild {
		return nil
	}
	if len(name) > 253 || slices.ContainsFunc(labels, func(l string) bool { return !validLabel(l) }) {
		return errors.New("want a host name in lower case, with letters, digits and hyphens (other scripts as xn--…)")
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return errors.New("it looks like an address but is none")
	}
	return nil
}

func validLabel(l string) bool {
	return l != "" && len(l) <= 63 && l[0] != '-' && l[len(l)-1] != '-' &&
		strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// covers reports whether everything that o reaches is reached by p too.
func (p hostPort) covers(o hostPort) bool {
	if p.port != o.port {
		return false
	}
	suffix, wild := strings.CutPrefix(p.host, "*")
	return p.host == o.host || wild && strings.HasSuffix(o.host, suffix)
}

// netOf reads a list of patterns; a malformed one reaches nothing.
func netOf(patterns []string) []hostPort {
	var out []hostPort
	for _, p := range patterns {
		parsed, _ := parseNet(p)
		out = append(out, parsed...)
	}
	return out
}

func netCovers(of, o []hostPort) bool {
	return !slices.ContainsFunc(o, func(x hostPort) bool {
		return !slices.ContainsFunc(of, func(p hostPort) bool { return p.covers(x) })
	})
}

func netIntersect(a, b []hostPort) []hostPort {
	var out []hostPort
	for _, x := range a {
		for _, y := range b {
			switch {
			case x.covers(y):
				out = append(out, y)
			case y.covers(x):
				out = append(out, x)
			}
		}
	}
	return out
}

// netPatterns is the one shortest and sorted list of patterns for what list reaches.
func netPatterns(list []hostPort) []string {
	var out []string
	for i, p := range list {
		if slices.ContainsFunc(list[:i], func(q hostPort) bool { return q == p }) ||
			slices.ContainsFunc(list, func(q hostPort) bool { return q != p && q.covers(p) }) {
			continue
		}
		out = append(out, p.host+":"+strconv.Itoa(int(p.port)))
	}
	for _, full := range slices.Clone(out) {
		host, isHTTPS := strings.CutSuffix(full, ":443")
		if isHTTPS && slices.Contains(out, host+":80") {
			out = slices.DeleteFunc(out, func(s string) bool { return s == full || s == host+":80" })
			out = append(out, host)
		}
	}
	slices.Sort(out)
	return out
}

// AllowsHost reports whether Net names a host (in any case, an IPv6 address with or without brackets) on
// a port. It looks at the name alone: whoever connects must check the address too.
func (c GuestCaps) AllowsHost(host string, port int) bool {
	if port < 1 || port > 65535 {
		return false
	}
	host = strings.ToLower(host)
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && a.Is6() {
		host = "[" + a.String() + "]"
	}
	if strings.Contains(host, "*") || checkHost(host) != nil {
		return false
	}
	return netCovers(netOf(c.Net), []hostPort{{host, uint16(port)}})
}
