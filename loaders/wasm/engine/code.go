package engine

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// code is one compiled module, shared by all who compiled the same bytes.
type code struct {
	engine   *Engine
	lane     *lane
	sum      [32]byte
	info     *meter.Info
	exports  map[string]*meter.FuncType // functions
	starters []string                   // what is called once in each instance, in this order
	compiled wazero.CompiledModule
	// user has the functions of extism:host/user that the module imports; nil where it imports none.
	user     api.Module
	userCode wazero.CompiledModule

	users int // handles and pools; guarded by Engine.mu
}

func newCode(e *Engine, sum [32]byte, info *meter.Info) *code {
	c := &code{engine: e, sum: sum, info: info, exports: map[string]*meter.FuncType{}}
	for _, x := range info.Exports {
		if x.Kind == meter.KindFunc {
			c.exports[x.Name] = x.Func
		}
	}
	c.starters = starters(c.exports)
	return c
}

// starters are the functions that a module wants called before any other: a Haskell runtime has one of
// its own beside _initialize; a command has its constructors. _start is none of them: it is the whole
// program, and runs when it is called.
func starters(exports map[string]*meter.FuncType) []string {
	plain := func(name string, params int) bool {
		f, ok := exports[name]
		return ok && len(f.Params) == params
	}
	switch {
	case plain("hs_init", 2) && plain("_initialize", 0):
		return []string{"_initialize", "hs_init"}
	case plain("hs_init", 2):
		return []string{"hs_init"}
	case plain("_initialize", 0):
		return []string{"_initialize"}
	case plain("__wasm_call_ctors", 0):
		return []string{"__wasm_call_ctors"}
	}
	return nil
}

// linkUser makes the module of the user functions. Which of them exist is decided when a pool is opened.
func (c *code) linkUser(ctx context.Context) error {
	var funcs []kernelFunc
	for _, im := range c.info.Imports {
		known := slices.ContainsFunc(funcs, func(f kernelFunc) bool { return f.name == im.Name })
		if im.Module == userModule && !known {
			funcs = append(funcs, userFunc(im.Name, *im.Func))
		}
	}
	if funcs == nil {
		return nil
	}
	var err error
	c.user, c.userCode, err = buildHost(ctx, c.lane.rt, "", funcs)
	return err
}

// resolving makes a context in which instances of the module find its user functions.
func (c *code) resolving(ctx context.Context) context.Context {
	if c.user == nil {
		return ctx
	}
	return experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == userModule {
			return c.user
		}
		return nil
	})
}

// leave counts one less. The last one leaves the module to the spare ones.
func (c *code) leave() {
	e := c.engine
	e.mu.Lock()
	c.users--
	var old *code
	if c.users == 0 {
		e.spare = append(e.spare, c)
		if len(e.spare) > e.cfg.Spare {
			old = e.spare[0]
			e.spare = slices.Delete(e.spare, 0, 1)
			delete(e.codes, old.sum)
		}
	}
	e.mu.Unlock()
	if old != nil {
		old.free()
	}
}

// use counts a user of a module that is known; mu is held.
func (e *Engine) use(c *code) {
	if i := slices.Index(e.spare, c); i >= 0 {
		e.spare = slices.Delete(e.spare, i, i+1)
	}
	c.users++
}

// free gives the native code back.
func (c *code) free() {
	ctx := context.Background()
	_ = c.compiled.Close(ctx) // it can't fail in a way that anybody could act on
	if c.user != nil {
		_ = c.user.Close(ctx)
	}
	if c.userCode != nil {
		_ = c.userCode.Close(ctx)
	}
}
