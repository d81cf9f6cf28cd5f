package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// What chaz_hook gets as "payload" and answers, by "kind":
//
//	tool_call           {"tool", "args"}    → {"decision": "allow" | "modify" | "deny" | "ask", "args", "reason"}
//	tool_result         {"tool", "result"}  → {"decision": "keep" | "replace" | "annotate" | "block", "text"}
//	before_agent_start  {}                  → {"messages": [{"role", "content"}]}
//	agent_end, session_start, session_shutdown  {}  → {}
//
// No "decision" is the first one. Kinds that see or change others' business are called only with a
// grant; where it is to observe, what they decide is not followed, and their failure means nothing.
type hookCall struct {
	who
	Kind    extension.HookKind `json:"kind"`
	Payload any                `json:"payload"`
}

type hookAnswer struct {
	Decision string              `json:"decision"`
	Args     json.RawMessage     `json:"args"`
	Reason   string              `json:"reason"`
	Text     string              `json:"text"`
	Messages []extension.Message `json:"messages"`
}

// hooks brings the declared hooks that the guest may have.
func (g *guest) hooks(ctx context.Context, i *extension.Instance) error {
	for _, k := range g.x.decl.Hooks {
		if k == extension.HookTool || k == extension.HookCommand {
			continue
		}
		if !g.has(ctx, exportHook) {
			return lacks(exportHook, "declares the hook "+string(k))
		}
		if g.x.gate.sees(k) {
			g.hook(k, &i.Hooks)
		}
	}
	return nil
}

func (g *guest) hook(k extension.HookKind, h *extension.Hooks) {
	tell := func(ctx context.Context, c extension.Call) error {
		_, err := g.askHook(ctx, c, k, struct{}{})
		return err
	}
	switch k {
	case extension.HookToolCall:
		h.ToolCall = g.toolCallHook
	case extension.HookToolResult:
		h.ToolResult = g.toolResultHook
	case extension.HookBeforeAgentStart:
		h.BeforeAgentStart = g.beforeAgentStartHook
	case extension.HookAgentEnd:
		h.AgentEnd = tell
	case extension.HookSessionStart:
		h.SessionStart = tell
	case extension.HookSessionShutdown:
		h.SessionShutdown = tell
	}
}

func (g *guest) askHook(ctx context.Context, c extension.Call, k extension.HookKind, payload any) (hookAnswer, error) {
	var out hookAnswer
	err := g.ask(ctx, exportHook, c, g.x.eventLimit(), hookCall{whoOf(c), k, payload}, &out)
	return out, err
}

// follows reports whether a decision counts. One that changes nothing needs no grant.
func (g *guest) follows(c extension.Call, k extension.HookKind, what string) bool {
	if g.x.gate.has(OpHook, string(k)) {
		return true
	}
	_, key := OpHook.words(string(k))
	g.x.gate.emit(&callState{call: c}, Event{
		Op: OpHook, Target: string(k), Outcome: Ignored,
		Detail: fmt.Sprintf("%s: it was granted to observe only; declare modify under capabilities.%s", line(what, 200), key),
	})
	return false
}

// observed makes the failure of a hook that only observes neutral, also where it would deny.
func (g *guest) observed(k extension.HookKind, err error) error {
	if err == nil || g.x.gate.has(OpHook, string(k)) {
		return err
	}
	g.x.note("error", "hook "+string(k)+": "+err.Error())
	return nil
}

func (g *guest) toolCallHook(ctx context.Context, c extension.Call, t extension.ToolCallInput) (extension.CallDecision, error) {
	allow := extension.CallDecision{Verdict: extension.Allow}
	if !json.Valid(t.Args) {
		t.Args = nil
	}
	out, err := g.askHook(ctx, c, extension.HookToolCall, t)
	if err != nil {
		return allow, g.observed(extension.HookToolCall, err)
	}
	d := extension.CallDecision{Verdict: extension.Verdict(out.Decision), Reason: g.x.clean(out.Reason, 500)}
	switch d.Verdict {
	case "", extension.Allow:
		return allow, nil
	case extension.Deny, extension.Ask:
	case extension.Modify:
		out.Args, _ = g.x.secrets.hideJSON(out.Args) // arguments are written down
		if !isObject(out.Args) {
			return allow, g.observed(extension.HookToolCall, g.nonsense(exportHook, errors.New("it changes the arguments to what is no JSON object")))
		}
		d.Args = out.Args
	default:
		return allow, g.observed(extension.HookToolCall, g.nonsense(exportHook, fmt.Errorf("the decision %.40q", line(out.Decision, 40))))
	}
	if !g.follows(c, extension.HookToolCall, string(d.Verdict)+" "+t.Tool) {
		return allow, nil
	}
	return d, nil
}

func (g *guest) toolResultHook(ctx context.Context, c extension.Call, t extension.ToolResultInput) (extension.ResultDecision, error) {
	keep := extension.ResultDecision{Treatment: extension.Keep}
	out, err := g.askHook(ctx, c, extension.HookToolResult, t)
	if err != nil {
		return keep, g.observed(extension.HookToolResult, err)
	}
	d := extension.ResultDecision{Treatment: extension.Treatment(out.Decision), Text: g.x.secrets.hide(out.Text)}
	switch d.Treatment {
	case "", extension.Keep:
		return keep, nil
	case extension.Replace, extension.Annotate, extension.Block:
	default:
		return keep, g.observed(extension.HookToolResult, g.nonsense(exportHook, fmt.Errorf("the decision %.40q", line(out.Decision, 40))))
	}
	if !g.follows(c, extension.HookToolResult, string(d.Treatment)+" the result of "+t.Tool) {
		return keep, nil
	}
	return d, nil
}

func (g *guest) beforeAgentStartHook(ctx context.Context, c extension.Call) ([]extension.Message, error) {
	out, err := g.askHook(ctx, c, extension.HookBeforeAgentStart, struct{}{})
	if err != nil {
		return nil, g.observed(extension.HookBeforeAgentStart, err)
	}
	if len(out.Messages) == 0 || !g.follows(c, extension.HookBeforeAgentStart, fmt.Sprintf("%d messages", len(out.Messages))) {
		return nil, nil
	}
	for i, m := range out.Messages {
		if !slices.Contains([]string{"system", "user", "assistant"}, m.Role) {
			return nil, g.nonsense(exportHook, fmt.Errorf("a message with the role %.40q", line(m.Role, 40)))
		}
		out.Messages[i].Content = visible(g.x.secrets.hide(m.Content), maxShown)
	}
	return out.Messages, nil
}

// isObject reports whether a text is one JSON object.
func isObject(text json.RawMessage) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}
