// A plugin with one tool, in the interface of the Extism MCP plugins, for the rows that compare hosts: it
// runs unchanged under any of them. Built with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared.
package main

import (
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

type object = map[string]any

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport describe
func describe() int32 {
	return answer(object{"tools": []any{object{
		"name": "vowels", "description": "Counts the vowels of a text.",
		"inputSchema": object{
			"type": "object", "additionalProperties": false, "required": []string{"text"},
			"properties": object{"text": object{"type": "string", "maxLength": 1000}},
		},
	}}})
}

//go:wasmexport call
func call() int32 {
	var in struct {
		Params struct {
			Arguments struct{ Text string }
		}
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	text := in.Params.Arguments.Text
	if text == "spin" {
		for {
		}
	}
	n := 0
	for _, r := range text {
		if strings.ContainsRune("aeiou", r) {
			n++
		}
	}
	return answer(object{"content": []any{object{"type": "text", "text": string(rune('0' + n%10))}}})
}
