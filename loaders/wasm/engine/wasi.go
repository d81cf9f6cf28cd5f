package engine

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// Bounds of one call of WASI. The functions are the runtime's own and do all of what they are asked, at
// the cost of the host; so what no honest guest asks for ends the call.
const (
	maxVectors = 1024 // buffers of one read or write, as on most systems
	maxEvents  = 64   // of one poll
	maxFD      = 1024 // the table of open files is as long as the largest number
	maxPath    = 4 << 10
	maxDirBuf  = 1 << 20 // bytes of one fd_readdir
)

type bound struct {
	param int
	most  uint32
}

// wasiBounds are parameters with their bounds: which parameter, by function.
func wasiBounds() map[string][]bound {
	return map[string][]bound{
		"fd_read": {{2, maxVectors}}, "fd_write": {{2, maxVectors}},
		"fd_pread": {{2, maxVectors}}, "fd_pwrite": {{2, maxVectors}},
		"sock_recv": {{2, maxVectors}}, "sock_send": {{2, maxVectors}},
		"poll_oneoff": {{2, maxEvents}},
		"fd_renumber": {{1, maxFD}},
		"fd_readdir":  {{2, maxDirBuf}},
		"path_open":   {{3, maxPath}}, "path_create_directory": {{2, maxPath}}, "path_filestat_get": {{3, maxPath}},
		"path_filestat_set_times": {{3, maxPath}}, "path_readlink": {{2, maxPath}, {4, maxDirBuf}},
		"path_remove_directory": {{2, maxPath}}, "path_unlink_file": {{2, maxPath}},
		"path_symlink": {{1, maxPath}, {4, maxPath}},
		"path_link":    {{3, maxPath}, {6, maxPath}}, "path_rename": {{2, maxPath}, {5, maxPath}},
	}
}

// wasiGate stands before every function of WASI. The runtime lets nobody wrap its functions, but it tells
// a listener before it calls one; and a listener may end the call.
type wasiGate struct{}

// NewFunctionListener is for [experimental.FunctionListenerFactory].
func (wasiGate) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	name := def.ExportNames()[0]
	bounds := wasiBounds()[name]
	return experimental.FunctionListenerFunc(func(ctx context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
		in := running(ctx)
		in.work(1 << 10)
		for _, b := range bounds {
			if uint32(params[b.param]) > b.most {
				in.abort(fmt.Errorf("%w: %s with %d, the limit is %d", ErrTrap, name, uint32(params[b.param]), b.most))
			}
		}
	})
}

// buildWASI makes the module and answers with the signatures of its functions.
func buildWASI(ctx context.Context, rt wazero.Runtime) (map[string]meter.FuncType, error) {
	b := rt.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	mod, err := b.Instantiate(experimental.WithFunctionListenerFactory(ctx, wasiGate{}))
	if err != nil {
		return nil, err
	}
	have := map[string]meter.FuncType{}
	for name, def := range mod.ExportedFunctionDefinitions() {
		have[name] = meter.FuncType{Params: values(def.ParamTypes()), Results: values(def.ResultTypes())}
	}
	return have, nil
}

func values(ts []api.ValueType) []meter.Value {
	out := make([]meter.Value, len(ts))
	for i, t := range ts {
		out[i] = meter.Value(t)
	}
	return out
}
