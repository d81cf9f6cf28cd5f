package hub

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/extension"
)

// fake is an extension made of values.
type fake struct {
	d     extension.Declaration
	build func(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error)
	built atomic.Int32
}

func (f *fake) Declaration() extension.Declaration { return f.d }

func (f *fake) Instantiate(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	f.built.Add(1)
	return f.build(ctx, s)
}

// compiled is an extension that is compiled in.
func compiled(name string, hooks ...extension.HookKind) *fake {
	return newFake(name, extension.BuiltinRef(name, "0.1.0"), hooks)
}

// external is one that is not.
func external(name string, hooks ...extension.HookKind) *fake {
	return newFake(name, extension.GitRef(name, "https://example.org/"+name, "1111111111111111111111111111111111111111"), hooks)
}

func newFake(name string, ref extension.Ref, hooks []extension.HookKind) *fake {
	f := &fake{d: extension.Declaration{Manifest: extension.Manifest{Name: name, Ref: ref, Hooks: hooks}}}
	f.gives(&extension.Instance{})
	return f
}

func (f *fake) at(scopes ...extension.Scope) *fake { f.d.Scopes = scopes; return f }

// gives makes every scope build this instance.
func (f *fake) gives(i *extension.Instance) *fake {
	f.build = func(context.Context, extension.ScopeContext) (*extension.Instance, error) { return i, nil }
	return f
}

func (f *fake) builds(fn func(ctx context.Context, s extension.ScopeContext) (*extension.Instance, error)) *fake {
	f.build = fn
	return f
}

func (f *fake) provides(caps ...extension.Capability) *fake { f.d.Provides = caps; return f }

func (f *fake) requires(list ...extension.Request) *fake { f.d.Requires = list; return f }

func tool(name, answer string) extension.Tool {
	return extension.Tool{Name: name, Description: name, Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return answer, nil }}
}

// where names the document or peer that a scope context is for.
func where(s extension.ScopeContext) string { return string(s.Scope()) }

// observed makes an instance that notes its hooks and its end as "name scope what".
func (w *world) observed(name string, s extension.ScopeContext) *extension.Instance {
	say := func(what string) { w.note("%s %s %s", name, where(s), what) }
	return &extension.Instance{
		Hooks: extension.Hooks{
			SessionStart:    func(context.Context, extension.Call) error { say("start"); return nil },
			SessionShutdown: func(context.Context, extension.Call) error { say("end"); return nil },
			AgentEnd:        func(context.Context, extension.Call) error { say("agent_end"); return nil },
		},
		Shutdown: func(context.Context) error { say("shutdown"); return nil },
	}
}

// watched is a compiled-in extension of observed instances.
func (w *world) watched(name string, scopes ...extension.Scope) *fake {
	f := compiled(name, extension.HookSessionStart, extension.HookSessionShutdown, extension.HookAgentEnd).at(scopes...)
	return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		w.note("%s %s built", name, where(s))
		return w.observed(name, s), nil
	})
}
