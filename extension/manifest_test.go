package extension_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

func valid() extension.Manifest {
	return extension.Manifest{Name: "notes", Ref: extension.IPLDRef("notes", "bafy"), Hooks: []extension.HookKind{extension.HookTool}}
}

// Faults are added from the last rule to the first; each must hide those added before it.
func TestValidateOrder(t *testing.T) {
	m := valid()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	req := extension.Request{Kind: extension.CapMemory}
	other := extension.Request{Kind: extension.CapMessenger}
	for _, c := range []struct {
		want  string
		fault func()
	}{
		{"names", func() { m.Ref = extension.IPLDRef("other", "bafy") }},
		{"reserved", func() { m.Name = "mcp-x" }},
		{"must be a-z", func() { m.Name = "mcp-X!" }},
		{"both required and requested", func() { m.Requires, m.Requests = []extension.Request{req}, []extension.Request{req} }},
		{"requested_capabilities lists memory twice", func() { m.Requests = []extension.Request{req, req} }},
		{"required_capabilities lists messenger twice", func() { m.Requires = []extension.Request{other, other} }},
		{"supported_hooks lists tool twice", func() { m.Hooks = []extension.HookKind{extension.HookTool, extension.HookTool} }},
		{"provides_capabilities lists memory twice", func() { m.Provides = []extension.Capability{extension.CapMemory, extension.CapMemory} }},
		{"only the host provides the capability settings", func() { m.Provides = append(m.Provides, extension.CapSettings) }},
		{"name must not be empty", func() { m.Name = "" }},
	} {
		c.fault()
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestReservedNamesNeedBuiltinRefs(t *testing.T) {
	for _, name := range []string{"core", "path_normalizer", "security_warnings", "fs", "system", "web", "memory", "schedule", "skills", "agent_schedule", "mcp-x", "chaz-later"} {
		m := extension.Manifest{Name: name, Ref: extension.GitRef(name, "r", "s")}
		if m.Validate() == nil {
			t.Errorf("%s taken by a git reference", name)
		}
		m.Ref = extension.BuiltinRef(name, "0.1.0")
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
	if extension.ReservedName("chazz") || extension.ReservedName("mcp") || extension.ReservedName("webs") {
		t.Error("too much is reserved")
	}
}

func TestValidName(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, want := range map[string]bool{
		"a": true, "0": true, "a_b-c9": true, long: true, long + "a": false,
		"": false, "-a": false, "_a": false, "A": false, "a b": false, "ä": false, "a\n": false, "a.b": false,
	} {
		if extension.ValidName(name) != want {
			t.Errorf("ValidName(%q) = %v", name, !want)
		}
	}
}

func TestDuplicateRequestsByProvider(t *testing.T) {
	m := valid()
	m.Requires = []extension.Request{{Kind: extension.CapMemory, Provider: "a"}, {Kind: extension.CapMemory, Provider: "b"}, {Kind: extension.CapMemory}}
	if err := m.Validate(); err != nil {
		t.Errorf("requests to different providers may coexist: %v", err)
	}
	m.Requires = []extension.Request{{Kind: extension.CapAgentStateAdmin}, {Kind: extension.CapAgentStateAdmin, Agents: []string{}}}
	if err := m.Validate(); err != nil {
		t.Errorf("no limit and nobody are two requests: %v", err)
	}
}

func TestRequestWireForms(t *testing.T) {
	for _, text := range []string{
		`{"kind":"settings"}`,
		`{"kind":"memory","provider":"local"}`,
		`{"kind":"agent_state_admin","agents":["chaz"]}`,
		`{"kind":"agent_state_admin","agents":[]}`,
	} {
		var r extension.Request
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(r); err != nil || string(out) != text {
			t.Errorf("%s became %s, %v", text, out, err)
		}
	}
	var r extension.Request
	if json.Unmarshal([]byte(`{"kind":"root"}`), &r) == nil {
		t.Error("an unknown capability was read")
	}
}

func TestManifestJSON(t *testing.T) {
	m := valid()
	m.Provides = []extension.Capability{extension.CapContextTail}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back extension.Manifest
	if err := json.Unmarshal(text, &back); err != nil || back.Name != m.Name || !back.Ref.Equal(m.Ref) || back.Hooks[0] != extension.HookTool || back.Provides[0] != extension.CapContextTail {
		t.Fatalf("%s became %+v, %v", text, back, err)
	}
	if json.Unmarshal([]byte(`{"name":"a","supported_hooks":["fly"]}`), &back) == nil {
		t.Error("an unknown hook kind was read")
	}
}

func TestHookKindForms(t *testing.T) {
	for _, k := range []extension.HookKind{"before_agent_start", "tool_call", "tool_result", "agent_end", "session_start", "session_shutdown", "tool", "command"} {
		want := ""
		for part := range strings.SplitSeq(string(k), "_") {
			want += strings.ToUpper(part[:1]) + part[1:]
		}
		if k.Display() != want {
			t.Errorf("%s prints %q", k, k.Display())
		}
	}
}

func TestReservedCommands(t *testing.T) {
	for _, w := range strings.Fields("quit exit q sessions s share unshare compact schedules info costs print backends new name rename role model channels agents pubkey help ? agent extensions sharing sync use switch groups join backend models settings clear raw debug expand") {
		if !extension.ReservedCommand(w) {
			t.Errorf("/%s can be taken", w)
		}
	}
	for _, w := range []string{"memory", "skills", "schedule", "Help", ""} {
		if extension.ReservedCommand(w) {
			t.Errorf("/%s is reserved", w)
		}
	}
}
