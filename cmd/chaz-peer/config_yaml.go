package main

import (
	"maps"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// yamlOf is the settings as they would stand in a config file.
func yamlOf(s control.Settings) yaml.MapSlice {
	agents := []any{}
	for _, x := range s.Agents {
		m := yaml.MapSlice{{Key: "name", Value: x.Name}}
		for _, f := range agentFieldNames(agentFields()) {
			if v, ok := x.Config[f]; ok {
				m = append(m, yaml.MapItem{Key: f, Value: v})
			}
		}
		agents = append(agents, m)
	}
	providers := []any{}
	for _, p := range s.WebSearch.Providers {
		m := yaml.MapSlice{{Key: "kind", Value: p.Kind}}
		m = withText(m, "api_base", p.APIBase)
		providers = append(providers, withText(m, "key", p.Key))
	}
	return yaml.MapSlice{
		{Key: "name", Value: s.Name},
		{Key: "listen", Value: texts(s.Listen)},
		{Key: "mdns", Value: s.MDNS},
		{Key: "static_peers", Value: texts(s.StaticPeers)},
		{Key: "clock_skew", Value: exact(s.ClockSkewMS)},
		{Key: "control_tcp", Value: s.ControlTCP},
		{Key: "memory_budget", Value: exactSize(s.MemoryBudget)},
		{Key: "log_level", Value: s.LogLevel},
		{Key: "agents", Value: agents},
		{Key: "default_agents", Value: texts(s.DefaultAgents)},
		{Key: "work_folder", Value: s.WorkFolder},
		{Key: "security", Value: yamlOfSecurity(s.Security)},
		{Key: "agent_state_allowlist", Value: sortedMap(s.AgentStateAllowlist, func(l []string) any { return texts(l) })},
		{Key: "web_search", Value: yaml.MapSlice{{Key: "providers", Value: providers}}},
		{Key: "skill_dirs", Value: texts(s.SkillDirs)},
		{Key: "extensions", Value: yaml.MapSlice{
			{Key: "hook_deadline_secs", Value: s.Extensions.HookDeadlineSecs},
			{Key: "instantiate_deadline_secs", Value: s.Extensions.InstantiateDeadlineSecs},
			{Key: "idle_eviction_secs", Value: s.Extensions.IdleEvictionSecs},
			{Key: "git_hosts", Value: texts(s.Extensions.GitHosts)},
			{Key: "git_local", Value: texts(s.Extensions.GitLocal)},
			{Key: "policy", Value: policyValue(s.Extensions.Policy)},
		}},
		{Key: "routines", Value: yaml.MapSlice{
			{Key: "max_concurrent", Value: s.Routines.MaxConcurrent},
			{Key: "handler_deadline_secs", Value: s.Routines.HandlerDeadlineSecs},
		}},
	}
}

// texts is a list that prints as [] when empty.
func texts(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// yamlOfSecurity leaves out the lists that are not given: an empty one would mean something else.
func yamlOfSecurity(s control.Security) yaml.MapSlice {
	m := yaml.MapSlice{
		{Key: "auto_approved_tools", Value: texts(s.AutoApprovedTools)},
		{Key: "leak_policy", Value: s.LeakPolicy},
		{Key: "tool_policies", Value: sortedMap(s.ToolPolicies, yamlOfPolicy)},
	}
	m = withTexts(m, "shell_allowlist", s.ShellAllowlist)
	m = withTexts(m, "shell_denylist", s.ShellDenylist)
	m = append(m, yaml.MapItem{Key: "shell_sandbox", Value: s.ShellSandbox})
	network := yaml.MapSlice{{Key: "allow_private", Value: s.Network.AllowPrivate}}
	if s.Network.Endpoints != nil {
		endpoints := []any{}
		for _, e := range s.Network.Endpoints {
			x := withText(yaml.MapSlice{{Key: "host", Value: e.Host}}, "path_prefix", e.PathPrefix)
			endpoints = append(endpoints, withTexts(x, "methods", e.Methods))
		}
		network = append(network, yaml.MapItem{Key: "endpoints", Value: endpoints})
	}
	m = append(m, yaml.MapItem{Key: "network", Value: network})
	m = withTexts(m, "allow_read", s.AllowRead)
	return withTexts(m, "allow_write", s.AllowWrite)
}

func yamlOfPolicy(p control.ToolPolicy) any {
	m := withText(yaml.MapSlice{}, "risk", p.Risk)
	m = withText(m, "approval", p.Approval)
	if p.TimeoutMS != 0 {
		m = withText(m, "timeout", exact(p.TimeoutMS))
	}
	if p.RateLimit != nil {
		m = append(m, yaml.MapItem{Key: "rate_limit", Value: *p.RateLimit})
	}
	return withTexts(m, "sensitive", p.Sensitive)
}

func withText(m yaml.MapSlice, key, value string) yaml.MapSlice {
	if value == "" {
		return m
	}
	return append(m, yaml.MapItem{Key: key, Value: value})
}

func withTexts(m yaml.MapSlice, key string, l []string) yaml.MapSlice {
	if l == nil {
		return m
	}
	return append(m, yaml.MapItem{Key: key, Value: l})
}

// sortedMap prints in the order of its keys.
func sortedMap[V any](m map[string]V, value func(V) any) yaml.MapSlice {
	out := yaml.MapSlice{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, yaml.MapItem{Key: k, Value: value(m[k])})
	}
	return out
}
