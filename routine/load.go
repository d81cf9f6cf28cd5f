package routine

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Load reads the rows of all scopes: Global, then sessions, then agents. A scope that can't be read
// does not keep the others from firing; it is tried again every few minutes. The error is of the
// list of scopes itself.
func (e *Engine) Load(ctx context.Context) error {
	e.store.Lock()
	defer e.store.Unlock()
	scopes, err := e.cfg.Store.Scopes(ctx)
	if err != nil {
		return fmt.Errorf("load routines: %w", err)
	}
	slices.SortFunc(scopes, Scope.order)
	for _, s := range slices.Compact(scopes) {
		if err := e.read(ctx, s); err != nil {
			e.cfg.Log.Warn("routines could not be read; they are tried again", "scope", s.String(), "err", err)
		}
	}
	e.mu.Lock()
	e.loaded = true
	e.mu.Unlock()
	return nil
}

// Reload reads the rows of one scope again, after they changed. What did not change stays due when
// it was; nothing fires twice, however often it is called.
func (e *Engine) Reload(ctx context.Context, scope Scope) error {
	e.store.Lock()
	defer e.store.Unlock()
	return e.read(ctx, scope)
}

// Unload forgets the routines of a scope, of a session that closed or an agent that left. What runs
// runs to its end.
func (e *Engine) Unload(scope Scope) {
	e.store.Lock()
	defer e.store.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.unread, scope)
	for _, r := range slices.Collect(maps.Values(e.scopes[scope])) {
		e.drop(r)
	}
}

// readAgain reads the scopes that could not be read, when it is time.
func (e *Engine) readAgain(ctx context.Context) {
	e.mu.Lock()
	var scopes []Scope
	if now := e.now(); len(e.unread) > 0 && (!now.Before(e.unreadAt) || e.unreadAt.Sub(now) > maxSleep) {
		scopes = slices.SortedFunc(maps.Keys(e.unread), Scope.order)
	}
	e.mu.Unlock()
	for _, s := range scopes {
		if err := e.Reload(ctx, s); err != nil {
			e.cfg.Log.Debug("routines still can't be read", "scope", s.String(), "err", err)
		}
	}
}

// read takes in the rows of a scope. The caller holds store.
func (e *Engine) read(ctx context.Context, scope Scope) error {
	rows, err := e.cfg.Store.Rows(ctx, scope)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.unread[scope] = true
		e.unreadAt = e.now().Add(maxSleep)
		e.poke()
		return fmt.Errorf("read routines of %s: %w", scope, err)
	}
	delete(e.unread, scope)
	present := make(map[string]bool, len(rows))
	for _, row := range rows {
		present[row.ID] = true
		e.take(scope, row)
	}
	for id, r := range maps.Clone(e.scopes[scope]) {
		if !present[id] {
			e.drop(r)
		}
	}
	return nil
}

// take takes in one row as it was read. The caller holds mu.
func (e *Engine) take(scope Scope, row Routine) {
	rows := e.scopes[scope]
	if rows == nil {
		rows = map[string]*entry{}
		e.scopes[scope] = rows
	}
	r := rows[row.ID]
	if r == nil {
		r = &entry{key: Key{scope, row.ID}, slot: -1, seen: e.now()}
		rows[row.ID] = r
		r.set(row)
		e.plan(r)
		return
	}
	old := r.row
	r.set(row)
	r.gone = false
	if r.slot < 0 || !e.stays(r, old) {
		e.plan(r)
	}
}

// stays reports whether an entry stays due when it is although its row was read again. Planning
// anew would lose a tick that has come but was not yet seen.
func (e *Engine) stays(r *entry, old Routine) bool {
	if r.unkept != nil {
		return true
	}
	if r.reason = r.row.Inert(e.now()); r.reason != "" || !r.row.Trigger.Equal(old.Trigger) {
		return false
	}
	return r.row.Trigger.Kind() == KindCron ||
		r.skips == 0 && r.row.Failures == old.Failures && r.row.LastCompleted.Equal(old.LastCompleted)
}

// row reads one row. The caller holds store.
func (e *Engine) row(ctx context.Context, key Key) (Routine, bool, error) {
	row, ok, err := e.cfg.Store.Row(ctx, key)
	if err != nil {
		return Routine{}, false, fmt.Errorf("read routine %s: %w", key, err)
	}
	return row, ok, nil
}
