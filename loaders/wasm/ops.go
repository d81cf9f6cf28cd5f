package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

// What chaz_host takes: {"op": …} with the fields of the operation, and returns: {"ok": …} or
// {"error": text}. In brackets the capability that it needs.
//
//	settings.get     {"key"}                                        → value or null     [settings: read]
//	settings.set     {"key", "value"}; null deletes                 → true              [settings: write]
//	session.read     {"limit"}; 0 is 20                             → {"entries", "cut"} [session_read]
//	session.send     {"text", "kind"}; message or directive         → {"id"}            [session_write]
//	kv.get           {"key"}                                        → value or null     [kv]
//	kv.set           {"key", "value"}                               → true              [kv]
//	kv.delete        {"key"}                                        → true              [kv]
//	kv.list          {"prefix"}                                     → [keys]            [kv]
//	secret           {"name"}                                       → text              [secrets]
//	memory.search    {"text", "tags", "limit", "bank", "provider"}  → [rows]            [memory: read]
//	memory.remember  {"key", "value", "tags", "timestamp", "bank", "provider"} → true   [memory: write]
//	memory.banks     {"provider"}                                   → [banks]           [memory: read]
//	messenger.send   {"text", "kind", "provider"}                   → {"id"}            [messenger]
//	cap              {"id", "call", "input", "provider"}            → output            [caps]
//	llm.create       {"system", "messages", "max_tokens"}           → {"text", "model", "stop"} [llm]
//	http             {"method", "url", "headers", "body" or "body_base64"}
//	                 → {"status", "headers", "body" or "body_base64"}                   [net]
//	tools.list       {}                                             → [{"name", "owner", "description", "parameters"}]
//
// The session is always that of the call.
type opInput struct {
	Op        string              `json:"op"`
	Key       string              `json:"key"`
	Value     json.RawMessage     `json:"value"`
	Prefix    string              `json:"prefix"`
	Name      string              `json:"name"`
	Text      string              `json:"text"`
	Kind      string              `json:"kind"`
	Limit     int                 `json:"limit"`
	Tags      []string            `json:"tags"`
	Timestamp int64               `json:"timestamp"`
	Bank      string              `json:"bank"`
	Provider  string              `json:"provider"`
	ID        string              `json:"id"`
	Call      string              `json:"call"`
	Input     json.RawMessage     `json:"input"`
	System    string              `json:"system"`
	Messages  []extension.Message `json:"messages"`
	MaxTokens int64               `json:"max_tokens"`
	opHTTP
}

// chazHost answers one call of chaz_host. Nothing that goes wrong in there ends the guest's call.
func (g *guest) chazHost(ctx context.Context, input []byte) []byte {
	v, err := g.op(ctx, input)
	if err == nil {
		var b []byte
		if b, err = json.Marshal(map[string]any{"ok": v}); err == nil {
			return b
		}
	}
	b, failed := json.Marshal(map[string]string{"error": line(err.Error(), 1000)})
	if failed != nil {
		return []byte(`{"error":"the answer has no JSON form"}`)
	}
	return b
}

func (g *guest) op(ctx context.Context, input []byte) (any, error) {
	s := stateOf(ctx)
	if s == nil {
		return nil, fmt.Errorf("there is no call")
	}
	var in opInput
	if !utf8.Valid(input) {
		return nil, fmt.Errorf("read the request: not valid UTF-8")
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	switch in.Op {
	case "settings.get":
		return g.setting(ctx, in.Key)
	case "settings.set":
		return g.opSet(ctx, s, in)
	case "session.read":
		return g.opRead(ctx, s, in)
	case "session.send":
		return g.opSend(ctx, s, in)
	case "kv.get", "kv.set", "kv.delete", "kv.list":
		return g.opKV(ctx, s, in)
	case "secret":
		return g.secret(ctx, in.Name)
	case "memory.search", "memory.remember", "memory.banks":
		return g.opMemory(ctx, s, in)
	case "messenger.send":
		return g.opMessenger(ctx, s, in)
	case "cap":
		return g.opCap(ctx, s, in)
	case "llm.create":
		if err := g.x.gate.allow(ctx, OpLLM, ""); err != nil {
			return nil, err
		}
		return g.sample(ctx, SampleRequest{System: in.System, Messages: in.Messages, MaxTokens: in.MaxTokens})
	case "http":
		return g.opHTTP(ctx, in.opHTTP)
	case "tools.list":
		return opTools(s), nil
	}
	return nil, fmt.Errorf("there is no operation %.40q", in.Op)
}

type opTool struct {
	Name        string          `json:"name"`
	Owner       string          `json:"owner"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// opTools needs no grant: it is what every model of the turn is told.
func opTools(s *callState) []opTool {
	out := []opTool{}
	if s.call.Lent.Tools == nil {
		return out
	}
	for _, t := range s.call.Lent.Tools() {
		out = append(out, opTool{t.Name, t.Owner, t.Description, t.Parameters})
	}
	return out
}
