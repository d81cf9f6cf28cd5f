package git

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// TestNothingBeforeConsent counts contacts: there is none without leave, and one with it.
func TestNothingBeforeConsent(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	url, _ := share(t, r)
	p, rf := newPeer(t, nil), ref(url, sha)
	must(t, p.Check(rf))
	_, err := p.Load(t.Context(), rf)
	wantError(t, err, loaders.ErrMissing, "")
	_, err = p.Proof(t.Context(), rf)
	wantError(t, err, loaders.ErrMissing, "")
	_, err = p.Object(t.Context(), sha, sha)
	wantError(t, err, loaders.ErrMissing, "")
	wantError(t, p.Fetch(t.Context(), rf, loaders.From{}), loaders.ErrConsent, url)
	_, _ = p.Origin(rf)
	if n := p.dials.Load(); n != 0 {
		t.Fatalf("%d contacts before consent", n)
	}
	must(t, p.Fetch(t.Context(), rf, outside()))
	p.wantPackage(rf, module(1))
	if p.dials.Load() == 0 {
		t.Fatal("the contacts are not counted")
	}
}

// names resolves every name to the same addresses and counts.
type names struct{ addrs []netip.Addr }

func (n names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return n.addrs, nil
}

func addrs(list ...string) names {
	var n names
	for _, a := range list {
		n.addrs = append(n.addrs, netip.MustParseAddr(a))
	}
	return n
}

const public = "93.184.215.14"

// world is example.com: a TLS server that is reached under a public address.
type world struct {
	*httptest.Server
	dialled atomic.Pointer[string]
}

func newWorld(t *testing.T, h http.Handler) *world {
	w := &world{Server: httptest.NewUnstartedServer(h)}
	w.Config.ErrorLog = nil
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

// peer is one that has only the public internet, where all names lead to addrs.
func (w *world) peer(t *testing.T, n names, change func(*Config)) *peer {
	pool := x509.NewCertPool()
	pool.AddCert(w.Certificate())
	return newPeer(t, func(c *Config) {
		c.AllowHosts, c.RootCAs, c.Resolver = nil, pool, n
		c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			w.dialled.Store(&addr)
			return (&net.Dialer{}).DialContext(ctx, network, w.Listener.Addr().String())
		}
		if change != nil {
			change(c)
		}
	})
}

func TestPrivateAddresses(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	w := newWorld(t, &server{repo: r, caps: fullCaps})
	for _, addr := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.100.100.200",
		"::1", "fe80::1", "fd00:ec2::254", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::1", "::127.0.0.1",
		"224.0.0.1", "255.255.255.255", "ff02::1", "::",
	} {
		p := w.peer(t, addrs(addr), nil)
		err := p.Fetch(t.Context(), ref("https://example.com/x", sha), outside())
		wantError(t, err, loaders.ErrConsent, "a private address")
		if p.dials.Load() != 0 {
			t.Errorf("%s was dialled", addr)
		}
		// The same as a literal.
		lit := netip.MustParseAddr(addr).String()
		if strings.Contains(lit, ":") {
			lit = "[" + lit + "]"
		}
		wantError(t, p.Fetch(t.Context(), ref("https://"+lit+"/x", sha), outside()), loaders.ErrConsent, "a private address")
	}
	for _, name := range []string{"localhost", "git.localhost", "box.local", "metadata.google.internal"} {
		p := w.peer(t, addrs(public), nil)
		wantError(t, p.Fetch(t.Context(), ref("https://"+name+"/x", sha), outside()), loaders.ErrConsent, "inner network")
		if p.dials.Load() != 0 {
			t.Errorf("%s was dialled", name)
		}
	}
	// Of several addresses only the public one is used; a listed host may be anywhere.
	p := w.peer(t, addrs("10.0.0.1", public), nil)
	must(t, p.Fetch(t.Context(), ref("https://example.com/x", sha), outside()))
	if got := *w.dialled.Load(); got != public+":443" {
		t.Errorf("dialled %s", got)
	}
	p = w.peer(t, addrs("10.0.0.1"), func(c *Config) { c.AllowHosts = []string{"example.com"} })
	must(t, p.Fetch(t.Context(), ref("https://example.com/x", sha), outside()))
	p = w.peer(t, addrs("10.0.0.1"), func(c *Config) { c.AllowHosts = []string{"example.com:8443"} })
	wantError(t, p.Fetch(t.Context(), ref("https://example.com/x", sha), outside()), loaders.ErrConsent, "a private address")
}

