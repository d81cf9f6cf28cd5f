package main

import (
	"fmt"
	"sort"

	"github.com/goccy/go-yaml/ast"
)

// agentFields are the config fields of an agent, with their readers.
func agentFields() map[string]func(ast.Node) (any, error) {
	return map[string]func(ast.Node) (any, error){
		"system_prompt":       anyText,
		"system_prompt_files": anyTexts,
		"model":               anyText,
		"tools":               anyTexts,
		"max_iterations":      anyCount,
		"autonomous":          anyBool,
		"tool_profile":        anyText,
		"max_context_tokens":  anyCount,
	}
}

func agentFieldNames(fields map[string]func(ast.Node) (any, error)) []string {
	names := []string{"name"}
	for f := range fields {
		names = append(names, f)
	}
	sort.Strings(names)
	return names
}

func anyText(n ast.Node) (any, error) { return textOf(n) }

func anyTexts(n ast.Node) (any, error) {
	out := []string{}
	for _, item := range listOf(n) {
		s, err := textOf(item)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func anyCount(n ast.Node) (any, error) {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, ok := i.Value.(uint64); ok && v > 0 && v <= 1<<31 {
			return int64(v), nil
		}
	}
	return nil, fmt.Errorf("want a whole number above zero")
}

func anyBool(n ast.Node) (any, error) {
	if b, ok := n.(*ast.BoolNode); ok {
		return b.Value, nil
	}
	return nil, fmt.Errorf("want true or false")
}
