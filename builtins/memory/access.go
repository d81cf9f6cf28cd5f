package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// access is the memory of a session's agent as other extensions use it. It implements
// [extension.MemoryAccess] for the agent that the call's context names ([extension.CallerOf]), or for
// the one agent of the session that is hosted here.
type access struct{ room }

var errWhose = errors.New("it is not clear whose: the call names no agent, and the session has not exactly one that is hosted here")

func (a access) agent(ctx context.Context) (extension.Agent, error) {
	if c, ok := extension.CallerOf(ctx); ok {
		return c.Agent, nil
	}
	var roster []crdt.AttachedAgent
	err := a.session.View(ctx, func(v *crdt.View) error { roster = crdt.SessionView{View: v}.Agents(); return nil })
	if err != nil {
		return extension.Agent{}, err
	}
	var found []extension.Agent
	for _, x := range roster {
		agent := extension.Agent{ID: x.ID, Name: x.Name}
		switch _, err := bank.Agent(ctx, a.peer, agent); {
		case err == nil:
			found = append(found, agent)
		case !errors.Is(err, extension.ErrNoAgent):
			return extension.Agent{}, err
		}
	}
	if len(found) != 1 {
		return extension.Agent{}, fmt.Errorf("use memory: %w", errWhose)
	}
	return found[0], nil
}

func (a access) sources(ctx context.Context) (extension.Agent, []bank.Source, error) {
	who, err := a.agent(ctx)
	if err != nil {
		return who, nil, err
	}
	list, err := a.sourcesOf(ctx, who, a.attached)
	return who, list, err
}

// Search implements [extension.MemoryAccess].
func (a access) Search(ctx context.Context, q extension.MemoryQuery) ([]extension.MemoryRow, error) {
	if q.Limit == 0 {
		q.Limit = defaultHits
	}
	if q.Limit < 0 {
		return nil, fmt.Errorf("search memory: the limit is negative: %w", extension.ErrArgument)
	}
	_, sources, err := a.sources(ctx)
	if err != nil {
		return nil, err
	}
	if sources, err = narrow(sources, q.Bank); err != nil {
		return nil, err
	}
	r, err := a.search(ctx, sources, query{text: q.Text, tags: q.Tags, limit: q.Limit})
	if err != nil {
		return nil, err
	}
	out := make([]extension.MemoryRow, len(r.hits))
	for i, h := range r.hits {
		out[i] = extension.MemoryRow{Key: h.key, Value: h.value, Tags: slices.Clone(h.tags), Timestamp: h.at, Bank: h.in.from.Name}
	}
	return out, nil
}

// Remember implements [extension.MemoryAccess]. The row's time and bank do not count.
func (a access) Remember(ctx context.Context, r extension.MemoryRow, name string) error {
	who, sources, err := a.sources(ctx)
	if err != nil {
		return err
	}
	s, err := bank.Pick(sources, name)
	if err != nil {
		return err
	}
	return a.remember(ctx, s, who, rememberArgs{Key: r.Key, Value: r.Value, Tags: r.Tags})
}

// Banks implements [extension.MemoryAccess].
func (a access) Banks(ctx context.Context) ([]extension.BankInfo, error) {
	_, sources, err := a.sources(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]extension.BankInfo, len(sources))
	for i, s := range sources {
		out[i] = extension.BankInfo{Name: s.Name, ID: s.ID.String(), Permission: s.Permission()}
	}
	return out, nil
}
