package hub

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// resolver finds what extensions of a turn provide. It serves one of them, or the host if by is nil.
type resolver struct {
	t  *Turn
	by *entry
}

// Resolver finds what the extensions of the turn provide, for the host.
func (t *Turn) Resolver() extension.Resolver { return resolver{t, nil} }

// Memory implements [extension.Resolver].
func (r resolver) Memory(provider string) extension.MemoryAccess {
	if x := r.find(extension.CapMemory, provider, func(i *extension.Instance) bool { return i.Memory != nil }); x != nil {
		return memory{lease{r.t, x}}
	}
	return nil
}

// Messenger implements [extension.Resolver].
func (r resolver) Messenger(provider string) extension.Messenger {
	if x := r.find(extension.CapMessenger, provider, func(i *extension.Instance) bool { return i.Messenger != nil }); x != nil {
		return messenger{lease{r.t, x}}
	}
	return nil
}

// Cap implements [extension.Resolver]. Capabilities under a string id need no declaration.
func (r resolver) Cap(id, provider string) extension.CapFunc {
	x := r.first([]string{provider}, func(i *extension.Instance) bool { return i.Caps[id] != nil })
	if x == nil {
		return nil
	}
	return func(ctx context.Context, op string, input json.RawMessage) (json.RawMessage, error) {
		return lent(ctx, lease{r.t, x}, "capability "+id, func(ctx context.Context) (json.RawMessage, error) {
			return x.ext.Caps[id](ctx, op, slices.Clone(input))
		})
	}
}

// find looks for a provider among those that the asking extension may use.
func (r resolver) find(kind extension.Capability, provider string, has func(*extension.Instance) bool) *instance {
	allowed, ok := r.providers(kind, provider)
	if !ok {
		return nil
	}
	return r.first(allowed, has)
}

// providers lists whom to ask, "" being anybody. A request of the manifest that names a provider
// resolves to that one only; an extension that is not compiled in must have made one.
func (r resolver) providers(kind extension.Capability, provider string) ([]string, bool) {
	if r.by == nil {
		return []string{provider}, true
	}
	var named []string
	for _, q := range slices.Concat(r.by.decl.Requires, r.by.decl.Requests) {
		switch {
		case q.Kind != kind:
		case q.Provider == "", q.Provider == provider:
			return []string{provider}, true
		case provider == "":
			named = append(named, q.Provider)
		}
	}
	if len(named) > 0 {
		return named, true
	}
	return []string{provider}, r.by.builtin
}

// first is the first instance in registration order; nobody finds himself unless by name.
func (r resolver) first(providers []string, has func(*extension.Instance) bool) *instance {
	if r.t.released.Load() {
		return nil
	}
	for _, m := range r.t.members {
		name := m.ent.name()
		if !slices.Contains(providers, name) && (m.ent == r.by || !slices.Contains(providers, "")) {
			continue
		}
		if x := m.handler(allScopes, has); x != nil {
			return x
		}
	}
	return nil
}

// lease is an instance lent to another extension until the turn is released.
type lease struct {
	t *Turn
	x *instance
}

// lent calls a service of another extension with the guard of a hook. Its errors are answers.
func lent[T any](ctx context.Context, l lease, point string, fn func(context.Context) (T, error)) (T, error) {
	if l.t.released.Load() || l.x.ent.suspended.Load() {
		var none T
		return none, errEnded
	}
	at := l.t.place(point)
	at.answers = true
	ctx = extension.WithCaller(ctx, l.t.call(l.x.ent)) // services take plain values; this says in whose name
	return invoke(ctx, l.t.h, l.x, at, l.t.h.time.Hook, fn)
}

type memory struct{ lease }

func (m memory) Search(ctx context.Context, q extension.MemoryQuery) ([]extension.MemoryRow, error) {
	return lent(ctx, m.lease, string(extension.CapMemory), func(ctx context.Context) ([]extension.MemoryRow, error) {
		return m.x.ext.Memory.Search(ctx, q)
	})
}

func (m memory) Remember(ctx context.Context, row extension.MemoryRow, bank string) error {
	_, err := lent(ctx, m.lease, string(extension.CapMemory), func(ctx context.Context) (nothing, error) {
		return nothing{}, m.x.ext.Memory.Remember(ctx, row, bank)
	})
	return err
}

func (m memory) Banks(ctx context.Context) ([]extension.BankInfo, error) {
	return lent(ctx, m.lease, string(extension.CapMemory), m.x.ext.Memory.Banks)
}

type messenger struct{ lease }

func (m messenger) Send(ctx context.Context, session crdt.DocID, text, kind string) (string, error) {
	return lent(ctx, m.lease, string(extension.CapMessenger), func(ctx context.Context) (string, error) {
		return m.x.ext.Messenger.Send(ctx, session, text, kind)
	})
}
