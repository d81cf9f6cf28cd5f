package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// name gives the session a name on this peer, or takes it away.
func (r *Runner) name(ctx context.Context, c Call, alias string) Result {
	if err := r.cfg.Names.SetSessionName(ctx, c.Session, alias); err != nil {
		return errorf("name this session: %v", err)
	}
	if alias == "" {
		return textf("This session has no name on this peer now.")
	}
	return textf("This session is named %s on this peer.", clean(alias, 120))
}

const infoPage = 512 // entries read at once

func (r *Runner) info(ctx context.Context, c Call, rest string) Result {
	if rest != "" {
		return usageOf("info")
	}
	counts := map[crdt.EntryType]int{}
	spent := spending{models: map[string]int{}}
	total := 0
	err := r.viewSession(ctx, c.Session, func(s crdt.SessionView, _ *activation.Log) error {
		total = s.Log().Len()
		for at := 0; at < total; at += infoPage {
			for _, e := range s.Entries(at, infoPage) {
				counts[e.Type]++
				if e.Type == crdt.EntryMessage {
					spent.add(e.Metadata)
				}
			}
		}
		return nil
	})
	if err != nil {
		return errorf("read this session: %v", err)
	}
	lines := []string{"session: " + c.Session.String()}
	if name := r.cfg.Names.SessionName(c.Session); name != "" {
		lines = append(lines, "name: "+clean(name, 120))
	}
	who := "none"
	if !c.Agent.ID.IsZero() {
		who = clean(c.Agent.Name, 64)
	}
	lines = append(lines, "agent: "+who,
		fmt.Sprintf("entries: %d", total),
		fmt.Sprintf("messages: %d", counts[crdt.EntryMessage]),
		fmt.Sprintf("directives: %d", counts[crdt.EntryDirective]),
		fmt.Sprintf("tool calls: %d", counts[crdt.EntryToolCall]),
		fmt.Sprintf("errors: %d", counts[crdt.EntryError]))
	return Result{Text, strings.Join(append(lines, spent.lines()...), "\n")}
}

// spending adds up what the messages of a session record about model calls.
type spending struct {
	calls                      int
	prompt, completion, cached int64
	cost                       float64
	models                     map[string]int
}

func (s *spending) add(metadata json.RawMessage) {
	var m struct {
		Model string `json:"model"`
		Usage *struct {
			Prompt     int64   `json:"prompt"`
			Completion int64   `json:"completion"`
			Cached     int64   `json:"cached"`
			Cost       float64 `json:"cost_usd"`
		} `json:"usage"`
	}
	// Metadata that can't be read counts for nothing: it may come from any peer.
	if json.Unmarshal(metadata, &m) != nil || m.Usage == nil {
		return
	}
	s.calls++
	s.prompt += m.Usage.Prompt
	s.completion += m.Usage.Completion
	s.cached += m.Usage.Cached
	s.cost += m.Usage.Cost
	if m.Model != "" {
		s.models[m.Model]++
	}
}

func (s *spending) lines() []string {
	if s.calls == 0 {
		return nil
	}
	lines := []string{
		fmt.Sprintf("calls: %d", s.calls),
		fmt.Sprintf("prompt tokens: %d", s.prompt),
		fmt.Sprintf("completion tokens: %d", s.completion),
	}
	if s.cached > 0 {
		lines = append(lines, fmt.Sprintf("cached tokens: %d", s.cached))
	}
	if s.cost > 0 {
		lines = append(lines, fmt.Sprintf("cost: $%.4f", s.cost))
	}
	models := slices.SortedFunc(maps.Keys(s.models), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.models[b], s.models[a]), strings.Compare(a, b))
	})
	for _, m := range models {
		lines = append(lines, fmt.Sprintf("model: %s × %d", clean(m, 80), s.models[m]))
	}
	return lines
}
