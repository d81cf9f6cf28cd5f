//go:build wasip1

package main

import (
	"fmt"

	"github.com/extism/go-pdk"
)

// Each exported function below takes one JSON object and returns one.
func main() {}

// input has the fields of all calls that are read here.
type input struct {
	Args      string `json:"args"` // of a command
	Kind      string `json:"kind"` // of a hook, or of context
	Arguments struct {
		Who string `json:"who"`
	} `json:"arguments"` // of a tool
	Payload struct {
		Tool string `json:"tool"`
		Args any    `json:"args"`
	} `json:"payload"` // of a hook
}

//go:wasmexport chaz_tool_list
func toolList() int32 {
	who := map[string]any{"type": "string", "description": "Only this person; everybody if it is left out."}
	return reply(map[string]any{"tools": []any{map[string]any{
		"name":        "digest",
		"description": "Says who wrote how much in this conversation, and what each wrote last.",
		"input_schema": map[string]any{
			"type": "object", "properties": map[string]any{"who": who}, "additionalProperties": false,
		},
	}}}, nil)
}

//go:wasmexport chaz_tool_call
func toolCall() int32 {
	return with(func(in input) (map[string]any, error) {
		all, err := entries()
		return map[string]any{"text": digest(all, in.Arguments.Who)}, err
	})
}

//go:wasmexport chaz_command
func command() int32 {
	return with(func(in input) (map[string]any, error) {
		all, err := entries()
		return map[string]any{"text": digest(all, in.Args)}, err
	})
}

//go:wasmexport chaz_hook
func hook() int32 {
	return with(func(in input) (map[string]any, error) {
		phrases, err := setting[[]string]("ask_before")
		if err != nil {
			return nil, err
		}
		if phrase, found := danger(fmt.Sprint(in.Payload.Args), phrases); found {
			return map[string]any{"decision": "ask", "reason": fmt.Sprintf("the call of %s says %q", in.Payload.Tool, phrase)}, nil
		}
		return map[string]any{"decision": "allow"}, nil
	})
}

//go:wasmexport chaz_context
func context() int32 {
	return with(func(in input) (map[string]any, error) {
		wanted, err := setting[bool]("tail")
		if err != nil || !wanted || in.Kind != "tail" {
			return map[string]any{"text": ""}, err
		}
		all, err := entries()
		return map[string]any{"text": summary(all)}, err
	})
}

// with reads the input of a call and writes its answer.
func with(fn func(input) (map[string]any, error)) int32 {
	var in input
	if err := pdk.InputJSON(&in); err != nil {
		return reply(nil, err)
	}
	return reply(fn(in))
}

func reply(answer map[string]any, err error) int32 {
	if err != nil {
		answer = map[string]any{"error": err.Error()}
	}
	if err := pdk.OutputJSON(answer); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}
