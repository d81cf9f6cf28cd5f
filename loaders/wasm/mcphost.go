package wasm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// mcpFunctions are the host functions of extism-mcp-v2. A guest that imports one does not load where
// it is missing.
func mcpFunctions() []string {
	return []string{
		"create_elicitation", "create_message", "list_roots", "notify_logging_message", "notify_progress",
		"notify_prompt_list_changed", "notify_resource_list_changed", "notify_resource_updated", "notify_tool_list_changed",
	}
}

// mcpUser answers one of them. An error ends the guest's call.
func (g *guest) mcpUser(ctx context.Context, name string, input []byte) ([]byte, error) {
	switch name {
	case "create_message":
		return g.createMessage(ctx, input)
	case "create_elicitation":
		return []byte(`{"action":"decline"}`), nil // nobody is there to be asked
	case "list_roots":
		return []byte(`{"roots":[]}`), nil
	case "notify_logging_message":
		g.logMessage(input)
	case "notify_tool_list_changed":
		if s := stateOf(ctx); s != nil {
			s.mu.Lock()
			s.relist = true
			s.mu.Unlock()
		}
	case "notify_progress", "notify_prompt_list_changed", "notify_resource_list_changed", "notify_resource_updated":
		// Nobody here waits for these.
	default:
		return nil, fmt.Errorf("there is no host function %.40q", name)
	}
	return nil, nil
}

func (g *guest) logMessage(input []byte) {
	var m struct {
		Level string          `json:"level"`
		Data  json.RawMessage `json:"data"`
	}
	if json.Unmarshal(input, &m) != nil {
		return
	}
	var text string
	if json.Unmarshal(m.Data, &text) != nil {
		text = string(m.Data)
	}
	g.Log(m.Level, text)
}

// createMessage is MCP's sampling.
func (g *guest) createMessage(ctx context.Context, input []byte) ([]byte, error) {
	if err := g.x.gate.allow(ctx, OpLLM, ""); err != nil {
		return nil, err
	}
	var in struct {
		Messages []struct {
			Role    string     `json:"role"`
			Content mcpContent `json:"content"`
		} `json:"messages"`
		System    string `json:"systemPrompt"`
		MaxTokens int64  `json:"maxTokens"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("create_message: the request is malformed: %s", line(err.Error(), 200))
	}
	r := SampleRequest{System: in.System, MaxTokens: in.MaxTokens}
	for _, m := range in.Messages {
		r.Messages = append(r.Messages, extension.Message{Role: m.Role, Content: m.Content.words()})
	}
	out, err := g.sample(ctx, r)
	if err != nil {
		return nil, err
	}
	stop := out.Stop
	if stop == "" {
		stop = "endTurn"
	}
	return json.Marshal(map[string]any{
		"role": "assistant", "content": map[string]any{"type": "text", "text": out.Text}, "model": out.Model, "stopReason": stop,
	})
}

// sample asks the model; the gate was asked before.
func (g *guest) sample(ctx context.Context, r SampleRequest) (SampleResult, error) {
	if g.x.services.LLM == nil {
		return SampleResult{}, fmt.Errorf("ask a model: no model back end")
	}
	if len(r.Messages) == 0 || r.MaxTokens < 0 {
		return SampleResult{}, fmt.Errorf("ask a model: no messages, or a negative limit: %w", extension.ErrArgument)
	}
	for _, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return SampleResult{}, fmt.Errorf("ask a model: the role %.40q: %w", m.Role, extension.ErrArgument)
		}
	}
	s := stateOf(ctx)
	if s == nil {
		return SampleResult{}, fmt.Errorf("ask a model: there is no call")
	}
	who := s.call
	who.Lent = extension.Lent{}
	return g.x.services.LLM.Sample(ctx, who, *g.x.m.Caps.LLM, r)
}
