package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// importing is a guest that imports one function.
func importing(module, fn string, params, results vals) []byte {
	a := &asm{}
	a.imp(module, fn, params, results)
	a.fn("run", nil, vals{i32}, nil, ok())
	return a.bytes()
}

func TestForeignModules(t *testing.T) {
	e := newEngine(t, Config{MaxModule: 4 << 20})
	memory := []byte("\x00asm\x01\x00\x00\x00\x02\x0f\x01\x03env\x06memory\x02\x00\x01")
	for _, c := range []struct {
		name string
		wasm []byte
		says string // "" runs
	}{
		{"ours", importing(kernelModule, "alloc", vals{i64}, vals{i64}), ""},
		{"ours by the older name", importing(kernelModuleOld, "alloc", vals{i64}, vals{i64}), ""},
		{"WASI", importing(wasiModule, "proc_exit", vals{i32}, nil), ""},
		{"a function of the host", importing(userModule, "known", vals{i64}, vals{i64}), ""},
		{"a function of the host without a result", importing(userModule, "known", vals{i64}, nil), ""},
		{"a function of the host without anything", importing(userModule, "known", nil, nil), ""},
		{"nothing", nil, "not a WebAssembly module"},
		{"text", []byte("#!/bin/sh\necho"), "not a WebAssembly module"},
		{"cut", importing(kernelModule, "alloc", vals{i64}, vals{i64})[:30], "unexpected end"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"too large", make([]byte, 5<<20), "the limit is 4194304"},
		{"another version", []byte("\x00asm\x02\x00\x00\x00"), "version"},
		{"unknown kernel function", importing(kernelModule, "format_disk", nil, nil), "this kernel does not have it"},
		{"another shape", importing(kernelModule, "alloc", vals{i32}, vals{i32}), "it imports extism:host/env.alloc as (i32) -> i32, but it is (i64) -> i64"},
		{"unknown function of the host", importing(userModule, "other", vals{i64}, vals{i64}), `the host function "other", which this host does not have`},
		{"two blocks", importing(userModule, "known", vals{i64, i64}, vals{i64}), "takes at most one block"},
		{"proxy-wasm", importing("env", "proxy_log", vals{i32, i32, i32}, vals{i32}), "proxy-wasm"},
		{"waPC", importing("wapc", "__guest_call", vals{i32}, vals{i32}), "waPC"},
		{"WASI preview 0", importing("wasi_unstable", "fd_write", vals{i32, i32, i32, i32}, vals{i32}), "compile it for preview 1"},
		{"WASI preview 2", importing("wasi:http/types@0.2.0", "x", nil, nil), "component model"},
		{"Go for browsers", importing("gojs", "runtime.wasmExit", vals{i32}, nil), "GOOS=wasip1"},
		{"wasm-bindgen", importing("__wbindgen_placeholder__", "x", nil, nil), "wasm-bindgen"},
		{"our own meter", importing("chaz:meter", "refill", vals{i64}, vals{i64}), "chaz:meter"},
		{"escape characters", importing("\x1b[31mevil\n", "x", nil, nil), `"\x1b[31mevil\n"`},
		{"another's memory", memory, "memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := tryOpen(t, e, c.wasm, func(o *Options) { o.User = []string{"known"} })
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Call(t.Context(), "run", nil); err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrModule) || !strings.Contains(fmt.Sprint(err), c.says) || strings.ContainsAny(fmt.Sprint(err), "\n\x1b") {
				t.Errorf("%v, want %q", err, c.says)
			}
			t.Log(err)
		})
	}
}

func TestOptions(t *testing.T) {
	e := newEngine(t, Config{})
	m, err := e.Compile(t.Context(), sum())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	good := Options{Name: "x", Limits: generous(), Host: &testHost{}}
	p, err := m.Open(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Options){
		"positive": func(o *Options) { o.Limits.Vars = 0 },
		"no host":  func(o *Options) { o.Host = nil },
		`"data"`:   func(o *Options) { o.Mounts = map[string]Mount{"data": {Dir: openRoot(t, t.TempDir())}} },
		`"/data"`:  func(o *Options) { o.Mounts = map[string]Mount{"/data": {}} },
	} {
		bad := good
		change(&bad)
		if _, err := m.Open(t.Context(), bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Open(done, good); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if info := m.Info(); info.ExportOf("run") == nil || info.Start {
		t.Errorf("%+v", info)
	}
}
