package hub

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// panicError is a panic in code of an extension, or a goroutine that it ended.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	if e.value == nil {
		return "panicked: it ended its goroutine"
	}
	return "panicked: " + oneLine(fmt.Sprint(e.value))
}

// deadlineError is a call that did not answer in time, or answered that it ran out of it.
type deadlineError struct{ limit time.Duration }

func (e *deadlineError) Error() string {
	if e.limit == 0 {
		return "no answer in time"
	}
	return fmt.Sprintf("no answer within %s", e.limit)
}

func (e *deadlineError) Unwrap() error { return context.DeadlineExceeded }

// nonsenseError is an answer that means nothing.
type nonsenseError struct{ what string }

func (e *nonsenseError) Error() string { return "nonsense: " + e.what }

// errEnded is a call to an instance that has ended.
var errEnded = errors.New("the extension's instance has ended")

type answer[T any] struct {
	value T
	err   error
}

// The owner of an answer: nobody yet, the caller that waits, or, after the caller has gone, nobody.
const (
	pending int32 = iota
	delivered
	abandoned
)

// guard runs fn in a goroutine of its own and waits for it until limit (0 is none) or ctx ends. A
// call that is not over then is abandoned: late, if not nil, gets a value that it still returns.
func guard[T any](ctx context.Context, limit time.Duration, fn func(context.Context) (T, error), late func(T)) (T, error) {
	call, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		call, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	var zero T
	var state atomic.Int32
	out := make(chan answer[T], 1)
	go func() {
		var a answer[T]
		normal := false
		// Deferred, because code of an extension may end the goroutine.
		defer func() {
			if !normal {
				a.err = &panicError{recover(), debug.Stack()}
			}
			if state.CompareAndSwap(pending, delivered) {
				out <- a
			} else if a.err == nil && late != nil {
				late(a.value)
			}
		}()
		a.value, a.err = fn(call)
		normal = true
	}()
	var a answer[T]
	select {
	case a = <-out:
	case <-call.Done():
		if state.CompareAndSwap(pending, abandoned) {
			return zero, lateError(ctx, call, limit)
		}
		a = <-out
	}
	switch {
	case limit > 0 && ctx.Err() == nil && call.Err() != nil:
		// It answered, but after its deadline: what it says must not depend on who looked first.
		if a.err == nil && late != nil {
			late(a.value)
		}
		return zero, lateError(ctx, call, limit)
	case a.err != nil && call.Err() != nil && errors.Is(a.err, call.Err()):
		return zero, lateError(ctx, call, limit)
	}
	return a.value, a.err
}

// lateError tells the end of the caller's time from that of the call's own.
func lateError(ctx, call context.Context, limit time.Duration) error {
	if limit > 0 && ctx.Err() == nil && errors.Is(call.Err(), context.DeadlineExceeded) {
		return &deadlineError{limit}
	}
	if limit == 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &deadlineError{}
	}
	return ctx.Err()
}

// place says where an extension was called, for log and audit.
type place struct {
	point          string
	session, agent crdt.DocID
	// answers says that an error is an ordinary answer, as of a tool: only panics and missed
	// deadlines count.
	answers bool
}

// invoke calls one function of an instance with everything that guards it, and keeps account of how
// it went.
func invoke[T any](ctx context.Context, h *Hub, i *instance, at place, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err // the caller has gone
	}
	if !i.begin() {
		return zero, errEnded
	}
	v, err := guard(ctx, limit, fn, nil)
	if i.finish(h.now()) {
		go h.shutdown(i)
	}
	h.judge(i.ent, at, err)
	return v, err
}

// judge counts a call: what failed is logged and audited, and an extension that is not compiled in
// is suspended after too many panics and missed deadlines in a row.
func (h *Hub) judge(e *entry, at place, err error) {
	if err == nil {
		e.failures.Store(0)
		return
	}
	what := outcome(err)
	if errors.Is(err, context.Canceled) || errors.Is(err, errEnded) || at.answers && what == OutcomeError {
		return // the caller's doing, or an answer
	}
	ev := AuditEvent{Extension: e.name(), Point: at.point, Session: at.session, Agent: at.agent, Outcome: what, Detail: oneLine(err.Error())}
	h.audit(ev)
	var p *panicError
	if errors.As(err, &p) && p.value != nil {
		h.log.Debug("stack of the panic", "extension", e.name(), "stack", string(p.stack))
	}
	if what != OutcomePanic && what != OutcomeDeadline && what != OutcomeCrash {
		return
	}
	e.fault.Store(&ev.Detail)
	if n := e.failures.Add(1); !e.builtin && n >= maxFaults && e.suspended.CompareAndSwap(false, true) {
		ev.Outcome, ev.Detail = OutcomeSuspended, fmt.Sprintf("%d failures in a row, the last: %s", n, ev.Detail)
		h.audit(ev)
	}
}

func outcome(err error) Outcome {
	var p *panicError
	var d *deadlineError
	var n *nonsenseError
	switch {
	case errors.As(err, &p):
		return OutcomePanic
	case errors.As(err, &d):
		return OutcomeDeadline
	case errors.As(err, &n):
		return OutcomeNonsense
	case errors.Is(err, extension.ErrCrashed):
		return OutcomeCrash
	}
	return OutcomeError
}

// maxReason is the longest text of an extension that appears in a log or a reason, in characters.
const maxReason = 500

// oneLine makes a text of an extension fit for logs and reasons: valid UTF-8 on one line, cut.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 8*maxReason)], "�")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(s); len(r) > maxReason {
		return string(r[:maxReason]) + "…"
	}
	return s
}
