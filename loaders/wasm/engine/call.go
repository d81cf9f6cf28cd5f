package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"
)

const (
	// slice is how much fuel a guest gets at a time: some tens of microseconds. While one runs, the
	// processor can't be taken from it and the collector can't stop it.
	slice = 100_000
	// turn is how long a guest runs before others that wait for a processor get one.
	turn = 200 * time.Microsecond
	// workStep is how much work of the host, in about bytes, lies between two looks at the clock.
	workStep = 64 << 10
)

// check ends the call if it has to end: its time is over, its caller went away, its pool is closing.
// Only host functions call it.
func (in *instance) check() {
	now := time.Now()
	if now.Sub(in.yielded) > turn {
		in.yielded = now
		runtime.Gosched() // the scheduler itself would let it run for 10 ms
	}
	switch {
	case !now.Before(in.end):
		in.abort(fmt.Errorf("%w: the limit is %d ms", ErrDeadline, in.pool.opt.Limits.Deadline))
	case in.pool.closing.Err() != nil:
		in.abort(ErrClosed)
	}
	if err := in.ctx.Err(); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: that of the caller", ErrDeadline)
		}
		in.abort(err)
	}
}

// work accounts for what the host does for a guest, who pays no fuel for it.
func (in *instance) work(n int) {
	in.debt += n + 16
	if in.debt >= workStep {
		in.debt = 0
		in.check()
	}
}

// abort ends the call with an error, out of a host function.
func (in *instance) abort(err error) {
	in.stop = err
	// The cheapest way out: no trace of the guest's stack is made.
	panic(sys.NewExitError(sys.ExitCodeContextCanceled))
}

// hostContext is the caller's context with the end of the call.
func (in *instance) hostContext() context.Context {
	in.check()
	if in.host == nil {
		ctx, cancel := context.WithDeadline(in.ctx, in.end)
		stop := context.AfterFunc(in.pool.closing, cancel)
		in.host, in.hostEnd = ctx, func() { stop(); cancel() }
	}
	return in.host
}

// sleep is the guest's: it ends with the call.
func (in *instance) sleep(ns int64) {
	if ns > 0 {
		t := time.NewTimer(time.Duration(ns))
		defer t.Stop()
		select {
		case <-t.C:
		case <-in.hostContext().Done():
		}
	}
	in.check()
}

// explain says why a call ended with an error of the runtime.
func (in *instance) explain(err error) error {
	var exit *sys.ExitError
	switch {
	case in.stop != nil:
		return in.stop
	case in.mem.full:
		return in.memoryError()
	case errors.As(err, &exit):
		return fmt.Errorf("%w with code %d", ErrExit, exit.ExitCode())
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimPrefix(strings.TrimSuffix(text, " (recovered by wazero)"), "wasm error: ")
	return fmt.Errorf("%w: %s", ErrTrap, printable([]byte(text), 300))
}

func (in *instance) memoryError() error {
	return fmt.Errorf("%w: memory limit %s", ErrMemory, bytesText(in.pool.opt.Limits.Memory))
}

// worked is a source that accounts for what is read of it.
type worked struct {
	in *instance
	r  io.Reader
}

func (w worked) Read(b []byte) (int, error) {
	b = b[:min(len(b), workStep)]
	w.in.work(len(b))
	return w.r.Read(b)
}

// fixedRandom gives every instance the same numbers.
func fixedRandom(in *instance) io.Reader { return worked{in, rand.NewChaCha8([32]byte{})} }