func TestPlainHTTPOnlyForListedHosts(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	url, _ := share(t, r)
	p := newPeer(t, func(c *Config) { c.AllowHosts = []string{"127.0.0.2"} })
	wantError(t, p.Fetch(t.Context(), ref(url, sha), outside()), loaders.ErrConsent, "http is only for hosts that the policy")
	if p.dials.Load() != 0 {
		t.Error("it was contacted")
	}
	must(t, newPeer(t, nil).Fetch(t.Context(), ref(url, sha), outside()))
}

func TestRedirects(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	git := &server{repo: r, caps: fullCaps}
	var inner atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		inner.Add(1)
		git.ServeHTTP(w, req)
	}))
	t.Cleanup(private.Close)
	moved := func(to string, post bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasPrefix(req.URL.Path, "/old/") && post == (req.Method == http.MethodPost) {
				http.Redirect(w, req, to+strings.TrimPrefix(req.URL.RequestURI(), "/old"), http.StatusTemporaryRedirect)
				return
			}
			git.ServeHTTP(w, req)
		})
	}
	for _, to := range []string{
		private.URL, "https://10.0.0.1", "https://169.254.169.254/latest", "https://[::1]:9418", "http://example.com",
		"https://elsewhere.example", "https://example.com:8443", "https://user:word@example.com", "file:///etc", "https://example.com.",
	} {
		for _, post := range []bool{false, true} {
			t.Run(fmt.Sprint(to, post), func(t *testing.T) {
				p := newWorld(t, moved(to, post)).peer(t, addrs(public), nil)
				err := p.Fetch(t.Context(), ref("https://example.com/old/x", sha), outside())
				if to == "https://example.com." && !post {
					must(t, err) // the same name, written out
					return
				}
				wantError(t, err, nil, "redirect")
				if _, err := p.Load(t.Context(), ref("https://example.com/old/x", sha)); !errors.Is(err, loaders.ErrMissing) {
					t.Errorf("load: %v", err)
				}
			})
		}
	}
	if inner.Load() != 0 {
		t.Errorf("the private server was asked %d times", inner.Load())
	}
	// A repository that its host has renamed is found.
	p := newWorld(t, moved("https://example.com", false)).peer(t, addrs(public), nil)
	must(t, p.Fetch(t.Context(), ref("https://example.com/old/x", sha), outside()))
	p.wantPackage(ref("https://example.com/old/x", sha), module(1))
}

// TestNoCredentials looks for anything of this machine's user in what a host is sent.
func TestNoCredentials(t *testing.T) {
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine 127.0.0.1 login me password secret"), 0o600))
	t.Setenv("HOME", home)
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	git := &server{repo: r, caps: fullCaps}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for k := range req.Header {
			switch k {
			case "Accept", "Content-Type", "Content-Length", "User-Agent", "Host":
			default:
				t.Errorf("header %s", k)
			}
		}
		git.ServeHTTP(w, req)
	}))
	must(t, newPeer(t, nil).Fetch(t.Context(), ref(url, sha), outside()))
	// Loopback is no proxy's business (see TestMain); a public host would be.
	far := newWorld(t, git).peer(t, addrs(public), nil)
	must(t, far.Fetch(t.Context(), ref("https://example.com/x", sha), outside()))
	asks := 0
	url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asks++
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	err := newPeer(t, nil).Fetch(t.Context(), ref(url, sha), outside())
	wantError(t, err, nil, "it asks for credentials")
	if asks != 1 {
		t.Errorf("asked %d times", asks)
	}
}

