package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

const (
	searchTimeout  = 15 * time.Second // for each back end
	maxAnswer      = 1 << 20          // bytes of an answer of a back end
	maxResults     = 10
	defaultResults = 5
)

// searcher asks the back ends one after another.
type searcher struct {
	backends []Backend
	secrets  extension.Secrets
}

func (s searcher) tool() extension.Tool {
	return extension.Tool{
		Name:        "web_search",
		Description: "Search the web. Returns a JSON array of objects with title, url and snippet.",
		Parameters: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "What to look for."},
				"max_results": {"type": "integer", "minimum": 1, "maximum": %d, "description": "How many results, %d if not given."}
			},
			"required": ["query"],
			"additionalProperties": false
		}`, maxResults, defaultResults)),
		Run: tool(s.search),
	}
}

type searchArgs struct {
	Query      string `json:"query"`
	MaxResults *int   `json:"max_results"`
}

func (s searcher) search(ctx context.Context, h extension.Host, a searchArgs) (string, error) {
	n := defaultResults
	if a.MaxResults != nil {
		n = *a.MaxResults
	}
	query := strings.TrimSpace(a.Query)
	switch {
	case query == "":
		return "", fmt.Errorf("search: the query is blank: %w", extension.ErrArgument)
	case n < 1 || n > maxResults:
		return "", fmt.Errorf("search: max_results is %d, not 1 to %d: %w", n, maxResults, extension.ErrArgument)
	}
	var last error
	for _, b := range s.backends {
		if err := ctx.Err(); err != nil {
			return "", errors.Join(err, last)
		}
		found, err := s.ask(ctx, h, b, query, n)
		if err == nil {
			return render(found)
		}
		last = fmt.Errorf("search with %s: %w", b.Kind, err)
	}
	return "", last
}

// ask asks one back end.
func (s searcher) ask(ctx context.Context, h extension.Host, b Backend, query string, n int) ([]Result, error) {
	key, err := s.key(ctx, b)
	if err != nil {
		return nil, err
	}
	svc := services()[b.Kind]
	r := extension.FetchRequest{
		URL:    strings.TrimRight(b.address(), "/") + svc.path,
		Header: map[string]string{"Accept": "application/json"}, Timeout: searchTimeout, Limit: maxAnswer,
	}
	svc.ask(&r, key, query, n)
	answer, err := h.Fetch(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case answer.Code != http.StatusOK:
		return nil, fmt.Errorf("it answered %.80s", answer.Status)
	case answer.Cut || len(answer.Body) > maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	found, err := svc.read(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read its answer: %w", err)
	}
	found = clean(found, n)
	if len(found) == 0 && svc.emptyFails {
		return nil, errors.New("it gave no results")
	}
	return found, nil
}

// key reads the key of a back end; "" where none is named.
func (s searcher) key(ctx context.Context, b Backend) (string, error) {
	switch {
	case b.Secret == "":
		return "", nil
	case s.secrets == nil:
		return "", fmt.Errorf("read secret %.80q: there is no secret store", b.Secret)
	}
	key, err := s.secrets.Secret(ctx, b.Secret)
	if err != nil {
		return "", fmt.Errorf("read secret %.80q: %w", b.Secret, err)
	}
	return strings.TrimSpace(key), nil // an end of line has no place in a header
}

// render writes the results as a JSON array.
func render(found []Result) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the wrapper escapes; twice would be for nobody
	e.SetIndent("", "  ")
	if err := e.Encode(found); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}
