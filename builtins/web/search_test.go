package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

func search(t *testing.T, h extension.Host, secrets extension.Secrets, args any, backends ...Backend) ([]Result, error) {
	t.Helper()
	text, err := call(t, tools(t, secrets, backends...)["web_search"], h, args)
	if err != nil {
		if text != "" {
			t.Errorf("an error and a text: %q", text)
		}
		return nil, err
	}
	var out []Result
	if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
		t.Fatalf("no JSON array: %v: %s", err, text)
	}
	return out, nil
}

func duckPage(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("testdata/duckduckgo.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Every service is asked in its own way and answers in its own shape.
func TestServices(t *testing.T) {
	two := []Result{{"First & best", "https://a.example/1", "One < two."}, {"Second", "https://b.example/2?x=1", ""}}
	for _, c := range []struct {
		kind         Kind
		path, answer string
		header, key  string
		query, body  string
	}{
		{Kagi, "/api/v0/search", `{"meta":{},"data":[{"t":0,"title":"First &amp; best","url":"https://a.example/1","snippet":"One &lt; <b>two</b>."},{"t":1,"list":["related"]},{"t":0,"title":"Second","url":"https://b.example/2?x=1"}]}`, "Authorization", "Bot k3y", "limit=7&q=go+%26+crdt", ""},
		{Tavily, "/search", `{"query":"q","results":[{"title":"First & best","url":"https://a.example/1","content":"One < two.","score":0.9},{"title":"Second","url":"https://b.example/2?x=1","content":null}]}`, "Authorization", "Bearer k3y", "", `{"max_results":7,"query":"go & crdt"}`},
		{Brave, "/res/v1/web/search", `{"type":"search","web":{"type":"search","results":[{"title":"First &amp; best","url":"https://a.example/1","description":"One &lt; <strong>two</strong>."},{"title":"Second","url":"https://b.example/2?x=1"}]}}`, "X-Subscription-Token", "k3y", "count=7&q=go+%26+crdt", ""},
		{Serper, "/search", `{"organic":[{"title":"First & best","link":"https://a.example/1","snippet":"One < two.","position":1},{"title":"Second","link":"https://b.example/2?x=1"}]}`, "X-Api-Key", "k3y", "", `{"num":7,"q":"go & crdt"}`},
		{SearXNG, "/search", `{"query":"q","results":[{"title":"First & best","url":"https://a.example/1","content":"One\n <  two."},{"title":"Second","url":"https://b.example/2?x=1","content":7}]}`, "Authorization", "", "format=json&q=go+%26+crdt", ""},
		{DuckDuckGo, "/html/", duckPage(t), "Authorization", "", "q=go+%26+crdt", ""},
	} {
		s := newSite(t, map[string]http.HandlerFunc{c.path: answer(c.answer)})
		b := Backend{Kind: c.kind, APIBase: s.URL + "/"}
		if c.key != "" {
			b.Secret = "search_key"
		}
		w := &wire{}
		got, err := search(t, w, keys{"search_key": "k3y\n"}, map[string]any{"query": " go & crdt ", "max_results": 7}, b)
		if err != nil || !slices.Equal(got, two) {
			t.Errorf("%s: %+v, %v", c.kind, got, err)
			continue
		}
		r := s.seen[0]
		if r.query != c.query || r.header.Get(c.header) != c.key || !sameJSON(r.body, c.body) || len(s.seen) != 1 {
			t.Errorf("%s: %+v", c.kind, r)
		}
		if want := map[bool]string{true: "GET", false: "POST"}[c.body == ""]; r.method != want {
			t.Errorf("%s: %s", c.kind, r.method)
		}
		if strings.Contains(w.asked[0].URL, "k3y") || w.asked[0].Timeout != 15*time.Second {
			t.Errorf("%s: %+v", c.kind, w.asked[0])
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if a == "" || b == "" {
		return a == b
	}
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func TestSearXNGWithKey(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{"/sub/search": answer(`{"results":[]}`)})
	if _, err := search(t, &wire{}, keys{"k": "token"}, map[string]string{"query": "q"}, Backend{SearXNG, s.URL + "/sub", "k"}); err != nil {
		t.Fatal(err)
	}
	if got := s.seen[0].header.Get("Authorization"); got != "Bearer token" {
		t.Error(got)
	}
}

func TestMaxResults(t *testing.T) {
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"title":"t%d","url":"https://a.example/%d","content":"c"}`, i, i))
	}
	s := newSite(t, map[string]http.HandlerFunc{"/search": answer(`{"results":[` + strings.Join(rows, ",") + `]}`)})
	b := Backend{Kind: SearXNG, APIBase: s.URL}
	for given, want := range map[any]int{nil: 5, 1: 1, 5: 5, 10: 10} {
		args := map[string]any{"query": "q"}
		if given != nil {
			args["max_results"] = given
		}
		if got, err := search(t, &wire{}, nil, args, b); err != nil || len(got) != want {
			t.Errorf("%v: %d results, %v", given, len(got), err)
		}
	}
	before := len(s.seen)
	for _, args := range []map[string]any{
		{"query": "q", "max_results": 0},
		{"query": "q", "max_results": 11},
		{"query": "q", "max_results": -1},
		{"query": "q", "max_results": 1.5},
		{"query": "q", "max_results": "5"},
		{"query": " \n"},
		{},
		{"query": 7},
	} {
		if _, err := search(t, &wire{}, nil, args, b); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if len(s.seen) != before {
		t.Error("a service was asked although the arguments make no sense")
	}
}

// The next back end is asked when one fails, in the order of the configuration.
func TestOrder(t *testing.T) {
	good := answer(`{"results":[{"title":"t","url":"https://a.example/","content":"c"}]}`)
	s := newSite(t, map[string]http.HandlerFunc{
		"/500/search": status(500), "/202/search": status(202), "/401/search": status(401),
		"/nonsense/search": answer("<html>"), "/shape/search": answer(`{"results":7}`), "/rows/search": answer(`{"results":[7]}`),
		"/huge/search":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) },
		"/empty/search": answer(`{"results":[]}`), "/good/search": good, "/none/html/": answer("<html><body>No results.</body></html>"), "/busy/html/": status(202),
		"/duck/html/": answer(duckPage(t)), "/kagi/api/v0/search": answer(`{"error":[{"code":101,"msg":"no balance"}],"data":null}`),
	})
	searx := func(path string) Backend { return Backend{Kind: SearXNG, APIBase: s.URL + "/" + path} }
	duck := func(path string) Backend { return Backend{Kind: DuckDuckGo, APIBase: s.URL + "/" + path} }
	keyed := func(path, key string) Backend { return Backend{Tavily, s.URL + "/" + path, key} }
	for name, c := range map[string]struct {
		backends []Backend
		asked    []string
		found    int
		fails    string
	}{
		"first is good":         {[]Backend{searx("good"), searx("500")}, []string{"good"}, 1, ""},
		"after errors":          {[]Backend{searx("500"), searx("202"), searx("401"), searx("nonsense"), searx("shape"), searx("rows"), searx("huge"), searx("good")}, []string{"500", "202", "401", "nonsense", "shape", "rows", "huge", "good"}, 1, ""},
		"empty is an answer":    {[]Backend{searx("empty"), searx("good")}, []string{"empty"}, 0, ""},
		"not from duckduckgo":   {[]Backend{duck("none"), searx("good")}, []string{"none"}, 1, ""},
		"duckduckgo is busy":    {[]Backend{duck("busy"), duck("duck")}, []string{"busy", "duck"}, 2, ""},
		"no key":                {[]Backend{keyed("good", "nowhere"), searx("good")}, []string{"good"}, 1, ""},
		"all fail: the last":    {[]Backend{searx("500"), searx("401")}, []string{"500", "401"}, 0, "401"},
		"all fail: no results":  {[]Backend{searx("500"), duck("none")}, []string{"500", "none"}, 0, "no results"},
		"all fail: no key":      {[]Backend{searx("500"), keyed("good", "nowhere")}, []string{"500"}, 0, `secret "nowhere"`},
		"an error in an answer": {[]Backend{{Kagi, s.URL + "/kagi", "k"}}, []string{"kagi"}, 0, "no balance"},
	} {
		s.seen = nil
		got, err := search(t, &wire{}, keys{"k": "k3y"}, map[string]string{"query": "q"}, c.backends...)
		var asked []string
		for _, r := range s.seen {
			asked = append(asked, strings.Split(r.path, "/")[1])
		}
		if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "k3y")) || c.fails == "" && err != nil || len(got) != c.found {
			t.Errorf("%s: %d found, %v", name, len(got), err)
		}
		if name != "not from duckduckgo" && !slices.Equal(asked, c.asked) {
			t.Errorf("%s: asked %v", name, asked)
		}
	}
}

func TestNetworkFailureOfAll(t *testing.T) {
	s := newSite(t, nil)
	s.Close()
	if _, err := search(t, &wire{}, nil, map[string]string{"query": "q"}, Backend{Kind: SearXNG, APIBase: s.URL}); !errors.Is(err, extension.ErrNetwork) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &wire{}
	_, err := tools(t, nil)["web_search"].Run(ctx, extension.Call{Lent: extension.Lent{Host: w}}, json.RawMessage(`{"query":"q"}`))
	if !errors.Is(err, context.Canceled) || len(w.asked) > 0 {
		t.Errorf("out of time: %v, asked %d", err, len(w.asked))
	}
}

// What comes back is short, plain and leads to the web, whatever the service says.
func TestHostileResults(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	s := newSite(t, map[string]http.HandlerFunc{"/search": answer(`{"results":[
		{"title":"script","url":"javascript:alert(1)","content":"c"},
		{"title":"file","url":"file:///etc/passwd","content":"c"},
		{"title":"none","url":"","content":"c"},
		{"title":"malformed","url":"http://[::1","content":"c"},
		{"title":"relative","url":"/search","content":"c"},
		{"title":"long","url":"https://a.example/` + strings.Repeat("x", 3000) + `","content":"c"},
		null,
		{"title":"` + long + `","url":" https://a.example/ok ","content":"a\n\n\tb <tool_output> & \u0000 ` + long + `"}
	]}`)})
	text, err := call(t, tools(t, nil, Backend{Kind: SearXNG, APIBase: s.URL})["web_search"], &wire{}, map[string]string{"query": "q"})
	if err != nil {
		t.Fatal(err)
	}
	var got []Result
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 1 || got[0].URL != "https://a.example/ok" {
		t.Fatalf("%v, %.200s", err, text)
	}
	if len(got[0].Title) != 300 || len(got[0].Snippet) > 1000 || !strings.HasPrefix(got[0].Snippet, "a b <tool_output> & ") || strings.Contains(text, `\u003c`) {
		t.Errorf("%d, %d, %.80q", len(got[0].Title), len(got[0].Snippet), got[0].Snippet)
	}
}

func TestBackendCheck(t *testing.T) {
	for _, b := range []Backend{
		{Kagi, "", "k"},
		{Tavily, "", "k"},
		{Brave, "", "k"},
		{Serper, "https://proxy.example:8443/serper/", "k"},
		{SearXNG, "http://127.0.0.1:8888", ""},
		{SearXNG, "http://searx.local", "k"},
		{DuckDuckGo, "", ""},
	} {
		if err := b.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, b := range []Backend{
		{},
		{"google", "https://google.com", "k"},
		{Kagi, "", ""},
		{Brave, "https://x.example", ""},
		{SearXNG, "", ""},
		{SearXNG, "searx.local", ""},
		{SearXNG, "ftp://searx.local", ""},
		{SearXNG, "http://", ""},
		{SearXNG, "http://a b", ""},
		{SearXNG, "http://u:p@searx.local", ""},
		{SearXNG, "http://searx.local/?q=1", ""},
		{SearXNG, "http://x/#a", ""},
	} {
		if b.Check() == nil {
			t.Errorf("%+v was taken", b)
		}
		if _, err := New([]Backend{{Kind: DuckDuckGo}, b}).Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}}); err == nil {
			t.Errorf("%+v: instantiated", b)
		}
	}
}

func TestAddresses(t *testing.T) {
	if got := Addresses(nil); !slices.Equal(got, []string{"https://html.duckduckgo.com"}) {
		t.Error(got)
	}
	got := Addresses([]Backend{{Kind: SearXNG, APIBase: "http://10.0.0.1"}, {Kind: Kagi, Secret: "k"}, {Kind: SearXNG, APIBase: "http://10.0.0.1"}})
	if !slices.Equal(got, []string{"http://10.0.0.1", "https://kagi.com"}) {
		t.Error(got)
	}
	for kind, s := range services() {
		if u, err := url.Parse(s.base); s.base != "" && (err != nil || u.Scheme != "https") || s.base == "" && kind != SearXNG {
			t.Errorf("%s: %q", kind, s.base)
		}
	}
}
