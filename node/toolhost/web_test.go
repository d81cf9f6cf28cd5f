package toolhost

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// internet is a made-up network: names with made-up public addresses, and one server behind all of
// them. It counts what is dialled.
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
	if strings.HasPrefix(address, "192.0.2.") {
		return nil, errors.New("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, network, n.server)
}

func (n *internet) config() Config {
	return Config{WorkFolder: "/work", Resolver: n, Dial: n.dial}
}

func newInternet(t *testing.T, h http.Handler) *internet {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &internet{server: s.Listener.Addr().String(), names: map[string][]string{
		"public.example": {"93.184.216.34"}, "other.example": {"93.184.216.35"},
		"rebound.example": {"127.0.0.1"}, "mapped.example": {"::ffff:10.0.0.1"}, "nat.example": {"64:ff9b::a9fe:a9fe"},
		"mixed.example": {"10.0.0.1", "93.184.216.34"}, "down.example": {"192.0.2.1"}, "fallback.example": {"192.0.2.1", "93.184.216.34"},
		"localhost": {"93.184.216.34"}, "db.internal": {"93.184.216.34"}, "metadata.google.internal": {"93.184.216.34"},
		"xn--mnchen-3ya.example": {"93.184.216.34"}, "under_score.example": {"93.184.216.34"},
	}}
}

func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello %s %s", r.Method, r.Host)
}

func fetch(t *testing.T, h extension.Host, u string) (extension.FetchResponse, error) {
	t.Helper()
	return h.Fetch(t.Context(), extension.FetchRequest{URL: u})
}

func TestFetchRefusesWhatIsNotPublic(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	h := hostFor(t, n.config(), Levels{}, false)
	for u, want := range map[string]error{
		// Names and literals of every form.
		"http://localhost/": ErrInternalName, "http://LOCALHOST.:80/": ErrInternalName, "http://x.localhost/": ErrInternalName,
		"http://db.internal/": ErrInternalName, "http://metadata.google.internal/": ErrInternalName, "http://printer.local/": ErrInternalName,
		"http://ｌocalhost/": ErrInternalName, "http://user:pw@localhost/": ErrInternalName,
		"http://127.0.0.1/": ErrPrivateAddress, "http://127.1/": ErrPrivateAddress, "http://2130706433/": ErrPrivateAddress,
		"http://0x7f000001/": ErrPrivateAddress, "http://0x7F.1/": ErrPrivateAddress, "http://0177.0.0.1/": ErrPrivateAddress,
		"http://017700000001/": ErrPrivateAddress, "http://127。0。0。1/": ErrPrivateAddress, "http://①②⑦.0.0.1/": ErrPrivateAddress,
		"http://127.0.0.1./": ErrPrivateAddress, "http://0/": ErrPrivateAddress, "http://0.0.0.0:80/": ErrPrivateAddress,
		"http://10.1.2.3/": ErrPrivateAddress, "http://172.31.0.1/": ErrPrivateAddress, "http://192.168.1.1/": ErrPrivateAddress,
		"http://169.254.169.254/latest/": ErrPrivateAddress, "http://100.64.0.1/": ErrPrivateAddress, "http://224.0.0.1/": ErrPrivateAddress,
		"http://[::1]/": ErrPrivateAddress, "http://[::]/": ErrPrivateAddress, "http://[fe80::1]/": ErrPrivateAddress, "http://[fd00::1]/": ErrPrivateAddress,
		"http://[::ffff:127.0.0.1]/": ErrPrivateAddress, "http://[::ffff:7f00:1]/": ErrPrivateAddress, "http://[::127.0.0.1]/": ErrPrivateAddress,
		"http://[64:ff9b::7f00:1]/": ErrPrivateAddress, "http://[64:ff9b::10.0.0.1]/": ErrPrivateAddress, "http://[64:ff9b:1::1]/": ErrPrivateAddress,
		"http://[2002:7f00:1::]/": ErrPrivateAddress, "http://[2002:a00:1::]/": ErrPrivateAddress, "http://[::ffff:0:127.0.0.1]/": ErrPrivateAddress,
		// Names that resolve to something else than they look like.
		"http://rebound.example/": ErrPrivateAddress, "http://mapped.example/": ErrPrivateAddress, "http://nat.example/": ErrPrivateAddress,
		// What is no web address at all.
		"ftp://public.example/": extension.ErrArgument, "file:///etc/passwd": extension.ErrArgument, "gopher://public.example": extension.ErrArgument,
		"http://": extension.ErrArgument, "public.example": extension.ErrArgument, "http://256.1.1.1/": extension.ErrArgument,
		"http://1.2.3.4.5/": extension.ErrArgument, "http://[fe80::1%25eth0]/": extension.ErrArgument, "http://a b/": extension.ErrArgument,
		"http://0x/x": ErrPrivateAddress, "http://08.1.1.1/": extension.ErrArgument, "http://exa%00mple/": extension.ErrArgument, "": extension.ErrArgument,
	} {
		_, err := fetch(t, h, u)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", u, err, want)
		}
		if want != extension.ErrArgument && !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%s: %v is no refusal of a grant", u, err)
		}
		if errors.Is(err, extension.ErrNetwork) {
			t.Errorf("%s: %v would be tried again", u, err)
		}
	}
	if len(n.dialed) != 0 {
		t.Errorf("dialled: %v", n.dialed)
	}
}

