package core

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

type core struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	const name = "core"
	return core{extension.Declaration{
		Manifest: extension.Manifest{
			Name:     name,
			Ref:      extension.BuiltinRef(name, extension.HostVersion),
			Hooks:    []extension.HookKind{extension.HookTool},
			Provides: []extension.Capability{extension.CapStatusSegment},
		},
		Scopes: []extension.Scope{extension.Global},
	}}
}

// Declaration implements [extension.Extension].
func (c core) Declaration() extension.Declaration { return c.decl }

// Instantiate implements [extension.Extension].
func (core) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate core: there is nothing at scope %s", s.Scope())
	}
	return &extension.Instance{
		Tools:         []extension.Tool{shellTool(), compactTool(), spawnAgentTool(), spawnWorkerTool()},
		StatusSegment: status,
	}, nil
}

// status tells under "mcp" how the MCP servers are. This version has none, and then there is nothing
// to tell.
func status(context.Context) (map[string]string, error) { return nil, nil }
