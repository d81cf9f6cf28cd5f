package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/toolhost"
)

const everyToolKey = `
work_folder: deeper/work
security:
  auto_approved_tools: [write_file, edit_file]
  leak_policy: block
  tool_policies:
    shell: {risk: low, approval: never, timeout: 90, rate_limit: 0, sensitive: []}
    web_fetch: {timeout: 1m30s}
    fs: {}
  shell_allowlist: [ls, git log *]
  shell_denylist: git push
  shell_sandbox: bwrap
  network:
    endpoints:
      - {host: "*.example.org", path_prefix: /api, methods: [GET]}
      - host: other.example:8080
    allow_private: true
  allow_read: [., /usr/share/doc]
  allow_write: []
agent_state_allowlist:
  schedule: [chaz]
  memory: []
web_search:
  providers:
    - {kind: searxng, api_base: "http://10.0.0.1:8888"}
    - {kind: brave, key: brave-key}
    - {kind: kagi, key: $KAGI_KEY}
    - {kind: tavily, key: "${TAVILY_KEY}"}
skill_dirs: [/srv/skills, here]
extensions: {hook_deadline_secs: 3, instantiate_deadline_secs: 4, idle_eviction_secs: 5}
routines: {max_concurrent: 2, handler_deadline_secs: 30}
`

func parsed(t *testing.T, text string) fileConfig {
	t.Helper()
	f, faults := parseConfig([]byte(text))
	if len(faults) > 0 {
		t.Fatalf("%v in\n%s", faults, text)
	}
	return f
}

func TestConfigReachesTheNode(t *testing.T) {
	s := parsed(t, everyToolKey).settings("host", "/home/x")
	yes, none := true, 0
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := node.Config{
		Home: "/home/x", LockWait: time.Second, Log: slog.New(slog.DiscardHandler), IgnoreRole: true,
		Name: "host", MDNS: true, MemoryBudget: defaultMemory, LogLevel: "info", Agents: []node.AgentTemplate{{Name: "chaz"}}, DefaultAgents: []string{"chaz"},
		Security: node.Security{
			WorkFolder: "/home/x/deeper/work", Sandbox: "bwrap", AutoApproved: []string{"write_file", "edit_file"}, BlockLeaks: true,
			Grants: toolhost.Grants{
				Shell: toolhost.ShellGrants{Allow: []string{"ls", "git log *"}, Deny: []string{"git push"}},
				Network: toolhost.NetworkGrants{AllowPrivate: &yes, Endpoints: []toolhost.Endpoint{
					{Host: "*.example.org", PathPrefix: "/api", Methods: []string{"GET"}}, {Host: "other.example:8080"},
				}},
				FS: toolhost.FileGrants{AllowRead: []string{".", "/usr/share/doc"}, AllowWrite: []string{}},
			},
			Policies: map[string]extension.Policy{
				"shell":     {Risk: extension.LowRisk, Approval: extension.NeverAsk, Timeout: 90 * time.Second, RateLimit: &none, Sensitive: []string{}},
				"web_fetch": {Timeout: 90 * time.Second}, "fs": {},
			},
		},
		AgentAllow: map[string][]string{"schedule": {"chaz"}, "memory": {}},
		Search: []web.Backend{
			{Kind: web.SearXNG, APIBase: "http://10.0.0.1:8888"},
			{Kind: web.Brave, Secret: "brave-key"},
			{Kind: web.Kagi, Secret: "$KAGI_KEY"},
			{Kind: web.Tavily, Secret: "${TAVILY_KEY}"},
		},
		SkillDirs:          []string{"/srv/skills", "here"},
		FileReader:         []string{exe, readerArg},
		Timings:            hub.Timings{Hook: 3 * time.Second, Instantiate: 4 * time.Second, Idle: 5 * time.Second},
		RoutineConcurrency: 2, RoutineDeadline: 30 * time.Second,
	}
	got := nodeConfig(nodeOptions{Home: "/home/x", Settings: s, IgnoreRole: true, Log: want.Log}, time.Second)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What a node says that it runs with is what the file said, and what it says of an empty file are the
// defaults of both.
func TestNodeShowsItsConfig(t *testing.T) {
	for name, text := range map[string]string{"every key": strings.Replace(everyToolKey, "bwrap", "off", 1), "defaults": ""} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			o := nodeOptions{Home: home, Settings: parsed(t, text).settings("host", home), Log: slog.New(slog.DiscardHandler)}
			sameJSON(t, settingsOf(t, o), o.Settings)
		})
	}
	t.Run("nothing given", func(t *testing.T) {
		home := t.TempDir()
		want := fileConfig{}.settings("host", home)
		want.MemoryBudget, want.LogLevel, want.SkillDirs, want.MDNS = 0, "", control.List[string]{}, false
		got := settingsOf(t, nodeOptions{Home: home, Settings: control.Settings{Name: "host"}, Log: slog.New(slog.DiscardHandler)})
		sameJSON(t, got, want)
	})
}

