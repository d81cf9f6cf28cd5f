package wasm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

const (
	defaultBody  = 4 << 20
	maxHeader    = 256 << 10
	maxRedirects = 5
)

// client sends the requests of one extension. The gate is asked for every hop, and the address is
// checked when it is dialled, on the very address that is dialled: a name can't answer differently
// between check and use.
type client struct {
	gate *gate
	cfg  HTTP
}

func newClient(g *gate, cfg HTTP) *client {
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = defaultBody
	}
	return &client{g, cfg}
}

// do sends one request within the time of ctx, redirects included. Any status is an answer; a body over
// the limit is an error. Error texts name method, scheme and host, never the rest of the address.
func (c *client) do(ctx context.Context, r engine.HTTPRequest) (engine.HTTPResponse, error) {
	var none engine.HTTPResponse
	req, err := c.request(ctx, r)
	if err != nil {
		return none, fmt.Errorf("http request: %w", err)
	}
	name := fmt.Sprintf("http %s %s://%s", req.Method, req.URL.Scheme, req.URL.Host)
	transport := c.transport()
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, CheckRedirect: c.redirect}).Do(req)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, inner(ctx, err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, c.cfg.MaxBody+1))
	switch {
	case err != nil:
		return none, fmt.Errorf("%s: read the response: %w", name, inner(ctx, err))
	case int64(len(body)) > c.cfg.MaxBody:
		return none, fmt.Errorf("%s: the response is longer than %d bytes", name, c.cfg.MaxBody)
	}
	out := engine.HTTPResponse{Status: res.StatusCode, Header: make(map[string]string, len(res.Header)), Body: body}
	for key, values := range res.Header {
		out.Header[strings.ToLower(key)] = strings.ToValidUTF8(strings.Join(values, ", "), "�")
	}
	return out, nil
}

// inner takes off the wrapping that would tell the whole address, and prefers the end of the time to
// its consequences.
func inner(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// request builds the first request after its checks.
func (c *client) request(ctx context.Context, r engine.HTTPRequest) (*http.Request, error) {
	method := strings.ToUpper(r.Method)
	switch method {
	case "":
		method = http.MethodGet
	case http.MethodConnect, http.MethodTrace:
		return nil, fmt.Errorf("method %s is not offered", method)
	}
	if int64(len(r.Body)) > c.cfg.MaxBody {
		return nil, fmt.Errorf("the body is longer than %d bytes", c.cfg.MaxBody)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Opaque != "" {
		return nil, errors.New("the address is malformed")
	}
	to, err := target(u)
	if err != nil {
		return nil, err
	}
	if err := c.gate.allow(ctx, OpNet, to); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("method %.20q or address: malformed", r.Method)
	}
	for key, value := range r.Header {
		if !ownHeader(key) {
			req.Header.Set(key, value)
		}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "chaz-peer/"+extension.HostVersion)
	}
	return req, nil
}

// ownHeader names what belongs to the connection; Host would reach names that nobody granted.
func ownHeader(key string) bool {
	switch http.CanonicalHeaderKey(key) {
	case "Connection", "Host", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade",
		"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Expect":
		return true
	}
	return false
}

// redirect asks the gate for every hop as for the first one. What was sent for one host is not told to
// another.
func (c *client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	to, err := target(req.URL)
	if err == nil {
		err = c.gate.allow(req.Context(), OpNet, to)
	}
	if err != nil {
		return fmt.Errorf("redirected: %w", err)
	}
	// All hops count: the first request's headers are set again on each.
	elsewhere := slices.ContainsFunc(via, func(r *http.Request) bool {
		return r.URL.Host != req.URL.Host || r.URL.Scheme == "https" && req.URL.Scheme == "http"
	})
	if !elsewhere {
		return nil
	}
	for key := range req.Header {
		switch key {
		case "Accept", "Accept-Language", "Content-Type", "User-Agent":
		default:
			delete(req.Header, key)
		}
	}
	return nil
}

func (c *client) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // one of the environment would dial where no check sees it
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.cfg.RootCAs, MinVersion: tls.VersionTLS12},
		DisableCompression:     true, // the limit of a body is that of what was sent
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// dial resolves a host, checks each address, and connects to the first that answers.
func (c *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host, addr, err := canonicalHost(name)
	if err != nil {
		return nil, fmt.Errorf("host %.80q: %w", name, err)
	}
	if !c.gate.permits(host, port) {
		return nil, c.gate.deny(ctx, OpNet, net.JoinHostPort(host, port))
	}
	addrs := []netip.Addr{addr}
	if !addr.IsValid() {
		if addrs, err = c.cfg.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, fmt.Errorf("find %s: %w", host, err)
		}
	}
	err = fmt.Errorf("find %s: no address", host)
	for _, a := range addrs {
		a = a.WithZone("").Unmap()
		if !c.gate.reachable(a, port) {
			err = fmt.Errorf("%s is at a private address: %w", host, c.gate.deny(ctx, OpNet, net.JoinHostPort(a.String(), port)))
			continue
		}
		conn, failed := c.cfg.Dial(ctx, network, net.JoinHostPort(a.String(), port))
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, err
}
