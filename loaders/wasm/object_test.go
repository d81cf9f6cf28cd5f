package wasm

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// What counts as an object is what the JSON package reads into a map.
func TestIsObject(t *testing.T) {
	same := func(text string) bool {
		var object map[string]json.RawMessage
		return isObject(json.RawMessage(text)) == (json.Unmarshal([]byte(text), &object) == nil && object != nil)
	}
	for text, want := range map[string]bool{
		"{}": true, " \r\n\t{\"a\":[1]} ": true, `{"a":1,"a":2}`: true,
		"": false, " ": false, "null": false, "[]": false, `"{}"`: false, "{": false, "{}{}": false, `{"a":}`: false, "\u00a0{}": false, "{a:1}": false,
	} {
		if isObject(json.RawMessage(text)) != want || !same(text) {
			t.Errorf("%q", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := rapid.StringOf(rapid.SampledFrom([]rune("{}[]\":, \tna1"))).Draw(t, "text"); !same(text) {
			t.Errorf("%q", text)
		}
	})
}
