package hub

import (
	"context"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// ResultOutcome is what the tool_result hooks of a turn made of a text.
type ResultOutcome struct {
	Text    string // for the model; of a blocked result the reason
	Blocked bool
	By      string // who blocked
}

// ToolResult passes the text of a successful call through the tool_result hooks in registration order.
// A hook that fails leaves the text as it was; one that blocks ends the chain.
func (t *Turn) ToolResult(ctx context.Context, tool, text string) ResultOutcome {
	out := ResultOutcome{Text: text}
	for _, m := range t.members {
		x := m.handler(allScopes, func(i *extension.Instance) bool { return i.Hooks.ToolResult != nil })
		if x == nil {
			continue
		}
		at := t.place(string(extension.HookToolResult))
		d, err := invoke(ctx, t.h, x, at, t.h.time.Hook, func(ctx context.Context) (extension.ResultDecision, error) {
			return x.ext.Hooks.ToolResult(ctx, t.call(m.ent), extension.ToolResultInput{Tool: tool, Result: out.Text})
		})
		if err != nil {
			continue
		}
		if len(d.Text) > maxText {
			t.h.judge(m.ent, at, &nonsenseError{fmt.Sprintf("a text of %d bytes; the limit is %d", len(d.Text), maxText)})
			continue
		}
		d.Text = strings.ToValidUTF8(d.Text, "�")
		switch d.Treatment {
		case "", extension.Keep:
		case extension.Replace:
			out.Text = d.Text
		case extension.Annotate:
			out.Text = annotate(out.Text, d.Text)
		case extension.Block:
			return ResultOutcome{Text: reason(d.Text), Blocked: true, By: m.ent.name()}
		default:
			t.h.judge(m.ent, at, &nonsenseError{fmt.Sprintf("the treatment %.40q", string(d.Treatment))})
		}
	}
	return out
}

// annotate puts a note on lines of its own.
func annotate(text, note string) string {
	switch {
	case note == "":
		return text
	case text == "" || strings.HasSuffix(text, "\n"):
		return text + note
	}
	return text + "\n" + note
}
