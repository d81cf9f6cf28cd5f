package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

type system struct{ decl extension.Declaration }

// New returns the extension.
func New() extension.Extension {
	const name = "system"
	return system{extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookTool},
		},
		Scopes: []extension.Scope{extension.Global},
	}}
}

// Declaration implements [extension.Extension].
func (s system) Declaration() extension.Declaration { return s.decl }

// Instantiate implements [extension.Extension].
func (system) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	if s.Scope() != extension.Global {
		return nil, fmt.Errorf("instantiate system: there is nothing at scope %s", s.Scope())
	}
	clock := s.Handles().Clock
	if clock == nil {
		return nil, errors.New("instantiate system: there is no clock")
	}
	return &extension.Instance{Tools: []extension.Tool{timeTool(clock.Now), calculateTool(), describeTool()}}, nil
}

func timeTool(now func() time.Time) extension.Tool {
	return extension.Tool{
		Name:        "get_time",
		Description: "Tell the current date and time in UTC.",
		Parameters:  json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		Run: func(context.Context, extension.Call, json.RawMessage) (string, error) {
			return now().UTC().Format("2006-01-02T15:04:05-07:00"), nil
		},
	}
}

func calculateTool() extension.Tool {
	return extension.Tool{
		Name: "calculate",
		Description: "Work out an arithmetic expression in floating point: + - * / % (remainder) ^ (power), parentheses, " +
			"the constants pi, tau and e, and the functions " + functionNames() + ". Angles are in radians.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"expression": {"type": "string", "description": "For example: sqrt(2) * (3 + 4) ^ 2"}
			},
			"required": ["expression"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(runCalculate),
	}
}

type calculateArgs struct {
	Expression string `json:"expression"`
}

func runCalculate(_ context.Context, _ extension.Call, a calculateArgs) (string, error) {
	v, err := evaluate(a.Expression)
	if err != nil {
		return "", fmt.Errorf("calculate %.200q: %w", a.Expression, err)
	}
	return number(v), nil
}
