package loaders_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

const (
	sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// The same hash as dag-json writes bytes.
	sumBytes = `{"/":{"bytes":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"}}`
)

// full is a manifest with every field.
const full = `{
  "schema": "chaz-extension/1", "name": "greeter", "version": "1.0 β", "abi": "chaz-ext-1",
  "wasm": {"/": "bafkreidigzl375wku7jvcpsqyd34ratjiuo7sz2w3xxvf53dyiprpuyp3i"}, "wasm_size": 1234, "wasm_sha256": "` + sum + `",
  "scopes": ["session", "agent"], "hooks": ["tool", "tool_call", "agent_end", "command"],
  "tools": [{"name": "greet", "description": "Greets.", "input_schema": {"type": "object", "properties": {"who": {"type": "string", "maxLength": 10.0}}}}],
  "commands": [{"name": "hello", "help": "says hello"}],
  "capabilities": {"net": ["api.example.com"], "hooks": {"tool_call": "modify"}, "kv": 1024, "memory": "read", "settings": "read"},
  "provides": ["context_tail", "acme/greeting"],
  "limits": {"memory_bytes": 1048576, "deadline_ms": 2000},
  "config_schema": {"type": "object", "properties": {"tone": {"enum": ["warm", "cold"]}}},
  "settings": {"tone": "warm", "times": 1e2, "list": [1.5, {"b": 1, "a": 2}]},
  "enforcing": true, "deterministic": true,
  "publisher": {"key": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
  "license": "MIT", "homepage": "https://example.com", "source": "https://example.com/src", "needs": ["memory", "other"]
}`

