package git

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// door is the way to one host during one fetch: a client that speaks to that host alone, counts what it
// receives, and keeps the first reason why it refused something, since the layers above lose it.
type door struct {
	place     place
	transport *http.Transport
	progress  func(done, total int64)

	limit int64 // of the bytes that come

	mu      sync.Mutex
	done    int64
	refused error
}

func (l *Loader) newDoor(p place, progress func(done, total int64)) *door {
	return &door{
		place: p, progress: progress, limit: l.cfg.MaxPack,
		transport: &http.Transport{
			Proxy:                  nil, // an environment proxy would dial where no check sees it
			DialContext:            l.dial,
			TLSClientConfig:        &tls.Config{RootCAs: l.cfg.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    10 * time.Second,
			DisableCompression:     true, // packs are compressed already
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// client returns the client; it has no cookies and no credentials.
func (d *door) client() *http.Client {
	return &http.Client{Transport: d, CheckRedirect: d.redirect}
}

func (d *door) close() { d.transport.CloseIdleConnections() }

// refuse keeps the first reason.
func (d *door) refuse(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused == nil {
		d.refused = err
	}
	return err
}

func (d *door) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// redirect lets a host rename a repository of its own, and nothing else.
func (d *door) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > 5 {
		return d.refuse(errors.New("more than 5 redirects"))
	}
	if !d.same(req) {
		return d.refuse(fmt.Errorf("it redirects to %s://%.200s, another host, which is not followed", req.URL.Scheme, req.URL.Host))
	}
	return nil
}

// same reports whether a request goes to the place's host, port and scheme.
func (d *door) same(req *http.Request) bool {
	host, port, err := parseAuthority(req.URL.Host)
	if port == "" {
		port = usualPort(req.URL.Scheme)
	}
	return err == nil && req.URL.User == nil && req.URL.Scheme == d.place.scheme && host == d.place.host && port == d.place.port
}

// RoundTrip implements [http.RoundTripper]. Only what a git server answers gets through.
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	if !d.same(req) {
		return nil, d.refuse(fmt.Errorf("a request to %.200s, another host", req.URL.Host))
	}
	res, err := d.transport.RoundTrip(req)
	if err != nil {
		return nil, d.refuse(err)
	}
	if err := judge(req, res); err != nil {
		_ = res.Body.Close()
		return nil, d.refuse(err)
	}
	limit := int64(maxRefs)
	switch {
	case res.StatusCode >= 300:
		limit = maxError
	case req.Method == http.MethodPost:
		limit = d.limit
	}
	res.Body = &meteredBody{ReadCloser: res.Body, door: d, left: limit, limit: limit}
	return res, nil
}

// judge says in our words why an answer is of no use.
func judge(req *http.Request, res *http.Response) error {
	want := "application/x-git-upload-pack-advertisement"
	if req.Method == http.MethodPost {
		want = "application/x-git-upload-pack-result"
	}
	got, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("it asks for credentials (status %d), and this peer never sends any", code)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("there is no such repository (status %d): %w", code, loaders.ErrMissing)
	case code >= 300 && code < 400:
		return nil // the client asks redirect
	case code != http.StatusOK:
		return fmt.Errorf("it answers with status %d", code)
	case strings.TrimSpace(got) != want:
		return fmt.Errorf("it is no git server: it answers with %.80q", got)
	}
	return nil
}

// meteredBody counts against the limit of its answer and that of the fetch.
type meteredBody struct {
	io.ReadCloser
	door        *door
	left, limit int64
}

func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	d := b.door
	d.mu.Lock()
	d.done += int64(n)
	done := d.done
	d.mu.Unlock()
	b.left -= int64(n)
	if limit := min(b.limit, d.limit); b.left < 0 || done > d.limit {
		return 0, d.refuse(fmt.Errorf("it sends more than the limit of %d bytes", limit))
	}
	if d.progress != nil && n > 0 {
		d.progress(done, 0)
	}
	return n, err
}