func TestFetchReachesThePublic(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	h := hostFor(t, n.config(), Levels{}, false)
	for u, dialed := range map[string]string{
		"http://public.example/": "93.184.216.34:80", "http://PUBLIC.example.:8080/x": "93.184.216.34:8080",
		"http://8.8.8.8/": "8.8.8.8:80", "http://0x08080808/": "8.8.8.8:80", "http://134744072/": "8.8.8.8:80",
		"http://[2606:4700::1111]/": "[2606:4700::1111]:80", "http://[64:ff9b::8.8.8.8]/": "[64:ff9b::808:808]:80",
		"http://mixed.example/": "93.184.216.34:80", "http://münchen.example/": "93.184.216.34:80", "http://under_score.example/": "93.184.216.34:80",
		"http://172.32.0.1/": "172.32.0.1:80", "http://100.128.0.1/": "100.128.0.1:80",
	} {
		n.dialed = nil
		res, err := fetch(t, h, u)
		if err != nil || res.Code != 200 || !strings.HasPrefix(string(res.Body), "hello GET ") || res.Status != "200 OK" {
			t.Errorf("%s: %v, %q", u, err, res.Body)
		}
		if len(n.dialed) != 1 || n.dialed[0] != dialed {
			t.Errorf("%s dialled %v, want %s", u, n.dialed, dialed)
		}
	}
	if res, err := fetch(t, h, "http://fallback.example/"); err != nil || res.Code != 200 {
		t.Errorf("second address of a name: %v", err)
	}
	for _, u := range []string{"http://down.example/", "http://nowhere.example/"} {
		if _, err := fetch(t, h, u); !errors.Is(err, extension.ErrNetwork) || errors.Is(err, extension.ErrGrant) {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestAllowPrivateLiftsTheRangesOnly(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	private := Grants{Network: NetworkGrants{AllowPrivate: yes()}}
	h := hostFor(t, n.config(), Levels{Tool: private}, false)
	for _, u := range []string{"http://127.0.0.1/", "http://rebound.example/", "http://[::ffff:10.0.0.1]/"} {
		if _, err := fetch(t, h, u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := fetch(t, h, "http://localhost/"); !errors.Is(err, ErrInternalName) {
		t.Errorf("localhost: %v", err)
	}
	private.Network.Endpoints = []Endpoint{{Host: "127.0.0.1:8080"}}
	h = hostFor(t, n.config(), Levels{Tool: private}, false)
	if _, err := fetch(t, h, "http://127.0.0.1:80/"); !errors.Is(err, ErrEndpoint) {
		t.Errorf("another port: %v", err)
	}
	if _, err := fetch(t, h, "http://0x7f.1:8080/"); err != nil {
		t.Errorf("another form of the granted address: %v", err)
	}
	// Neither a session nor an agent can lift it.
	h = hostFor(t, n.config(), Levels{Session: private, Agent: private, PerTool: private}, false)
	if _, err := fetch(t, h, "http://127.0.0.1:8080/"); !errors.Is(err, ErrPrivateAddress) {
		t.Errorf("lifted by a session: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	n.names["api.public.example"] = []string{"93.184.216.36"}
	n.names["notpublic.example"] = []string{"93.184.216.37"}
	grants := Grants{Network: NetworkGrants{Endpoints: []Endpoint{
		{Host: "*.public.example", PathPrefix: "/v1", Methods: []string{"get", "POST"}}, {Host: "other.example"},
	}}}
	h := hostFor(t, n.config(), Levels{Tool: grants}, false)
	ask := func(method, u string) error {
		_, err := h.Fetch(t.Context(), extension.FetchRequest{Method: method, URL: u})
		return err
	}
	for _, ok := range []string{"GET http://public.example/v1", "POST http://api.public.example/v1/x?y=/../z", "DELETE http://other.example/any/../path", "get http://public.example/v1/;a"} {
		method, u, _ := strings.Cut(ok, " ")
		if err := ask(method, u); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"GET http://public.example/", "GET http://public.example/v10", "PUT http://public.example/v1", "GET http://notpublic.example/v1",
		"GET http://public.example/v1/../admin", "GET http://public.example/v1/%2e%2e/admin", "GET http://public.example/v1/..%2fadmin",
		"GET http://public.example/v1/%252e%252e/admin", "GET http://public.example/v1/..;/admin", "GET http://public.example/v1\\..\\admin",
		"GET http://8.8.8.8/v1", "GET http://other.example@8.8.8.8/",
	} {
		method, u, _ := strings.Cut(bad, " ")
		if err := ask(method, u); !errors.Is(err, ErrEndpoint) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, method := range []string{"G ET", "CONNECT", strings.Repeat("A", 50)} {
		if err := ask(method, "http://other.example/"); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("method %q: %v", method, err)
		}
	}
	h = hostFor(t, n.config(), Levels{Tool: Grants{Network: NetworkGrants{Endpoints: []Endpoint{}}}}, false)
	if err := ask("GET", "http://public.example/"); !errors.Is(err, ErrEndpoint) {
		t.Errorf("with an empty list: %v", err)
	}
}

func TestEveryRedirectIsChecked(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	n := newInternet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Host+r.URL.Path] = r.Header.Clone()
		mu.Unlock()
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/count/%d", &left); err == nil && left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/count/%d", left-1), http.StatusTemporaryRedirect)
			return
		}
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "end %s %s", r.Method, b)
	}))
	h := hostFor(t, n.config(), Levels{}, false)
	for to, want := range map[string]error{
		"http://127.0.0.1/": ErrPrivateAddress, "http://2130706433/": ErrPrivateAddress, "http://rebound.example/": ErrPrivateAddress,
		"//[::ffff:127.0.0.1]/": ErrPrivateAddress, "http://localhost/": ErrInternalName, "file:///etc/passwd": extension.ErrArgument,
	} {
		_, err := fetch(t, h, "http://public.example/?to="+url.QueryEscape(to))
		if !errors.Is(err, want) || errors.Is(err, extension.ErrNetwork) {
			t.Errorf("redirect to %s: %v", to, err)
		}
	}
	only := Grants{Network: NetworkGrants{Endpoints: []Endpoint{{Host: "public.example"}}}}
	_, err := fetch(t, hostFor(t, n.config(), Levels{Tool: only}, false), "http://public.example/?to=http://other.example/")
	if !errors.Is(err, ErrEndpoint) {
		t.Errorf("redirect out of the endpoints: %v", err)
	}
	// Positive controls: elsewhere, ten hops, a body that travels along.
	res, err := h.Fetch(t.Context(), extension.FetchRequest{
		URL:    "http://public.example/?to=" + url.QueryEscape("http://other.example/?to=/second"),
		Header: map[string]string{"X-Api-Key": "secret", "Authorization": "secret", "Accept": "text/plain", "Host": "evil", "Proxy-Authorization": "x"},
	})
	if err != nil || res.URL != "http://other.example/second" || string(res.Body) != "end GET " {
		t.Errorf("redirect elsewhere: %v, %+v", err, res)
	}
	if seen["public.example/"].Get("X-Api-Key") != "secret" || seen["public.example/"].Get("Proxy-Authorization") != "" {
		t.Errorf("first hop got %v", seen["public.example/"])
	}
	for _, hop := range []string{"other.example/", "other.example/second"} {
		if g := seen[hop]; g == nil || g.Get("X-Api-Key") != "" || g.Get("Authorization") != "" || g.Get("Referer") != "" || g.Get("Accept") != "text/plain" {
			t.Errorf("%s got %v", hop, g)
		}
	}
	res, err = h.Fetch(t.Context(), extension.FetchRequest{Method: "POST", URL: "http://public.example/count/10", Body: "body"})
	if err != nil || string(res.Body) != "end POST body" {
		t.Errorf("ten redirects: %v, %q", err, res.Body)
	}
	if _, err = fetch(t, h, "http://public.example/count/11"); !errors.Is(err, errRedirects) {
		t.Errorf("eleven redirects: %v", err)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	pack := func(text []byte) []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = z.Write(text)
		_ = z.Close()
		return b.Bytes()
	}
	bomb := pack(make([]byte, 16<<20))
	hollow := bytes.Repeat(pack(nil), 2<<20/len(pack(nil))) // large, and nothing in it
	n := newInternet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/bomb":
			body = bomb
		case "/hollow":
			body = hollow
		case "/fine":
			body = pack([]byte("packed text"))
		case "/nonsense":
			body = []byte("this is no gzip at all")
		default:
			w.Header().Del("Content-Encoding")
			body = bytes.Repeat([]byte("x"), 100_000)
		}
		_, _ = w.Write(body)
	}))
	h := hostFor(t, n.config(), Levels{}, false)
	for path, want := range map[string]struct {
		size int
		cut  bool
	}{"/bomb": {50_000, true}, "/hollow": {0, true}, "/fine": {11, false}, "/long": {50_000, true}} {
		res, err := fetch(t, h, "http://public.example"+path)
		if err != nil || len(res.Body) != want.size || res.Cut != want.cut {
			t.Errorf("%s: %v, %d bytes, cut %v", path, err, len(res.Body), res.Cut)
		}
	}
	if _, err := fetch(t, h, "http://public.example/nonsense"); !errors.Is(err, extension.ErrNetwork) {
		t.Errorf("a body that can't be unpacked: %v", err)
	}
	res, err := h.Fetch(t.Context(), extension.FetchRequest{URL: "http://public.example/fine", Method: "HEAD"})
	if err != nil || len(res.Body) != 0 {
		t.Errorf("HEAD: %v", err)
	}
	for limit, size := range map[int64]int{100_000: 100_000, 99_999: 99_999, 200_000: 100_000} {
		res, err := h.Fetch(t.Context(), extension.FetchRequest{URL: "http://public.example/long", Limit: limit})
		if err != nil || len(res.Body) != size || res.Cut != (limit < 100_000) {
			t.Errorf("limit %d: %v, %d bytes, cut %v", limit, err, len(res.Body), res.Cut)
		}
	}
	cfg := n.config()
	cfg.MaxBody = 10
	h = hostFor(t, cfg, Levels{}, false)
	if _, err := h.Fetch(t.Context(), extension.FetchRequest{URL: "http://public.example/", Body: "12345678901"}); !errors.Is(err, extension.ErrArgument) {
		t.Errorf("a request body over the limit: %v", err)
	}
	if res, err := h.Fetch(t.Context(), extension.FetchRequest{URL: "http://public.example/", Limit: 50}); err != nil || len(res.Body) != 10 || !res.Cut {
		t.Errorf("the machine's limit: %v, %d", err, len(res.Body))
	}
}

