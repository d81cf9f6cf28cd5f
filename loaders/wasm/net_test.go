package wasm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// internet is a made-up network: names with made-up addresses, and one server behind all of them. It
// counts what is dialled.
type internet struct {
	names  map[string][]string
	server string

	mu     sync.Mutex
	dialed []string
}

func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, s := range n.names[host] {
		out = append(out, netip.MustParseAddr(s))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func (n *internet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, n.server)
}

func (n *internet) dials() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dialed)
}

func (n *internet) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialed = nil
}

func (n *internet) config() HTTP { return HTTP{Resolver: n, Dial: n.dial} }

func newInternet(t *testing.T, h http.Handler) *internet {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &internet{server: s.Listener.Addr().String(), names: map[string][]string{
		"public.example": {"93.184.216.34"}, "other.example": {"93.184.216.35"}, "a.b.example": {"93.184.216.36"},
		"inner.example": {"127.0.0.1"}, "mapped.example": {"::ffff:10.0.0.1"}, "meta.example": {"169.254.169.254"},
		"nat.example": {"64:ff9b::a9fe:a9fe"}, "cgnat.example": {"100.64.1.1"}, "ula.example": {"fd00::1"}, "link.example": {"fe80::1"},
		"multi.example": {"224.0.0.1"}, "six.example": {"::1"}, "mixed.example": {"10.0.0.1", "93.184.216.34"},
	}}
}

func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello %s %s", r.Method, r.Host)
}

// fetch sends one request with grants.
func fetch(t *testing.T, cfg HTTP, r engine.HTTPRequest, grants ...string) (engine.HTTPResponse, error) {
	t.Helper()
	g, err := newGate("demo", extension.GuestCaps{Net: grants}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(g, cfg).do(t.Context(), r)
}

func get(url string) engine.HTTPRequest { return engine.HTTPRequest{Method: "GET", URL: url} }

func TestPrivateAddressBehindAnAllowedName(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	for name := range n.names {
		if name == "public.example" || name == "other.example" || name == "a.b.example" || name == "mixed.example" {
			continue
		}
		_, err := fetch(t, n.config(), get("http://"+name+"/"), name)
		wants(t, err, "is at a private address: not granted: net ")
		if !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%s: %v is no ErrGrant", name, err)
		}
	}
	if d := n.dials(); len(d) != 0 {
		t.Errorf("it dialled %v", d)
	}
	// The same server behind a public address, and with a grant that names the inner one.
	for _, c := range [][]string{{"public.example"}, {"inner.example", "127.0.0.1"}, {"mixed.example"}} {
		if _, err := fetch(t, n.config(), get("http://"+c[0]+"/"), c...); err != nil {
			t.Errorf("granted %v: %v", c, err)
		}
	}
	if d := n.dials(); !slices.Equal(d, []string{"93.184.216.34:80", "127.0.0.1:80", "93.184.216.34:80"}) {
		t.Errorf("it dialled %v", d)
	}
}

func TestLiteralAddresses(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	for _, c := range []struct {
		url, grant, want string
	}{
		{"http://127.0.0.1:8080/", "127.0.0.1:8080", ""},
		{"http://[::1]:8080/", "[::1]:8080", ""},
		{"http://[::ffff:127.0.0.1]/", "127.0.0.1", ""},
		{"http://127.0.0.1:8080/", "127.0.0.1:8081", "not granted"},
		{"http://127.0.0.1:8080/", "127.0.0.1", "not granted"},
		{"http://127.0.0.2/", "127.0.0.1", "not granted"},
		{"http://127.1/", "127.0.0.1", "no address in its usual form"},
		{"http://2130706433/", "127.0.0.1", "no address in its usual form"},
		{"http://0x7f000001/", "127.0.0.1", "no address"},
		{"http://0x7f.1/", "127.0.0.1", "no address"},
		{"http://0177.0.0.1/", "127.0.0.1", "no address"},
		{"http://127。0。0。1/", "127.0.0.1", "no host name"},
		{"http://[fe80::1%25eth0]/", "[fe80::1]", "zone"},
		{"file:///etc/passwd", "127.0.0.1", "only http and https"},
		{"http:127.0.0.1", "127.0.0.1", "malformed"},
		{"http://127.0.0.1:0/", "127.0.0.1", "port"},
	} {
		_, err := fetch(t, n.config(), get(c.url), c.grant)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s with %s: %v", c.url, c.grant, err)
			}
			continue
		}
		wants(t, err, c.want)
	}
}

