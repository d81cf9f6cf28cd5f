package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// importable says why one import can't be had by any guest.
func (e *Engine) importable(im meter.Import) error {
	if im.Kind != meter.KindFunc {
		return fmt.Errorf("it imports the %s %s of %s, but a guest must bring its own", im.Kind, quote(im.Name), quote(im.Module))
	}
	var have meter.FuncType
	var ok bool
	switch im.Module {
	case kernelModule, kernelModuleOld:
		have, ok = e.kernel[im.Name]
	case wasiModule:
		have, ok = e.wasi[im.Name]
	case userModule: // which of them there are is decided by each pool
		if !userSignature(im.Func) {
			return fmt.Errorf("it imports the host function %s as %s, but it takes at most one block and returns at most one", quote(im.Name), im.Func)
		}
		return nil
	}
	if !ok {
		return foreign(im)
	}
	if !slices.Equal(have.Params, im.Func.Params) || !slices.Equal(have.Results, im.Func.Results) {
		return fmt.Errorf("it imports %s.%s as %s, but it is %s", im.Module, im.Name, im.Func, &have)
	}
	return nil
}

// kinds are what an unknown import gives away about a module, by the beginning of "module.function".
var kinds = [...]struct{ prefix, says string }{
	{"wasi:", "it is made for the component model; only core modules of WASI preview 1 run here"},
	{"wasi_unstable.", "it is made for WASI preview 0; compile it for preview 1"},
	{"wasi_snapshot_preview1.", "WASI preview 1 has no such function here"},
	{"wasi_", "only WASI preview 1 is here"},
	{"env.proxy_", "it is a proxy-wasm filter"},
	{"wapc.", "it is a waPC guest"},
	{"go.", "it is a Go program for browsers; compile it with GOOS=wasip1"},
	{"gojs.", "it is a Go program for browsers; compile it with GOOS=wasip1"},
	{"wbg.", "it is made for JavaScript by wasm-bindgen"},
	{"__wbindgen", "it is made for JavaScript by wasm-bindgen"},
	{"a.", "it is made for JavaScript by Emscripten"},
	{"dylibso_observe.", "it is instrumented for an observability SDK; use the plain build"},
	{"spin", "it is a Spin component"},
	{"dprint", "it is a dprint plugin"},
	{"typst_env.", "it is a Typst plugin"},
	{"extism:host/env.", "this kernel does not have it"},
}

// foreign names an import that is not ours, and what the module may be.
func foreign(im meter.Import) error {
	full := im.Module + "." + im.Name
	says := "only " + kernelModule + ", the host functions of this host and WASI preview 1 are here"
	for _, k := range kinds {
		if strings.HasPrefix(full, k.prefix) {
			says = k.says
			break
		}
	}
	return fmt.Errorf("it imports %s of %s: %s", quote(im.Name), quote(im.Module), says)
}

// quote makes a name that a module chose safe to show.
func quote(name string) string { return `"` + printable([]byte(name), 80) + `"` }