func TestFetchEnds(t *testing.T) {
	release := make(chan struct{})
	n := newInternet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer close(release)
	h := hostFor(t, n.config(), Levels{}, false)
	_, err := h.Fetch(t.Context(), extension.FetchRequest{URL: "http://u:topsecret@public.example/", Timeout: 50 * time.Millisecond})
	if !errors.Is(err, extension.ErrNetwork) || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("a body that never ends: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the turn is over")
	cancel(over)
	if _, err := h.Fetch(ctx, extension.FetchRequest{URL: "http://public.example/"}); !errors.Is(err, over) {
		t.Errorf("after the end of the call: %v", err)
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	n := newInternet(t, http.HandlerFunc(hello))
	if _, err := fetch(t, hostFor(t, n.config(), Levels{}, false), "http://public.example/"); err != nil {
		t.Error(err)
	}
	if len(n.dialed) != 1 || n.dialed[0] != "93.184.216.34:80" {
		t.Errorf("dialled %v", n.dialed)
	}
}

func TestFetchTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(hello))
	defer s.Close()
	n := &internet{server: s.Listener.Addr().String(), names: map[string][]string{"example.com": {"93.184.216.34"}, "public.example": {"93.184.216.34"}}}
	if _, err := fetch(t, hostFor(t, n.config(), Levels{}, false), "https://example.com/"); !errors.Is(err, extension.ErrNetwork) {
		t.Errorf("an unknown authority: %v", err)
	}
	cfg := n.config()
	cfg.RootCAs = x509.NewCertPool()
	cfg.RootCAs.AddCert(s.Certificate())
	h := hostFor(t, cfg, Levels{}, false)
	if res, err := fetch(t, h, "https://example.com/"); err != nil || res.Code != 200 {
		t.Errorf("a known authority: %v", err)
	}
	if _, err := fetch(t, h, "https://public.example/"); err == nil {
		t.Error("a certificate for another name was taken")
	}
}