func TestRedirects(t *testing.T) {
	var seen []http.Header
	mux := http.NewServeMux()
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusTemporaryRedirect) }
	}
	mux.HandleFunc("/denied", to("http://secret.example/x"))
	mux.HandleFunc("/private", to("http://127.0.0.1/x"))
	mux.HandleFunc("/inner", to("http://inner.example/x"))
	mux.HandleFunc("/port", to("http://public.example:8080/x"))
	mux.HandleFunc("/file", to("file:///etc/passwd"))
	hops := 0
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		hops++
		to("/loop")(w, r)
	})
	mux.HandleFunc("/there", to("http://other.example/end"))
	mux.HandleFunc("/here", to("/end"))
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		hello(w, r)
	})
	n := newInternet(t, mux)
	ask := func(path string) (engine.HTTPResponse, error) {
		return fetch(t, n.config(), engine.HTTPRequest{
			Method: "POST", URL: "http://public.example" + path, Body: []byte("b"),
			Header: map[string]string{"Authorization": "Bearer x", "Cookie": "c=1", "X-Api-Key": "k", "Accept": "text/plain", "Host": "evil.example", "Upgrade": "h2c", "Proxy-Authorization": "x"},
		}, "public.example", "other.example", "inner.example")
	}
	for path, want := range map[string]string{
		"/denied": "redirected: not granted: net secret.example", "/private": "redirected: not granted: net 127.0.0.1",
		"/inner": "private address", "/port": "not granted: net public.example:8080", "/file": "only http and https", "/loop": "more than 5 redirects",
	} {
		res, err := ask(path)
		wants(t, err, want)
		if len(res.Body) > 0 {
			t.Errorf("%s: a body came back: %q", path, res.Body)
		}
	}
	if hops != maxRedirects+1 {
		t.Errorf("%d requests were made in a circle", hops)
	}
	for _, d := range n.dials() {
		if d != "93.184.216.34:80" {
			t.Errorf("it dialled %s", d)
		}
	}
	for i, path := range []string{"/here", "/there"} {
		res, err := ask(path)
		if err != nil || string(res.Body) != "hello POST "+[]string{"public.example", "other.example"}[i] {
			t.Fatalf("%s: %q, %v", path, res.Body, err)
		}
	}
	if h := seen[0]; h.Get("Authorization") == "" || h.Get("Cookie") == "" || h.Get("X-Api-Key") == "" {
		t.Errorf("the same host does not get the headers: %v", h)
	}
	if h := seen[0]; h.Get("Upgrade")+h.Get("Proxy-Authorization") != "" {
		t.Errorf("headers of the connection come from the guest: %v", h)
	}
	if h := seen[1]; h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Api-Key")+h.Get("Referer") != "" || h.Get("Accept") == "" {
		t.Errorf("another host gets the headers: %v", h)
	}
}

