package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// host is what the engine asks in the name of a call: the only way from a guest to anything, whatever
// its interface.
type host struct{ *guest }

// Config implements [engine.Host]: a granted secret by its name, else the extension's own setting of
// that key, a string as it is and anything else as JSON. What is not granted is not there, and the log
// of the guest says why.
func (h host) Config(ctx context.Context, key string) (string, bool) {
	if h.x.gate.has(OpSecret, key) {
		v, err := h.secret(ctx, key)
		if err != nil {
			h.x.note("warn", "config "+line(key, 80)+": "+err.Error())
		}
		return v, err == nil
	}
	if !h.x.gate.has(OpSettingsGet, key) {
		h.x.note("warn", h.x.gate.deny(ctx, OpConfig, key).Error())
		return "", false
	}
	v, err := h.setting(ctx, key)
	if err != nil {
		h.x.note("warn", "config "+line(key, 80)+": "+err.Error())
		return "", false
	}
	if len(v) == 0 || string(v) == "null" {
		return "", false
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text, true
	}
	return string(v), true
}

// HTTP implements [engine.Host].
func (h host) HTTP(ctx context.Context, r engine.HTTPRequest) (engine.HTTPResponse, error) {
	return h.x.http.do(ctx, r)
}

// User implements [engine.Host].
func (h host) User(ctx context.Context, name string, input []byte) ([]byte, error) {
	switch {
	case !slices.Contains(h.x.dialect.user(), name):
		return nil, fmt.Errorf("%s has no host function %.40q", h.x.dialect.abi, name)
	case name == chazFunction:
		return h.chazHost(ctx, input), nil
	}
	return h.mcpUser(ctx, name, input)
}

// Log implements [engine.Host].
func (g *guest) Log(level, text string) {
	g.x.logs.add(line(level, 20), g.x.secrets.hide(text))
}

// secret reads a secret after the gate.
func (g *guest) secret(ctx context.Context, name string) (string, error) {
	if err := g.x.gate.allow(ctx, OpSecret, name); err != nil {
		return "", err
	}
	if g.x.services.Secrets == nil {
		return "", extension.ErrNotFound
	}
	v, err := g.x.services.Secrets.Secret(ctx, name)
	if err != nil {
		return "", err
	}
	g.x.secrets.add(name, v)
	return v, nil
}

// setting reads one of the extension's own settings after the gate: that of the session of the call,
// elsewhere the declared default.
func (g *guest) setting(ctx context.Context, key string) (json.RawMessage, error) {
	if err := g.x.gate.allow(ctx, OpSettingsGet, key); err != nil {
		return nil, err
	}
	if s := stateOf(ctx); s != nil && s.settings != nil {
		return s.settings.Get(ctx, key)
	}
	if v, ok := g.x.decl.Settings[key]; ok {
		return json.Marshal(v)
	}
	return nil, nil
}
