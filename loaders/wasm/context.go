package wasm

import (
	"context"

	"github.com/chaz-peer/chaz-peer/extension"
)

type contextCall struct {
	who
	Kind  string   `json:"kind"` // prompt or tail
	Tools []string `json:"tools"`
}

// contexts brings the context texts and the status that the guest declares to provide.
func (g *guest) contexts(ctx context.Context, i *extension.Instance) error {
	for _, c := range g.x.decl.Provides {
		switch c {
		case extension.CapPromptAugmentation, extension.CapContextTail:
			if !g.has(ctx, exportContext) {
				return lacks(exportContext, "provides "+string(c))
			}
		case extension.CapStatusSegment:
			if !g.has(ctx, exportStatus) {
				return lacks(exportStatus, "provides "+string(c))
			}
			i.StatusSegment = g.status
		}
		if g.scope == extension.Global {
			continue // a context needs a session or an agent
		}
		switch c {
		case extension.CapPromptAugmentation:
			i.PromptAugmentation = g.contextText("prompt")
		case extension.CapContextTail:
			i.ContextTail = g.contextText("tail")
		}
	}
	return nil
}

func (g *guest) contextText(kind string) func(context.Context, extension.Turn) (string, error) {
	return func(ctx context.Context, t extension.Turn) (string, error) {
		c := extension.Call{Session: t.Session, Agent: t.Agent}
		tools := t.Tools
		if tools == nil {
			tools = []string{}
		}
		return g.text(ctx, exportContext, c, contextCall{whoOf(c), kind, tools}, g.x.eventLimit())
	}
}

// Bounds of status texts.
const (
	maxSegments = 8
	maxSegment  = 80 // characters, of a key too
)

func (g *guest) status(ctx context.Context) (map[string]string, error) {
	var out struct {
		Segments map[string]string `json:"segments"`
	}
	if err := g.ask(ctx, exportStatus, g.home, g.x.eventLimit(), struct{}{}, &out); err != nil {
		return nil, err
	}
	segments := map[string]string{}
	for key, text := range out.Segments {
		if len(segments) == maxSegments {
			break
		}
		segments[line(key, maxSegment)] = g.x.clean(text, maxSegment)
	}
	return segments, nil
}
