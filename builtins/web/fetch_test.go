package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestFetch(t *testing.T) {
	const mark = "\n[cut here: the body has more than 50000 bytes]"
	huge := func(w http.ResponseWriter, _ *http.Request) {
		line := []byte(strings.Repeat("x", 1<<20))
		for range 100 {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
	s := newSite(t, map[string]http.HandlerFunc{
		"/plain":   answer("hello"),
		"/empty":   answer(""),
		"/teapot":  status(http.StatusTeapot),
		"/error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) },
		"/full":    answer(strings.Repeat("x", 50_000)),
		"/over":    answer(strings.Repeat("x", 50_001)),
		"/euro":    answer(strings.Repeat("€", 20_000)),
		"/invalid": answer("a\xffb"),
		"/bytes":   answer(strings.Repeat("\xff\x00", 40_000)),
		"/huge":    huge,
		"/moved":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) },
	})
	for _, h := range []*wire{{}, {loose: true}} {
		for path, want := range map[string]string{
			"/plain":   "Status: 200 OK\n\nhello",
			"/empty":   "Status: 200 OK\n\n",
			"/teapot":  "Status: 418 I'm a teapot\n\n",
			"/error":   "Status: 500 Internal Server Error\n\nbroken\n",
			"/nowhere": "Status: 404 Not Found\n\n404 page not found\n",
			"/full":    "Status: 200 OK\n\n" + strings.Repeat("x", 50_000),
			"/over":    "Status: 200 OK\n\n" + strings.Repeat("x", 50_000) + mark,
			"/euro":    "Status: 200 OK\n\n" + strings.Repeat("€", 16_666) + mark,
			"/invalid": "Status: 200 OK\n\na\uFFFDb",
			"/bytes":   "Status: 200 OK\n\n" + strings.Repeat("\uFFFD\x00", 12_500) + mark,
			"/huge":    "Status: 200 OK\n\n" + strings.Repeat("x", 50_000) + mark,
			"/moved":   "Status: 200 OK\n\nhello",
		} {
			got, err := call(t, tools(t, nil)["web_fetch"], h, map[string]string{"url": s.URL + path})
			if err != nil || got != want || !utf8.ValidString(got) {
				t.Errorf("%s: %.60q (%d bytes), %v, want %d bytes", path, got, len(got), err, len(want))
			}
		}
		if r := h.asked[0]; r.Timeout != 30*time.Second || r.Limit != 50_000 {
			t.Errorf("%+v", r)
		}
	}
}

func TestFetchMethods(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/": answer("ok")})
	for given, want := range map[string]string{
		"": "GET", "GET": "GET", "get": "GET", "post": "POST", "PUT": "PUT", " Delete ": "DELETE", "PATCH": "PATCH",
		"HEAD": "GET", "OPTIONS": "GET", "CONNECT": "GET", "nonsense": "GET", "POST /x HTTP/1.1\r\nA: b": "GET",
	} {
		if _, err := call(t, tools(t, nil)["web_fetch"], &wire{}, map[string]string{"url": s.URL + "/", "method": given, "body": "text"}); err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		if got := s.seen[len(s.seen)-1]; got.method != want || got.body != "text" {
			t.Errorf("%q: %+v, want %s", given, got, want)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	w := &wire{}
	for _, args := range []any{map[string]string{}, map[string]string{"url": " "}, map[string]int{"url": 1}, nil, "x"} {
		if text, err := call(t, tools(t, nil)["web_fetch"], w, args); !errors.Is(err, extension.ErrArgument) || text != "" {
			t.Errorf("%v: %v", args, err)
		}
	}
	if len(w.asked) > 0 {
		t.Error("something was fetched")
	}
	s := newSite(t, nil)
	s.Close()
	if _, err := call(t, tools(t, nil)["web_fetch"], w, map[string]string{"url": s.URL}); !errors.Is(err, extension.ErrNetwork) {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestDecodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60).Draw(t, "text")
		n := rapid.IntRange(0, len(text)).Draw(t, "n")
		got := decode([]byte(text[:n]), true)
		want, _ := firstBytes(text, n)
		if strings.ContainsRune(want, utf8.RuneError) {
			t.Skip("it holds the sign of what is no text")
		}
		if got != want {
			t.Fatalf("%q cut at %d is %q, want %q", text, n, got, want)
		}
		first, cut := firstBytes(text, n)
		if !strings.HasPrefix(text, first) || len(first) > n || len(first) < n-3 || cut != (len(text) > n) || !utf8.ValidString(first) {
			t.Fatalf("%q of %q at %d", first, text, n)
		}
	})
}
