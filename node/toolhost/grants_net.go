package toolhost

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// parseEndpoint returns the endpoint in its canonical form.
func parseEndpoint(e Endpoint) (Endpoint, error) {
	host, port, err := splitPattern(e.Host)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %.80q: %w", e.Host, err)
	}
	out := Endpoint{Host: joinPattern(host, port), PathPrefix: path.Clean("/" + e.PathPrefix)}
	if out.PathPrefix == "/" {
		out.PathPrefix = ""
	}
	if strings.ContainsAny(e.PathPrefix, "?#%\\") {
		return Endpoint{}, fmt.Errorf("endpoint %.80q: path prefix %.80q must be a plain path", e.Host, e.PathPrefix)
	}
	if e.Methods != nil {
		out.Methods = []string{}
		for _, m := range e.Methods {
			if !validMethod(m) {
				return Endpoint{}, fmt.Errorf("endpoint %.80q: method %.20q", e.Host, m)
			}
			out.Methods = append(out.Methods, strings.ToUpper(m))
		}
		slices.Sort(out.Methods)
		out.Methods = slices.Compact(out.Methods)
	}
	return out, nil
}

// splitPattern reads "*", "*.x", a name or an address, each with an optional port.
func splitPattern(s string) (host, port string, err error) {
	host = s
	if h, p, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", "", fmt.Errorf("port %.10q", p)
		}
		host, port = h, strconv.FormatUint(n, 10)
	}
	if host == "*" {
		return host, port, nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	h, err := canonicalHost(name)
	switch {
	case err != nil:
		return "", "", err
	case wild && h.addr.IsValid():
		return "", "", fmt.Errorf("an address has no subdomains")
	case wild:
		return "*." + h.name, port, nil
	}
	return h.String(), port, nil
}

func joinPattern(host, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// cutPattern splits a canonical pattern.
func cutPattern(s string) (host, port string) {
	if h, p, err := net.SplitHostPort(s); err == nil {
		return h, p
	}
	return strings.Trim(s, "[]"), ""
}

// coversHost: "*" covers all, "*.x" x and its subdomains.
func coversHost(a, b string) bool {
	if a == "*" || a == b {
		return true
	}
	name, wild := strings.CutPrefix(a, "*.")
	return wild && (strings.TrimPrefix(b, "*.") == name || strings.HasSuffix(b, "."+name))
}

// belowPath matches on path boundaries; prefixes are clean and "" is all.
func belowPath(prefix, p string) bool {
	rest, ok := strings.CutPrefix(p, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func meetEndpoints(a, b Endpoint) (Endpoint, bool) {
	var out Endpoint
	ha, pa := cutPattern(a.Host)
	hb, pb := cutPattern(b.Host)
	var host string
	switch {
	case coversHost(ha, hb):
		host = hb
	case coversHost(hb, ha):
		host = ha
	default:
		return out, false
	}
	if pa != "" && pb != "" && pa != pb {
		return out, false
	}
	out.Host = joinPattern(host, max(pa, pb))
	switch {
	case belowPath(a.PathPrefix, b.PathPrefix):
		out.PathPrefix = b.PathPrefix
	case belowPath(b.PathPrefix, a.PathPrefix):
		out.PathPrefix = a.PathPrefix
	default:
		return out, false
	}
	out.Methods = meet(a.Methods, b.Methods, func(x, y string) (string, bool) { return x, x == y })
	return out, out.Methods == nil || len(out.Methods) > 0
}

func coversEndpoint(a, b Endpoint) bool {
	ha, pa := cutPattern(a.Host)
	hb, pb := cutPattern(b.Host)
	return coversHost(ha, hb) && (pa == "" || pa == pb) && belowPath(a.PathPrefix, b.PathPrefix) &&
		(a.Methods == nil || b.Methods != nil && !slices.ContainsFunc(b.Methods, func(m string) bool { return !slices.Contains(a.Methods, m) }))
}

func compareEndpoints(a, b Endpoint) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 {
		return c
	}
	if c := strings.Compare(a.PathPrefix, b.PathPrefix); c != 0 {
		return c
	}
	if (a.Methods == nil) != (b.Methods == nil) {
		if a.Methods == nil {
			return -1
		}
		return 1
	}
	return slices.Compare(a.Methods, b.Methods)
}

// tidyEndpoints returns checked endpoints in canonical form; one without any method is none.
func tidyEndpoints(list []Endpoint) []Endpoint {
	if list == nil {
		return nil
	}
	out := []Endpoint{}
	for _, e := range list {
		if e, err := parseEndpoint(e); err == nil && (e.Methods == nil || len(e.Methods) > 0) {
			out = append(out, e)
		}
	}
	return tidy(out, compareEndpoints, coversEndpoint)
}

// permits reports whether an endpoint of the list takes a request. The URL's host is canonical.
func (n NetworkGrants) permits(method string, u *url.URL) bool {
	if n.Endpoints == nil {
		return true
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return slices.ContainsFunc(n.Endpoints, func(e Endpoint) bool {
		h, p := cutPattern(e.Host)
		return coversHost(h, u.Hostname()) && (p == "" || p == port) &&
			(e.PathPrefix == "" || plainPath(u) && belowPath(e.PathPrefix, path.Clean("/"+u.Path))) &&
			(e.Methods == nil || slices.Contains(e.Methods, method))
	})
}

// plainPath reports whether every server reads the path alike: no dot segments, in whatever
// disguise, that a server could resolve to lead out of a prefix.
func plainPath(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	for _, trick := range []string{"%2f", "%5c", "%2e", "%25", "%00", "\\"} {
		if strings.Contains(escaped, trick) {
			return false
		}
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		name, _, _ := strings.Cut(segment, ";")
		if name == "." || name == ".." || strings.Contains(name, "\\") {
			return false
		}
	}
	return true
}

func validMethod(m string) bool {
	if m == "" || len(m) > 20 {
		return false
	}
	return !slices.ContainsFunc([]byte(m), func(c byte) bool {
		return !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z')
	})
}
