package routine

import (
	"cmp"
	"context"
	"slices"
)

type fireKey struct{}

// Wait is for a handler that must wait for something busy, such as a session that runs a turn. It
// gives up the handler's place, so that others run meanwhile, calls ready, which returns when the
// thing is free (or at the end of its context), and takes a place again. The deadline stands still
// meanwhile and starts anew afterwards. The routine stays under way: it has one waiting fire at
// most.
//
// After the wait the row is read again. If the routine is gone, disabled, retired, changed, or this
// peer is no longer its home, Wait returns [ErrVoid]; the handler returns then, and the fire counts
// neither as a success nor as a failure. Wait may fail although ready did not: what ready acquired is
// the handler's to give back, also then.
//
// A handler waits for one thing at a time: a second Wait beside or inside another, or with a context
// that is not of a fire, is ready(ctx).
func Wait(ctx context.Context, ready func(context.Context) error) error {
	f, ok := ctx.Value(fireKey{}).(*fire)
	if !ok || !f.leave() {
		return ready(ctx)
	}
	f.pause(true)
	err := ready(ctx)
	e := f.e
	if full := e.acquire(ctx, f); full != nil {
		return cmp.Or(err, full)
	}
	f.pause(false)
	if err != nil {
		return err
	}
	// A row that can't be read now gives no reason to stop: it was right when the fire began.
	if _, v, _ := e.look(ctx, f); v != fires && v != unreadable {
		e.mu.Lock()
		f.void = true
		e.mu.Unlock()
		return ErrVoid
	}
	return nil
}

// leave gives up the place, if the fire has one: it has none while it waits and after its deadline.
func (f *fire) leave() bool {
	f.e.mu.Lock()
	defer f.e.mu.Unlock()
	if !f.holds {
		return false
	}
	f.holds = false
	f.e.release()
	return true
}

// pause tells the supervisor that the deadline stands still or starts anew.
func (f *fire) pause(waits bool) {
	select {
	case f.pauses <- waits:
	case <-f.over:
	}
}

// acquire waits for a place. It fails when the context ends, the fire is decided or the engine
// stops.
func (e *Engine) acquire(ctx context.Context, f *fire) error {
	e.mu.Lock()
	switch {
	case f.decided:
		e.mu.Unlock()
		return ErrVoid
	case e.free > 0:
		e.free--
		f.holds = true
		e.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	f.place = place
	e.returning = append(e.returning, f)
	e.mu.Unlock()
	select {
	case <-place:
		return nil
	case <-f.over:
	case <-ctx.Done():
	case <-e.stop:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.returning = slices.DeleteFunc(e.returning, func(o *fire) bool { return o == f })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrStopped
}