// sameJSON compares what a client of the API sees.
func sameJSON(t *testing.T, got, want any) {
	t.Helper()
	x, err := json.Marshal(got)
	y, wrong := json.Marshal(want)
	if err := errors.Join(err, wrong); err != nil || string(x) != string(y) {
		t.Errorf("got  %s\nwant %s, %v", x, y, err)
	}
}

// settingsOf opens a node and asks it for its settings.
func settingsOf(t *testing.T, o nodeOptions) control.Settings {
	t.Helper()
	s, err := control.Call(t.Context(), opened(t, o), control.GetConfig, control.ConfigParams{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func opened(t *testing.T, o nodeOptions) *control.Client {
	t.Helper()
	c, stop, err := openNode(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestNodeRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*control.Settings){
		"sandbox": func(s *control.Settings) { s.Security.ShellSandbox = "paper" },
		"policy": func(s *control.Settings) {
			s.Security.ToolPolicies = map[string]control.ToolPolicy{"x": {Risk: "huge"}}
		},
		"grant":    func(s *control.Settings) { s.Security.ShellAllowlist = []string{""} },
		"provider": func(s *control.Settings) { s.WebSearch.Providers = control.List[control.SearchProvider]{{Kind: "x"}} },
	} {
		home := t.TempDir()
		o := nodeOptions{Home: home, Settings: fileConfig{}.settings("host", home), Log: slog.New(slog.DiscardHandler)}
		spoil(&o.Settings)
		if _, stop, err := openNode(t.Context(), o); err == nil {
			t.Errorf("%s: opened", name)
			_ = stop()
		}
	}
	if err := node.CheckSecurity(control.Security{LeakPolicy: "x"}); err == nil {
		t.Error("an unknown leak policy is good")
	}
}

// The settings count where tools are called: policies, shell lists, and keys from the environment.
func TestConfigCountsInTheNode(t *testing.T) {
	const variable, fromEnv = "CHAZ_TEST_SEARCH_KEY", "of the environment"
	t.Setenv(variable, fromEnv)
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"results":[{"title":"found","url":"https://example.org","content":"x"}]}`)
	}))
	defer server.Close()
	home := t.TempDir()
	text := `
security:
  tool_policies: {get_time: {rate_limit: 0}, shell: {approval: never}}
  shell_allowlist: [echo]
  shell_denylist: [echo no]
  shell_sandbox: off
  network: {allow_private: true}
web_search: {providers: [{kind: searxng, api_base: "` + server.URL + `", key: "${` + variable + `}"}]}
`
	c := opened(t, nodeOptions{Home: home, Settings: parsed(t, text).settings("host", home), Log: slog.New(slog.DiscardHandler)})
	// A secret of the same name is something else than the variable.
	if _, err := control.Call(t.Context(), c, control.SecretSet, control.SecretSetParams{Name: variable, Value: "of the store"}); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call(t.Context(), c, control.SessionNew, control.SessionNewParams{Name: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ tool, args, status, output string }{
		{"get_time", `{}`, "limited", ""},
		{"calculate", `{"expression":"1+1"}`, "ok", "2"},
		{"shell", `{"command":"echo yes"}`, "ok", "yes"},
		{"shell", `{"command":"echo no"}`, "error", ""},
		{"shell", `{"command":"ls"}`, "error", ""},
		{"web_search", `{"query":"x"}`, "ok", "found"},
	} {
		r, err := control.Call(t.Context(), c, control.ToolCall, control.ToolCallParams{Session: "s", Tool: tc.tool, Args: []byte(tc.args)})
		if err != nil || r.Status != tc.status || !strings.Contains(r.Output, tc.output) {
			t.Errorf("%s %s: %s, %q, %v", tc.tool, tc.args, r.Status, r.Output, err)
		}
	}
	if asked != "Bearer "+fromEnv {
		t.Errorf("the search service got the key %q", asked)
	}
}

func TestAllowlistOfNobodyIsWarnedOf(t *testing.T) {
	home := t.TempDir()
	var log bytes.Buffer
	text := "agent_state_allowlist: {schedul: [chaz], memory: []}\n"
	opened(t, nodeOptions{Home: home, Settings: parsed(t, text).settings("host", home), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := log.String(); !strings.Contains(got, "agent_state_allowlist") || !strings.Contains(got, "extension=schedul\n") || strings.Contains(got, "extension=memory") {
		t.Errorf("the log says %q", got)
	}
}

func TestKeysAreNames(t *testing.T) {
	for _, good := range []string{"brave", "brave-key", "search/brave.key", "BRAVE_SEARCH_API_KEY_2", "${X}", "$X_1", "averyveryverylongnameofasecret"} {
		if err := node.CheckKey(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "$", "${}", "${X", "$1X", "${X}y", "a b", "é", "-x", "$(x)"} {
		if err := node.CheckKey(bad); err == nil {
			t.Errorf("%q names a key", bad)
		}
	}
	const key = "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"
	_, faults := parseConfig([]byte("web_search: {providers: [{kind: tavily, key: " + key + "}]}\n"))
	if len(faults) != 1 || !strings.Contains(faults[0].text, "looks like a key itself") || strings.Contains(faults[0].text, key[:12]) {
		t.Errorf("a key in the file: %v", faults)
	}
}
