package toolhost

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

// An address that the operator configured for a tool is reached though it is private; nothing else
// is, also when that address redirects to it.
func TestTrustedAddresses(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("other")) }))
	defer other.Close()
	house := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		w.Write([]byte("house"))
	}))
	defer house.Close()
	m, err := New(Config{WorkFolder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(l Levels, url string) (string, error) {
		h, err := m.Host(l, false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.Fetch(context.Background(), extension.FetchRequest{URL: url})
		return string(r.Body), err
	}
	trusted := Levels{Trusted: []string{house.URL + "/search"}}
	if body, err := fetch(trusted, house.URL+"/x"); err != nil || body != "house" {
		t.Errorf("trusted: %q, %v", body, err)
	}
	for name, c := range map[string]struct {
		l   Levels
		url string
	}{
		"not trusted":   {Levels{}, house.URL},
		"another port":  {trusted, other.URL},
		"redirect away": {trusted, house.URL + "/away"},
	} {
		if _, err := fetch(c.l, c.url); !errors.Is(err, ErrPrivateAddress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Host(Levels{Trusted: []string{"ftp://x"}}, false); err == nil {
		t.Error("a trusted address that is no address was taken")
	}
}
