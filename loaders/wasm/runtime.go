package wasm

import (
	"context"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// Runtime compiles modules. [FromEngine] makes one of the engine.
type Runtime interface {
	// Compile checks and compiles a core module, or finds what it compiled before.
	Compile(ctx context.Context, wasm []byte) (Compiled, error)
}

// Compiled is a module that is ready to run.
type Compiled interface {
	// Open makes a pool of instances. ctx is not kept.
	Open(ctx context.Context, o engine.Options) (Pool, error)
	// Close says that no more pools will be opened; those that are open stay.
	Close()
}

// Pool runs one guest. Methods are safe for concurrent use.
type Pool interface {
	// Call calls an exported function. The methods of the pool's host get a context made of ctx. A
	// call that finds all instances busy waits for one. Errors: those of package engine, or what the
	// guest reported.
	Call(ctx context.Context, export string, input []byte) ([]byte, error)
	Has(export string) bool
	Close(ctx context.Context) error
}

// FromEngine is the real thing.
func FromEngine(e *engine.Engine) Runtime { return engineRuntime{e} }

type engineRuntime struct{ e *engine.Engine }

func (r engineRuntime) Compile(ctx context.Context, wasm []byte) (Compiled, error) {
	m, err := r.e.Compile(ctx, wasm)
	if err != nil {
		return nil, err // not a nil *engine.Module in an interface
	}
	return engineModule{m}, nil
}

type engineModule struct{ m *engine.Module }

func (m engineModule) Open(ctx context.Context, o engine.Options) (Pool, error) {
	p, err := m.m.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (m engineModule) Close() { m.m.Close() }
