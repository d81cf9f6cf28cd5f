package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

const defaultSize = 4

// Pool runs one module with one set of options. Calls that come one after the other meet the same
// instance; calls at the same time get one each, up to Options.Size. Variables of the kernel belong to
// the pool. Safe for concurrent use.
type Pool struct {
	code    *code
	opt     Options
	vars    vars
	slots   chan struct{}
	closing context.Context
	close   context.CancelFunc

	mu   sync.Mutex
	idle []*instance // the last one was used last
	live int
	done bool
	gone chan struct{} // closed when live is 0 after done

	built, calls, errs, traps, fuel atomic.Uint64
}

func newPool(c *code, o Options) *Pool {
	if o.Size <= 0 {
		o.Size = defaultSize
	}
	p := &Pool{code: c, opt: o, slots: make(chan struct{}, o.Size), gone: make(chan struct{})}
	p.vars.limit = o.Limits.Vars
	p.closing, p.close = context.WithCancel(context.Background())
	return p
}

// Has reports whether the module exports a function of that name.
func (p *Pool) Has(export string) bool {
	_, ok := p.code.exports[export]
	return ok
}

// Call calls an exported function with an input and returns its output, which is the caller's. It waits
// for an instance while all are busy, as long as ctx lasts. Errors: a *[GuestError], the sentinels of this
// package, the error of ctx, or what a method of the [Host] returned; texts begin with the name of the
// pool.
func (p *Pool) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	out, err := p.call(ctx, export, input)
	var own *GuestError
	if err != nil && !errors.As(err, &own) {
		return nil, fmt.Errorf("call %s of %s: %w", export, p.opt.Name, err)
	}
	return out, err
}

func (p *Pool) call(ctx context.Context, export string, input []byte) ([]byte, error) {
	sig, ok := p.code.exports[export]
	switch {
	case !ok:
		return nil, ErrNoExport
	case len(sig.Params) > 0 || len(sig.Results) > 1:
		return nil, fmt.Errorf("%w to call without parameters: it is %s", ErrNoExport, sig)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closing.Done():
		return nil, ErrClosed
	}
	p.calls.Add(1)
	limits := p.opt.Limits
	end := time.Now().Add(time.Duration(limits.Deadline) * time.Millisecond)
	budget := meter.NewBudget(limits.Fuel, min(slice, limits.Fuel))
	in, err := p.take(ctx, end, budget)
	if err != nil {
		if !errors.Is(err, ErrClosed) {
			p.traps.Add(1)
		}
		return nil, err
	}
	out, keep, err := in.run(export, sig, input)
	if !keep && err != nil {
		p.traps.Add(1)
	}
	p.fuel.Add(uint64(max(budget.Used(int64(in.fuel.Get())), 0)))
	in.finish()
	p.give(in, keep)
	return out, err
}

// take hands out the instance that was used last, or builds one.
func (p *Pool) take(ctx context.Context, end time.Time, budget *meter.Budget) (*instance, error) {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(p.idle); n > 0 {
		in := p.idle[n-1]
		p.idle[n-1], p.idle = nil, p.idle[:n-1]
		p.mu.Unlock()
		in.begin(ctx, end, budget)
		in.fuel.Set(0)
		return in, nil
	}
	p.live++
	p.mu.Unlock()
	in, err := p.build(ctx, end, budget)
	if err != nil {
		p.left()
		return nil, err
	}
	p.built.Add(1)
	return in, nil
}

// give takes an instance back, or ends it.
func (p *Pool) give(in *instance, keep bool) {
	p.mu.Lock()
	if keep && !p.done {
		in.frame = frame{arena: in.arena}
		p.idle = append(p.idle, in)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	in.discard()
	p.left()
}

func (p *Pool) left() {
	p.mu.Lock()
	p.live--
	last := p.done && p.live == 0
	p.mu.Unlock()
	if last {
		p.end()
	}
}

// end is called once, when the pool is closed and the last instance is gone.
func (p *Pool) end() {
	e := p.code.engine
	e.mu.Lock()
	delete(e.pools, p)
	e.mu.Unlock()
	p.code.leave()
	close(p.gone)
}

// Stats returns the counters.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	live, idle := p.live, len(p.idle)
	p.mu.Unlock()
	return Stats{
		Live: live, Idle: idle, Built: p.built.Load(), Calls: p.calls.Load(), Errors: p.errs.Load(),
		Traps: p.traps.Load(), Fuel: p.fuel.Load(),
	}
}

// Trim ends the instances that wait for work, but the keep that were used last.
func (p *Pool) Trim(keep int) {
	p.mu.Lock()
	n := max(len(p.idle)-keep, 0)
	old := append([]*instance(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	p.mu.Unlock()
	for _, in := range old {
		in.discard()
		p.left()
	}
}

// Close ends the pool: calls that run end with [ErrClosed] within a moment, and it waits for them as long
// as ctx lasts. A second call waits too.
func (p *Pool) Close(ctx context.Context) error {
	p.close()
	p.mu.Lock()
	last := !p.done && p.live == 0
	p.done = true
	p.mu.Unlock()
	if last {
		p.end()
	}
	p.Trim(0)
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close pool %s: %w", p.opt.Name, ctx.Err())
	}
}
