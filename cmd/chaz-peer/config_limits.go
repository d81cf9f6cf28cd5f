package main

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// readAllowlist reads which agents an extension may administer. A name without a list is a fault:
// it could mean none as well as all.
func readAllowlist(n ast.Node, to *map[string][]string) []fault {
	return readNamed(n, to, extensionName, func(names *[]string, n ast.Node) []fault {
		if isNothing(n) {
			return []fault{{0, "want a list of agents; [] is none"}}
		}
		return readEach(n, names, agentName)
	})
}

func extensionName(s string) error {
	if !extension.ValidName(s) {
		return fmt.Errorf("%q is not a name for an extension: want 1 to %d of a-z, 0-9, _ and -", clipText(s), extension.MaxName)
	}
	return nil
}

func searchKeys() []key[control.WebSearch] {
	return []key[control.WebSearch]{
		{"providers", func(w *control.WebSearch, n ast.Node) []fault {
			return readBlocks(n, (*[]control.SearchProvider)(&w.Providers), providerKeys(), checkProvider)
		}},
	}
}

func providerKeys() []key[control.SearchProvider] {
	type provider = control.SearchProvider
	return []key[provider]{
		{"kind", func(p *provider, n ast.Node) []fault {
			return readWith(n, &p.Kind, oneOf("kind", node.SearchKinds()...))
		}},
		{"api_base", func(p *provider, n ast.Node) []fault { return readWith(n, &p.APIBase, anyString) }},
		{"key", func(p *provider, n ast.Node) []fault {
			return readWith(n, &p.Key, func(s string) (string, error) { return s, node.CheckKey(s) })
		}},
	}
}

func checkProvider(p control.SearchProvider) error {
	if p.Kind == "" {
		return fmt.Errorf("a provider without a kind, known are %s", strings.Join(node.SearchKinds(), ", "))
	}
	return node.CheckSearch(p)
}

func extensionKeys() []key[control.ExtensionLimits] {
	type limits = control.ExtensionLimits
	return []key[limits]{
		{"hook_deadline_secs", func(l *limits, n ast.Node) []fault { return readSeconds(n, &l.HookDeadlineSecs) }},
		{"instantiate_deadline_secs", func(l *limits, n ast.Node) []fault { return readSeconds(n, &l.InstantiateDeadlineSecs) }},
		{"idle_eviction_secs", func(l *limits, n ast.Node) []fault { return readSeconds(n, &l.IdleEvictionSecs) }},
		{"git_hosts", func(l *limits, n ast.Node) []fault { return readEach(n, (*[]string)(&l.GitHosts), someText) }},
		{"git_local", func(l *limits, n ast.Node) []fault { return readEach(n, (*[]string)(&l.GitLocal), filePaths) }},
		{"policy", func(l *limits, n ast.Node) []fault { return readPolicy(n, &l.Policy) }},
	}
}

func routineKeys() []key[control.RoutineLimits] {
	type limits = control.RoutineLimits
	return []key[limits]{
		{"max_concurrent", func(l *limits, n ast.Node) []fault { return readWhole(n, &l.MaxConcurrent, 1, 1000) }},
		{"handler_deadline_secs", func(l *limits, n ast.Node) []fault { return readSeconds(n, &l.HandlerDeadlineSecs) }},
	}
}
