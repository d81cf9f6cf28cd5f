package system

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

func describeTool() extension.Tool {
	return extension.Tool{
		Name:        "describe_tool",
		Description: "Describe one of your tools in full, with its parameters; also one whose description is cut short or that is not listed.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "Exact name of the tool."}
			},
			"required": ["name"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(describe),
	}
}

type describeArgs struct {
	Name string `json:"name"`
}

func describe(_ context.Context, c extension.Call, a describeArgs) (string, error) {
	if c.Lent.Tools != nil {
		for _, t := range c.Lent.Tools() {
			if t.Name == a.Name {
				return description(t), nil
			}
		}
	}
	// The same words whether it is unknown or out of scope.
	return fmt.Sprintf("There is no tool %.80q that you can use.", a.Name), nil
}

func description(t extension.ToolInfo) string {
	var b strings.Builder
	b.WriteString(t.Name + "\n" + t.Description + "\n")
	params := parameters(t.Parameters)
	if len(params) == 0 {
		b.WriteString("No parameters.")
		return b.String()
	}
	b.WriteString("Parameters:")
	for _, p := range params {
		need := "optional"
		if p.required {
			need = "required"
		}
		fmt.Fprintf(&b, "\n- %s (%s, %s)", p.name, p.kind, need)
		if p.text != "" {
			b.WriteString(": " + p.text)
		}
	}
	return b.String()
}

// parameter is one property of a tool's schema.
type parameter struct {
	name, kind, text string
	required         bool
}

// parameters reads a schema, the required ones first, each group by name. What it can't read counts
// as not said: the schema may be anybody's.
func parameters(schema json.RawMessage) []parameter {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   json.RawMessage            `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var required []string
	_ = json.Unmarshal(s.Required, &required)
	out := make([]parameter, 0, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var p map[string]json.RawMessage
		_ = json.Unmarshal(s.Properties[name], &p)
		var text string
		_ = json.Unmarshal(p["description"], &text)
		out = append(out, parameter{
			name: name, kind: kind(p["type"]), text: strings.Join(strings.Fields(text), " "),
			required: slices.Contains(required, name),
		})
	}
	slices.SortStableFunc(out, func(a, b parameter) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return out
}

// kind reads a type: a name, several names, or nothing, which is any.
func kind(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return one
	}
	var several []string
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		return strings.Join(several, " or ")
	}
	return "any"
}
