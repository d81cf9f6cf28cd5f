package web

import (
	"fmt"
	"net/url"
	"slices"
)

// Kind is a search service; its value is the form in the configuration.
type Kind string

// The search services.
const (
	Kagi       Kind = "kagi"
	Tavily     Kind = "tavily"
	Brave      Kind = "brave"
	Serper     Kind = "serper"
	SearXNG    Kind = "searxng"
	DuckDuckGo Kind = "duckduckgo"
)

// Backend is one search service as the operator has set it up.
type Backend struct {
	Kind Kind
	// APIBase is the address before the path of the service's API; "" is the service's own. A searxng
	// has none of its own.
	APIBase string
	// Secret names the secret that holds the key. Only searxng and duckduckgo work without.
	Secret string
}

// Check reports what is wrong with a back end.
func (b Backend) Check() error {
	s, known := services()[b.Kind]
	switch {
	case !known:
		return fmt.Errorf("check search back end: unknown kind %.40q", string(b.Kind))
	case s.keyed && b.Secret == "":
		return fmt.Errorf("check search back end %s: it needs the name of a secret with its key", b.Kind)
	case b.address() == "":
		return fmt.Errorf("check search back end %s: it needs api_base", b.Kind)
	}
	u, err := url.Parse(b.address())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("check search back end %s: api_base must be an address such as %q, without user, query and fragment", b.Kind, "https://search.example")
	}
	return nil
}

func (b Backend) address() string {
	if b.APIBase != "" {
		return b.APIBase
	}
	return services()[b.Kind].base
}

// Addresses returns the base addresses that web_search fetches from, for the grants of that tool:
// what the operator has named may lie in a private network.
func Addresses(backends []Backend) []string {
	var out []string
	for _, b := range withDefault(backends) {
		if a := b.address(); a != "" && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func withDefault(backends []Backend) []Backend {
	if len(backends) == 0 {
		return []Backend{{Kind: DuckDuckGo}}
	}
	return slices.Clone(backends)
}
