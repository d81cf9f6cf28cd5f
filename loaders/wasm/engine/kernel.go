package engine

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// The modules that a guest may import from. The second is the kernel as older guests know it.
const (
	kernelModule    = "extism:host/env"
	kernelModuleOld = "env"
	userModule      = "extism:host/user"
	wasiModule      = "wasi_snapshot_preview1"
)

// kernelFunc is one function of the kernel: it takes its parameters from the stack and leaves its result
// there.
type kernelFunc struct {
	name string
	sig  meter.FuncType
	run  func(in *instance, stack []uint64)
}

// kernelFuncs lists the whole kernel. Offsets are those of the exchange memory; 0 stands for nothing.
func kernelFuncs() []kernelFunc {
	const i32, i64 = meter.I32, meter.I64
	sig := func(results []meter.Value, params ...meter.Value) meter.FuncType {
		return meter.FuncType{Params: params, Results: results}
	}
	none, word, long := []meter.Value(nil), []meter.Value{i32}, []meter.Value{i64}
	return []kernelFunc{
		{"alloc", sig(long, i64), kernelAlloc},
		{"free", sig(none, i64), func(in *instance, s []uint64) { in.arena.free(s[0]) }},
		{"length", sig(long, i64), func(in *instance, s []uint64) { s[0] = in.arena.length(s[0]) }},
		{"length_unsafe", sig(long, i64), func(in *instance, s []uint64) { s[0] = in.arena.length(s[0]) }},
		{"load_u8", sig(word, i64), kernelLoadU8},
		{"load_u64", sig(long, i64), kernelLoadU64},
		{"store_u8", sig(none, i64, i32), kernelStoreU8},
		{"store_u64", sig(none, i64, i64), kernelStoreU64},
		{"input_length", sig(long), func(in *instance, s []uint64) { s[0] = in.inputLen }},
		{"input_offset", sig(long), func(in *instance, s []uint64) { s[0] = in.inputAt }},
		{"input_load_u8", sig(word, i64), kernelInputU8},
		{"input_load_u64", sig(long, i64), kernelInputU64},
		{"output_set", sig(none, i64, i64), kernelOutputSet},
		{"error_set", sig(none, i64), kernelErrorSet},
		{"error_get", sig(long), func(in *instance, s []uint64) { s[0] = in.errorAt }},
		{"config_get", sig(long, i64), kernelConfigGet},
		{"var_get", sig(long, i64), kernelVarGet},
		{"var_set", sig(none, i64, i64), kernelVarSet},
		{"http_request", sig(long, i64, i64), kernelHTTP},
		{"http_status_code", sig(word), func(in *instance, s []uint64) { s[0] = api.EncodeI32(int32(in.response.Status)) }},
		{"http_headers", sig(long), kernelHTTPHeaders},
		{"log_trace", sig(none, i64), kernelLog("trace")},
		{"log_debug", sig(none, i64), kernelLog("debug")},
		{"log_info", sig(none, i64), kernelLog("info")},
		{"log_warn", sig(none, i64), kernelLog("warn")},
		{"log_error", sig(none, i64), kernelLog("error")},
		// 0 is trace: the guest sends everything, and who reads chooses.
		{"get_log_level", sig(word), func(_ *instance, s []uint64) { s[0] = 0 }},
	}
}

// buildHost makes a host module of functions. A name of "" makes one that only an import resolver finds.
func buildHost(ctx context.Context, rt wazero.Runtime, name string, funcs []kernelFunc) (api.Module, wazero.CompiledModule, error) {
	b := rt.NewHostModuleBuilder("chaz:host")
	for _, f := range funcs {
		b = b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			f.run(running(ctx), stack)
		}), valueTypes(f.sig.Params), valueTypes(f.sig.Results)).Export(f.name)
	}
	code, err := b.Compile(ctx)
	if err != nil {
		return nil, nil, err
	}
	mod, err := rt.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName(name))
	return mod, code, err
}

func valueTypes(vs []meter.Value) []api.ValueType {
	out := make([]api.ValueType, len(vs))
	for i, v := range vs {
		out[i] = api.ValueType(v)
	}
	return out
}

// refill is the host's side of package meter: where a guest comes to the end of a slice, the host looks
// at its clock.
func refill() kernelFunc {
	sig := meter.FuncType{Params: []meter.Value{meter.I64}, Results: []meter.Value{meter.I64}}
	return kernelFunc{meter.RefillName, sig, func(in *instance, s []uint64) {
		in.check()
		next, ok := in.budget.Refill(int64(s[0]))
		if !ok {
			in.abort(fmt.Errorf("%w: the limit is %d", ErrFuel, in.pool.opt.Limits.Fuel))
		}
		s[0] = uint64(next)
	}}
}
