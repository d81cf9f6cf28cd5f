package loaders

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

// How long the JSON text of a manifest may be, in bytes: a person must be able to read it. Carriers may
// be told to take more, up to the hard limit.
const (
	MaxManifest     = 64 << 10
	MaxManifestHard = 256 << 10
)

// ParseManifest reads and checks a manifest of at most [MaxManifest] bytes. It is strict: a key that this
// version does not know, a key twice, null, and anything behind the object refuse it, so that two
// readers never see two manifests. Every error wraps [ErrInvalid].
func ParseManifest(text []byte) (*Manifest, error) { return ParseManifestUpTo(text, MaxManifest) }

// ParseManifestUpTo is ParseManifest with another limit, at most [MaxManifestHard].
func ParseManifestUpTo(text []byte, limit int) (*Manifest, error) {
	if limit = min(limit, MaxManifestHard); len(text) > limit {
		return nil, fmt.Errorf("read manifest: %w: %d bytes are more than the limit of %d", ErrInvalid, len(text), limit)
	}
	m, err := readManifest(text)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w: %w", ErrInvalid, err)
	}
	return m, nil
}

func readManifest(text []byte) (*Manifest, error) {
	var m Manifest
	var scopes []string
	var sum binary
	err := extension.StrictObject(text, map[string]any{
		"schema": &m.Schema, "name": &m.Name, "version": &m.Version, "abi": &m.ABI,
		"wasm": &m.WASM, "wasm_size": &m.WASMSize, "wasm_sha256": &sum,
		"scopes": &scopes, "hooks": &m.Hooks, "tools": &m.Tools, "commands": &m.Commands,
		"capabilities": &m.Capabilities, "provides": &m.Provides, "limits": &m.Limits,
		"config_schema": &m.ConfigSchema, "settings": &m.Settings,
		"enforcing": &m.Enforcing, "deterministic": &m.Deterministic, "publisher": &m.Publisher,
		"license": &m.License, "homepage": &m.Homepage, "source": &m.Source, "needs": &m.Needs,
	})
	if err != nil {
		return nil, err
	}
	for _, s := range scopes {
		scope, ok := scopeOf(s)
		if !ok {
			return nil, fmt.Errorf("scopes: %.40q is none of global, agent and session", s)
		}
		m.Scopes = append(m.Scopes, scope)
	}
	if m.WASMSHA256, err = sum.hex(32); err != nil {
		return nil, fmt.Errorf("wasm_sha256: %w", err)
	}
	return &m, m.normalise()
}

// normalise gives what can be written in several ways its one form, so that one content has one key
// whatever carried it: numbers of free JSON, and hooks that say no reach, which only observe.
func (m *Manifest) normalise() (err error) {
	for i := range m.Tools {
		if m.Tools[i].InputSchema, err = plainJSON(m.Tools[i].InputSchema); err != nil {
			return fmt.Errorf("input_schema of the tool %.80q: %w", m.Tools[i].Name, err)
		}
	}
	if m.ConfigSchema, err = plainJSON(m.ConfigSchema); err != nil {
		return fmt.Errorf("config_schema: %w", err)
	}
	for k, v := range m.Settings {
		if m.Settings[k], err = plainJSON(v); err != nil {
			return fmt.Errorf("setting %.80q: %w", k, err)
		}
	}
	for _, k := range m.Hooks {
		if _, said := m.Capabilities.Hooks[k]; k.GuestPower() && !said {
			if m.Capabilities.Hooks == nil {
				m.Capabilities.Hooks = map[extension.HookKind]extension.GuestHook{}
			}
			m.Capabilities.Hooks[k] = extension.GuestObserve
		}
	}
	return nil
}

// The words of a manifest for the scopes.
func scopeOf(word string) (extension.Scope, bool) {
	switch word {
	case "global":
		return extension.Global, true
	case "agent":
		return extension.PerAgent, true
	case "session":
		return extension.PerSession, true
	}
	return "", false
}

