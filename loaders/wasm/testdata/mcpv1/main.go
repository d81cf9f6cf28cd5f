// A guest of extism-mcp-v1: describe and call, with one tool for each thing that can go right or wrong.
package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

type object = map[string]any

func text(s string) object {
	return object{"content": []any{object{"type": "text", "text": s}}}
}

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport describe
func describe() int32 {
	tool := func(name, about string, required ...string) object {
		properties := object{}
		for _, p := range required {
			properties[p] = object{"type": "string"}
		}
		return object{"name": name, "description": about, "inputSchema": object{"type": "object", "properties": properties, "required": required}}
	}
	return answer(object{"tools": []any{
		tool("get", "Fetches an address.", "url"), tool("config", "Tells a value of the configuration.", "key"),
		tool("log", "Logs a text.", "text"), tool("fail", "Fails in a way of your choice.", "how"),
	}})
}

//go:wasmexport call
func call() int32 {
	var in struct {
		Params struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"params"`
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	args := in.Params.Arguments
	switch in.Params.Name {
	case "get":
		res := pdk.NewHTTPRequest(pdk.MethodGet, args["url"]).Send()
		return answer(text(string(res.Body())))
	case "config":
		v, ok := pdk.GetConfig(args["key"])
		if !ok {
			v = "(nothing)"
		}
		return answer(text(v))
	case "log":
		pdk.Log(pdk.LogWarn, args["text"])
		os.Stdout.WriteString("printed " + args["text"] + "\n")
		return answer(text("logged"))
	case "fail":
		return fail(args["how"])
	}
	return answer(object{"isError": true, "content": []any{object{"type": "text", "text": "no such tool"}}})
}

func fail(how string) int32 {
	switch how {
	case "trap":
		panic("on purpose")
	case "spin":
		for {
		}
	case "exit":
		os.Exit(3)
	case "eat":
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			b[0] = 1
			all = append(all, b)
			if len(all) > 1<<20 {
				return 0
			}
		}
	case "flood":
		pdk.OutputString(strings.Repeat("x", 50_000_000))
		return 0
	case "garbage":
		pdk.OutputString("garbage")
		return 0
	case "utf8":
		pdk.Output([]byte("{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}"))
		return 0
	case "null":
		b, _ := json.Marshal(nil)
		pdk.Output(b)
		return 0
	}
	pdk.SetErrorString("failed as asked: " + how)
	return 1
}
