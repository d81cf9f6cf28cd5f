package skills

import (
	"context"
	"errors"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// library finds the skills of the agents of one peer.
type library struct {
	*skills
	peer *extension.Peer
	disk []skill
}

// all lists what an agent has in a session, in the order in which skills of one name count: disk, its
// own document, granted banks, attached banks. An agent that is not hosted here has no more than disk
// and attached banks.
func (l library) all(ctx context.Context, who extension.Agent, attached []string) ([]skill, error) {
	agent, err := bank.Agent(ctx, l.peer, who)
	switch {
	case l.peer.Agents == nil, errors.Is(err, extension.ErrNoAgent):
		agent = nil
	case err != nil:
		return nil, err
	}
	sources, err := bank.Skills().Sources(ctx, l.peer, agent, attached)
	if err != nil {
		return nil, err
	}
	out := l.disk[:len(l.disk):len(l.disk)]
	seen := map[string]bool{}
	for _, s := range out {
		seen[s.name] = true
	}
	for _, src := range sources {
		if !src.Here {
			continue
		}
		list, err := l.read(ctx, src)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if seen[s.name] {
				continue
			}
			seen[s.name] = true
			if src.Name != bank.Self {
				s.from = src.Name
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func (l library) read(ctx context.Context, src bank.Source) (list []skill, err error) {
	doc, err := src.Open(ctx)
	if err != nil {
		return nil, err
	}
	err = doc.View(ctx, func(v *crdt.View) error {
		list = l.cache.Get(v, func([]skill) ([]skill, int) {
			read, cost := readRows(v), 0
			for _, s := range read {
				cost += len(s.name) + len(s.description) + len(s.body) + 200
			}
			return read, cost
		})
		return nil
	})
	return list, err
}

// called lists what the agent of a call has.
func (l library) called(ctx context.Context, c extension.Call) ([]skill, error) {
	attached, err := bank.Lent(ctx, c.Lent.Settings)
	if err != nil {
		return nil, err
	}
	return l.all(ctx, c.Agent, attached)
}

// toolsOf are the tools of a call's turn.
func toolsOf(c extension.Call) map[string]bool {
	out := map[string]bool{}
	if c.Lent.Tools != nil {
		for _, t := range c.Lent.Tools() {
			out[t.Name] = true
		}
	}
	return out
}
