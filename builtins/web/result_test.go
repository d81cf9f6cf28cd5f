package web

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a service answers, reading it ends, and what is kept is plain and leads to the web.
func FuzzRead(f *testing.F) {
	f.Add([]byte(duckPage(f)))
	f.Add([]byte(`{"results":[{"title":"t","url":"https://a.example","content":"c"}],"organic":[null],"web":{"results":[{}]},"data":[{"t":0}]}`))
	f.Add([]byte(`<a class=result__a href="//duckduckgo.com/l/?uddg=%68ttp://x"><div class=result__snippet>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for kind, s := range services() {
			found, err := s.read(body)
			if err != nil {
				continue
			}
			kept := clean(found, maxResults)
			if kept == nil || len(kept) > maxResults {
				t.Fatalf("%s: %d results", kind, len(kept))
			}
			for _, r := range kept {
				u, err := url.Parse(r.URL)
				if err != nil || u.Scheme != "http" && u.Scheme != "https" || len(r.Title) > maxTitle || len(r.Snippet) > maxSnippet ||
					!utf8.ValidString(r.Title+r.Snippet+r.URL) || strings.ContainsAny(r.Title+r.Snippet, "\n\r") {
					t.Fatalf("%s: %+v", kind, r)
				}
			}
		}
	})
}

func TestTarget(t *testing.T) {
	for href, want := range map[string]string{
		"https://a.example/x": "https://a.example/x",
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F1":              "https://a.example/1",
		"/l/?uddg=https%3A%2F%2Fa.example":                                  "https://a.example",
		"https://duckduckgo.com/about":                                      "https://duckduckgo.com/about",
		"https://duckduckgo.com/y.js?ad_domain=x":                           "",
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad": "",
		"/html/?q=more": "", "": "", "#": "", "javascript:alert(1)": "", "http://[": "", "//duckduckgo.com/l/?uddg=http%3A%2F%2F%5B": "",
	} {
		if got, ok := target(href); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", href, got, ok)
		}
	}
}
