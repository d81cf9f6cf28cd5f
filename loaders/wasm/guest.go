package wasm

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// shutdownLimit is the time of a guest's last word.
const shutdownLimit = 500 * time.Millisecond

var errEnded = errors.New("the instance has ended")

// guest is the code of one instance at work.
type guest struct {
	x        *Extension
	scope    extension.Scope
	home     extension.Call           // names the session or agent of its scope
	settings extension.SettingsAccess // in the session of its scope; nil elsewhere
	code     Compiled
	options  engine.Options
	roots    []*os.Root

	mu    sync.Mutex
	ended bool
	// pools by depth. A call that was made while another call of this guest waits for it never waits
	// for the instance of that one: instances of a depth wait for those of the next alone.
	pools [maxDepth]*poolSlot
}

type poolSlot struct {
	mu   sync.Mutex // of opening
	pool Pool
}

// open makes the guest of a scope, with its first pool.
func (x *Extension) open(ctx context.Context, s extension.ScopeContext) (*guest, error) {
	code, err := x.rt.Compile(ctx, x.m.WASM)
	if err != nil {
		return nil, err
	}
	g := &guest{x: x, scope: s.Scope(), code: code}
	switch c := s.(type) {
	case extension.SessionContext:
		g.settings = c.Settings
		if c.Doc != nil {
			g.home.Session = c.Doc.ID()
		}
	case extension.AgentContext:
		g.home.Agent = c.Agent
	}
	for i := range g.pools {
		g.pools[i] = new(poolSlot)
	}
	mounts, roots, err := x.mounts(ctx)
	if err != nil {
		return nil, errors.Join(err, g.close(ctx))
	}
	g.roots = roots
	g.options = engine.Options{
		Name: x.decl.Name, Limits: x.limits, Host: host{g}, User: x.dialect.user(), Mounts: mounts, Deterministic: x.m.Deterministic,
	}
	if _, err := g.pool(ctx, 0); err != nil {
		return nil, errors.Join(err, g.close(ctx))
	}
	return g, nil
}

// pool opens the pool of a depth at the first need.
func (g *guest) pool(ctx context.Context, depth int) (Pool, error) {
	s := g.pools[depth]
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.over() {
		return nil, errEnded
	}
	if s.pool == nil {
		p, err := g.code.Open(ctx, g.options)
		if err != nil {
			return nil, err
		}
		s.pool = p
	}
	return s.pool, nil
}

func (g *guest) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// has reports whether the guest exports a function.
func (g *guest) has(ctx context.Context, export string) bool {
	p, err := g.pool(ctx, 0)
	return err == nil && p.Has(export)
}

// shutdown lets the guest say a last word and closes everything; a second one does nothing.
func (g *guest) shutdown(ctx context.Context) error {
	if g.over() {
		return nil
	}
	var err error
	if g.has(ctx, exportShutdown) && ctx.Err() == nil && g.x.dialect.full() {
		err = g.ask(ctx, exportShutdown, g.home, shutdownLimit, struct{}{}, new(struct{}))
	}
	return errors.Join(err, g.close(ctx))
}

func (g *guest) close(ctx context.Context) error {
	g.mu.Lock()
	was := g.ended
	g.ended = true
	g.mu.Unlock()
	if was {
		return nil
	}
	var errs []error
	for _, s := range slices.Backward(g.pools[:]) {
		s.mu.Lock()
		if s.pool != nil {
			errs = append(errs, s.pool.Close(context.WithoutCancel(ctx)))
		}
		s.mu.Unlock()
	}
	for _, r := range g.roots {
		errs = append(errs, r.Close())
	}
	g.code.Close()
	return errors.Join(errs...)
}
