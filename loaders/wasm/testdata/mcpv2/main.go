// A guest of extism-mcp-v2 whose list of tools grows when the tool "grow" was called.
package main

import "github.com/extism/go-pdk"

func main() {}

type object = map[string]any

//go:wasmimport extism:host/user create_message
func createMessage(uint64) uint64

//go:wasmimport extism:host/user create_elicitation
func createElicitation(uint64) uint64

//go:wasmimport extism:host/user list_roots
func listRoots(uint64) uint64

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

//go:wasmimport extism:host/user notify_logging_message
func notifyLoggingMessage(uint64)

var grown bool

func ask(fn func(uint64) uint64, in string) string {
	mem := pdk.AllocateString(in)
	defer mem.Free()
	out := pdk.FindMemory(fn(mem.Offset()))
	return string(out.ReadBytes())
}

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport list_tools
func listTools() int32 {
	schema := object{"type": "object", "properties": object{"text": object{"type": "string"}}}
	var tools []any
	names := []string{"get", "grow", "sample", "elicit", "roots"}
	if grown {
		names = append(names, "extra")
	}
	for _, name := range names {
		tools = append(tools, object{"name": name, "title": name, "description": "Does " + name + ".", "inputSchema": schema})
	}
	return answer(object{"tools": tools})
}

//go:wasmexport call_tool
func callTool() int32 {
	var in struct {
		Request struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"request"`
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	out := ""
	switch in.Request.Name {
	case "get":
		out = string(pdk.NewHTTPRequest(pdk.MethodGet, in.Request.Arguments["text"]).Send().Body())
	case "grow":
		grown, out = true, "grown"
		mem := pdk.AllocateString(`{"level":"info","data":"growing"}`)
		notifyLoggingMessage(mem.Offset())
		notifyToolListChanged()
	case "sample":
		out = ask(createMessage, `{"messages":[{"role":"user","content":{"type":"text","text":"hey"}}],"maxTokens":5}`)
	case "elicit":
		out = ask(createElicitation, `{}`)
	case "roots":
		out = ask(listRoots, `{}`)
	}
	return answer(object{"content": []any{object{"type": "text", "text": out}}})
}
