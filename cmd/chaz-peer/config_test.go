package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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

func TestConfigFaults(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string // "line: part of the text"
	}{
		{"empty", "", nil},
		{"only comments", "# nothing\n", nil},
		{"commented-out values", "listen:\n#  - x\nmdns: true\n", nil},
		{"unknown with suggestion", "mdns: true\nlisten_adr: x\nlisen: []\n", []string{`2: unknown key "listen_adr"`, `3: unknown key "lisen", did you mean "listen"?`}},
		{"hyphen for underscore", "log-level: info\n", []string{`1: unknown key "log-level", did you mean "log_level"?`}},
		{"unknown without suggestion", "frobnicate: 1\n", []string{`1: unknown key "frobnicate", known are name, listen`}},
		{"all at once", "name: ''\nmdns: maybe\nclock_skew: soon\ncontrol_tcp: 0.0.0.0:1\nmemory_budget: 1KiB\nlog_level: wran\n", []string{
			"1: name: want 1 to 64", "2: mdns: want true or false", `3: clock_skew: "soon" is not a duration`, "4: control_tcp: \"0.0.0.0:1\" is not a loopback",
			"5: memory_budget: \"1KiB\" is less than 16MiB", `6: log_level: unknown level "wran", did you mean "warn"?`}},
		{"inside lists", "listen:\n  - 127.0.0.1:1\n  - nowhere\n  - {a: b}\nstatic_peers:\n  - /ip4/1.2.3.4/tcp/1\n", []string{
			`3: listen: "nowhere" is not an address`, "4: listen: want text", "6: static_peers: \"/ip4/1.2.3.4/tcp/1\" names no peer"}},
		{"twice", "name: a\nmdns: true\nname: b\n", []string{"3: name is given twice, first in line 1"}},
		{"agents", "agents:\n  - name: a\n    modle: x\n  - name: b\n    tools: x\n    max_iterations: 0\n  - name: b\n  - model: x\n  - c\n", []string{
			`3: agents: unknown key "modle", did you mean "model"?`, "6: agents: want a whole number above zero", `7: agents: two agents are called "b"`,
			"8: agents: an agent without a name", "9: agents: want a list of agents"}},
		{"no mapping", "- a\n- b\n", []string{"1: want lines of the form key: value"}},
		{"text alone", "hello\n", []string{"1: want lines"}},
		{"two documents", "name: a\n---\nname: b\n", []string{"3: a second document"}},
		{"not YAML", "name: [a\n", []string{"1: "}},
		{"alias", "name: &x a\nlog_level: *x\n", []string{"1: name: want text", "2: log_level: want text"}},
		{"merge", "<<: {name: a}\n", []string{`1: unknown key "<<"`}},
		{"nested block", "security:\n  leek_policy: block\n  network: {allow_privat: true}\n  tool_policies:\n    shell: {aproval: never}\n", []string{
			`2: security: unknown key "leek_policy", did you mean "leak_policy"?`, `3: security: network: unknown key "allow_privat", did you mean "allow_private"?`,
			`5: security: tool_policies: shell: unknown key "aproval", did you mean "approval"?`}},
		{"nested words", "security:\n  leak_policy: blok\n  shell_sandbox: bwarp\n  tool_policies:\n    a: {risk: hihg, approval: alway}\nweb_search:\n  providers:\n    - kind: bravo\n", []string{
			`2: security: leak_policy: unknown policy "blok", did you mean "block"?`, `3: security: shell_sandbox: unknown sandbox "bwarp", did you mean "bwrap"?`,
			`5: security: tool_policies: a: risk: unknown risk "hihg", did you mean "high"?`, `5: security: tool_policies: a: approval: unknown approval "alway", did you mean "always"?`,
			`8: web_search: providers: kind: unknown kind "bravo", did you mean "brave"?`}},
		{"nested twice", "security:\n  allow_read: [a]\n  allow_read: [b]\n", []string{"3: security: allow_read is given twice, first in line 2"}},
		{"nested no mapping", "security: strict\nroutines: [8]\n", []string{"1: security: want lines of the form key: value, with the keys auto_approved_tools", "2: routines: want lines"}},
		{"nested commented out", "security:\n#  x: y\nroutines:\n  max_concurrent:\nextensions: {}\n", nil},
		{"numbers", "extensions: {hook_deadline_secs: 0, idle_eviction_secs: -1, instantiate_deadline_secs: 5s}\nroutines:\n  max_concurrent: 1001\n  handler_deadline_secs: 99999999999\n", []string{
			"1: extensions: hook_deadline_secs: want a whole number from 1 to 2147483647", "1: extensions: idle_eviction_secs: want a whole", "1: extensions: instantiate_deadline_secs: want a whole",
			"3: routines: max_concurrent: want a whole number from 1 to 1000", "4: routines: handler_deadline_secs: want a whole"}},
		{"policies", "security:\n  tool_policies:\n    a: {timeout: 0}\n    b: {timeout: -5s}\n    c: {timeout: soon}\n    d: {rate_limit: -1}\n    e f: {}\n    g: {sensitive: ['']}\n    h: always\n", []string{
			`3: security: tool_policies: a: timeout: "0" is no time`, `4: security: tool_policies: b: timeout: "-5s" is no time`, `5: security: tool_policies: c: timeout: "soon" is not a duration`,
			"6: security: tool_policies: d: rate_limit: want a whole number from 0", `7: security: tool_policies: "e f" is not a name for a tool`, "8: security: tool_policies: g: sensitive: want text that",
			"9: security: tool_policies: h: want lines"}},
		{"shell lists", "security:\n  shell_allowlist:\n    - ls\n    - git * log\n    - ' '\n  shell_denylist: [a*, '']\n", []string{
			"4: security: shell_allowlist: check shell grants", "5: security: shell_allowlist: check shell grants: an empty entry", "6: security: shell_denylist: check shell grants: an empty entry"}},
		{"endpoints", "security:\n  network:\n    endpoints:\n      - host: a.example\n      - {path_prefix: /x}\n      - {host: 'a b'}\n      - {host: a.example, methods: ['G T']}\n      - a.example\n      - {host: '*.1.2.3.4'}\n", []string{
			"5: security: network: endpoints: an endpoint without a host", "6: security: network: endpoints: check network grants", "7: security: network: endpoints: check network grants",
			"8: security: network: endpoints: want a list of blocks", "9: security: network: endpoints: check network grants"}},
		{"paths", "work_folder: ~/x\nskill_dirs: ['$HOME/x', ok]\nsecurity:\n  allow_read: [a, ~, '']\n  allow_write: ~/x\n", []string{
			`1: work_folder: "~/x": ~ and $ are not expanded`, `2: skill_dirs: "$HOME/x": ~ and $`, "4: security: allow_read: want text", `4: security: allow_read: "" is not a path`, `5: security: allow_write: "~/x"`}},
		{"allowlist", "agent_state_allowlist:\n  Schedule: [a]\n  schedule:\n  memory: [a b]\n  fs: []\n", []string{
			`2: agent_state_allowlist: "Schedule" is not a name for an extension`, "3: agent_state_allowlist: schedule: want a list of agents; [] is none", `4: agent_state_allowlist: memory: "a b" is not a name`}},
		{"providers", "web_search:\n  providers:\n    - {kind: brave}\n    - {kind: searxng}\n    - {key: x}\n    - {kind: kagi, key: '${A B}'}\n    - {kind: searxng, api_base: 'ftp://x'}\n    - {kind: kagi, key: $}\n", []string{
			"3: web_search: providers: check search back end brave: it needs the name of a secret", "4: web_search: providers: check search back end searxng: it needs api_base",
			"5: web_search: providers: a provider without a kind", "6: web_search: providers: key: want the name of a secret", "7: web_search: providers: check search back end searxng: api_base must be",
			"8: web_search: providers: key: want the name of a secret"}},
		{"too large", "#" + strings.Repeat("x", maxConfig), []string{"0: the file is larger"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, faults := parseConfig([]byte(tc.text))
			if len(faults) != len(tc.want) {
				t.Fatalf("faults %v, want %d", faults, len(tc.want))
			}
			for i, x := range faults {
				if got := fmt.Sprintf("%d: %s", x.line, x.text); !strings.HasPrefix(got, tc.want[i]) {
					t.Errorf("fault %q, want %q", got, tc.want[i])
				}
			}
		})
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

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:0": "/ip4/127.0.0.1/udp/0/quic-v1 /ip4/127.0.0.1/tcp/0", ":4711": "/ip4/0.0.0.0/udp/4711/quic-v1 /ip4/0.0.0.0/tcp/4711",
		"[::1]:5": "/ip6/::1/udp/5/quic-v1 /ip6/::1/tcp/5", "/ip4/1.2.3.4/tcp/1": "/ip4/1.2.3.4/tcp/1", "/ip6/::/udp/1/quic-v1": "/ip6/::/udp/1/quic-v1",
	} {
		if got, err := listenAddrs(in); err != nil || strings.Join(got, " ") != want {
			t.Errorf("listen on %q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "/", "localhost:1", "1.2.3.4", "1.2.3.4:70000", "/ip4/::1/tcp/1", "/ip6/1.2.3.4/tcp/1", "/ip4/1.2.3.4/udp/1", "/ip4/1.2.3.4/udp/1/quic",
		"/ip4/1.2.3.4/udp/1/quic-v12", "/ip4/1.2.3.4/tcp/x", "/ip4/1.2.3.4/tcp/1/p2p/" + peerA, "/dns4/example.org/tcp/1", "/ip4/1.2.3.4/tcp/1/", "[fe80::1%eth0]:1"} {
		if got, err := listenAddrs(bad); err == nil {
			t.Errorf("listen on %q: %v", bad, got)
		}
	}
	for in, ok := range map[string]bool{
		"/ip4/1.2.3.4/tcp/1/p2p/" + peerA: true, "/dns4/example.org/udp/1/quic-v1/p2p/" + peerA: true, "/ip6/::1/tcp/1/p2p/" + peerA: true,
		"/ip4/1.2.3.4/tcp/1": false, "/ip4/1.2.3.4/tcp/1/p2p/": false, "/ip4/1.2.3.4/tcp/1/p2p/" + peerA + "/x": false, "/dns4//tcp/1/p2p/" + peerA: false, peerA: false,
	} {
		if _, err := peerAddr(in); (err == nil) != ok {
			t.Errorf("peer at %q: %v", in, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "5ms": 5 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour,
		"1d12h": 36 * time.Hour, "2w": 336 * time.Hour, "+2h": 2 * time.Hour, "-3d": -72 * time.Hour, "1.5h": 90 * time.Minute,
	} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "-", "5", "d", "5x", "1..5h", "h5", "--5h", "1h 5m", "999999999w", strings.Repeat("9", 400) + "h"} {
		if got, err := parseDuration(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "ms")
		if got, err := parseDuration(fmt.Sprintf("%dms", ms)); err != nil || got.Milliseconds() != ms {
			t.Fatalf("%d ms reads as %v, %v", ms, got, err)
		}
		if got, err := parseDuration(exact(ms)); err != nil || got.Milliseconds() != ms {
			t.Fatalf("%d ms is written as %s, which reads as %v, %v", ms, exact(ms), got, err)
		}
		if _, err := parseDuration(span(ms)); err != nil {
			t.Fatalf("%d ms is shown as %s, which does not read: %v", ms, span(ms), err)
		}
	})
}

func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(leastMemory, 1<<40).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "round") {
			n = n >> 20 << 20
		}
		if got, err := parseSize(exactSize(n)); err != nil || got != n {
			t.Fatalf("%d is written as %s, which reads as %d, %v", n, exactSize(n), got, err)
		}
	})
	for _, bad := range []string{"", "MiB", "-1", "16", "9999999999GiB", "16 stone", "1.5GiB"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

func TestNearestFindsSlips(t *testing.T) {
	known := keyNames(topKeys())
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(known).Draw(t, "key")
		i := rapid.IntRange(0, len(k)-2).Draw(t, "at")
		swapped := k[:i] + k[i+1:i+2] + k[i:i+1] + k[i+2:]
		dropped := k[:i] + k[i+1:]
		for _, slip := range []string{swapped, dropped, k + "s"} {
			if got := nearest(slip, known); got != k {
				t.Fatalf("%q suggests %q, want %q", slip, got, k)
			}
		}
	})
	if got := nearest("frobnicate", known); got != "" {
		t.Errorf("frobnicate suggests %q", got)
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
