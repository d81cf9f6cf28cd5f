package web

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/chaz-peer/chaz-peer/extension"
)

// service is what differs between the search services.
type service struct {
	base  string // address before the path
	path  string
	keyed bool
	// emptyFails: no results means that the service did not answer the question.
	emptyFails bool
	// ask completes a request to base and path; key goes into headers alone, since addresses are
	// logged.
	ask func(r *extension.FetchRequest, key, query string, n int)
	// read finds the results in an answer.
	read func(body []byte) ([]Result, error)
}

func services() map[Kind]service {
	return map[Kind]service{
		Kagi: {
			base: "https://kagi.com", path: "/api/v0/search", keyed: true,
			ask: func(r *extension.FetchRequest, key, query string, n int) {
				r.URL += parameters("q", query, "limit", strconv.Itoa(n))
				r.Header["Authorization"] = "Bot " + key
			},
			read: readKagi,
		},
		Tavily: {
			base: "https://api.tavily.com", path: "/search", keyed: true,
			ask: func(r *extension.FetchRequest, key, query string, n int) {
				post(r, map[string]any{"query": query, "max_results": n})
				r.Header["Authorization"] = "Bearer " + key
			},
			read: readList("results", "url", "content"),
		},
		Brave: {
			base: "https://api.search.brave.com", path: "/res/v1/web/search", keyed: true,
			ask: func(r *extension.FetchRequest, key, query string, n int) {
				r.URL += parameters("q", query, "count", strconv.Itoa(n))
				r.Header["X-Subscription-Token"] = key
			},
			read: readBrave,
		},
		Serper: {
			base: "https://google.serper.dev", path: "/search", keyed: true,
			ask: func(r *extension.FetchRequest, key, query string, n int) {
				post(r, map[string]any{"q": query, "num": n})
				r.Header["X-Api-Key"] = key
			},
			read: readList("organic", "link", "snippet"),
		},
		SearXNG: {
			path: "/search",
			ask: func(r *extension.FetchRequest, key, query string, _ int) {
				r.URL += parameters("q", query, "format", "json")
				if key != "" {
					r.Header["Authorization"] = "Bearer " + key
				}
			},
			read: readList("results", "url", "content"),
		},
		DuckDuckGo: {
			base: "https://html.duckduckgo.com", path: "/html/", emptyFails: true,
			ask: func(r *extension.FetchRequest, _, query string, _ int) {
				r.URL += parameters("q", query)
				r.Header["Accept"] = "text/html"
			},
			read: readDuckDuckGo,
		},
	}
}

// parameters writes names and values as a query.
func parameters(pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return "?" + v.Encode()
}

func post(r *extension.FetchRequest, body map[string]any) {
	text, _ := json.Marshal(body) // strings and a number
	r.Method, r.Body = "POST", string(text)
	r.Header["Content-Type"] = "application/json"
}
