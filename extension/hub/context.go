package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// How many scopes are asked: context texts need a session or an agent.
const (
	allScopes     = 3
	contextScopes = 2
)

// maxText is the longest text that a hook or a context endpoint may return, in bytes.
const maxText = 1 << 20

// maxStatus is how many status texts there are at most.
const maxStatus = 100

type nothing = struct{}

// BeforeAgentStart collects the messages that go behind everything else, in registration order.
func (t *Turn) BeforeAgentStart(ctx context.Context) []extension.Message {
	var out []extension.Message
	pick := func(i *extension.Instance) func(context.Context, extension.Call) ([]extension.Message, error) {
		return i.Hooks.BeforeAgentStart
	}
	each(ctx, t, string(extension.HookBeforeAgentStart), allScopes, pick, func(list []extension.Message) error {
		size := 0
		for _, m := range list {
			if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
				return &nonsenseError{fmt.Sprintf("a message with the role %.40q", m.Role)}
			}
			size += len(m.Content)
		}
		if size > maxText {
			return &nonsenseError{fmt.Sprintf("messages of %d bytes; the limit is %d", size, maxText)}
		}
		for _, m := range list {
			m.Content = strings.ToValidUTF8(m.Content, "�")
			out = append(out, m)
		}
		return nil
	})
	return out
}

// AgentEnd tells that a turn is over that did not fail.
func (t *Turn) AgentEnd(ctx context.Context) {
	t.tell(ctx, extension.HookAgentEnd, func(i *extension.Instance) func(context.Context, extension.Call) error { return i.Hooks.AgentEnd })
}

func (t *Turn) tell(ctx context.Context, kind extension.HookKind, hook func(*extension.Instance) func(context.Context, extension.Call) error) {
	pick := func(i *extension.Instance) func(context.Context, extension.Call) (nothing, error) {
		fn := hook(i)
		if fn == nil {
			return nil
		}
		return func(ctx context.Context, c extension.Call) (nothing, error) { return nothing{}, fn(ctx, c) }
	}
	each(ctx, t, string(kind), allScopes, pick, func(nothing) error { return nil })
}

// Augment returns what extensions add to the system prompt, joined by blank lines.
func (t *Turn) Augment(ctx context.Context) string {
	return t.texts(ctx, extension.CapPromptAugmentation, func(i *extension.Instance) func(context.Context, extension.Turn) (string, error) {
		return i.PromptAugmentation
	})
}

// Tails returns what extensions put behind the conversation, joined by blank lines.
func (t *Turn) Tails(ctx context.Context) string {
	return t.texts(ctx, extension.CapContextTail, func(i *extension.Instance) func(context.Context, extension.Turn) (string, error) {
		return i.ContextTail
	})
}

func (t *Turn) texts(ctx context.Context, kind extension.Capability, endpoint func(*extension.Instance) func(context.Context, extension.Turn) (string, error)) string {
	var out []string
	pick := func(i *extension.Instance) func(context.Context, extension.Call) (string, error) {
		fn := endpoint(i)
		if fn == nil {
			return nil
		}
		return func(ctx context.Context, c extension.Call) (string, error) { return fn(ctx, t.seen()) }
	}
	each(ctx, t, string(kind), contextScopes, pick, func(text string) error {
		if len(text) > maxText {
			return &nonsenseError{fmt.Sprintf("a text of %d bytes; the limit is %d", len(text), maxText)}
		}
		if text = strings.TrimSpace(strings.ToValidUTF8(text, "�")); text != "" {
			out = append(out, text)
		}
		return nil
	})
	return strings.Join(out, "\n\n")
}

// seen is the turn as context endpoints see it.
func (t *Turn) seen() extension.Turn {
	infos := t.Tools()
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	return extension.Turn{Session: t.key.Session, Agent: t.key.Agent, Tools: names}
}

// Status collects the short texts for front ends. Of one key the closest scope counts, then the
// extension that registered first.
func (t *Turn) Status(ctx context.Context) map[string]string {
	out := map[string]string{}
	for at := range scopes {
		for _, m := range t.members {
			t.status(ctx, m, m.at[at], out)
		}
	}
	return out
}

func (t *Turn) status(ctx context.Context, m member, x *instance, out map[string]string) {
	if x == nil || x.ext.StatusSegment == nil || m.ent.suspended.Load() {
		return
	}
	texts, err := invoke(ctx, t.h, x, t.place(string(extension.CapStatusSegment)), t.h.time.Hook, x.ext.StatusSegment)
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) { // two names may look the same in one line
		key, text := oneLine(name), texts[name]
		if _, taken := out[key]; !taken && key != "" && len(out) < maxStatus {
			out[key] = oneLine(text)
		}
	}
}

// Status is [Turn.Status] of a session and an agent outside a turn.
func (h *Hub) Status(ctx context.Context, session crdt.DocID, agent extension.Agent) map[string]string {
	t, err := h.Turn(ctx, TurnKey{Session: session, Agent: agent})
	if err != nil {
		return nil
	}
	defer t.Release()
	return t.Status(ctx)
}
