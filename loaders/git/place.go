package git

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is where a repository is: at a host, or in a folder of some machine.
type place struct {
	scheme string // http, https; "" for a folder
	host   string // canonical: lower-case name or address, without brackets
	port   string // always set for a host
	path   string // with its percent encoding for a host
}

func (p place) local() bool { return p.scheme == "" }

// String is the text form without a fragment.
func (p place) String() string {
	if p.local() {
		return p.path
	}
	return p.scheme + "://" + p.authority() + p.path
}

// authority is the host as a URL has it, the port only where it is not the usual one.
func (p place) authority() string {
	h := p.host
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	if p.port != usualPort(p.scheme) {
		h += ":" + p.port
	}
	return h
}

func usualPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// parsePlace reads what is before the fragment. It does not lean on a URL parser, which would find a
// meaning in most texts: what is not plainly one of the known forms is refused.
func parsePlace(s string) (place, error) {
	switch {
	case s == "":
		return place{}, errors.New("it is empty")
	case len(s) > maxRepo:
		return place{}, fmt.Errorf("it is longer than %d bytes", maxRepo)
	case s[0] == '-':
		return place{}, errors.New("it looks like an option")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, odd):
		return place{}, errors.New("it has a space, a control character or a backslash")
	}
	if s[0] == '/' {
		return parseFolder(s)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	switch {
	case !ok || strings.Contains(scheme, ":"):
		return place{}, errors.New("it is neither an https address nor the absolute path of a folder")
	case scheme == "file":
		return parseFolder(rest)
	case scheme != "https" && scheme != "http":
		return place{}, fmt.Errorf("the scheme %.20q is not supported: only https", scheme)
	}
	authority, p, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return place{}, errors.New("it has a user name or password: credentials have no place in a reference")
	}
	if strings.ContainsAny(rest, "?") {
		return place{}, errors.New("it has a query")
	}
	host, port, err := parseAuthority(authority)
	if err != nil {
		return place{}, err
	}
	if port == "" {
		port = usualPort(scheme)
	}
	if p, err = parseURLPath(p); err != nil {
		return place{}, err
	}
	return place{scheme: scheme, host: host, port: port, path: p}, nil
}

func odd(r rune) bool { return r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }

// parseFolder accepts a clean absolute path.
func parseFolder(s string) (place, error) {
	if !strings.HasPrefix(s, "/") || s == "/" || filepath.ToSlash(filepath.Clean(s)) != s {
		return place{}, errors.New("the folder is not a clean absolute path (no .. or double /)")
	}
	return place{path: s}, nil
}

func parseAuthority(s string) (host, port string, err error) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", fmt.Errorf("the port %.20q is no number from 1 to 65535", port)
		}
	}
	host, err = canonicalHost(host)
	return host, port, err
}

// canonicalHost reads a host: an ASCII name in lower case, or an address. A name whose last label is a
// number would be an address to some resolvers, so it must be one in its usual form.
func canonicalHost(s string) (string, error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", fmt.Errorf("host %.80q is no address", s)
		}
		return a.Unmap().String(), nil
	}
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("host %.80q is no ASCII name", s)
		}
	}
	if len(s) > 253 {
		return "", fmt.Errorf("host %.80q is too long", s)
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return "", fmt.Errorf("host %.80q is no address in its usual form", s)
		}
		return a.String(), nil
	}
	return s, nil
}

// parseURLPath checks each segment as it is and as it reads when decoded.
func parseURLPath(p string) (string, error) {
	p = strings.TrimSuffix(p, "/")
	if p == "" {
		return "", errors.New("it names a host and no repository")
	}
	for seg := range strings.SplitSeq(p, "/") {
		plain, err := url.PathUnescape(seg)
		if err != nil || !utf8.ValidString(plain) {
			return "", errors.New("it has a broken percent encoding")
		}
		if plain == "" || plain == "." || plain == ".." || strings.ContainsFunc(plain, func(r rune) bool {
			return r == '/' || r == '\\' || !unicode.IsPrint(r)
		}) {
			return "", fmt.Errorf("the path segment %.80q is not plain", seg)
		}
	}
	plain, err := url.PathUnescape(p)
	return (&url.URL{Path: "/" + plain, RawPath: "/" + p}).EscapedPath(), err
}

// hostList is a set of "host" and "host:port".
type hostList map[string]bool

// newHostList reads the entries of a policy.
func newHostList(entries []string) (hostList, error) {
	l := hostList{}
	for _, e := range entries {
		host, port, err := parseAuthority(e)
		if err != nil {
			return nil, fmt.Errorf("allowed host %.80q: %w", e, err)
		}
		if port != "" {
			host = net.JoinHostPort(host, port)
		}
		l[host] = true
	}
	return l, nil
}

func (l hostList) has(host, port string) bool {
	return l[host] || l[net.JoinHostPort(host, port)]
}
