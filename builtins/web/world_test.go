package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

// wire is a door to the network without any check, which notes what goes through.
type wire struct {
	mu    sync.Mutex
	asked []extension.FetchRequest
	// loose keeps more of a body than it was asked for.
	loose bool
}

func (w *wire) Files() extension.Files { return nil }

func (w *wire) Shell(context.Context, extension.ShellCommand) (extension.ShellResult, error) {
	return extension.ShellResult{}, extension.ErrGrant
}

func (w *wire) Fetch(ctx context.Context, r extension.FetchRequest) (extension.FetchResponse, error) {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return extension.FetchResponse{}, fmt.Errorf("fetch %.80q: %w", r.URL, extension.ErrArgument)
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return extension.FetchResponse{}, fmt.Errorf("fetch %.80q: %w: %w", r.URL, extension.ErrNetwork, err)
	}
	defer res.Body.Close()
	limit := r.Limit
	if w.loose {
		limit = 8 << 20
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return extension.FetchResponse{}, fmt.Errorf("fetch %.80q: %w: %w", r.URL, extension.ErrNetwork, err)
	}
	out := extension.FetchResponse{Status: res.Status, Code: res.StatusCode, Body: body, URL: res.Request.URL.String()}
	if int64(len(body)) > limit {
		out.Body, out.Cut = body[:limit], true
	}
	return out, nil
}

// keys are secrets in memory.
type keys map[string]string

func (k keys) Secret(_ context.Context, name string) (string, error) {
	if v, there := k[name]; there {
		return v, nil
	}
	return "", extension.ErrNotFound
}

// site is a server at home with handlers by path.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

type seen struct {
	method, path, query, body string
	header                    http.Header
}

func newSite(t testing.TB, handlers map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, seen{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header})
		s.mu.Unlock()
		if h, there := handlers[r.URL.Path]; there {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func tools(t testing.TB, secrets extension.Secrets, backends ...Backend) map[string]extension.Tool {
	t.Helper()
	i, err := New(backends).Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{Secrets: secrets}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]extension.Tool{}
	for _, tool := range i.Tools {
		out[tool.Name] = tool
	}
	return out
}

func call(t testing.TB, tool extension.Tool, h extension.Host, args any) (string, error) {
	t.Helper()
	raw, ok := args.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(args)
	}
	return tool.Run(t.Context(), extension.Call{Lent: extension.Lent{Host: h}}, raw)
}

func TestConformance(t *testing.T) {
	extensiontest.Run(t, New(nil), extensiontest.Handles{Peer: &extension.Peer{Clock: crdt.NewManualClock(0), Secrets: keys{}}})
}

func TestDeclaration(t *testing.T) {
	if err := New(nil).Declaration().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New(nil).Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
	for name, want := range map[string]extension.Policy{
		"web_fetch":  {Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic},
		"web_search": {Risk: extension.LowRisk, Approval: extension.NeverAsk},
	} {
		tool := tools(t, nil)[name]
		p := tool.Policy.Fill()
		if p.Risk != want.Risk || p.Approval != want.Approval || p.Timeout != extension.DefaultTimeout {
			t.Errorf("%s: %+v", name, p)
		}
		if _, err := call(t, tool, nil, map[string]string{"url": "http://x", "query": "x"}); !errors.Is(err, extension.ErrGrant) {
			t.Errorf("%s without a host: %v", name, err)
		}
	}
}
