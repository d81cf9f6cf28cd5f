package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// securityKeys are the keys of the block security.
func securityKeys() []key[control.Security] {
	type security = control.Security
	return []key[security]{
		{"auto_approved_tools", func(s *security, n ast.Node) []fault {
			return readEach(n, (*[]string)(&s.AutoApprovedTools), toolNames)
		}},
		{"leak_policy", func(s *security, n ast.Node) []fault {
			return readWith(n, &s.LeakPolicy, oneOf("policy", "redact", "block"))
		}},
		{"tool_policies", func(s *security, n ast.Node) []fault {
			return readNamed(n, &s.ToolPolicies, toolName, func(p *control.ToolPolicy, n ast.Node) []fault { return readBlock(n, p, policyKeys()) })
		}},
		{"shell_allowlist", func(s *security, n ast.Node) []fault { return readEach(n, &s.ShellAllowlist, shellEntry) }},
		{"shell_denylist", func(s *security, n ast.Node) []fault { return readEach(n, &s.ShellDenylist, shellEntry) }},
		{"shell_sandbox", func(s *security, n ast.Node) []fault {
			return readWith(n, &s.ShellSandbox, oneOf("sandbox", "off", "bwrap"))
		}},
		{"network", func(s *security, n ast.Node) []fault { return readBlock(n, &s.Network, networkKeys()) }},
		{"allow_read", func(s *security, n ast.Node) []fault { return readEach(n, &s.AllowRead, filePaths) }},
		{"allow_write", func(s *security, n ast.Node) []fault { return readEach(n, &s.AllowWrite, filePaths) }},
	}
}

func policyKeys() []key[control.ToolPolicy] {
	type policy = control.ToolPolicy
	return []key[policy]{
		{"risk", func(p *policy, n ast.Node) []fault {
			return readWith(n, &p.Risk, oneOf("risk", string(extension.LowRisk), string(extension.MediumRisk), string(extension.HighRisk)))
		}},
		{"approval", func(p *policy, n ast.Node) []fault {
			return readWith(n, &p.Approval, oneOf("approval", string(extension.NeverAsk), string(extension.AskUnlessAutomatic), string(extension.AlwaysAsk)))
		}},
		{"timeout", func(p *policy, n ast.Node) []fault {
			var d time.Duration
			faults := readWith(n, &d, timeout)
			p.TimeoutMS = d.Milliseconds()
			return faults
		}},
		{"rate_limit", func(p *policy, n ast.Node) []fault {
			p.RateLimit = new(int)
			return readWhole(n, p.RateLimit, 0, 1_000_000)
		}},
		{"sensitive", func(p *policy, n ast.Node) []fault { return readEach(n, &p.Sensitive, someText) }},
	}
}

func networkKeys() []key[control.Network] {
	type network = control.Network
	return []key[network]{
		{"endpoints", func(w *network, n ast.Node) []fault {
			return readBlocks(n, &w.Endpoints, endpointKeys(), checkEndpoint)
		}},
		{"allow_private", func(w *network, n ast.Node) []fault { return readFlag(n, &w.AllowPrivate) }},
	}
}

func endpointKeys() []key[control.NetworkEndpoint] {
	type endpoint = control.NetworkEndpoint
	return []key[endpoint]{
		{"host", func(e *endpoint, n ast.Node) []fault { return readWith(n, &e.Host, anyString) }},
		{"path_prefix", func(e *endpoint, n ast.Node) []fault { return readWith(n, &e.PathPrefix, anyString) }},
		{"methods", func(e *endpoint, n ast.Node) []fault { return readEach(n, &e.Methods, someText) }},
	}
}

func checkEndpoint(e control.NetworkEndpoint) error {
	if e.Host == "" {
		return errors.New("an endpoint without a host")
	}
	return node.CheckSecurity(control.Security{Network: control.Network{Endpoints: []control.NetworkEndpoint{e}}})
}

func shellEntry(s string) ([]string, error) {
	return []string{s}, node.CheckSecurity(control.Security{ShellAllowlist: []string{s}})
}

func toolName(s string) error {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if s == "" || len(s) > 64 || strings.ContainsFunc(s, other) {
		return fmt.Errorf("%q is not a name for a tool: want 1 to 64 letters, digits, _ and -", clipText(s))
	}
	return nil
}

func toolNames(s string) ([]string, error) { return []string{s}, toolName(s) }

func anyString(s string) (string, error) { return s, nil }

func someText(s string) ([]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, errors.New("want text that is not blank")
	}
	return []string{s}, nil
}

// filePath checks a file path. What only a shell would expand is refused: taken literally it would mean
// another folder than was meant.
func filePath(s string) (string, error) {
	switch {
	case s == "" || strings.ContainsRune(s, 0):
		return "", fmt.Errorf("%q is not a path", clipText(s))
	case s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "$"):
		return "", fmt.Errorf("%q: ~ and $ are not expanded in paths, write the whole path", clipText(s))
	}
	return s, nil
}

func filePaths(s string) ([]string, error) {
	p, err := filePath(s)
	return []string{p}, err
}
