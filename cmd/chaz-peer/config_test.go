package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

func TestConfigReadsEveryKey(t *testing.T) {
	const text = `
name: "my: laptop"
listen:
  - 0.0.0.0:4711
  - /ip6/::/tcp/1
mdns: false
static_peers: [/ip4/10.0.0.1/tcp/4711/p2p/` + peerA + `]
clock_skew: -3d
control_tcp: 127.0.0.1:4712
memory_budget: 1 GiB
log_level: debug
agents:
  - name: chaz
    model: script
    tools: [a, b]
    max_iterations: 7
    autonomous: true
    system_prompt: |
      two
      lines
  - name: other
default_agents: chaz
`
	f, faults := parseConfig([]byte(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	off := false
	want := fileConfig{
		Name: "my: laptop", MDNS: &off, ClockSkew: -72 * time.Hour, ControlTCP: "127.0.0.1:4712", MemoryBudget: 1 << 30, LogLevel: "debug",
		Listen:      []string{"/ip4/0.0.0.0/udp/4711/quic-v1", "/ip4/0.0.0.0/tcp/4711", "/ip6/::/tcp/1"},
		StaticPeers: []string{"/ip4/10.0.0.1/tcp/4711/p2p/" + peerA}, DefaultAgents: []string{"chaz"},
		Agents: []control.AgentSpec{
			{Name: "chaz", Config: map[string]any{"model": "script", "tools": []string{"a", "b"}, "max_iterations": int64(7), "autonomous": true, "system_prompt": "two\nlines\n"}},
			{Name: "other", Config: map[string]any{}},
		},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

// The example, with its settings switched on, is a good file that uses every key.
func TestExampleIsValidAndComplete(t *testing.T) {
	if f, faults := parseConfig([]byte(exampleConfig())); len(faults) > 0 || !reflect.DeepEqual(f, fileConfig{}) {
		t.Fatalf("as shipped: %+v, %v", f, faults)
	}
	f := parsedExample(t)
	for _, name := range unset(reflect.ValueOf(f), "config") {
		t.Errorf("the example leaves %s unset", name)
	}
	v := reflect.ValueOf(f)
	if n := len(configKeys()); n != v.NumField() {
		t.Errorf("%d keys, %d fields", n, v.NumField())
	}
}

// exampleOn is the example with the comment signs of its settings taken away.
func exampleOn() string {
	var on strings.Builder
	for l := range strings.Lines(exampleConfig()) {
		if set, ok := strings.CutPrefix(l, "#"); ok && !strings.HasPrefix(l, "# ") || strings.HasPrefix(l, "#  ") {
			on.WriteString(set)
		}
	}
	return on.String()
}

// unset names the fields without a value, those of structs and of the first items of lists included.
func unset(v reflect.Value, name string) []string {
	switch {
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return []string{name}
	case v.Kind() == reflect.Slice:
		return unset(v.Index(0), name+"[0]")
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
		iter := v.MapRange()
		iter.Next()
		return unset(iter.Value(), name+"."+iter.Key().String())
	case v.Kind() == reflect.Struct:
		var out []string
		for i := range v.NumField() {
			out = append(out, unset(v.Field(i), name+"."+v.Type().Field(i).Name)...)
		}
		return out
	}
	return nil
}

func TestConfigCommands(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.home, configFile)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := b.do("config", "check"); r.code != 0 || !strings.Contains(r.out, "all defaults") {
		t.Errorf("no file: exit %d, %q, %q", r.code, r.out, r.err)
	}
	write("name: box\nmdns: false\n")
	if r := b.do("config", "check"); r.code != 0 || r.out != path+" is good.\n" {
		t.Errorf("good: exit %d, %q", r.code, r.out)
	}
	r := b.do("config", "show")
	shown, faults := parseConfig([]byte(r.out))
	if r.code != 0 || len(faults) > 0 || shown.Name != "box" || *shown.MDNS || shown.MemoryBudget != defaultMemory {
		t.Errorf("show is no config file: %v\n%s", faults, r.out)
	}
	if r := b.do("config", "show", "--json"); !strings.Contains(r.out, `"name":"box","listen":[],"mdns":false`) {
		t.Errorf("show --json: %q", r.out)
	}
	write("nmae: box\nmdns: 3\n")
	if r := b.do("config", "check"); r.code != exitError || !strings.Contains(r.err, `line 1: unknown key "nmae", did you mean "name"?; line 2: mdns`) || !strings.Contains(r.err, "try: ") {
		t.Errorf("bad: exit %d, %q", r.code, r.err)
	}
	if r := b.do("config", "check", "--json"); r.code != exitError || !strings.Contains(r.out, `{"ok":false`) {
		t.Errorf("bad, --json: exit %d, %q", r.code, r.out)
	}
	b.run = nil
	for _, args := range []string{"run", "id", "session list"} {
		if r := b.do(strings.Fields(args)...); r.code != exitError || len(b.node.opened) != 0 {
			t.Errorf("%s with a bad config: exit %d, opened %d", args, r.code, len(b.node.opened))
		}
	}
	if r := b.do("config", "check", b.home+"/none"); r.code != exitError {
		t.Errorf("a named file that is not there: exit %d", r.code)
	}
}

func TestConfigShowAsksTheDaemon(t *testing.T) {
	b := newBench(t)
	b.node.results["config"] = fileConfig{Name: "running"}.settings("", b.home)
	b.daemon(t)
	r := b.do("config", "show")
	if r.code != 0 || !strings.Contains(r.out, "name: running") || !strings.Contains(r.err, "another name than") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(exampleConfig()))
	f.Add([]byte(exampleOn()))
	f.Add([]byte(everyToolKey))
	f.Add([]byte("security: {tool_policies: {a: {timeout: 1}, b: }, network: {endpoints: [{host: '*'}]}}\nagent_state_allowlist: {a: []}\n"))
	f.Add([]byte("agents:\n  - name: a\n    tools: [x]\nlisten: 0.0.0.0:1\n"))
	f.Add([]byte("name: &x a\nlisten: *x\n<<: *x\n"))
	f.Add([]byte("? a\n: b\n--- !!map\n{}\n...\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg, faults := parseConfig(b)
		for _, x := range faults {
			if x.text == "" {
				t.Error("a fault without words")
			}
		}
		if len(faults) == 0 {
			// What was accepted must be usable.
			s := cfg.settings("host", "/home")
			if s.MemoryBudget < leastMemory || s.Name == "" || node.CheckSecurity(s.Security) != nil {
				t.Errorf("accepted %+v", s)
			}
			for _, p := range s.WebSearch.Providers {
				if err := node.CheckSearch(p); err != nil {
					t.Errorf("accepted %+v: %v", p, err)
				}
			}
		}
	})
}
