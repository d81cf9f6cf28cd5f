package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// Module is a compiled module; Close says that its user needs it no more. Safe for concurrent use.
type Module struct {
	code *code
	once sync.Once // of Close
}

// Info is what a module says of itself: see [meter.Info].
type Info = meter.Info

// Info returns what the module says of itself; it must not be changed.
func (m *Module) Info() *Info { return m.code.info }

// Close gives the handle back; nothing may be opened with it any more. Pools that are open stay. A second
// call does nothing.
func (m *Module) Close() { m.once.Do(m.code.leave) }

// Compile checks a module, makes it measurable and compiles it, or finds the same bytes compiled before,
// in memory or on disk. Callers with the same bytes share one compilation, and it goes on for the next
// one when ctx ends. Who gets a module closes it. Errors wrap [ErrModule] where the module is at fault.
func (e *Engine) Compile(ctx context.Context, wasm []byte) (*Module, error) {
	if int64(len(wasm)) > e.limits.Bytes {
		return nil, fmt.Errorf("compile module: %w: it has %d bytes, the limit is %d", ErrModule, len(wasm), e.limits.Bytes)
	}
	sum := sha256.Sum256(wasm)
	for {
		if m, err := e.known(sum); m != nil || err != nil {
			return m, err
		}
		done := e.compiling.DoChan(string(sum[:]), func() (any, error) { return nil, e.load(sum, wasm) })
		select {
		case r := <-done:
			if r.Err != nil {
				return nil, fmt.Errorf("compile module: %w", r.Err)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("compile module: %w", ctx.Err())
		}
	}
}

// known makes a handle of a module that is in memory, or nil.
func (e *Engine) known(sum [32]byte) (*Module, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("compile module: the engine is closed")
	}
	c, ok := e.codes[sum]
	if !ok {
		return nil, nil
	}
	e.use(c)
	return &Module{code: c}, nil
}

// load brings a module into memory, without a user.
func (e *Engine) load(sum [32]byte, wasm []byte) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errors.New("the engine is closed")
	}
	e.work.Add(1)
	e.mu.Unlock()
	defer e.work.Done()
	info, err := e.limits.Inspect(wasm)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrModule, err)
	}
	for _, im := range info.Imports {
		if err := e.importable(im); err != nil {
			return fmt.Errorf("%w: %w", ErrModule, err)
		}
	}
	c := newCode(e, sum, info)
	if err := e.build(c, wasm); err != nil {
		return err
	}
	e.mu.Lock()
	e.codes[sum] = c
	e.use(c)
	e.mu.Unlock()
	c.leave() // to the spare ones, until the caller takes it
	return nil
}
