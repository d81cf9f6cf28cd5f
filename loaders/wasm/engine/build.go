package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
)

const (
	// defaultCompileTime is about a hundred times what an ordinary guest takes.
	defaultCompileTime = 2 * time.Minute
	// maxStuck is how many compilations that take too long are borne beside the lanes.
	maxStuck = 2
)

// build makes the native code of a module in some lane. The compiler can't be stopped, and there are
// small modules that keep it busy for hours: such a one is given up, and remembered, and another lane
// takes the place of the one that it holds.
func (e *Engine) build(c *code, wasm []byte) error {
	tooLong := fmt.Errorf("%w: compiling it takes longer than %v", ErrModule, e.cfg.CompileTime)
	e.mu.Lock()
	_, slow := e.slow[c.sum]
	e.mu.Unlock()
	if slow {
		return tooLong
	}
	l := <-e.lanes
	c.lane = l
	type result struct {
		compiled wazero.CompiledModule
		err      error
	}
	done := make(chan result, 1)
	go func() {
		compiled, err := l.compileSafely(c.sum, wasm, e.limits)
		done <- result{compiled, err}
	}()
	late := time.NewTimer(e.cfg.CompileTime)
	defer late.Stop()
	select {
	case r := <-done:
		defer func() { e.lanes <- l }()
		if r.err != nil {
			return r.err
		}
		c.compiled = r.compiled
		if err := c.linkUser(context.Background()); err != nil {
			c.free()
			return err
		}
		return nil
	case <-late.C:
	}
	e.replace(l, c.sum)
	go func() {
		if r := <-done; r.err == nil {
			_ = r.compiled.Close(context.Background()) // nobody waits for it any more
		}
		e.mu.Lock()
		delete(e.stuck, l)
		e.mu.Unlock()
		e.lanes <- l
	}()
	return tooLong
}

// replace notes that a lane is stuck, and puts a new one beside it.
func (e *Engine) replace(l *lane, sum [32]byte) {
	e.mu.Lock()
	e.slow[sum] = struct{}{}
	e.stuck[l] = struct{}{}
	more := len(e.all) < lanes+maxStuck
	e.mu.Unlock()
	e.cfg.Log.Warn("a module takes too long to compile", "sha256", fmt.Sprintf("%x", sum), "limit", e.cfg.CompileTime)
	if !more {
		return
	}
	if err := e.addLane(context.Background()); err != nil {
		e.cfg.Log.Warn("no place to compile in", "error", err)
	}
}
