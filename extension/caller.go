package extension

import "context"

type callerKey struct{}

// WithCaller notes in ctx in whose name a service of another extension is used: session, agent and
// depth of the call. The host does so before it calls one, since services take plain values; Lent is
// left out, because nothing lent to one extension is meant for another.
func WithCaller(ctx context.Context, c Call) context.Context {
	c.Lent = Lent{}
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns what [WithCaller] noted.
func CallerOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callerKey{}).(Call)
	return c, ok
}
