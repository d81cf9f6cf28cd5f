package securitywarnings

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/chaz-peer/chaz-peer/extension"
)

type warnings struct {
	decl extension.Declaration
	log  *slog.Logger
}

// New returns the extension, which warns in log; nil warns nowhere.
func New(log *slog.Logger) extension.Extension {
	const name = "security_warnings"
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return warnings{extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookToolResult},
		},
		Scopes: []extension.Scope{extension.Global},
	}, log}
}

// Declaration implements [extension.Extension].
func (w warnings) Declaration() extension.Declaration { return w.decl }

// Instantiate implements [extension.Extension].
func (w warnings) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate security_warnings: there is nothing at scope %s", s.Scope())
	}
	scan := newScanner()
	return &extension.Instance{Hooks: extension.Hooks{
		ToolResult: func(ctx context.Context, c extension.Call, t extension.ToolResultInput) (extension.ResultDecision, error) {
			found, err := scan.find(ctx, t.Result)
			if len(found) > 0 {
				// The names alone: the text itself would give instructions to whoever reads the log.
				w.log.Warn("a tool's result looks like it gives instructions",
					"tool", t.Tool, "patterns", found, "session", c.Session.String(), "agent", c.Agent.Name)
			}
			return extension.ResultDecision{}, err
		},
	}}, nil
}
