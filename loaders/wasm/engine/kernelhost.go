package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/loaders/wasm/meter"
)

// The part of the kernel that asks the [Host]. It takes back the blocks that it was handed, as guests
// expect, but only after its own answer has its place: a guest that frees them once more then hits
// nothing.

func kernelConfigGet(in *instance, s []uint64) {
	key := string(in.view(s[0]))
	v, ok := in.pool.opt.Host.Config(in.hostContext(), key)
	in.check()
	if !ok {
		s[0] = 0
		return
	}
	s[0] = in.put([]byte(v))
}

func kernelVarGet(in *instance, s []uint64) {
	key := s[0]
	name := string(in.view(key))
	s[0] = in.put(in.pool.vars.get(name))
	in.arena.free(key)
}

func kernelVarSet(in *instance, s []uint64) {
	name := string(in.view(s[0]))
	var value []byte
	if s[1] != 0 {
		value = in.block(s[1])
	}
	if !in.pool.vars.set(name, value, s[1] != 0) {
		in.abort(fmt.Errorf("%w: variables limit %s", ErrMemory, bytesText(in.pool.opt.Limits.Vars)))
	}
	in.arena.free(s[1])
	in.arena.free(s[0])
}

func kernelHTTP(in *instance, s []uint64) {
	ask, body := s[0], s[1]
	in.response = HTTPResponse{}
	var r struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(in.view(ask), &r); err != nil {
		in.abort(fmt.Errorf("%w: its HTTP request is not what the kernel takes: %v", ErrTrap, err))
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	req := HTTPRequest{Method: strings.ToUpper(r.Method), URL: r.URL, Header: r.Headers, Body: in.block(body)}
	res, err := in.pool.opt.Host.HTTP(in.hostContext(), req)
	in.check() // the deadline explains the error better than the error does
	if err != nil {
		in.abort(err)
	}
	in.response = HTTPResponse{Status: res.Status, Header: res.Header}
	s[0] = in.put(res.Body)
	in.arena.free(body)
	in.arena.free(ask)
}

func kernelHTTPHeaders(in *instance, s []uint64) {
	h := in.response.Header
	if h == nil {
		h = map[string]string{}
	}
	text, err := json.Marshal(h)
	if err != nil { // a map of strings always has a text
		in.abort(err)
	}
	s[0] = in.put(text)
}

func kernelLog(level string) func(*instance, []uint64) {
	return func(in *instance, s []uint64) {
		in.logs.line(level, in.view(s[0]))
		in.arena.free(s[0])
	}
}

// userFunc is one function of the module extism:host/user, as a module imports it.
func userFunc(name string, sig meter.FuncType) kernelFunc {
	return kernelFunc{name, sig, func(in *instance, s []uint64) {
		var at uint64
		if len(sig.Params) > 0 {
			at = s[0]
		}
		out, err := in.pool.opt.Host.User(in.hostContext(), name, in.block(at))
		in.check()
		if err != nil {
			in.abort(err)
		}
		if len(sig.Results) > 0 {
			s[0] = in.put(out)
		}
		in.arena.free(at)
	}}
}

// userSignature reports whether bytes can be handed through a function: at most one block in and at most
// one out.
func userSignature(f *meter.FuncType) bool {
	for _, list := range [][]meter.Value{f.Params, f.Results} {
		if len(list) > 1 || len(list) == 1 && list[0] != meter.I64 {
			return false
		}
	}
	return true
}
