// Package extensiontest is the conformance suite of extensions: what every one of any origin does,
// compiled in, sandboxed or somebody's own. Only tests import it.
//
// It takes an extension through a whole life at each of its scopes: the declaration, building,
// every endpoint with honest and hostile input, calls at the same time, calls whose time is over, the
// end. What an endpoint answers is tested beside the extension.
package extensiontest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Handles are what the instances under test are built with and may use. The documents are needed
// only where the extension lives at their scope. Tools are really called, with nonsense: doors and
// documents should lead nowhere that matters.
type Handles struct {
	Peer    *extension.Peer // nil: an empty one
	Session extension.Document
	Agent   extension.Agent
	// AgentDoc is the agent's document.
	AgentDoc extension.Document
	Host     extension.Host     // nil: every door refuses
	Caps     extension.Resolver // nil: nobody provides anything
	// Limit is how long any one thing may take; 0 is 10 s.
	Limit time.Duration
	// Quiet names tools and commands that are not called, because even nonsense would do harm.
	Quiet []string
}

// Run tests an extension.
func Run(t *testing.T, x extension.Extension, h Handles) {
	t.Helper()
	s := &suite{x: x, d: x.Declaration(), Handles: h}
	s.fill()
	t.Run("Declaration", s.declaration)
	if t.Failed() {
		return
	}
	brought := map[string]bool{}
	for _, scope := range s.scopes() {
		t.Run(string(scope), func(t *testing.T) { s.life(t, scope, brought) })
	}
	for _, c := range s.d.Commands {
		if !brought[c] && !t.Failed() {
			t.Errorf("the declared command /%s is brought at no scope", c)
		}
	}
}

type suite struct {
	Handles
	x extension.Extension
	d extension.Declaration
}

func (s *suite) fill() {
	if s.Peer == nil {
		s.Peer = &extension.Peer{Clock: crdt.NewManualClock(0)}
	}
	if s.Host == nil {
		s.Host = closedHost{}
	}
	if s.Caps == nil {
		s.Caps = nobody{}
	}
	if s.Limit == 0 {
		s.Limit = 10 * time.Second
	}
}

func (s *suite) scopes() []extension.Scope {
	if len(s.d.Scopes) == 0 {
		return []extension.Scope{extension.Global}
	}
	return s.d.Scopes
}

// life takes one scope from building to the end.
func (s *suite) life(t *testing.T, scope extension.Scope, brought map[string]bool) {
	sc, ok := s.context(scope)
	if !ok {
		t.Fatalf("the handles have no document for the scope %s", scope)
	}
	before := runtime.NumGoroutine()
	s.earlyEnd(t, sc)
	i := s.build(t, sc)
	other := s.build(t, sc) // as for another session or agent
	for _, c := range i.Commands {
		brought[c.Name] = true
	}
	t.Run("Endpoints", func(t *testing.T) { s.endpoints(t, scope, i) })
	if !t.Failed() {
		t.Run("Tools", func(t *testing.T) { s.tools(t, i) })
		t.Run("Commands", func(t *testing.T) { s.commands(t, i) })
		t.Run("Hooks", func(t *testing.T) { s.hooks(t, i) })
		t.Run("Context", func(t *testing.T) { s.texts(t, i) })
		t.Run("Services", func(t *testing.T) { s.services(t, i) })
		t.Run("AtTheSameTime", func(t *testing.T) { s.together(t, i) })
		t.Run("TimeIsOver", func(t *testing.T) { s.overdue(t, i) })
	}
	t.Run("Shutdown", func(t *testing.T) {
		s.shutdown(t, i)
		s.shutdown(t, i) // a second one must do no harm
		s.shutdown(t, other)
		settle(t, before+1, s.Limit) // a subtest is a goroutine of its own
	})
}

func (s *suite) context(scope extension.Scope) (extension.ScopeContext, bool) {
	switch scope {
	case extension.PerAgent:
		return extension.AgentContext{Peer: s.Peer, Agent: s.Agent, Doc: s.AgentDoc}, s.AgentDoc != nil
	case extension.PerSession:
		return extension.SessionContext{Peer: s.Peer, Doc: s.Session, Settings: newSettings(s.d)}, s.Session != nil
	}
	return extension.GlobalContext{Peer: s.Peer}, true
}

func (s *suite) build(t *testing.T, sc extension.ScopeContext) *extension.Instance {
	t.Helper()
	var i *extension.Instance
	s.guarded(t, "Instantiate", t.Context(), func(ctx context.Context) (err error) {
		i, err = s.x.Instantiate(ctx, sc)
		return err
	}, true)
	if i == nil {
		t.Fatal("Instantiate returned neither an instance nor an error")
	}
	return i
}

// earlyEnd builds with a context that is over: an instance or an error, soon, and nothing left.
func (s *suite) earlyEnd(t *testing.T, sc extension.ScopeContext) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var i *extension.Instance
	s.guarded(t, "Instantiate after its time", ctx, func(ctx context.Context) (err error) {
		i, err = s.x.Instantiate(ctx, sc)
		return err
	}, false)
	if i != nil {
		s.shutdown(t, i)
	}
}

func (s *suite) shutdown(t *testing.T, i *extension.Instance) {
	t.Helper()
	if i.Shutdown != nil {
		s.guarded(t, "Shutdown", context.Background(), i.Shutdown, true)
	}
}

// call is the call in whose name everything runs.
func (s *suite) call() extension.Call {
	c := extension.Call{Agent: s.Agent, Lent: extension.Lent{
		Host: s.Host, Settings: newSettings(s.d), Caps: s.Caps, Tools: func() []extension.ToolInfo { return nil },
	}}
	if s.Session != nil {
		c.Session = s.Session.ID()
	}
	return c
}

// guarded calls code of the extension. It must come back within the limit and not panic; with must
// it must not fail either.
func (s *suite) guarded(t *testing.T, what string, ctx context.Context, fn func(context.Context) error, must bool) error {
	t.Helper()
	out := make(chan error, 1)
	go func() {
		var err error
		normal := false
		defer func() {
			if !normal {
				err = &crash{recover()}
			}
			out <- err
		}()
		err = fn(ctx)
		normal = true
	}()
	limit := time.NewTimer(s.Limit)
	defer limit.Stop()
	select {
	case err := <-out:
		if c, panicked := err.(*crash); panicked {
			t.Fatalf("%s panicked: %v", what, c.value)
		}
		if err != nil && must {
			t.Fatalf("%s: %v", what, err)
		}
		return err
	case <-limit.C:
		t.Fatalf("%s did not come back within %s", what, s.Limit)
		return nil
	}
}

type crash struct{ value any }

func (c *crash) Error() string { return fmt.Sprintf("panic: %v", c.value) }

// settle waits until no more goroutines run than before.
func settle(t *testing.T, before int, limit time.Duration) {
	t.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for runtime.NumGoroutine() > before {
		select {
		case <-look.C:
		case <-end.C:
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines are left, %d were there before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