func pkt(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }

// TestOddServers are hosts that answer badly, or not.
func TestOddServers(t *testing.T) {
	r := newRepo(t)
	sha := r.push("main", pkg(module(1)))
	good := &server{repo: r, caps: plainCaps}
	advert := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	}
	endless := func(w io.Writer, part string) {
		for range 1 << 20 {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		name  string
		h     http.HandlerFunc
		class error
		words string
	}{
		{"no repository", http.NotFound, loaders.ErrMissing, "there is no such repository"},
		{"web page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, nil, "it is no git server"},
		{"server error", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 1<<20), 500) }, nil, "status 500"},
		{"hangs at once", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, nil, "did not deliver within"},
		{"hangs in refs", func(w http.ResponseWriter, req *http.Request) {
			advert(w)
			_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		}, nil, "did not deliver within"},
		{"hangs in pack", func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, req.Body) // else the server does not see that the client left
				<-req.Context().Done()
			}
			good.ServeHTTP(w, req)
		}, nil, "did not deliver within"},
		{"endless refs", func(w http.ResponseWriter, _ *http.Request) {
			advert(w)
			line := sha + " refs/heads/x"
			_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000"+pkt(line+"\x00ofs-delta\n"))
			endless(w, pkt(line+"\n"))
		}, nil, "more than the limit"},
		{"endless pack", func(w http.ResponseWriter, req *http.Request) {
			if req.Method != http.MethodPost {
				good.ServeHTTP(w, req)
				return
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = io.WriteString(w, "0034shallow "+sha+"00000008NAK\n")
			endless(w, "0405\x01"+strings.Repeat("x", 1024))
		}, nil, "more than the limit"},
		{"empty answer", func(w http.ResponseWriter, _ *http.Request) { advert(w) }, nil, "list branches and tags"},
		{"terminal tricks", func(w http.ResponseWriter, _ *http.Request) {
			advert(w)
			_, _ = io.WriteString(w, pkt("ERR \x1b[2Jbreak\r\n"))
		}, nil, `\x1b`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if strings.HasPrefix(c.name, "hangs") {
				timeout = time.Second
			}
			p := newPeer(t, func(cfg *Config) { cfg.MaxPack = 1 << 20; cfg.Timeout = timeout })
			err := p.Fetch(t.Context(), ref(serve(t, c.h), sha), outside())
			wantError(t, err, c.class, c.words)
			if strings.ContainsRune(err.Error(), 0x1b) {
				t.Error("the error has control characters of the host")
			}
		})
	}
	p := newPeer(t, func(cfg *Config) { cfg.MaxPack = 1 << 20 })
	must(t, p.Fetch(t.Context(), ref(serve(t, good), sha), outside()))
}

func TestCallerGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		cancel()
		<-req.Context().Done()
	}))
	err := newPeer(t, nil).Fetch(ctx, ref(url, strings.Repeat("a", 40)), outside())
	wantError(t, err, context.Canceled, "")
}

func TestOptionsOfNew(t *testing.T) {
	for _, cfg := range []Config{{}, {Dir: t.TempDir()}, {ABI: abi}, {Dir: t.TempDir(), ABI: abi, AllowHosts: []string{"a b"}}, {Dir: t.TempDir(), ABI: abi, AllowLocal: []string{"repos"}}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) has no error", cfg)
		}
	}
	l, err := New(Config{Dir: filepath.Join(t.TempDir(), "a", "b"), ABI: abi, AllowHosts: []string{"git.example", "[::1]:8080"}})
	must(t, err)
	if l.Kind() != extension.Git || !l.allow.has("::1", "8080") || l.allow.has("::1", "80") {
		t.Errorf("kind %s, allowed %v", l.Kind(), l.allow)
	}
}
