package routine

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Defaults of [Config].
const (
	DefaultMaxConcurrent = 8
	DefaultDeadline      = 10 * time.Minute
	DefaultGrace         = 10 * time.Second
)

const (
	// maxSleep is how long the engine sleeps at most before it reads the wall clock again.
	maxSleep = 5 * time.Minute
	// maxBackward is how far the wall clock may go back before the engine plans anew. Within it,
	// fires come later by what the clock went back, and none comes twice.
	maxBackward = 24 * time.Hour
	// skipWarning is the skip in a row, for another home, that is told once.
	skipWarning = 3
)

// Sentinels of the engine.
var (
	ErrExists    = errors.New("a routine of this id exists")
	ErrNotFound  = errors.New("there is no such routine")
	ErrRunning   = errors.New("the routine is running")
	ErrStopped   = errors.New("the routine engine has stopped")
	ErrNotHome   = errors.New("another peer is the home of this routine")
	ErrVoid      = errors.New("the routine was changed while it waited")
	ErrDeadline  = errors.New("the handler passed its deadline")
	ErrAgentRow  = errors.New("schedules of an agent are written by the schedule tools")
	errNoOutcome = errors.New("the handler ended without a result")
)

// Config is what an engine is made of. Store, Dispatcher, Homes and Clock are needed.
type Config struct {
	Store      Store
	Dispatcher Dispatcher
	Homes      Homes
	Clock      Clock
	Log        *slog.Logger // nil: silent

	MaxConcurrent int           // handlers at a time; 0: 8
	Deadline      time.Duration // of one fire, without what it waited in Wait; 0: 10 min
	Grace         time.Duration // how long Run waits for handlers after its context ended; 0: 10 s
}

// Engine fires routines. All methods are safe for concurrent use.
type Engine struct {
	cfg  Config
	wake chan struct{} // capacity 1
	stop chan struct{} // closed when Run's context ends

	store lock // held for each use of cfg.Store, taken before mu

	mu        sync.Mutex
	scopes    map[Scope]map[string]*entry
	due       dueHeap
	free      int              // places for handlers
	returning []*fire          // that left Wait and need a place; served before new fires
	unread    map[Scope]bool   // scopes that could not be read; tried again
	unreadAt  time.Time        // when they are
	latest    time.Time        // the latest wall clock seen since the last planning anew
	fires     map[*fire]string // running, with their names
	running   sync.WaitGroup   // of fires
	loaded    bool
	started   bool
	stopped   bool
}

// New returns an engine that holds nothing yet.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxConcurrent <= 0 {
		cfg.MaxConcurrent = DefaultMaxConcurrent
	}
	if cfg.Deadline <= 0 {
		cfg.Deadline = DefaultDeadline
	}
	if cfg.Grace <= 0 {
		cfg.Grace = DefaultGrace
	}
	return &Engine{
		cfg:    cfg,
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		store:  make(lock, 1),
		scopes: map[Scope]map[string]*entry{},
		free:   cfg.MaxConcurrent,
		unread: map[Scope]bool{},
		fires:  map[*fire]string{},
	}
}

// Run loads all rows, unless [Engine.Load] did, and fires them until the context ends. Then it
// cancels the handlers and returns when all of them are gone; if some are not within the grace
// period, with an error that names them. It runs once.
func (e *Engine) Run(ctx context.Context) error {
	e.mu.Lock()
	again, loaded := e.started || e.stopped, e.loaded
	e.started = true
	e.mu.Unlock()
	if again {
		return fmt.Errorf("run routine engine: %w", ErrStopped)
	}
	var err error
	if !loaded {
		err = e.Load(ctx)
	}
	if err == nil {
		e.loop(ctx)
	}
	return errors.Join(err, e.shutdown())
}

func (e *Engine) loop(ctx context.Context) {
	for ctx.Err() == nil {
		e.readAgain(ctx)
		e.mu.Lock()
		e.startDue(ctx)
		pause, sleeps := e.pause()
		e.mu.Unlock()
		var alarm <-chan time.Time
		if sleeps {
			alarm = e.cfg.Clock.After(pause)
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-alarm:
		}
	}
}

// startDue gives a place to each routine that is due, in due order. The caller holds mu.
func (e *Engine) startDue(ctx context.Context) {
	now := e.now()
	if now.Before(e.latest.Add(-maxBackward)) {
		e.cfg.Log.Warn("the clock went back by more than a day: routines are planned anew", "from", e.latest, "to", now)
		e.latest = now
		for _, rows := range e.scopes {
			for _, r := range rows {
				e.plan(r)
			}
		}
	}
	e.latest = later(e.latest, now)
	for e.free > 0 && len(e.due) > 0 && !e.due[0].at.After(now) {
		e.free--
		f := e.open(heap.Pop(&e.due).(*entry))
		f.holds = true
		go e.fire(ctx, f)
	}
}

// pause is how long to sleep; false: until something changes. The caller holds mu.
func (e *Engine) pause() (time.Duration, bool) {
	now := e.now()
	pause, sleeps := maxSleep, len(e.unread) > 0
	if sleeps {
		pause = min(pause, e.unreadAt.Sub(now))
	}
	if len(e.due) > 0 && e.free > 0 {
		pause, sleeps = min(pause, e.due[0].at.Sub(now)), true
	} else if len(e.due) > 0 {
		sleeps = true // a place that becomes free wakes us
	}
	return max(pause, 0), sleeps
}

// shutdown waits for the fires.
func (e *Engine) shutdown() error {
	e.mu.Lock()
	e.stopped = true
	close(e.stop)
	e.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		e.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-e.cfg.Clock.After(e.cfg.Grace):
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	names := make([]string, 0, len(e.fires))
	for _, name := range e.fires {
		names = append(names, name)
	}
	return fmt.Errorf("stop routine engine: handlers that ignore the end are left behind: %s", strings.Join(names, ", "))
}

// poke makes the loop look again.
func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// now reads the wall clock: without the monotonic part, and within the years that RFC 3339 has.
func (e *Engine) now() time.Time {
	now := e.cfg.Clock.Now().UTC()
	if first := time.Unix(0, 0).UTC(); now.Before(first) {
		return first
	}
	if last := time.Date(maxYear, 12, 31, 23, 59, 59, 0, time.UTC); now.After(last) {
		return last
	}
	return now
}

// lock is a mutex made of a channel: who waits for it while a store works lets fake time pass.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
