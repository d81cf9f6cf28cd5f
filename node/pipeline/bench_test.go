package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

// forgetful is an Audit that keeps nothing.
type forgetful struct{}

func (forgetful) ToolCall(context.Context, CallRecord) (string, error) { return "1", nil }
func (forgetful) ToolResult(context.Context, ResultRecord) error       { return nil }

func BenchmarkCall(b *testing.B) {
	r := newRig(b, Config{}, extension.Tool{Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return "done", nil }})
	r.cfg.Audit = forgetful{}
	b.ReportAllocs()
	for b.Loop() {
		if out := r.call(b); out.Status != StatusOK {
			b.Fatal(out.Plain)
		}
	}
}

func BenchmarkLeakScan(b *testing.B) {
	text := strings.Repeat("The quick brown fox, at 12:30, said: \"look\" (https://example.com/a?b=c).\n", 700)
	s := newScanner()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, names, _ := s.clean(text, len(text)); names != nil {
			b.Fatal(names)
		}
	}
}
