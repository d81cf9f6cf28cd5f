// A guest of chaz-ext-1 with every export.
package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

type object = map[string]any

//go:wasmimport extism:host/user chaz_host
func chazHost(uint64) uint64

// host calls the host function.
func host(in []byte) (json.RawMessage, string) {
	mem := pdk.AllocateBytes(in)
	defer mem.Free()
	var out struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	found := pdk.FindMemory(chazHost(mem.Offset()))
	if err := json.Unmarshal(found.ReadBytes(), &out); err != nil {
		return nil, err.Error()
	}
	return out.OK, out.Error
}

func ask(in object) (json.RawMessage, string) {
	b, err := json.Marshal(in)
	if err != nil {
		return nil, err.Error()
	}
	return host(b)
}

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

// reply answers with what the host said.
func reply(v json.RawMessage, failure string) int32 {
	if failure != "" {
		return answer(object{"error": failure})
	}
	return answer(object{"text": string(v)})
}

type input struct {
	Name      string          `json:"name"`
	Args      string          `json:"args"`
	Kind      string          `json:"kind"`
	Session   string          `json:"session"`
	Cap       string          `json:"cap"`
	Op        string          `json:"op"`
	Input     json.RawMessage `json:"input"`
	Routine   string          `json:"routine"`
	Tools     []string        `json:"tools"`
	Arguments struct {
		Op   json.RawMessage `json:"op"`
		Path string          `json:"path"`
		Text string          `json:"text"`
	} `json:"arguments"`
	Payload struct {
		Tool   string          `json:"tool"`
		Args   json.RawMessage `json:"args"`
		Result string          `json:"result"`
	} `json:"payload"`
}

func read() (in input, ok bool) {
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return in, false
	}
	return in, true
}

//go:wasmexport chaz_manifest
func manifest() int32 { return answer(object{"name": "demo", "version": "1"}) }

//go:wasmexport chaz_tool_list
func toolList() int32 {
	text := object{"type": "string"}
	return answer(object{"tools": []any{
		object{"name": "op", "description": "Asks the host.", "input_schema": object{"properties": object{"op": object{"type": "object"}}}},
		object{"name": "read", "description": "Reads a file.", "input_schema": object{"properties": object{"path": text}}},
		object{"name": "write", "description": "Writes a file.", "input_schema": object{"properties": object{"path": text, "text": text}}},
	}})
}

//go:wasmexport chaz_tool_call
func toolCall() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	switch in.Name {
	case "op":
		return reply(host(in.Arguments.Op))
	case "read":
		b, err := os.ReadFile(in.Arguments.Path)
		if err != nil {
			return answer(object{"error": err.Error()})
		}
		return answer(object{"text": string(b)})
	case "write":
		if err := os.WriteFile(in.Arguments.Path, []byte(in.Arguments.Text), 0o600); err != nil {
			return answer(object{"error": err.Error()})
		}
		return answer(object{"text": "written"})
	}
	return answer(object{"error": "no such tool"})
}

//go:wasmexport chaz_hook
func hook() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	args := string(in.Payload.Args)
	switch {
	case in.Kind == "tool_call" && strings.Contains(args, "secret"):
		return answer(object{"decision": "deny", "reason": "no secrets"})
	case in.Kind == "tool_call" && in.Payload.Tool == "shell":
		return answer(object{"decision": "modify", "args": object{"line": "true"}})
	case in.Kind == "tool_result" && in.Payload.Result == "plain":
		return answer(object{"decision": "annotate", "text": "seen by demo"})
	case in.Kind == "before_agent_start":
		return answer(object{"messages": []any{object{"role": "user", "content": "mind the gap"}}})
	case in.Kind == "session_start":
		ask(object{"op": "kv.set", "key": "started", "value": true})
	}
	return answer(object{})
}

//go:wasmexport chaz_command
func command() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	return answer(object{"text": "/" + in.Name + " " + in.Args})
}

//go:wasmexport chaz_context
func context() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	tone, _ := ask(object{"op": "settings.get", "key": "tone"})
	return answer(object{"text": in.Kind + " in tone " + string(tone)})
}

//go:wasmexport chaz_status
func status() int32 { return answer(object{"segments": object{"demo": "ready"}}) }

//go:wasmexport chaz_routine
func routine() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	pdk.Log(pdk.LogInfo, "fired "+in.Routine)
	return answer(object{})
}

//go:wasmexport chaz_provide
func provide() int32 {
	in, ok := read()
	if !ok {
		return 1
	}
	switch in.Cap + " " + in.Op {
	case "memory search":
		return answer(object{"ok": []any{object{"key": "k", "value": string(in.Input), "timestamp": 1}}})
	case "memory banks":
		return answer(object{"ok": []any{object{"name": "self", "id": "x", "permission": "read"}}})
	case "memory remember":
		return answer(object{"ok": true})
	case "messenger send":
		return answer(object{"ok": object{"id": "sent"}})
	case "acme/translate to_upper":
		return answer(object{"ok": strings.ToUpper(string(in.Input))})
	}
	return answer(object{"error": "no such operation"})
}

//go:wasmexport chaz_shutdown
func shutdown() int32 {
	pdk.Log(pdk.LogInfo, "good bye")
	return answer(object{})
}
