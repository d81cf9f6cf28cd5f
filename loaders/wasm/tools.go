package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Bounds of tools.
const (
	maxTools       = 256
	maxToolName    = 64   // with "<extension>__" before it
	maxDescription = 1024 // characters
	maxSchema      = 64 << 10
	maxSchemaDepth = 32
)

// toolName is the name under which a tool of an extension is offered.
func toolName(ext, tool string) string { return ext + "__" + tool }

// cleanTool makes a tool of a guest fit for people and models, or refuses it: nothing that has a meaning
// is cut.
func cleanTool(ext string, t DeclaredTool) (DeclaredTool, error) {
	full := toolName(ext, t.Name)
	if t.Name == "" || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return t, fmt.Errorf("the tool %.80q has a name of other characters than letters, digits, _ and -", line(t.Name, 80))
	}
	if len(full) > maxToolName {
		return t, fmt.Errorf("the tool name %.120s has %d characters; the limit is %d", full, len(full), maxToolName)
	}
	schema, err := cleanSchema(t.InputSchema)
	if err != nil {
		return t, fmt.Errorf("the input schema of the tool %s: %w", t.Name, err)
	}
	return DeclaredTool{Name: t.Name, Description: strings.TrimSpace(visible(t.Description, maxDescription)), InputSchema: schema}, nil
}

// cleanSchema returns the canonical text of a JSON Schema of an object, without invisible characters. A
// schema that refers to anything outside itself is refused.
func cleanSchema(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 || string(text) == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(text), maxSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("it is not JSON")
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no JSON object")
	}
	if fields["type"] == nil {
		fields["type"] = "object"
	}
	if fields["type"] != "object" {
		return nil, errors.New(`its type is not "object"`)
	}
	clean, err := cleanNode(fields, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(clean)
}

func cleanNode(v any, depth int) (any, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxSchemaDepth)
	}
	var err error
	switch n := v.(type) {
	case string:
		return visible(n, maxSchema), nil
	case []any:
		for i := range n {
			if n[i], err = cleanNode(n[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, x := range n {
			if strings.ContainsFunc(key, invisible) {
				return nil, fmt.Errorf("a key has invisible characters: %.80q", key)
			}
			if to, ok := x.(string); ok && refers(key) && !strings.HasPrefix(to, "#") {
				return nil, fmt.Errorf("it refers to something outside itself: %.80q", to)
			}
			if n[key], err = cleanNode(x, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func refers(key string) bool {
	return key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"
}

// cleanTools cleans a list, and says why a tool is left out.
func cleanTools(ext string, list []DeclaredTool) (tools []DeclaredTool, refused []string) {
	seen := map[string]bool{}
	for i, t := range list {
		if i == maxTools {
			return tools, append(refused, fmt.Sprintf("%d tools beyond the limit of %d", len(list)-i, maxTools))
		}
		c, err := cleanTool(ext, t)
		switch {
		case err != nil:
			refused = append(refused, err.Error())
		case seen[t.Name]:
			refused = append(refused, fmt.Sprintf("the tool %s is listed twice", t.Name))
		default:
			seen[t.Name] = true
			tools = append(tools, c)
		}
	}
	return tools, refused
}

// policy is how the tools of an extension are run. What only computes needs no approval. What can
// reach the world with its arguments is asked about like the built-in tools that do: that the powers
// were granted says nothing about what a model does with them.
func (x *Extension) policy() extension.Policy {
	c := x.m.Caps
	p := extension.Policy{Risk: extension.LowRisk, Approval: extension.NeverAsk}
	writes := c.SessionWrite || c.Messenger || c.Memory == extension.GuestWrite || c.LLM != nil || len(c.Caps) > 0
	if len(c.Net) > 0 || len(c.FS) > 0 || writes {
		p.Risk, p.Approval = extension.MediumRisk, extension.AskUnlessAutomatic
	}
	// A little more than the guest has, so that its own end is what is told.
	p.Timeout = x.toolLimit() + time.Second
	return p
}

// toolLimit is the time of a tool or a command; eventLimit that of everything else.
func (x *Extension) toolLimit() time.Duration {
	return time.Duration(x.limits.Deadline) * time.Millisecond
}

func (x *Extension) eventLimit() time.Duration { return min(x.toolLimit(), defaultDeadline) }

// tools lists the guest's tools and makes those that may be offered.
func (g *guest) tools(ctx context.Context) ([]extension.Tool, error) {
	list, err := g.list(ctx)
	if err != nil {
		return nil, err
	}
	policy := g.x.policy()
	out := make([]extension.Tool, 0, len(list))
	for _, t := range list {
		about := t.Description
		if about == "" {
			about = "(no description given)"
		}
		out = append(out, extension.Tool{
			Name: toolName(g.x.decl.Name, t.Name), Description: about, Parameters: t.InputSchema, Policy: policy,
			Run: func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
				return g.runTool(ctx, c, t.Name, args)
			},
		})
	}
	return out, nil
}

// list reads the guest's list, and leaves out what is unfit, not declared or not as it was trusted.
func (g *guest) list(ctx context.Context) ([]DeclaredTool, error) {
	raw, err := g.x.dialect.list(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	tools, refused := cleanTools(g.x.decl.Name, raw)
	for _, why := range refused {
		g.x.note("warn", why)
	}
	return g.x.screen(ctx, tools), nil
}

func (g *guest) runTool(ctx context.Context, c extension.Call, name string, args json.RawMessage) (string, error) {
	if why := g.x.known.hidden(name); why != "" {
		return "", fmt.Errorf("extension %s: %s; it needs to be looked at again before it is used", g.x.decl.Name, why)
	}
	if !isObject(args) {
		return "", fmt.Errorf("extension %s: the arguments are no JSON object: %w", g.x.decl.Name, extension.ErrArgument)
	}
	text, err := g.x.dialect.call(ctx, g, c, name, args)
	if err != nil {
		return "", err
	}
	return g.x.secrets.hide(text), nil
}