func TestEmbeddedAddressesCountAsWhatTheyMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v4 := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
		b := v4.As4()
		forms := []netip.Addr{
			netip.AddrFrom16(v4.As16()),
			netip.MustParseAddr(fmt.Sprintf("64:ff9b::%02x%02x:%02x%02x", b[0], b[1], b[2], b[3])),
			netip.MustParseAddr(fmt.Sprintf("2002:%02x%02x:%02x%02x::1", b[0], b[1], b[2], b[3])),
			netip.MustParseAddr(fmt.Sprintf("::ffff:0:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3])),
		}
		for _, a := range forms {
			if private(a) != private(v4) {
				t.Fatalf("%s is %v, %s is %v", a, private(a), v4, private(v4))
			}
		}
		n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		for _, text := range []string{
			fmt.Sprint(n), fmt.Sprintf("0x%x", n), fmt.Sprintf("0%o", n), fmt.Sprintf("0x%X.0%o.%d", b[0], b[1], n&0xffff), fmt.Sprintf("%d.%d", b[0], n&0xffffff), v4.String() + ".",
		} {
			h, err := canonicalHost(text)
			if err != nil || h.addr != v4 {
				t.Fatalf("%s is %v, %v, want %s", text, h, err, v4)
			}
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"http://127.0.0.1", "http://0x7f.1/", "http://[::ffff:127.0.0.1]", "https://a@b:80/../x", "http://①.1.1.1", "http://localhost.", "http://1.1.1.1", "http://x.org:0/%2e",
		"http://[64:ff9b::7f00:1]:99", "http:///x", "http://xn--/", "HTTP://EXAMPLE.COM:443",
	} {
		f.Add(s)
	}
	d := &doors{m: &Machine{}, may: Effective{Grants: Grants{Network: NetworkGrants{AllowPrivate: no()}}}}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		if d.check("GET", u) != nil {
			return
		}
		// What passes is a public literal or a plain name, and reads the same again.
		h, err := canonicalHost(u.Hostname())
		if err != nil || h.String() != u.Hostname() {
			t.Fatalf("%q passed as %q: %v", s, u.Host, err)
		}
		if h.addr.IsValid() && private(h.addr) || internalName(h.name) {
			t.Fatalf("%q passed as %q", s, u.Host)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Hostname() != u.Hostname() || d.check("GET", again) != nil {
			t.Fatalf("%q passed and %q does not: %v", s, u, err)
		}
	})
}
