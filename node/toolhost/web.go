package toolhost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// What the network door refuses, each of them also [extension.ErrGrant].
var (
	ErrPrivateAddress = fmt.Errorf("private address: %w", extension.ErrGrant)
	ErrInternalName   = fmt.Errorf("internal name: %w", extension.ErrGrant)
	ErrEndpoint       = fmt.Errorf("outside the allowed endpoints: %w", extension.ErrGrant)
)

var errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

const (
	fetchTimeout = 30 * time.Second
	dialTimeout  = 10 * time.Second
	maxRedirects = 10
	maxHeader    = 256 << 10
	defaultBody  = 50_000
)

// Fetch implements [extension.Host]. What fails on the way wraps [extension.ErrNetwork]; any status
// is an answer.
func (d *doors) Fetch(ctx context.Context, r extension.FetchRequest) (extension.FetchResponse, error) {
	var none extension.FetchResponse
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = fetchTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := d.request(ctx, r)
	if err != nil {
		return none, fmt.Errorf("fetch: %w", err)
	}
	transport := d.transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: d.redirect}
	res, err := client.Do(req)
	if err != nil {
		return none, networkError(ctx, req.URL, err)
	}
	defer res.Body.Close()
	limit := r.Limit
	if limit <= 0 {
		limit = defaultBody
	}
	body, cut, err := readBody(res, min(limit, d.m.cfg.MaxBody))
	if err != nil {
		return none, networkError(ctx, res.Request.URL, err)
	}
	out := extension.FetchResponse{
		Status: res.Status, Code: res.StatusCode, Header: map[string]string{}, Body: body, Cut: cut,
		URL: res.Request.URL.Redacted(),
	}
	for name, values := range res.Header {
		out.Header[name] = strings.Join(values, ", ")
	}
	return out, nil
}

// networkError keeps a refusal and marks the rest as a network failure.
func networkError(ctx context.Context, u *url.URL, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // it would name the address a second time, perhaps with a password
	}
	switch {
	case errors.Is(err, extension.ErrGrant), errors.Is(err, extension.ErrArgument), errors.Is(err, errRedirects):
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", context.Cause(ctx), extension.ErrNetwork)
	default:
		err = fmt.Errorf("%w: %w", err, extension.ErrNetwork)
	}
	return fmt.Errorf("fetch %.500s: %w", u.Redacted(), err)
}

// request builds the first request after its checks.
func (d *doors) request(ctx context.Context, r extension.FetchRequest) (*http.Request, error) {
	method := strings.ToUpper(r.Method)
	if method == "" {
		method = http.MethodGet
	}
	if !validMethod(method) || method == http.MethodConnect {
		return nil, fmt.Errorf("method %.20q: %w", r.Method, extension.ErrArgument)
	}
	if int64(len(r.Body)) > d.m.cfg.MaxBody {
		return nil, fmt.Errorf("a body of %d bytes is more than the limit of %d: %w", len(r.Body), d.m.cfg.MaxBody, extension.ErrArgument)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("the address is malformed: %w", extension.ErrArgument)
	}
	if err := d.check(method, u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, extension.ErrArgument)
	}
	for name, value := range r.Header {
		if hopHeader(name) {
			continue
		}
		req.Header.Set(name, value)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "chaz-peer/"+extension.HostVersion)
	}
	if req.Header.Get("Accept-Encoding") == "" {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	return req, nil
}

// hopHeader names what belongs to the connection and not to the caller.
func hopHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Host", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade",
		"Keep-Alive", "Proxy-Authorization", "Proxy-Connection":
		return true
	}
	return false
}

// check judges a URL by scheme, name and endpoint list, and makes its host canonical, so that what
// was judged is what is dialled.
func (d *doors) check(method string, u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("scheme %.20q: only http and https: %w", u.Scheme, extension.ErrArgument)
	}
	h, err := canonicalHost(u.Hostname())
	if err != nil {
		return fmt.Errorf("%w: %w", err, extension.ErrArgument)
	}
	port := u.Port()
	u.Host = joinPattern(h.String(), port)
	switch {
	case d.trusted[net.JoinHostPort(h.String(), portOf(u.Scheme, port))]:
		return nil
	case internalName(h.name):
		return fmt.Errorf("%s: %w", h, ErrInternalName)
	case !d.may.Network.permits(method, u):
		return fmt.Errorf("%s %.200s: %w", method, u.Redacted(), ErrEndpoint)
	case h.addr.IsValid() && !d.reachable(h.addr):
		return fmt.Errorf("%s: %w", h, ErrPrivateAddress)
	}
	return nil
}

// trustedPlace is the host and port of a base URL, in canonical form.
func trustedPlace(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("it is no http or https address")
	}
	h, err := canonicalHost(u.Hostname())
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(h.String(), portOf(u.Scheme, u.Port())), nil
}

func portOf(scheme, port string) string {
	switch {
	case port != "":
		return port
	case scheme == "https":
		return "443"
	}
	return "80"
}

func (d *doors) reachable(a netip.Addr) bool {
	return *d.may.Network.AllowPrivate || !private(a)
}

// redirect checks every hop like the first one. What the caller sent for one host is not told to
// another.
func (d *doors) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	if err := d.check(req.Method, req.URL); err != nil {
		return fmt.Errorf("redirected: %w", err)
	}
	// All hops count: the client sets the first request's headers again on each.
	elsewhere := slices.ContainsFunc(via, func(r *http.Request) bool {
		return r.URL.Host != req.URL.Host || r.URL.Scheme == "https" && req.URL.Scheme == "http"
	})
	if !elsewhere {
		return nil
	}
	for name := range req.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent":
		default:
			delete(req.Header, name)
		}
	}
	return nil
}

func (d *doors) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // an environment proxy would dial where no check sees it
		DialContext:            d.dial,
		TLSClientConfig:        &tls.Config{RootCAs: d.m.cfg.RootCAs, MinVersion: tls.VersionTLS12},
		DisableCompression:     true, // readBody bounds both sides of it
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// dial resolves and connects. The check is made on the very address that is dialled, so a name
// can't answer differently between check and use.
func (d *doors) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	h, err := canonicalHost(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, extension.ErrArgument)
	}
	trusted := d.trusted[net.JoinHostPort(h.String(), port)]
	if internalName(h.name) && !trusted {
		return nil, fmt.Errorf("%s: %w", h, ErrInternalName)
	}
	addrs := []netip.Addr{h.addr}
	if !h.addr.IsValid() {
		if addrs, err = d.m.cfg.Resolver.LookupNetIP(ctx, "ip", h.name); err != nil {
			return nil, fmt.Errorf("resolve %s: %w", h, err)
		}
	}
	err = fmt.Errorf("resolve %s: no address", h)
	for _, a := range addrs {
		a = a.WithZone("").Unmap()
		if !trusted && !d.reachable(a) {
			err = fmt.Errorf("%s is %s: %w", h, a, ErrPrivateAddress)
			continue
		}
		conn, derr := d.m.cfg.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if derr == nil {
			return conn, nil
		}
		err = derr
	}
	return nil, err
}