// with returns full with a member replaced; an empty value takes it out.
func with(t testing.TB, key, value string) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(full), &m); err != nil {
		t.Fatal(err)
	}
	if m[key] = json.RawMessage(value); value == "" {
		delete(m, key)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, text []byte) *loaders.Manifest {
	t.Helper()
	m, err := loaders.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseManifest(t *testing.T) {
	m := parse(t, []byte(full))
	if m.Name != "greeter" || m.WASM.CID == "" || m.WASMSHA256 != sum || !m.Enforcing || !m.Deterministic || m.Version != "1.0 β" {
		t.Errorf("%+v", m)
	}
	if want := []extension.Scope{extension.PerSession, extension.PerAgent}; !slices.Equal(m.Scopes, want) {
		t.Errorf("scopes %v", m.Scopes)
	}
	if got := string(m.Settings["times"]); got != "100" {
		t.Errorf("a number has the form %s", got)
	}
	if m.Capabilities.Hooks[extension.HookToolCall] != extension.GuestModify {
		t.Errorf("hooks %v", m.Capabilities.Hooks)
	}
	// What is optional may be absent; hooks that say no reach only observe; no tools differ from unknown ones.
	for _, key := range []string{"version", "scopes", "tools", "commands", "provides", "limits", "config_schema", "settings", "enforcing", "deterministic", "publisher", "license", "homepage", "source", "needs"} {
		parse(t, with(t, key, ""))
	}
	if m := parse(t, with(t, "capabilities", "")); m.Capabilities.Hooks[extension.HookToolCall] != extension.GuestObserve {
		t.Errorf("a hook without a word on its reach: %v", m.Capabilities.Hooks)
	}
	none, unknown := parse(t, with(t, "tools", "[]")), parse(t, with(t, "tools", ""))
	if none.Tools == nil || unknown.Tools != nil || bytes.Equal(none.Content(), unknown.Content()) {
		t.Error("no tools and unknown tools are the same")
	}
	parse(t, with(t, "config_schema", manyPatterns(32)))
	if m := parse(t, with(t, "wasm", `"bin/mod.wasm"`)); m.WASM.Path != "bin/mod.wasm" {
		t.Errorf("wasm %+v", m.WASM)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct{ key, value, want string }{
		{"schema", `"chaz-extension/2"`, "unknown schema"},
		{"schema", ``, "unknown schema"},
		{"surprise", `1`, "unknown key"},
		{"Name", `"x"`, "unknown key"},
		{"name", `"Greeter"`, "name"},
		{"name", `"1greeter"`, "start with a letter"},
		{"name", `"a` + strings.Repeat("b", 32) + `"`, "32 characters"},
		{"name", `"memory"`, "reserved"},
		{"name", `"mcp-x"`, "reserved"},
		{"name", ``, "name"},
		{"version", `"` + long + `"`, "64 printable"},
		{"version", `"1\u202e0"`, "printable"},
		{"version", `1`, "version"},
		{"abi", `"extism-mcp-v9"`, "unknown abi"},
		{"abi", ``, "unknown abi"},
		{"wasm", ``, "must be named"},
		{"wasm", `""`, "relative path"},
		{"wasm", `"/abs.wasm"`, "relative path"},
		{"wasm", `"../up.wasm"`, "relative path"},
		{"wasm", `"a/../../up.wasm"`, "relative path"},
		{"wasm", `".."`, "relative path"},
		{"wasm", `"a//b.wasm"`, "relative path"},
		{"wasm", `"./a.wasm"`, "relative path"},
		{"wasm", `"a\\b.wasm"`, "relative path"},
		{"wasm", `"c:a.wasm"`, "relative path"},
		{"wasm", `"a\u0000b"`, "relative path"},
		{"wasm", `{"/": "bafy", "path": "x"}`, "unknown key"},
		{"wasm", `{"/": "../x"}`, "no CID"},
		{"wasm", `{"/": {"bytes": "AGFzbQ"}}`, "does not fit"},
		{"wasm", `null`, "null"},
		{"wasm_size", `0`, "wasm_size"},
		{"wasm_size", `-1`, "wasm_size"},
		{"wasm_size", `67108865`, "wasm_size"},
		{"wasm_size", `1.5`, "wasm_size"},
		{"wasm_size", ``, "wasm_size"},
		{"wasm_sha256", ``, "32 bytes"},
		{"wasm_sha256", `"abcd"`, "32 bytes"},
		{"wasm_sha256", `{"/": {"bytes": "AGFzbQ"}}`, "32 bytes"},
		{"wasm_sha256", `{"/": {"bytes": "AGFzbQ", "x": 1}}`, "unknown key"},
		{"scopes", `["world"]`, "scopes"},
		{"scopes", `["per_session"]`, "scopes"},
		{"scopes", `["agent", "agent"]`, "twice"},
		{"hooks", `["before_everything"]`, "hooks"},
		{"hooks", `["tool_call", "tool_call"]`, "twice"},
		{"hooks", `["tool"]`, "hooks does not list"},
		{"tools", `[{"name": "a b"}]`, "letters, digits"},
		{"tools", `[{"name": "` + strings.Repeat("x", 56) + `"}]`, "64 characters"},
		{"tools", `[{"name": "a"}, {"name": "a"}]`, "twice"},
		{"tools", `[{"name": "a", "run": "rm"}]`, "unknown key"},
		{"tools", `[{"name": "a", "name": "b"}]`, "twice"},
		{"tools", `[{"name": "a", "input_schema": []}]`, "JSON object"},
		{"tools", `[{"name": "a", "input_schema": {"type": "array"}}]`, `"object"`},
		{"tools", `[{"name": "a", "input_schema": {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}}]`, "may not refer"},
		{"commands", `[{"name": "help"}]`, "belongs to the host"},
		{"commands", `[{"name": "schedule"}]`, "belongs to the host"},
		{"commands", `[{"name": "/x"}]`, "commands"},
		{"commands", `[{"name": "x"}, {"name": "x"}]`, "twice"},
		{"commands", `[{"name": "x", "help": "two\nlines"}]`, "one line"},
		{"capabilities", `{"hooks": {"tool_call": "modify"}, "root": true}`, "unknown key"},
		{"capabilities", `{"hooks": {"tool_call": "modify"}, "net": ["*"]}`, "net"},
		{"capabilities", `{"hooks": {"tool_call": "modify", "tool_result": "modify"}}`, "hooks does not list"},
		{"provides", `["settings"]`, "only the host"},
		{"provides", `["magic"]`, "unknown capability"},
		{"provides", `["memory", "memory"]`, "twice"},
		{"limits", `{"memory": 1}`, "unknown key"},
		{"limits", `{"deadline_ms": 600001}`, "deadline_ms"},
		{"limits", `{"fuel_per_call": -1}`, "fuel_per_call"},
		{"config_schema", `[]`, "JSON object"},
		{"config_schema", `{"type": "string"}`, `"object"`},
		{"config_schema", `{"properties": {"a": {"type": "nonsense"}}}`, "JSON Schema"},
		{"config_schema", `{"$ref": "https://example.com/schema.json"}`, "may not refer"},
		{"config_schema", `{"properties": {"a": {"maximum": 123456789012345678901}}}`, "64 bits"},
		{"config_schema", `{"properties": {"a": {"pattern": "("}}}`, "JSON Schema"},
		{"config_schema", `{"properties": {"a": {"pattern": "` + strings.Repeat("x", 129) + `"}}}`, "pattern"},
		{"config_schema", manyPatterns(40), "more than 32 patterns"},
		{"settings", `[]`, "settings"},
		{"settings", `{"": 1}`, "settings"},
		{"settings", `{"a": 1, "a": 2}`, "twice"},
		{"settings", `{"x": 1e999}`, "too large"},
		{"enforcing", `"yes"`, "enforcing"},
		{"publisher", `{"sig": "AA"}`, "peer id"},
		{"publisher", `{"key": "did:key:z6Mkh"}`, "did:key"},
		{"publisher", `{"key": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "sig": "AA"}`, "64 bytes"},
		{"license", `"MIT\u001b[2J"`, "license"},
		{"needs", `["Not a name"]`, "needs"},
	} {
		_, err := loaders.ParseManifest(with(t, c.key, c.value))
		if !errors.Is(err, loaders.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: got %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// manyPatterns is a schema whose n patterns each compile to much.
func manyPatterns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"properties": {"a": {"pattern": "%dx{900}"}}},`, i)
	}
	return `{"allOf": [` + b.String() + `true]}`
}

func TestParseManifestText(t *testing.T) {
	for what, text := range map[string]string{
		"nothing":         "",
		"no object":       "[]",
		"null":            "null",
		"two objects":     full + full,
		"trailing bytes":  full + " x",
		"a key twice":     strings.Replace(full, `"enforcing": true`, `"enforcing": true, "enforcing": false`, 1),
		"a key disguised": strings.Replace(full, `"enforcing": true`, `"enforcing": true, "\u0065nforcing": false`, 1),
		"bad UTF-8":       strings.Replace(full, "Greets.", "Greets\xff.", 1),
		"a deep bomb":     strings.Replace(full, `"warm", "times"`, strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`, "times"`, 1),
		"too long":        strings.Replace(full, "Greets.", strings.Repeat("g", loaders.MaxManifest), 1),
	} {
		if _, err := loaders.ParseManifest([]byte(text)); !errors.Is(err, loaders.ErrInvalid) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	long := []byte(strings.Replace(full, "Greets.", strings.Repeat("g", loaders.MaxManifest), 1))
	if _, err := loaders.ParseManifestUpTo(long, loaders.MaxManifestHard); err != nil {
		t.Errorf("a carrier that takes more: %v", err)
	}
	if _, err := loaders.ParseManifestUpTo(bytes.Repeat([]byte(" "), loaders.MaxManifestHard+1), 1<<30); !errors.Is(err, loaders.ErrInvalid) {
		t.Errorf("over the hard limit: %v", err)
	}
}

// One content has one key, whatever carried it; other content has another.
func TestContentKey(t *testing.T) {
	key := func(text []byte) string { return string(parse(t, text).Content()) }
	base := key([]byte(full))
	for what, text := range map[string][]byte{
		"by path":                 with(t, "wasm", `"x.wasm"`),
		"by another CID":          with(t, "wasm", `{"/": "bafyother"}`),
		"hash as bytes":           with(t, "wasm_sha256", sumBytes),
		"hash in capitals":        with(t, "wasm_sha256", `"`+strings.ToUpper(sum)+`"`),
		"numbers in another form": with(t, "settings", `{"times": 100, "list": [15e-1, {"a": 2.0, "b": 1}], "tone": "warm"}`),
	} {
		if got := key(text); got != base {
			t.Errorf("%s: another key:\n%s\n%s", what, got, base)
		}
	}
	for what, text := range map[string][]byte{
		"code":        with(t, "wasm_sha256", `"`+strings.Repeat("0", 64)+`"`),
		"powers":      with(t, "capabilities", `{"net": ["api.example.org"], "hooks": {"tool_call": "modify"}}`),
		"description": []byte(strings.Replace(full, "Greets.", "Greets!", 1)),
		"schema":      []byte(strings.Replace(full, `"maxLength": 10.0`, `"maxLength": 11`, 1)),
		"scopes":      with(t, "scopes", `["global"]`),
		"enforcing":   with(t, "enforcing", `false`),
		"publisher":   with(t, "publisher", ``),
		"version":     with(t, "version", `"2"`),
	} {
		if key(text) == base {
			t.Errorf("other %s, same key", what)
		}
	}
	if strings.Contains(base, "bafkrei") {
		t.Error("the key covers where the module is")
	}
}

// The order of keys and white space mean nothing; what is written is read back as the same.
func TestManifestRoundTrip(t *testing.T) {
	want := parse(t, []byte(full))
	rapid.Check(t, func(t *rapid.T) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(full), &m); err != nil {
			t.Fatal(err)
		}
		keys := rapid.Permutation(slices.Sorted(maps.Keys(m))).Draw(t, "keys")
		var b strings.Builder
		for i, k := range keys {
			blank := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "blank")
			fmt.Fprintf(&b, "%s%q:%s%s", blank, k, blank, m[k])
			if i < len(keys)-1 {
				b.WriteString(",")
			}
		}
		got, err := loaders.ParseManifest([]byte("{" + b.String() + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Content(), want.Content()) || !bytes.Equal(got.JSON(), want.JSON()) {
			t.Fatalf("key order matters: %v", keys)
		}
		again, err := loaders.ParseManifest(got.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.JSON(), got.JSON()) {
			t.Fatalf("written and read:\n%s\n%s", got.JSON(), again.JSON())
		}
	})
}

func TestDeclaration(t *testing.T) {
	m := parse(t, []byte(full))
	ref := extension.IPLDRef("greeter", "bafyx")
	d := m.Declaration(ref)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if want := []extension.HookKind{extension.HookToolCall, extension.HookAgentEnd, extension.HookTool, extension.HookCommand}; !slices.Equal(d.Hooks, want) {
		t.Errorf("hooks %v", d.Hooks)
	}
	if want := []extension.Request{{Kind: extension.CapMemory}}; !slices.EqualFunc(d.Requires, want, extension.Request.Equal) {
		t.Errorf("requires %v", d.Requires)
	}
	if want := []extension.Request{{Kind: extension.CapSettings}}; !slices.EqualFunc(d.Requests, want, extension.Request.Equal) {
		t.Errorf("requests %v", d.Requests)
	}
	if want := []extension.Capability{extension.CapContextTail}; !slices.Equal(d.Provides, want) {
		t.Errorf("provides %v", d.Provides)
	}
	text, err := json.Marshal(d.Settings)
	if err != nil || !d.Enforcing || !d.LivesAt(extension.PerAgent) || d.LivesAt(extension.Global) || !slices.Equal(d.Commands, []string{"hello"}) ||
		string(text) != `{"list":[1.5,{"a":2,"b":1}],"times":100,"tone":"warm"}` || len(d.SettingsSchema) == 0 || !d.Ref.Equal(ref) {
		t.Errorf("%+v %s %v", d, text, err)
	}

	plain := parse(t, []byte(`{"schema":"chaz-extension/1","name":"a","abi":"extism-mcp-v1","wasm":"a.wasm","wasm_size":1,"wasm_sha256":"`+sum+`"}`))
	d = plain.Declaration(extension.IPLDRef("a", "bafyx"))
	if !slices.Equal(d.Hooks, []extension.HookKind{extension.HookTool}) || !slices.Equal(d.Scopes, []extension.Scope{extension.PerSession}) {
		t.Errorf("the least: %+v", d)
	}
	hooksOnly := parse(t, []byte(`{"schema":"chaz-extension/1","name":"a","abi":"chaz-ext-1","hooks":["agent_end"],"wasm":"a.wasm","wasm_size":1,"wasm_sha256":"`+sum+`"}`))
	if hooksOnly.MayHaveTools() || !slices.Equal(hooksOnly.Kinds(), []extension.HookKind{extension.HookAgentEnd}) {
		t.Errorf("hooks only: %v", hooksOnly.Kinds())
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(full))
	f.Add(with(f, "wasm", `"a/b.wasm"`))
	f.Add(with(f, "wasm_sha256", sumBytes))
	f.Add(with(f, "tools", `[]`))
	f.Add([]byte(`{"schema":"chaz-extension/1","name":"a","abi":"extism-mcp-v1","wasm":"a.wasm","wasm_size":1,"wasm_sha256":"` + sum + `"}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := loaders.ParseManifest(text)
		if err != nil {
			if !errors.Is(err, loaders.ErrInvalid) {
				t.Fatalf("%v is no ErrInvalid", err)
			}
			return
		}
		again, err := loaders.ParseManifest(m.JSON())
		if err != nil {
			t.Fatalf("what was written can't be read: %v\n%s", err, m.JSON())
		}
		if !bytes.Equal(again.Content(), m.Content()) || !bytes.Equal(again.JSON(), m.JSON()) {
			t.Fatalf("written and read differ:\n%s\n%s", m.JSON(), again.JSON())
		}
		if err := m.Declaration(extension.IPLDRef(m.Name, "bafy")).Validate(); err != nil {
			t.Fatalf("a valid manifest gives a faulty declaration: %v", err)
		}
	})
}
