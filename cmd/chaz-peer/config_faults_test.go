package main

import (
	"fmt"
	"strings"
	"testing"
)

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
			"5: memory_budget: \"1KiB\" is less than 16MiB", `6: log_level: unknown level "wran", did you mean "warn"?`,
		}},
		{"inside lists", "listen:\n  - 127.0.0.1:1\n  - nowhere\n  - {a: b}\nstatic_peers:\n  - /ip4/1.2.3.4/tcp/1\n", []string{
			`3: listen: "nowhere" is not an address`, "4: listen: want text", "6: static_peers: \"/ip4/1.2.3.4/tcp/1\" names no peer",
		}},
		{"twice", "name: a\nmdns: true\nname: b\n", []string{"3: name is given twice, first in line 1"}},
		{"agents", "agents:\n  - name: a\n    modle: x\n  - name: b\n    tools: x\n    max_iterations: 0\n  - name: b\n  - model: x\n  - c\n", []string{
			`3: agents: unknown key "modle", did you mean "model"?`, "6: agents: want a whole number above zero", `7: agents: two agents are called "b"`,
			"8: agents: an agent without a name", "9: agents: want a list of agents",
		}},
		{"no mapping", "- a\n- b\n", []string{"1: want lines of the form key: value"}},
		{"text alone", "hello\n", []string{"1: want lines"}},
		{"two documents", "name: a\n---\nname: b\n", []string{"3: a second document"}},
		{"not YAML", "name: [a\n", []string{"1: "}},
		{"alias", "name: &x a\nlog_level: *x\n", []string{"1: name: want text", "2: log_level: want text"}},
		{"merge", "<<: {name: a}\n", []string{`1: unknown key "<<"`}},
		{"nested block", "security:\n  leek_policy: block\n  network: {allow_privat: true}\n  tool_policies:\n    shell: {aproval: never}\n", []string{
			`2: security: unknown key "leek_policy", did you mean "leak_policy"?`, `3: security: network: unknown key "allow_privat", did you mean "allow_private"?`,
			`5: security: tool_policies: shell: unknown key "aproval", did you mean "approval"?`,
		}},
		{"nested words", "security:\n  leak_policy: blok\n  shell_sandbox: bwarp\n  tool_policies:\n    a: {risk: hihg, approval: alway}\nweb_search:\n  providers:\n    - kind: bravo\n", []string{
			`2: security: leak_policy: unknown policy "blok", did you mean "block"?`, `3: security: shell_sandbox: unknown sandbox "bwarp", did you mean "bwrap"?`,
			`5: security: tool_policies: a: risk: unknown risk "hihg", did you mean "high"?`, `5: security: tool_policies: a: approval: unknown approval "alway", did you mean "always"?`,
			`8: web_search: providers: kind: unknown kind "bravo", did you mean "brave"?`,
		}},
		{"nested twice", "security:\n  allow_read: [a]\n  allow_read: [b]\n", []string{"3: security: allow_read is given twice, first in line 2"}},
		{"nested no mapping", "security: strict\nroutines: [8]\n", []string{"1: security: want lines of the form key: value, with the keys auto_approved_tools", "2: routines: want lines"}},
		{"nested commented out", "security:\n#  x: y\nroutines:\n  max_concurrent:\nextensions: {}\n", nil},
		{"numbers", "extensions: {hook_deadline_secs: 0, idle_eviction_secs: -1, instantiate_deadline_secs: 5s}\nroutines:\n  max_concurrent: 1001\n  handler_deadline_secs: 99999999999\n", []string{
			"1: extensions: hook_deadline_secs: want a whole number from 1 to 2147483647", "1: extensions: idle_eviction_secs: want a whole", "1: extensions: instantiate_deadline_secs: want a whole",
			"3: routines: max_concurrent: want a whole number from 1 to 1000", "4: routines: handler_deadline_secs: want a whole",
		}},
		{"policies", "security:\n  tool_policies:\n    a: {timeout: 0}\n    b: {timeout: -5s}\n    c: {timeout: soon}\n    d: {rate_limit: -1}\n    e f: {}\n    g: {sensitive: ['']}\n    h: always\n", []string{
			`3: security: tool_policies: a: timeout: "0" is no time`, `4: security: tool_policies: b: timeout: "-5s" is no time`, `5: security: tool_policies: c: timeout: "soon" is not a duration`,
			"6: security: tool_policies: d: rate_limit: want a whole number from 0", `7: security: tool_policies: "e f" is not a name for a tool`, "8: security: tool_policies: g: sensitive: want text that",
			"9: security: tool_policies: h: want lines",
		}},
		{"shell lists", "security:\n  shell_allowlist:\n    - ls\n    - git * log\n    - ' '\n  shell_denylist: [a*, '']\n", []string{
			"4: security: shell_allowlist: check shell grants", "5: security: shell_allowlist: check shell grants: an empty entry", "6: security: shell_denylist: check shell grants: an empty entry",
		}},
		{"endpoints", "security:\n  network:\n    endpoints:\n      - host: a.example\n      - {path_prefix: /x}\n      - {host: 'a b'}\n      - {host: a.example, methods: ['G T']}\n      - a.example\n      - {host: '*.1.2.3.4'}\n      - {}\n", []string{
			"5: security: network: endpoints: an endpoint without a host", "6: security: network: endpoints: check network grants", "7: security: network: endpoints: check network grants",
			"8: security: network: endpoints: want a list of blocks", "9: security: network: endpoints: check network grants", "10: security: network: endpoints: want a list of blocks",
		}},
		{"paths", "work_folder: ~/x\nskill_dirs: ['$HOME/x', ok]\nsecurity:\n  allow_read: [a, ~, '']\n  allow_write: ~/x\n", []string{
			`1: work_folder: "~/x": ~ and $ are not expanded`, `2: skill_dirs: "$HOME/x": ~ and $`, "4: security: allow_read: want text", `4: security: allow_read: "" is not a path`, `5: security: allow_write: "~/x"`,
		}},
		{"allowlist", "agent_state_allowlist:\n  Schedule: [a]\n  schedule:\n  memory: [a b]\n  fs: []\n", []string{
			`2: agent_state_allowlist: "Schedule" is not a name for an extension`, "3: agent_state_allowlist: schedule: want a list of agents; [] is none", `4: agent_state_allowlist: memory: "a b" is not a name`,
		}},
		{"providers", "web_search:\n  providers:\n    - {kind: brave}\n    - {kind: searxng}\n    - {key: x}\n    - {kind: kagi, key: '${A B}'}\n    - {kind: searxng, api_base: 'ftp://x'}\n    - {kind: kagi, key: $}\n", []string{
			"3: web_search: providers: check search back end brave: it needs the name of a secret", "4: web_search: providers: check search back end searxng: it needs api_base",
			"5: web_search: providers: a provider without a kind", "6: web_search: providers: key: want the name of a secret", "7: web_search: providers: check search back end searxng: api_base must be",
			"8: web_search: providers: key: want the name of a secret",
		}},
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
