package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// retryDelay is how long after a network failure a call is tried once more.
const retryDelay = 500 * time.Millisecond

// panicError is a panic as an error.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panicked: %.500s", fmt.Sprint(e.value)) }

var errNoAnswer = errors.New("ended without an answer")

// within runs fn in a goroutine of its own until ctx ends; one that does not end then is abandoned
// and its answer dropped. A panic is an error.
func within[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer} // should fn end the goroutine
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: &panicError{p, debug.Stack()}}
			}
			done <- a
		}()
		a.v, a.err = fn(ctx)
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
	}
	select { // both were ready
	case a := <-done:
		return a.v, a.err
	default:
		var none T
		return none, context.Cause(ctx)
	}
}

// execute runs the tool within its time.
func (c *call) execute(ctx context.Context, host extension.Host) (text string, status Status) {
	timeout := c.policy.Timeout
	life, end := context.WithTimeout(ctx, timeout)
	defer end()
	lent := c.bound.Call
	lent.Lent.Host = leash{host, life}
	lent.Lent.Tools = func() []extension.ToolInfo { return c.r.Tools(c.q.Turn, c.q.Allow) }
	try := func() (string, error) {
		return within(life, func(ctx context.Context) (string, error) {
			return c.bound.Tool.Run(ctx, lent, json.RawMessage(bytes.Clone(c.args)))
		})
	}
	text, err := try()
	if errors.Is(err, extension.ErrNetwork) && life.Err() == nil {
		timer := time.NewTimer(retryDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
			text, err = try()
		case <-life.Done():
		}
	}
	switch {
	case err == nil:
		return text, StatusOK
	case ctx.Err() != nil:
		return textCanceled, StatusError
	case life.Err() != nil:
		return textTimeout(timeout), StatusTimeout
	}
	return c.failed(err)
}

// failed tells what a tool's error means.
func (c *call) failed(err error) (text string, status Status) {
	var p *panicError
	if errors.As(err, &p) {
		c.r.log.Error("a tool panicked", "tool", c.q.Tool, "extension", c.bound.Owner, "panic", p.value, "stack", string(p.stack))
		return textFailed(fmt.Errorf("the tool %s %w", c.q.Tool, err)), StatusError
	}
	if errors.Is(err, extension.ErrArgument) {
		return textInvalid(err), StatusInvalid
	}
	return textFailed(err), StatusError
}
