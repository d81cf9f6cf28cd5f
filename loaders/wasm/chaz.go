package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// The exports of chaz-ext-1. Each takes one JSON object and returns one; a guest exports what it needs.
// Any answer may be {"error": text} instead, which is the guest's way to fail in words; so is a return
// value other than 0 with an error set. "who" stands for the fields that say in whose name the call is
// made: "session" (an id, absent outside one), "agent" ({"id", "name"}, absent where there is none) and
// "depth" (of spawned sessions, absent for 0).
//
//	chaz_manifest   {}                                  → {"name", "version"}: must equal the packaged ones
//	chaz_tool_list  {}                                  → {"tools": [{"name", "description", "input_schema"}]}
//	chaz_tool_call  {who, "name", "arguments"}          → {"text"}, or MCP's {"content", "isError"}
//	chaz_command    {who, "name", "args"}               → {"text"}
//	chaz_hook       {who, "kind", "payload"}            → a decision, see hooks.go
//	chaz_context    {who, "kind", "tools": [names]}     → {"text"}; kind is "prompt" or "tail"
//	chaz_status     {}                                  → {"segments": {key: short text}}
//	chaz_routine    {"routine", "scope", "payload"}     → {}
//	chaz_provide    {who, "cap", "op", "input"}         → {"ok": output}, see provide.go
//	chaz_shutdown   {}                                  → {}; half a second
const (
	exportManifest = "chaz_manifest"
	exportToolList = "chaz_tool_list"
	exportToolCall = "chaz_tool_call"
	exportCommand  = "chaz_command"
	exportHook     = "chaz_hook"
	exportContext  = "chaz_context"
	exportStatus   = "chaz_status"
	exportRoutine  = "chaz_routine"
	exportProvide  = "chaz_provide"
	exportShutdown = "chaz_shutdown"
)

// chazFunction is the one host function of chaz-ext-1, in extism:host/user; ops.go has what it does.
const chazFunction = "chaz_host"

// chaz1 is chaz-ext-1.
type chaz1 struct{}

func (chaz1) user() []string { return []string{chazFunction} }
func (chaz1) lister() string { return exportToolList }

func (chaz1) list(ctx context.Context, g *guest) ([]DeclaredTool, error) {
	if !g.has(ctx, exportToolList) {
		return nil, nil
	}
	var out struct {
		Tools []DeclaredTool `json:"tools"`
	}
	if err := g.ask(ctx, exportToolList, extension.Call{}, g.x.toolLimit(), struct{}{}, &out); err != nil {
		return nil, err
	}
	return out.Tools, nil
}

type toolCall struct {
	who
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (chaz1) call(ctx context.Context, g *guest, c extension.Call, name string, args json.RawMessage) (string, error) {
	var out struct {
		Text *string `json:"text"`
		mcpResult
	}
	b, s, err := g.call(ctx, exportToolCall, c, g.x.toolLimit(), toolCall{whoOf(c), name, args})
	if err != nil {
		return "", err
	}
	if err := g.read(s, exportToolCall, b, &out); err != nil {
		return "", err
	}
	switch {
	case out.Text != nil:
		return g.result(s, *out.Text, out.IsError)
	case out.Content == nil && out.Structured == nil && !out.IsError:
		return "", g.nonsense(exportToolCall, errors.New(`neither "text" nor "content"`))
	}
	return g.result(s, out.mcpResult.text(), out.IsError)
}

// instance brings what was declared. What is declared and not exported is an error: it would be missed
// in silence.
func (chaz1) instance(ctx context.Context, g *guest) (*extension.Instance, error) {
	if err := g.introduce(ctx); err != nil {
		return nil, err
	}
	i, err := g.toolsOnly(ctx)
	if err != nil {
		return nil, err
	}
	if len(i.Tools) > 0 && !g.has(ctx, exportToolCall) {
		return nil, lacks(exportToolCall, "lists tools")
	}
	for _, bring := range []func(context.Context, *extension.Instance) error{g.commands, g.hooks, g.contexts, g.provides} {
		if err := bring(ctx, i); err != nil {
			return nil, err
		}
	}
	// Fires go to the Global instance; code that lives in one session alone has none.
	if (g.scope == extension.Global || !g.x.decl.LivesAt(extension.Global)) && g.scope != extension.PerAgent && g.has(ctx, exportRoutine) {
		i.Routine = g.routine
	}
	return i, nil
}

func lacks(export, what string) error {
	return fmt.Errorf("it %s, but the module does not export %s", what, export)
}

// introduce asks the guest who it is, if it can say, and holds that against the package.
func (g *guest) introduce(ctx context.Context) error {
	if !g.has(ctx, exportManifest) {
		return nil
	}
	var out struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if err := g.ask(ctx, exportManifest, g.home, g.x.eventLimit(), struct{}{}, &out); err != nil {
		return err
	}
	if out.Name != g.x.decl.Name || g.x.m.Version != "" && out.Version != g.x.m.Version {
		return fmt.Errorf("the module says that it is %s %s, its package %s %s",
			line(out.Name, 80), line(out.Version, 80), g.x.decl.Name, line(g.x.m.Version, 80))
	}
	return nil
}

type commandCall struct {
	who
	Name string `json:"name"`
	Args string `json:"args"`
}

func (g *guest) commands(ctx context.Context, i *extension.Instance) error {
	if len(g.x.decl.Commands) == 0 {
		return nil
	}
	if !g.has(ctx, exportCommand) {
		return lacks(exportCommand, "declares commands")
	}
	for _, name := range g.x.decl.Commands {
		usage := ""
		if n := slices.IndexFunc(g.x.m.Commands, func(c DeclaredCommand) bool { return c.Name == name }); n >= 0 {
			usage = line(g.x.m.Commands[n].Help, 200)
		}
		i.Commands = append(i.Commands, extension.Command{Name: name, Usage: usage, Run: func(ctx context.Context, c extension.Call, args string) (string, error) {
			return g.text(ctx, exportCommand, c, commandCall{whoOf(c), name, args}, g.x.toolLimit())
		}})
	}
	return nil
}

// maxShown is the longest text for the eyes of people or a prompt, in characters.
const maxShown = 64 << 10

// text asks for {"text"}, and cleans it: it goes to terminals and prompts as it is.
func (g *guest) text(ctx context.Context, export string, c extension.Call, in any, limit time.Duration) (string, error) {
	var out struct {
		Text string `json:"text"`
	}
	if err := g.ask(ctx, export, c, limit, in, &out); err != nil {
		return "", err
	}
	return visible(g.x.secrets.hide(out.Text), maxShown), nil
}

type fireCall struct {
	Routine string          `json:"routine"`
	Scope   string          `json:"scope"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (g *guest) routine(ctx context.Context, f extension.Fire) error {
	in := fireCall{Routine: f.Routine, Scope: f.Scope}
	if len(f.Payload) > 0 {
		if !json.Valid(f.Payload) {
			return fmt.Errorf("extension %s: the payload of routine %s is not JSON: %w", g.x.decl.Name, line(f.Routine, 80), extension.ErrArgument)
		}
		in.Payload = f.Payload
	}
	return g.ask(ctx, exportRoutine, g.home, g.x.toolLimit(), in, new(struct{}))
}
