package fs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

type files struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	const name = "fs"
	return files{extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookTool},
		},
		Scopes: []extension.Scope{extension.Global},
	}}
}

// Declaration implements [extension.Extension].
func (f files) Declaration() extension.Declaration { return f.decl }

// Instantiate implements [extension.Extension].
func (files) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate fs: there is nothing at scope %s", s.Scope())
	}
	w := writer{make(chan struct{}, 1)}
	return &extension.Instance{Tools: []extension.Tool{readTool(), w.writeTool(), w.editTool()}}, nil
}

// writer makes writes of this peer's agents wait for each other: an edit reads, then writes, and
// what another call wrote in between would be lost.
type writer struct{ turn chan struct{} }

// do runs fn alone, or returns ctx's error.
func (w writer) do(ctx context.Context, fn func() error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turn }()
	return fn()
}

func writePolicy() extension.Policy {
	return extension.Policy{Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic}
}

// tool adapts a function that needs files.
func tool[A any](run func(ctx context.Context, f extension.Files, a A) (string, error)) func(context.Context, extension.Call, json.RawMessage) (string, error) {
	return extension.Typed(func(ctx context.Context, c extension.Call, a A) (string, error) {
		if c.Lent.Host == nil {
			return "", fmt.Errorf("open file: no door to files: %w", extension.ErrGrant)
		}
		return run(ctx, c.Lent.Host.Files(), a)
	})
}
