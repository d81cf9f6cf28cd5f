package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// Config is what an engine needs; the zero value works, without a cache on disk.
type Config struct {
	// CacheDir is where compiled code is kept between runs; "" is nowhere. It is made with mode 0700.
	CacheDir string
	// CacheKey seals what is in CacheDir; at least 16 random bytes that never leave this peer, the same
	// in every run. Without it nothing is kept.
	CacheKey []byte
	// CacheSize bounds the files of CacheDir together, in bytes; 0 is 1 GiB. The oldest go first.
	CacheSize int64
	// MaxModule bounds a module, in bytes; 0 is the hard limit of package meter.
	MaxModule int64
	// CompileTime bounds the compilation of one module; 0 is 2 minutes.
	CompileTime time.Duration
	// Spare is how many compiled modules that no pool uses stay in memory; 0 is 8.
	Spare int
	// Log is told of damaged cache files and of errors that only cost time. nil is slog's default.
	Log *slog.Logger
}

const (
	defaultCacheSize = 1 << 30
	defaultSpare     = 8
	lanes            = 2 // modules that are compiled at the same time
)

// Engine compiles modules and owns everything that runs. Safe for concurrent use.
type Engine struct {
	cfg    Config
	limits meter.Limits
	store  *store     // nil: nothing is kept on disk
	lanes  chan *lane // those that compile nothing now
	kernel map[string]meter.FuncType
	wasi   map[string]meter.FuncType

	compiling singleflight.Group
	work      sync.WaitGroup // compilations

	mu     sync.Mutex
	all    []*lane
	stuck  map[*lane]struct{}    // those that compile what was given up
	slow   map[[32]byte]struct{} // modules that were given up
	pools  map[*Pool]struct{}    // open
	codes  map[[32]byte]*code
	spare  []*code // without users, the last one was left last
	closed bool
}

// New makes an engine. A cache folder that can't be used is an error; damage inside of it is not.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{
		cfg: cfg, limits: meter.DefaultLimits(), codes: map[[32]byte]*code{}, pools: map[*Pool]struct{}{},
		kernel: map[string]meter.FuncType{}, lanes: make(chan *lane, lanes+maxStuck),
		stuck: map[*lane]struct{}{}, slow: map[[32]byte]struct{}{},
	}
	if e.cfg.Log == nil {
		e.cfg.Log = slog.Default()
	}
	if e.cfg.Spare <= 0 {
		e.cfg.Spare = defaultSpare
	}
	if e.cfg.CompileTime <= 0 {
		e.cfg.CompileTime = defaultCompileTime
	}
	if cfg.MaxModule > 0 {
		e.limits.Bytes = min(cfg.MaxModule, e.limits.Bytes)
	}
	for _, f := range kernelFuncs() {
		e.kernel[f.name] = f.sig
	}
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open engine: %w", err), e.Close(ctx))
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) error {
	if e.cfg.CacheDir != "" && len(e.cfg.CacheKey) > 0 {
		var err error
		if e.store, err = openStore(e.cfg); err != nil {
			return fmt.Errorf("open compile cache: %w", err)
		}
	}
	for range lanes {
		if err := e.addLane(ctx); err != nil {
			return err
		}
	}
	e.wasi = e.all[0].wasi
	return nil
}

func (e *Engine) addLane(ctx context.Context) error {
	l, err := newLane(ctx, e.store)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.all = append(e.all, l)
	e.mu.Unlock()
	e.lanes <- l
	return nil
}

// Close ends the engine and everything of it: pools that are open are closed, and it waits for what runs
// in them, as long as ctx lasts, and for compilations. When it gives up, what runs keeps its memory.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	pools := slices.Collect(maps.Keys(e.pools))
	e.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	for _, p := range pools {
		if err := p.Close(ctx); err != nil {
			return fmt.Errorf("close engine: %w", err)
		}
	}
	e.work.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	for _, l := range e.all {
		if _, busy := e.stuck[l]; !busy { // a compiler that is stuck ends with the process
			err = errors.Join(err, l.close(ctx))
		}
	}
	if e.store != nil {
		err = errors.Join(err, e.store.close())
	}
	if err != nil {
		return fmt.Errorf("close engine: %w", err)
	}
	return nil
}
