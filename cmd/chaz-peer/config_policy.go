package main

import (
	"encoding/json"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/node"
)

// readPolicy reads the block of rules for code from outside. It is judged as a whole: a rule that is
// misread would let through what it was written against.
func readPolicy(n ast.Node, to *json.RawMessage) []fault {
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		return at(n, err)
	}
	text, err := json.Marshal(v)
	if err == nil {
		err = node.CheckPolicy(text)
	}
	if err != nil {
		return at(n, err)
	}
	*to = text
	return nil
}

// policyValue is a policy as it is printed; null for none.
func policyValue(text json.RawMessage) any {
	var v any
	if len(text) == 0 || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
