package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// instance is one living guest. Only the call that holds it touches it.
type instance struct {
	pool *Pool
	mod  api.Module
	fuel api.MutableGlobal
	mem  linear
	fns  map[string]api.Function // those called before: each keeps a stack of its own
	open openFiles
	logs logs
	ours guestContext // the context that the runtime gets in every call

	stack [1]uint64 // the result of a call

	frame // of the running call
}

// frame is what one call has. It is cleared before the next.
type frame struct {
	ctx      context.Context // the caller's
	end      time.Time       // the deadline
	budget   *meter.Budget
	yielded  time.Time // when others last had a chance to run
	debt     int       // work of the host since the clock was looked at
	stop     error     // why the host ended the call
	host     context.Context
	hostEnd  context.CancelFunc
	arena    arena
	inputAt  uint64
	inputLen uint64
	outputAt, outputLen,
	errorAt uint64
	response HTTPResponse // the last one, without its body
	written  int64        // bytes to files
}

// guestContext carries the instance to the host functions. Its parent is not that of the caller: the
// runtime looks values up in it at every crossing, and has no business with the caller's.
type guestContext struct {
	context.Context
	in *instance
}

// running is the instance in whose call a host function was called.
func running(ctx context.Context) *instance { return ctx.(*guestContext).in }

// begin starts the frame of a call. The end is that of the limits or of ctx, whichever is first.
func (in *instance) begin(ctx context.Context, end time.Time, budget *meter.Budget) {
	a := in.arena
	a.limit = in.pool.opt.Limits.Exchange
	a.reset()
	in.frame = frame{ctx: ctx, end: end, budget: budget, arena: a}
	in.yielded = time.Now()
	in.mem.full = false
	in.logs.begin()
}

// finish ends the frame and gives back what hangs on it.
func (in *instance) finish() {
	in.logs.end()
	if in.hostEnd != nil {
		in.hostEnd()
	}
}

// build makes an instance inside the frame of its first call: start functions burn the fuel of that call
// and end at its deadline.
func (p *Pool) build(ctx context.Context, end time.Time, budget *meter.Budget) (*instance, error) {
	in := &instance{pool: p, fns: map[string]api.Function{}}
	in.mem.limit = uint64(p.opt.Limits.Memory)
	in.logs.in = in
	in.logs.out = partial{logs: &in.logs, level: "stdout"}
	in.logs.err = partial{logs: &in.logs, level: "stderr"}
	in.open.in = in
	in.begin(ctx, end, budget)
	in.ours = guestContext{p.code.resolving(withMemory(context.Background(), &in.mem)), in}
	mod, err := p.code.lane.rt.InstantiateModule(&in.ours, p.code.compiled, in.config())
	in.ours.Context = context.Background()
	if err != nil {
		err = in.explain(err)
		in.finish()
		in.discard()
		return nil, err
	}
	in.mod = mod
	in.fuel = mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
	for _, name := range p.code.starters {
		if err := in.start(name); err != nil {
			in.finish()
			in.discard()
			return nil, err
		}
	}
	return in, nil
}

// start calls one of the functions that prepare a guest.
func (in *instance) start(name string) error {
	f := in.function(name)
	if _, err := f.Call(&in.ours, make([]uint64, len(f.Definition().ParamTypes()))...); err != nil {
		return fmt.Errorf("%s: %w", name, in.explain(err))
	}
	return nil
}

func (in *instance) function(name string) api.Function {
	f, ok := in.fns[name]
	if !ok {
		f = in.mod.ExportedFunction(name)
		in.fns[name] = f
	}
	return f
}

// config is what the guest sees of the world beside the kernel.
func (in *instance) config() wazero.ModuleConfig {
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(&in.logs.out).WithStderr(&in.logs.err).WithFSConfig(in.open.mounts())
	if in.pool.opt.Deterministic {
		return c.WithRandSource(fixedRandom(in))
	}
	return c.WithSysWalltime().WithSysNanotime().WithNanosleep(in.sleep).
		WithRandSource(worked{in, rand.Reader})
}

// discard frees everything that an instance has. Nothing of it may run any more.
func (in *instance) discard() {
	if in.mod != nil {
		_ = in.mod.Close(context.Background()) // nothing of it is on disk
	}
	in.open.closeAll()
	in.mem.Free()
}
