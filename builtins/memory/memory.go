package memory

import (
	"context"
	"fmt"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/extension"
)

const name = "memory"

type memory struct {
	decl  extension.Declaration
	cache *bank.Cache[*corpus] // shared by the instances of one peer
}

// New returns the extension.
func New() extension.Extension {
	return memory{extension.Declaration{
		Manifest: extension.Manifest{
			Name:     name,
			Ref:      extension.BuiltinRef(name, extension.HostVersion),
			Hooks:    []extension.HookKind{extension.HookTool, extension.HookCommand},
			Requires: []extension.Request{{Kind: extension.CapToolRegistration}, {Kind: extension.CapCommandRegistration}},
			Provides: []extension.Capability{extension.CapMemory, extension.CapContextTail},
		},
		Scopes:      []extension.Scope{extension.Global, extension.PerSession},
		Commands:    []string{bank.Memory().Word},
		ReadAtBuild: []string{bank.Setting},
	}, newCache()}
}

// Declaration implements [extension.Extension].
func (m memory) Declaration() extension.Declaration { return m.decl }

// Instantiate implements [extension.Extension]: tools and command for the peer; what is recalled by
// itself, and the memory as others use it, for each session.
func (m memory) Instantiate(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	switch c := s.(type) {
	case extension.GlobalContext:
		d := desk{finder{c.Peer, m.cache}}
		return &extension.Instance{
			Tools:    []extension.Tool{d.rememberTool(), d.recallTool(), d.banksTool()},
			Commands: []extension.Command{bank.Memory().Command(c.Peer, d.configVerb())},
		}, nil
	case extension.SessionContext:
		attached, err := bank.Lent(ctx, c.Settings)
		if err != nil {
			return nil, fmt.Errorf("instantiate memory: %w", err)
		}
		r := room{desk{finder{c.Peer, m.cache}}, c.Doc, attached}
		return &extension.Instance{ContextTail: r.tail, Memory: access{r}}, nil
	}
	return nil, fmt.Errorf("instantiate memory: there is nothing at scope %s", s.Scope())
}

// desk is where the memories of the agents of one peer are written and read.
type desk struct{ finder }

// sources lists what the agent of a call may use.
func (d desk) sources(ctx context.Context, c extension.Call) ([]bank.Source, error) {
	attached, err := bank.Lent(ctx, c.Lent.Settings)
	if err != nil {
		return nil, err
	}
	return d.sourcesOf(ctx, c.Agent, attached)
}

func (d desk) sourcesOf(ctx context.Context, a extension.Agent, attached []string) ([]bank.Source, error) {
	agent, err := bank.Agent(ctx, d.peer, a)
	if err != nil {
		return nil, err
	}
	return bank.Memory().Sources(ctx, d.peer, agent, attached)
}
