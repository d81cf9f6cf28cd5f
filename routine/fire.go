package routine

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fire is one run of one routine, from its place in the engine to its outcome.
type fire struct {
	e       *Engine
	entry   *entry
	manual  chan error    // of RunNow, capacity 1; nil: it came due
	pauses  chan bool     // the handler waits (true) or goes on (false): its deadline stops and starts
	over    chan struct{} // closed when the outcome is decided
	trigger Trigger       // that came due

	// Guarded by Engine.mu.
	result  error         // for RunNow
	was     time.Time     // when the routine was due before RunNow took it; zero: never
	next    time.Time     // when to look again, if that is not for the rule to say
	holds   bool          // has a place
	place   chan struct{} // closed when it is given the place that it waits for
	decided bool
	void    bool // the row changed while it waited: its result does not count
}

// open starts a fire. The caller holds mu and starts its goroutine.
func (e *Engine) open(r *entry) *fire {
	f := &fire{e: e, entry: r, pauses: make(chan bool), over: make(chan struct{}), trigger: r.row.Trigger}
	r.fire = f
	e.unplan(r)
	e.fires[f] = r.key.String()
	e.running.Add(1)
	return f
}

// fire runs a fire that has a place.
func (e *Engine) fire(ctx context.Context, f *fire) {
	defer e.running.Done()
	defer e.close(f)
	if e.unkept(f) {
		e.keep(ctx, f)
		return
	}
	row, v, err := e.look(ctx, f)
	switch {
	case v == fires:
		e.supervise(ctx, f, row)
		return
	case v == spent && row.Enabled:
		e.switchOff(ctx, f, row)
	}
	e.refuse(f, v, err)
}

func (e *Engine) unkept(f *fire) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return f.entry.unkept != nil
}

// supervise runs the handler and settles how it ended. A handler that passes its deadline has
// failed then; its place is free, and until it is really gone the routine does not fire again.
func (e *Engine) supervise(ctx context.Context, f *fire, row Routine) {
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, fireKey{}, f))
	defer cancel(nil)
	done := make(chan error, 1)
	go e.dispatch(inner, f, row, done)
	deadline, stop := e.cfg.Clock.After(e.cfg.Deadline), e.stop
	for {
		select {
		case err := <-done:
			e.finish(ctx, f, err)
			return
		case waits := <-f.pauses:
			if deadline = nil; !waits {
				deadline = e.cfg.Clock.After(e.cfg.Deadline)
			}
		case <-deadline:
			err := fmt.Errorf("%w of %v", ErrDeadline, e.cfg.Deadline)
			cancel(err)
			e.finish(ctx, f, err)
			f.tell(err)
			<-done // its late result is void
			return
		case <-stop:
			cancel(ErrStopped)
			stop = nil
		}
	}
}

// dispatch calls the handler. A panic is a failure.
func (e *Engine) dispatch(ctx context.Context, f *fire, row Routine, done chan<- error) {
	err := errNoOutcome
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
		done <- err
	}()
	err = e.cfg.Dispatcher.Dispatch(ctx, row.Target.Extension, f.entry.key, slices.Clone(row.Target.Payload))
}

// finish decides the outcome of a fire whose handler returned or passed its deadline.
func (e *Engine) finish(ctx context.Context, f *fire, failure error) {
	at := e.now()
	e.mu.Lock()
	// What the end of the engine cut short is no failure: it fires again after the restart.
	cutShort := failure != nil && (e.stopped || ctx.Err() != nil)
	counts := !f.void && !cutShort
	switch f.result = failure; {
	case f.void:
		f.result = ErrVoid
	case cutShort && e.stopped:
		f.result = fmt.Errorf("%w: %w", ErrStopped, failure)
	}
	e.retire(f)
	if counts {
		f.entry.unkept = &result{f.trigger, failure, at}
	}
	e.mu.Unlock()
	if counts {
		e.keep(ctx, f)
	}
}

// tell gives the result to RunNow. Only the first counts.
func (f *fire) tell(err error) {
	if f.manual == nil {
		return
	}
	select {
	case f.manual <- err:
	default:
	}
}

// keep writes the outcome of a fire into the row as it now is. An outcome that can't be written is
// kept and tried again; until it is written the routine does not fire.
func (e *Engine) keep(ctx context.Context, f *fire) {
	r := f.entry
	e.store.Lock()
	defer e.store.Unlock()
	e.mu.Lock()
	done := *r.unkept
	e.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	row, ok, err := e.row(ctx, r.key)
	var o Outcome
	if err == nil && ok && row.readable() {
		o = Settle(row, done.failure, done.at)
		if o.Delete && !row.Trigger.Equal(done.trigger) {
			o.Delete = false // it was given another time while it ran
		}
		if err = e.cfg.Store.Update(ctx, r.key, o); err != nil {
			err = fmt.Errorf("write outcome of routine %s: %w", r.key, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		if r.tries++; r.tries == 1 {
			e.cfg.Log.Error("the outcome of a routine is not written; it is tried again", "routine", r.key.String(), "err", err)
		}
		return
	}
	r.unkept, r.tries = nil, 0
	if !ok || o.Delete {
		r.gone = true
		return
	}
	r.set(row.apply(o))
	if o.Disable && row.Enabled {
		e.cfg.Log.Warn("a routine was switched off", "routine", r.key.String(), "failures", o.Failures, "last_error", o.LastError)
	}
}

// retire ends a fire's claim on a place. The caller holds mu.
func (e *Engine) retire(f *fire) {
	if !f.decided {
		f.decided = true
		close(f.over)
	}
	e.returning = slices.DeleteFunc(e.returning, func(o *fire) bool { return o == f })
	if f.holds {
		f.holds = false
		e.release()
	}
}

// close ends a fire and plans the next.
func (e *Engine) close(f *fire) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retire(f)
	delete(e.fires, f)
	r := f.entry
	r.fire = nil
	switch {
	case r.gone:
		e.drop(r)
	case f.next.IsZero():
		e.plan(r)
	default:
		e.planAt(r, f.next)
	}
	f.tell(f.result)
}

// release gives a free place to a handler that returns from Wait, or back. The caller holds mu.
func (e *Engine) release() {
	if len(e.returning) > 0 {
		f := e.returning[0]
		e.returning = e.returning[1:]
		f.holds = true
		close(f.place)
		return
	}
	e.free++
	e.poke()
}
