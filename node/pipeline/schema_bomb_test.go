package pipeline

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// doubling is a schema of n definitions, each of which asks for the next one twice.
func doubling(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, n)
	return json.RawMessage(b.String())
}

// TestEndlessSchema has a schema whose check takes far longer than it may. Nothing can stop the first
// check, but no other one is begun.
func TestEndlessSchema(t *testing.T) {
	s := schemas{limit: 20 * time.Millisecond}
	bomb := doubling(19)
	if err := s.check(t.Context(), bomb, json.RawMessage(`{}`)); err == nil {
		t.Fatal("the check ended")
	}
	running := runtime.NumGoroutine()
	for range 100 {
		if err := s.check(t.Context(), bomb, json.RawMessage(`{"a":1}`)); err == nil || !strings.Contains(err.Error(), "too long once") {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine(); n > running+1 {
		t.Errorf("%d goroutines instead of %d", n, running)
	}
	s.limit = 0
	if err := s.check(t.Context(), doubling(3), json.RawMessage(`{}`)); err != nil {
		t.Error("another schema:", err)
	}
	if err := s.check(t.Context(), bomb, json.RawMessage(`{}`)); err == nil {
		t.Error("it was forgotten")
	}
}
