package routine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Info is one routine as a list shows it.
type Info struct {
	Key     Key
	Routine Routine
	Next    time.Time // zero: not planned
	Running bool      // its handler runs or waits in [Wait]
	Inert   string    // why it does not fire, empty if it does
	Skips   int       // fires in a row that were another peer's to do
}

// Add checks a routine, writes its row and plans it. A trigger that would never fire, an id that is
// taken ([ErrExists]) and the scope of an agent ([ErrAgentRow]) are refused.
func (e *Engine) Add(ctx context.Context, scope Scope, r Routine) error {
	if scope.Kind == ScopeAgent {
		return fmt.Errorf("add routine %s: %w", r.ID, ErrAgentRow)
	}
	now := e.now()
	if r.Created.IsZero() {
		r.Created = now
	}
	if err := r.Check(now); err != nil {
		return err
	}
	key := Key{scope, r.ID}
	e.store.Lock()
	defer e.store.Unlock()
	if _, ok, err := e.row(ctx, key); err != nil {
		return err
	} else if ok {
		return fmt.Errorf("add routine %s: %w", key, ErrExists)
	}
	if err := e.cfg.Store.Put(ctx, scope, r); err != nil {
		return fmt.Errorf("add routine %s: %w", key, err)
	}
	row, ok, err := e.row(ctx, key)
	if err != nil || !ok {
		return errors.Join(err, e.read(ctx, scope))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.take(scope, row)
	return nil
}

// Remove deletes the row of a routine. One that is not there is no error. What runs runs to its
// end.
func (e *Engine) Remove(ctx context.Context, key Key) error {
	e.store.Lock()
	defer e.store.Unlock()
	if err := e.cfg.Store.Delete(ctx, key); err != nil {
		return fmt.Errorf("remove routine %s: %w", key, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.scopes[key.Scope][key.ID]; r != nil {
		e.drop(r)
	}
	return nil
}

// List returns all loaded routines by scope (Global, sessions, agents) and id, inert ones with the
// reason.
func (e *Engine) List() []Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Info
	for _, rows := range e.scopes {
		for _, r := range rows {
			if !r.gone {
				out = append(out, e.info(r))
			}
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return a.Key.order(b.Key) })
	return out
}

// Get returns one loaded routine.
func (e *Engine) Get(key Key) (Info, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.scopes[key.Scope][key.ID]
	if r == nil || r.gone {
		return Info{}, false
	}
	return e.info(r), true
}

func (e *Engine) info(r *entry) Info {
	i := Info{Key: r.key, Routine: r.row, Running: r.fire != nil, Inert: r.row.Inert(e.now()), Skips: r.skips}
	if r.unkept != nil && r.fire == nil {
		i.Inert = r.reason
	}
	if r.slot >= 0 && i.Inert == "" {
		i.Next = r.at
	}
	return i
}

// RunNow fires a routine at once, also a disabled one or one that is not due, and returns how its
// handler ended. The outcome counts like that of any fire. It works without [Engine.Run]. A routine
// that runs ([ErrRunning]), whose home is another peer ([ErrNotHome]), or that can't be read or has
// retired is refused. When the context ends the handler is cancelled and RunNow returns.
func (e *Engine) RunNow(ctx context.Context, key Key) error {
	if _, ok := e.Get(key); !ok {
		if err := e.Reload(ctx, key.Scope); err != nil {
			return err
		}
	}
	f, err := e.claim(key)
	if err != nil {
		return fmt.Errorf("run routine %s: %w", key, err)
	}
	go func() {
		if err := e.acquire(ctx, f); err != nil {
			e.mu.Lock()
			f.result, f.next = err, f.was
			e.mu.Unlock()
			e.close(f)
			e.running.Done()
			return
		}
		e.fire(ctx, f)
	}()
	select {
	case err = <-f.manual:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("run routine %s: %w", key, err)
	}
	return nil
}

// claim starts a fire by hand.
func (e *Engine) claim(key Key) (*fire, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.scopes[key.Scope][key.ID]
	switch {
	case e.stopped:
		return nil, ErrStopped
	case r == nil || r.gone:
		return nil, ErrNotFound
	case r.fire != nil:
		return nil, ErrRunning
	case r.unkept != nil:
		return nil, errors.New(r.reason)
	}
	var was time.Time
	if r.slot >= 0 {
		was = r.at
	}
	f := e.open(r)
	f.manual, f.was = make(chan error, 1), was
	return f, nil
}
