package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// mcpTool is a tool in MCP's own shape.
type mcpTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// mcpRequest is a request in MCP's own shape.
type mcpRequest struct {
	Method string    `json:"method"`
	Params mcpParams `json:"params"`
}

// mcpParams are those of tools/call.
type mcpParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// mcpResult is what a tool answers.
type mcpResult struct {
	Content    []mcpContent    `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

type mcpContent struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"` // base64
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"` // base64
	} `json:"resource"`
}

// mcpV1 is extism-mcp-v1: describe lists, call calls.
type mcpV1 struct{}

func (mcpV1) user() []string { return nil }
func (mcpV1) lister() string { return "describe" }

func (mcpV1) list(ctx context.Context, g *guest) ([]DeclaredTool, error) {
	var out struct {
		Tools []mcpTool `json:"tools"`
	}
	if err := g.ask(ctx, "describe", extension.Call{}, g.x.toolLimit(), nil, &out); err != nil {
		return nil, err
	}
	return fromMCP(out.Tools), nil
}

func (mcpV1) call(ctx context.Context, g *guest, c extension.Call, name string, args json.RawMessage) (string, error) {
	return g.mcpCall(ctx, "call", c, mcpRequest{"tools/call", mcpParams{name, args}})
}

func (mcpV1) instance(ctx context.Context, g *guest) (*extension.Instance, error) {
	return g.toolsOnly(ctx)
}

// mcpV2 is extism-mcp-v2: list_tools and call_tool, with the request under "request". Prompts, resources
// and completions of a guest are never asked for: the contract has no place for them.
type mcpV2 struct{}

func (mcpV2) user() []string { return mcpFunctions() }
func (mcpV2) lister() string { return "list_tools" }

// maxPages is how many pages of a list are read.
const maxPages = 16

func (mcpV2) list(ctx context.Context, g *guest) ([]DeclaredTool, error) {
	var tools []DeclaredTool
	cursor := ""
	for range maxPages {
		request := map[string]any{}
		if cursor != "" {
			request["cursor"] = cursor
		}
		var out struct {
			Tools      []mcpTool `json:"tools"`
			NextCursor string    `json:"nextCursor"`
		}
		if err := g.ask(ctx, "list_tools", extension.Call{}, g.x.toolLimit(), mcpEnvelope("list_tools", request), &out); err != nil {
			return nil, err
		}
		tools = append(tools, fromMCP(out.Tools)...)
		if out.NextCursor == "" || len(tools) > maxTools {
			return tools, nil
		}
		cursor = out.NextCursor
	}
	return nil, fmt.Errorf("the list has more than %d pages", maxPages)
}

func (mcpV2) call(ctx context.Context, g *guest, c extension.Call, name string, args json.RawMessage) (string, error) {
	return g.mcpCall(ctx, "call_tool", c, mcpEnvelope("call_tool", mcpParams{name, args}))
}

func (mcpV2) instance(ctx context.Context, g *guest) (*extension.Instance, error) {
	return g.toolsOnly(ctx)
}

// mcpEnvelope wraps a request. The id names the kind of request alone: a guest learns nothing of others.
func mcpEnvelope(id string, request any) map[string]any {
	return map[string]any{"request": request, "context": map[string]any{"id": id, "_meta": map[string]any{}}}
}

func fromMCP(list []mcpTool) []DeclaredTool {
	out := make([]DeclaredTool, len(list))
	for i, t := range list {
		out[i] = DeclaredTool(t)
	}
	return out
}

// toolsOnly is the instance of a guest that has nothing but tools.
func (g *guest) toolsOnly(ctx context.Context) (*extension.Instance, error) {
	if g.x.m.Tools != nil && len(g.x.m.Tools) == 0 {
		return &extension.Instance{}, nil
	}
	tools, err := g.tools(ctx)
	if err != nil {
		return nil, err
	}
	return &extension.Instance{Tools: tools}, nil
}

// mcpCall calls a tool and makes a text of what it answers.
func (g *guest) mcpCall(ctx context.Context, export string, c extension.Call, in any) (string, error) {
	b, s, err := g.call(ctx, export, c, g.x.toolLimit(), in)
	if err != nil {
		return "", err
	}
	var out *mcpResult
	if err := json.Unmarshal(b, &out); err != nil {
		return "", g.nonsense(export, err)
	}
	if out == nil {
		return "", g.nonsense(export, errors.New("null"))
	}
	return g.result(s, out.text(), out.IsError)
}

// result is a tool's answer as text or as error.
func (g *guest) result(s *callState, text string, failed bool) (string, error) {
	if !failed {
		return text, nil
	}
	if strings.TrimSpace(text) == "" {
		text = "the tool failed and said nothing"
	}
	return "", g.reported(s, text)
}

// text joins the text items; what is no text is described in words.
func (r *mcpResult) text() string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.words())
	}
	if len(parts) == 0 && len(r.Structured) > 0 && string(r.Structured) != "null" {
		return string(r.Structured)
	}
	return strings.Join(parts, "\n")
}

func (c mcpContent) words() string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "image", c.Type == "audio":
		return fmt.Sprintf("[%s, %s, about %d bytes; not shown]", c.Type, kindOf(c.MimeType), len(c.Data)/4*3)
	case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
		return fmt.Sprintf("[resource %s]\n%s", line(c.Resource.URI, 200), *c.Resource.Text)
	case c.Type == "resource" && c.Resource != nil:
		return fmt.Sprintf("[resource %s, %s, about %d bytes; not shown]", line(c.Resource.URI, 200), kindOf(c.Resource.MimeType), len(c.Resource.Blob)/4*3)
	case c.Type == "resource", c.Type == "resource_link":
		return fmt.Sprintf("[resource %s %s]", line(c.URI, 200), line(c.Name, 80))
	}
	return fmt.Sprintf("[content of the unknown type %q; not shown]", line(c.Type, 40))
}

func kindOf(mime string) string {
	if mime = line(mime, 80); mime != "" {
		return mime
	}
	return "of unknown kind"
}