func scopeWord(s extension.Scope) string {
	switch s {
	case extension.Global:
		return "global"
	case extension.PerAgent:
		return "agent"
	}
	return "session"
}

// UnmarshalJSON reads a link, {"/": cid}, or a relative path.
func (w *Module) UnmarshalJSON(text []byte) error {
	var p string
	if json.Unmarshal(text, &p) == nil {
		if !cleanPath(p) {
			return fmt.Errorf("%.80q is no plain relative path", p)
		}
		*w = Module{Path: p}
		return nil
	}
	var cid string
	if err := extension.StrictObject(text, map[string]any{"/": &cid}); err != nil {
		return fmt.Errorf(`want a link {"/": cid} or a relative path: %w`, err)
	}
	if cid == "" || len(cid) > 128 || strings.ContainsFunc(cid, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return fmt.Errorf("%.80q is no CID", cid)
	}
	*w = Module{CID: cid}
	return nil
}

// cleanPath reports whether p stays in its folder on every system.
func cleanPath(p string) bool {
	return p != "" && p != "." && len(p) <= 255 && printableText(p) && utf8.ValidString(p) && path.Clean(p) == p &&
		!path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsAny(p, `\:`)
}

// UnmarshalJSON is strict.
func (t *Tool) UnmarshalJSON(text []byte) error {
	var out Tool
	err := extension.StrictObject(text, map[string]any{"name": &out.Name, "description": &out.Description, "input_schema": &out.InputSchema})
	if err == nil {
		*t = out
	}
	return err
}

// UnmarshalJSON is strict.
func (c *Command) UnmarshalJSON(text []byte) error {
	var out Command
	err := extension.StrictObject(text, map[string]any{"name": &out.Name, "help": &out.Help})
	if err == nil {
		*c = out
	}
	return err
}

// UnmarshalJSON is strict.
func (p *Publisher) UnmarshalJSON(text []byte) error {
	var out Publisher
	var sig binary
	err := extension.StrictObject(text, map[string]any{"key": &out.Key, "sig": &sig})
	if err != nil {
		return err
	}
	if sig != (binary{}) {
		b, err := sig.base64()
		if err != nil {
			return fmt.Errorf("sig: %w", err)
		}
		out.Sig = base64.StdEncoding.EncodeToString(b)
	}
	*p = out
	return nil
}

// binary is bytes in JSON: a text, or {"/": {"bytes": base64}} as dag-json writes them.
type binary struct{ text, bytes string }

// UnmarshalJSON reads either form.
func (b *binary) UnmarshalJSON(text []byte) error {
	var out binary
	if json.Unmarshal(text, &out.text) == nil {
		*b = out
		return nil
	}
	var inner json.RawMessage
	err := extension.StrictObject(text, map[string]any{"/": &inner})
	if err == nil {
		err = extension.StrictObject(inner, map[string]any{"bytes": &out.bytes})
	}
	if err != nil {
		return fmt.Errorf(`want a text or {"/": {"bytes": …}}: %w`, err)
	}
	*b = out
	return nil
}

// hex returns size bytes in lower-case hex.
func (b binary) hex(size int) (string, error) {
	raw, err := hex.DecodeString(b.text)
	if b.bytes != "" {
		raw, err = unbase64(b.bytes)
	}
	if err != nil || len(raw) != size {
		return "", fmt.Errorf("want %d bytes, in hex", size)
	}
	return hex.EncodeToString(raw), nil
}

func (b binary) base64() ([]byte, error) { return unbase64(b.text + b.bytes) }

// unbase64 takes base64 with padding or without.
func unbase64(s string) ([]byte, error) {
	b, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(b) == 0 || strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("want base64")
	}
	return b, nil
}

// printableText reports whether s has no control, bidi or invisible characters.
func printableText(s string) bool {
	return utf8.ValidString(s) && !slices.ContainsFunc([]rune(s), func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) && r != ' ' })
}
