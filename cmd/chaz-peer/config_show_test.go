package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// A list that is not given, an empty one and a full one mean three things, through every form.
func TestConfigShowReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := parsedExample(t).settings("host", "/h")
		list := rapid.Custom(func(t *rapid.T) []string {
			return [][]string{nil, {}, {"a"}, {"b", "c d"}}[rapid.IntRange(0, 3).Draw(t, "list")]
		})
		s.Security.AutoApprovedTools = rapid.SampledFrom([]control.List[string]{nil, {"x", "y"}}).Draw(t, "auto")
		s.Security.ShellAllowlist, s.Security.ShellDenylist = list.Draw(t, "allow"), list.Draw(t, "deny")
		s.Security.AllowRead, s.Security.AllowWrite = list.Draw(t, "read"), list.Draw(t, "write")
		s.Security.Network.AllowPrivate = rapid.Bool().Draw(t, "private")
		if rapid.Bool().Draw(t, "no endpoints") {
			s.Security.Network.Endpoints = rapid.SampledFrom([][]control.NetworkEndpoint{nil, {}}).Draw(t, "endpoints")
		} else {
			s.Security.Network.Endpoints[0].Methods = rapid.SampledFrom([][]string{nil, {}, {"GET"}}).Draw(t, "methods")
		}
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		s.Security.ToolPolicies["x"] = control.ToolPolicy{
			Risk: rapid.SampledFrom([]string{"", "low"}).Draw(t, "risk"), TimeoutMS: rapid.Int64Range(0, 1<<40).Draw(t, "timeout"), RateLimit: &limit, Sensitive: list.Draw(t, "sensitive"),
		}
		s.Security.ShellSandbox = rapid.SampledFrom([]string{"off", "bwrap"}).Draw(t, "sandbox")
		s.SkillDirs = rapid.SampledFrom([]control.List[string]{{}, {"a", "b"}}).Draw(t, "skills")
		s.AgentStateAllowlist["memory"] = rapid.SampledFrom([][]string{{}, {"a"}}).Draw(t, "agents")
		b, err := yaml.Marshal(yamlOf(s))
		if err != nil {
			t.Fatal(err)
		}
		f, faults := parseConfig(b)
		if len(faults) > 0 {
			t.Fatalf("%v in\n%s", faults, b)
		}
		got := f.settings("other", "/other")
		if s.Security.AutoApprovedTools == nil {
			s.Security.AutoApprovedTools = control.List[string]{} // the two mean the same
		}
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("got  %+v\nwant %+v\nby\n%s", got, s, b)
		}
	})
}

// parsedExample is the example with its settings switched on.
func parsedExample(t interface{ Fatal(...any) }) fileConfig {
	f, faults := parseConfig([]byte(exampleOn()))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f
}

func TestGoldenConfigShow(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.home, configFile), []byte(everyToolKey), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"config_show": {"config", "show"}, "json_config": {"config", "show", "--json"}} {
		r := b.do(args...)
		if r.code != 0 || r.err != "" {
			t.Fatalf("exit %d, %s", r.code, r.err)
		}
		golden(t, name, strings.ReplaceAll(r.out, b.home, "HOME"))
	}
}

// Nothing of a nested block is hidden from who reads the example.
func TestExampleNamesEveryNestedKey(t *testing.T) {
	on := exampleOn()
	for _, names := range [][]string{
		keyNames(securityKeys()), keyNames(policyKeys()), keyNames(networkKeys()), keyNames(endpointKeys()),
		keyNames(searchKeys()), keyNames(providerKeys()), keyNames(extensionKeys()), keyNames(routineKeys()),
	} {
		for _, k := range names {
			if !strings.Contains(on, k+":") {
				t.Errorf("the example does not use %s", k)
			}
		}
	}
	for _, kind := range append(node.SearchKinds(), "low", "medium", "high", "never", "unless_auto_approved", "always") {
		if !strings.Contains(exampleConfig(), kind) {
			t.Errorf("the example does not explain %s", kind)
		}
	}
}

// The examples of the documentation are good files.
func TestDocumentedConfigIsValid(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(b), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("operations.md has no example")
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if _, faults := parseConfig([]byte(text)); len(faults) > 0 {
			t.Errorf("%v in\n%s", faults, text)
		}
	}
}
