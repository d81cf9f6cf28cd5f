package routine

import (
	"context"
	"fmt"
)

// verdict is whether a fire goes ahead.
type verdict int

const (
	fires      verdict = iota
	unreadable         // the row could not be read now
	vanished           // there is no row
	elsewhere          // another peer is its home
	spent              // expired, or fired as often as it may
	inert              // disabled, unreadable
	moved              // it is not due now: its trigger or its last completion changed
)

// look reads the row of a fire again and says whether it goes ahead. A peer that is not the home
// looks no further than that: it changes nothing.
func (e *Engine) look(ctx context.Context, f *fire) (Routine, verdict, error) {
	r := f.entry
	e.store.Lock()
	row, ok, err := e.row(ctx, r.key)
	e.store.Unlock()
	if err != nil {
		return row, unreadable, err
	}
	if !ok {
		return row, vanished, ErrNotFound
	}
	e.mu.Lock()
	r.set(row)
	r.tries = 0
	row = r.row
	e.mu.Unlock()
	if !row.readable() {
		return row, inert, fmt.Errorf("fire routine %s: %s", r.key, row.Inert(e.now()))
	}
	if !e.cfg.Homes.IsHome(ctx, r.key, row) {
		return row, elsewhere, ErrNotHome
	}
	e.mu.Lock()
	r.skips = 0
	e.mu.Unlock()
	now := e.now()
	why := row.Inert(now)
	switch {
	case row.retired(now) != "":
		return row, spent, fmt.Errorf("fire routine %s: %s", r.key, why)
	case f.manual != nil:
		return row, fires, nil
	case why != "":
		return row, inert, fmt.Errorf("fire routine %s: %s", r.key, why)
	case !row.Trigger.Equal(f.trigger):
		return row, moved, nil
	}
	if at, _ := Next(row.Trigger, row.state(), now); row.Trigger.Kind() != KindCron && at.After(now) {
		return row, moved, nil
	}
	return row, fires, nil
}

// refuse ends a fire that does not go ahead.
func (e *Engine) refuse(f *fire, v verdict, err error) {
	r := f.entry
	e.mu.Lock()
	defer e.mu.Unlock()
	f.result = err
	now := e.now()
	switch {
	case v == vanished:
		r.gone = true
	case f.manual != nil && (v == elsewhere || v == unreadable):
		f.next = f.was
	case v == unreadable:
		if r.tries++; r.tries == 1 {
			e.cfg.Log.Warn("a routine that is due can't be read; it is tried again", "routine", r.key.String(), "err", err)
		}
		f.next = now.Add(Retry(r.tries))
	case v == elsewhere:
		if r.skips++; r.skips == skipWarning {
			e.cfg.Log.Warn("a routine is skipped here: another peer is its home", "routine", r.key.String(), "home", r.row.Home)
		}
		switch r.row.Trigger.Kind() { // a cron trigger goes on to its next tick
		case KindInterval:
			f.next = now.Add(r.row.Trigger.delay)
		case KindOneShot:
			f.next = now.Add(retryMax)
		}
	}
}

// switchOff writes that a routine has retired.
func (e *Engine) switchOff(ctx context.Context, f *fire, row Routine) {
	e.store.Lock()
	defer e.store.Unlock()
	o := Outcome{Failures: row.Failures, LastError: row.LastError, Fires: row.Fires, Disable: true}
	if err := e.cfg.Store.Update(context.WithoutCancel(ctx), f.entry.key, o); err != nil {
		e.cfg.Log.Warn("a retired routine could not be switched off", "routine", f.entry.key.String(), "err", err)
		return
	}
	e.mu.Lock()
	f.entry.set(row.apply(o))
	e.mu.Unlock()
}
