package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

type web struct {
	decl     extension.Declaration
	backends []Backend
}

// New returns the extension. The back ends are asked in this order, the next one when one fails;
// none is DuckDuckGo alone.
func New(backends []Backend) extension.Extension {
	const name = "web"
	return web{extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookTool},
		},
		Scopes: []extension.Scope{extension.Global},
	}, withDefault(backends)}
}

// Declaration implements [extension.Extension].
func (w web) Declaration() extension.Declaration { return w.decl }

// Instantiate implements [extension.Extension]. A back end that makes no sense is an error.
func (w web) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate web: there is nothing at scope %s", s.Scope())
	}
	for _, b := range w.backends {
		if err := b.Check(); err != nil {
			return nil, fmt.Errorf("instantiate web: %w", err)
		}
	}
	search := searcher{w.backends, s.Handles().Secrets}
	return &extension.Instance{Tools: []extension.Tool{fetchTool(), search.tool()}}, nil
}

// tool adapts a function that needs the network.
func tool[A any](run func(ctx context.Context, h extension.Host, a A) (string, error)) func(context.Context, extension.Call, json.RawMessage) (string, error) {
	return extension.Typed(func(ctx context.Context, c extension.Call, a A) (string, error) {
		if c.Lent.Host == nil {
			return "", fmt.Errorf("fetch: no door to the network: %w", extension.ErrGrant)
		}
		return run(ctx, c.Lent.Host, a)
	})
}

// firstBytes cuts a text at n bytes or less, between characters.
func firstBytes(text string, n int) (first string, cut bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// decode makes bytes a text, what is no UTF-8 as U+FFFD. Of a body that was cut a character in
// pieces at the end is left out.
func decode(body []byte, cut bool) string {
	for i := 1; cut && i < utf8.UTFMax && i <= len(body); i++ {
		if tail := body[len(body)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				body = body[:len(body)-i]
			}
			break
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}
