package pathnormalizer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

type normalizer struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	const name = "path_normalizer"
	return normalizer{extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookToolCall},
		},
		Scopes: []extension.Scope{extension.Global},
	}}
}

// Declaration implements [extension.Extension].
func (n normalizer) Declaration() extension.Declaration { return n.decl }

// Instantiate implements [extension.Extension].
func (normalizer) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate path_normalizer: there is nothing at scope %s", s.Scope())
	}
	return &extension.Instance{Hooks: extension.Hooks{ToolCall: normalize}}, nil
}

// normalize changes the path of a file tool and leaves everything else as it is.
func normalize(_ context.Context, _ extension.Call, t extension.ToolCallInput) (extension.CallDecision, error) {
	switch t.Tool {
	case "read_file", "write_file", "edit_file":
	default:
		return extension.CallDecision{}, nil
	}
	// What can't be read is not for this hook to judge: the schema is checked elsewhere.
	var args map[string]json.RawMessage
	var path string
	if json.Unmarshal(t.Args, &args) != nil || json.Unmarshal(args["path"], &path) != nil {
		return extension.CallDecision{}, nil
	}
	short := strings.TrimRight(path, "/")
	if short == "" && path != "" {
		short = "/"
	}
	if short == path {
		return extension.CallDecision{}, nil
	}
	var err error
	if args["path"], err = json.Marshal(short); err != nil {
		return extension.CallDecision{}, err
	}
	changed, err := json.Marshal(args)
	if err != nil {
		return extension.CallDecision{}, err
	}
	return extension.CallDecision{Verdict: extension.Modify, Args: changed}, nil
}