func TestResponses(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1025)) })
	mux.HandleFunc("/fits", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Kind", "a")
		w.Header().Add("X-Kind", "b")
		w.WriteHeader(418)
		_, _ = w.Write(make([]byte, 1024))
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	n := newInternet(t, mux)
	cfg := n.config()
	cfg.MaxBody = 1024
	_, err := fetch(t, cfg, get("http://public.example/long?token=abc"), "public.example")
	wants(t, err, "longer than 1024 bytes", "http GET http://public.example:")
	if strings.Contains(err.Error(), "token") {
		t.Errorf("the error tells the address: %v", err)
	}
	res, err := fetch(t, cfg, get("http://public.example/fits"), "public.example")
	if err != nil || res.Status != 418 || len(res.Body) != 1024 || res.Header["x-kind"] != "a, b" {
		t.Errorf("%d, %d bytes, %v, %v", res.Status, len(res.Body), res.Header, err)
	}
	_, err = fetch(t, cfg, engine.HTTPRequest{Method: "POST", URL: "http://public.example/fits", Body: make([]byte, 1025)}, "public.example")
	wants(t, err, "the body is longer")
	for _, method := range []string{"CONNECT", "TRACE", "A B"} {
		_, err = fetch(t, cfg, engine.HTTPRequest{Method: method, URL: "http://public.example/fits"}, "public.example")
		wants(t, err, "method")
	}
	g, err := newGate("demo", extension.GuestCaps{Net: []string{"public.example"}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = newClient(g, cfg).do(ctx, get("http://public.example/slow"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slow body: %v", err)
	}
}

func TestHostRules(t *testing.T) {
	for _, bad := range []string{
		"", "*", "*.", "*.com", "*:443", "a*.example", "a.*.example", "*.*.example", "example:", "example:0", "example:65536", "example:http", "example:080",
		"http://example", "example/path", "user@example", "exa mple", "*.1.2.3.4", "1.2.3", "0x7f.1", "::1", "[::1%25eth0]", "münchen.example", ".example", "a..b",
	} {
		if _, err := parseHostRule(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, c := range []struct {
		rule, host, port string
		want             bool
	}{
		{"api.example", "api.example", "443", true},
		{"api.example", "api.example", "80", true},
		{"api.example", "api.example", "8443", false},
		{"API.Example.", "api.example", "443", true},
		{"api.example:8443", "api.example", "8443", true},
		{"api.example:8443", "api.example", "443", false},
		{"api.example", "x.api.example", "443", false},
		{"api.example", "xapi.example", "443", false},
		{"*.api.example", "x.api.example", "443", true},
		{"*.api.example", "y.x.api.example", "443", true},
		{"*.api.example", "api.example", "443", false},
		{"*.api.example", "xapi.example", "443", false},
		{"*.api.example", "x.api.example.evil", "443", false},
		{"*.api.example:444", "x.api.example", "444", true},
		{"[::1]:80", "::1", "80", true},
		{"10.0.0.1", "10.0.0.1", "443", true},
	} {
		r, err := parseHostRule(c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
		} else if r.matches(c.host, c.port) != c.want {
			t.Errorf("%s takes %s:%s: %v, want %v", c.rule, c.host, c.port, !c.want, c.want)
		}
	}
}

func TestPrivate(t *testing.T) {
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "127.0.0.1", "127.255.0.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "172.16.0.1", "192.168.0.1",
		"192.0.0.8", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::10.0.0.1", "fe80::1",
		"fc00::1", "fd12::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:db8::1", "2001::1", "fec0::1", "100::1", "4000::1",
	} {
		if !private(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "93.184.216.34", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::"} {
		if private(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as private", s)
		}
	}
}

// TestNothingButGrantsIsDialled checks that whatever is asked for, what is dialled is an address of a
// host that an entry names, on its port.
func TestNothingButGrantsIsDialled(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	rapid.Check(t, func(t *rapid.T) {
		n.forget()
		hosts := []string{"public.example", "other.example", "a.b.example", "inner.example", "127.0.0.1", "mixed.example", "PUBLIC.example.", "[::1]", "93.184.216.34"}
		grants := rapid.SliceOfN(rapid.SampledFrom([]string{
			"public.example", "*.b.example", "other.example:8080", "inner.example", "127.0.0.1:8080", "mixed.example:80", "93.184.216.34",
		}), 0, 3).Draw(t, "grants")
		url := rapid.SampledFrom([]string{"http://", "https://"}).Draw(t, "scheme") + rapid.SampledFrom(hosts).Draw(t, "host") +
			rapid.SampledFrom([]string{"", ":80", ":443", ":8080"}).Draw(t, "port") + "/"
		g, err := newGate("demo", extension.GuestCaps{Net: grants}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = newClient(g, n.config()).do(context.Background(), get(url)) // https fails, for there is no certificate
		for _, d := range n.dials() {
			addr := netip.MustParseAddrPort(d)
			port := fmt.Sprint(addr.Port())
			named := slices.Contains(grants, "127.0.0.1:8080") && d == "127.0.0.1:8080"
			if private(addr.Addr()) && !named {
				t.Fatalf("%s with %v dials %s", url, grants, d)
			}
			ok := false
			for host, addrs := range n.names {
				ok = ok || slices.Contains(addrs, addr.Addr().String()) && g.permits(host, port)
			}
			if !ok && !g.permits(addr.Addr().String(), port) {
				t.Fatalf("%s with %v dials %s", url, grants, d)
			}
		}
	})
}

func FuzzHostRule(f *testing.F) {
	for _, s := range []string{"a.example", "*.a.example:8443", "[::1]:80", "127.0.0.1", "*", "::1", "a:b:c", "[", "0x1"} {
		f.Add(s, "x.a.example")
	}
	f.Fuzz(func(t *testing.T, entry, host string) {
		r, err := parseHostRule(entry)
		if err != nil {
			return
		}
		canonical, addr, err := canonicalHost(host)
		if err != nil {
			return
		}
		again, same, err := canonicalHost(canonical)
		if err != nil || again != canonical || same != addr {
			t.Errorf("%q → %q → %q, %v", host, canonical, again, err)
		}
		if r.matches(canonical, "443") && !r.suffix && canonical != r.name {
			t.Errorf("%q takes %q", entry, canonical)
		}
		if r.matches(canonical, "443") && r.suffix && (addr.IsValid() || len(canonical) <= len(r.name)) {
			t.Errorf("%q takes %q", entry, canonical)
		}
	})
}
