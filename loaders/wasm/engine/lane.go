package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// lane is one runtime. It compiles one module at a time, so the files of its cache folder are those of
// that module; what it compiled runs in it. An engine has few.
type lane struct {
	rt    wazero.Runtime
	cache wazero.CompilationCache
	dir   string // of the runtime's own cache, "" for none
	store *store // nil for none
	wasi  map[string]meter.FuncType
}

// newLane makes a runtime with the host modules in it.
func newLane(ctx context.Context, s *store) (*lane, error) {
	l := &lane{store: s, cache: wazero.NewCompilationCache()}
	if s != nil {
		dir, err := os.MkdirTemp(s.run, "lane-")
		if err != nil {
			return nil, err
		}
		if l.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, err
		}
		sub, err := os.ReadDir(dir)
		if err != nil || len(sub) != 1 {
			return nil, fmt.Errorf("the runtime made %d cache folders: %w", len(sub), err)
		}
		l.dir = filepath.Join(dir, sub[0].Name())
	}
	l.rt = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(l.cache).WithDebugInfoEnabled(false).WithCoreFeatures(api.CoreFeaturesV2))
	for name, funcs := range map[string][]kernelFunc{
		kernelModule: kernelFuncs(), kernelModuleOld: kernelFuncs(), meter.RefillModule: {refill()},
	} {
		if _, _, err := buildHost(ctx, l.rt, name, funcs); err != nil {
			return nil, errors.Join(err, l.close(ctx))
		}
	}
	var err error
	if l.wasi, err = buildWASI(ctx, l.rt); err != nil {
		return nil, errors.Join(err, l.close(ctx))
	}
	return l, nil
}

func (l *lane) close(ctx context.Context) error {
	return errors.Join(l.rt.Close(ctx), l.cache.Close(ctx))
}

// compileSafely is compile, where a fault of the compiler is an error. That is why it has one worker: what
// panics in another goroutine can't be caught.
func (l *lane) compileSafely(sum [32]byte, wasm []byte, limits meter.Limits) (c wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%w: the compiler fails on it: %s", ErrModule, printable([]byte(fmt.Sprint(r)), 300))
		}
	}()
	return l.compile(context.Background(), sum, wasm, limits)
}

// compile makes native code of a module, or finds it under its seal.
func (l *lane) compile(ctx context.Context, sum [32]byte, wasm []byte, limits meter.Limits) (wazero.CompiledModule, error) {
	name := ""
	if l.store != nil {
		defer l.clear()
		name = l.store.name(sum, filepath.Base(l.dir))
		if c, ok := l.store.get(name); ok {
			if compiled, ok := l.restore(ctx, c); ok {
				return compiled, nil
			}
		}
	}
	metered, err := meter.Instrument(wasm, meter.Options{Limits: limits})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	compiled, err := l.rt.CompileModule(ctx, metered)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrModule, printable([]byte(err.Error()), 500))
	}
	if l.store != nil {
		l.keep(name, metered)
	}
	return compiled, nil
}

// restore hands the runtime what was sealed. It is false where that is of no use here, such as after a
// change of processor.
func (l *lane) restore(ctx context.Context, c sealed) (wazero.CompiledModule, bool) {
	if filepath.Base(c.file) != c.file || os.WriteFile(filepath.Join(l.dir, c.file), c.native, 0o600) != nil {
		return nil, false
	}
	compiled, err := l.rt.CompileModule(ctx, c.metered)
	if err != nil {
		return nil, false
	}
	if len(l.files()) > 1 { // it did not want that file, and made another
		_ = compiled.Close(ctx)
		return nil, false
	}
	return compiled, true
}

// keep seals what the runtime just wrote.
func (l *lane) keep(name string, metered []byte) {
	files := l.files()
	if len(files) != 1 {
		return
	}
	native, err := os.ReadFile(filepath.Join(l.dir, files[0]))
	if err != nil {
		return
	}
	l.store.put(name, sealed{file: files[0], metered: metered, native: native})
}

func (l *lane) files() []string {
	list, _ := os.ReadDir(l.dir) // an error is no files
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.Name()
	}
	return out
}

// clear empties the folder for the next module.
func (l *lane) clear() {
	for _, f := range l.files() {
		_ = os.Remove(filepath.Join(l.dir, f))
	}
}
