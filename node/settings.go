package node

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/node/pipeline"
	"github.com/chaz-peer/chaz-peer/node/toolhost"
)

// The values of settings that are words.
const (
	leaksRedact = "redact"
	leaksBlock  = "block"
	noSandbox   = "off"
)

// ConfigOf is what settings mean for a node. Home, LockWait, Log and what no config file says are the
// caller's to add.
func ConfigOf(s control.Settings) Config {
	c := Config{
		Listen: s.Listen, MDNS: s.MDNS, Static: s.StaticPeers, Skew: time.Duration(s.ClockSkewMS) * time.Millisecond,
		ControlTCP: s.ControlTCP, MemoryBudget: s.MemoryBudget, Name: s.Name, DefaultAgents: s.DefaultAgents, LogLevel: s.LogLevel,
		Security: securityOf(s.Security), AgentAllow: s.AgentStateAllowlist, SkillDirs: s.SkillDirs,
		Timings: hub.Timings{
			Hook: seconds(s.Extensions.HookDeadlineSecs), Instantiate: seconds(s.Extensions.InstantiateDeadlineSecs),
			Idle: seconds(s.Extensions.IdleEvictionSecs),
		},
		External:           External{Policy: s.Extensions.Policy, GitHosts: s.Extensions.GitHosts, GitLocal: s.Extensions.GitLocal},
		RoutineConcurrency: s.Routines.MaxConcurrent, RoutineDeadline: seconds(s.Routines.HandlerDeadlineSecs),
	}
	c.Security.WorkFolder = s.WorkFolder
	for _, a := range s.Agents {
		c.Agents = append(c.Agents, AgentTemplate{Name: a.Name, Config: a.Config})
	}
	for _, p := range s.WebSearch.Providers {
		c.Search = append(c.Search, backendOf(p))
	}
	return c
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func securityOf(s control.Security) Security {
	out := Security{
		Sandbox: s.ShellSandbox, AutoApproved: s.AutoApprovedTools, BlockLeaks: s.LeakPolicy == leaksBlock,
		Grants: toolhost.Grants{
			Shell: toolhost.ShellGrants{Allow: s.ShellAllowlist, Deny: s.ShellDenylist},
			FS:    toolhost.FileGrants{AllowRead: s.AllowRead, AllowWrite: s.AllowWrite},
		},
	}
	if s.ShellSandbox == noSandbox {
		out.Sandbox = toolhost.NoSandbox
	}
	if s.Network.AllowPrivate {
		out.Grants.Network.AllowPrivate = &s.Network.AllowPrivate
	}
	if s.Network.Endpoints != nil {
		out.Grants.Network.Endpoints = make([]toolhost.Endpoint, len(s.Network.Endpoints))
		for i, e := range s.Network.Endpoints {
			out.Grants.Network.Endpoints[i] = toolhost.Endpoint(e)
		}
	}
	if len(s.ToolPolicies) > 0 {
		out.Policies = map[string]extension.Policy{}
	}
	for tool, p := range s.ToolPolicies {
		out.Policies[tool] = extension.Policy{
			Risk: extension.Risk(p.Risk), Approval: extension.Approval(p.Approval), Timeout: time.Duration(p.TimeoutMS) * time.Millisecond,
			RateLimit: p.RateLimit, Sensitive: p.Sensitive,
		}
	}
	return out
}

func backendOf(p control.SearchProvider) web.Backend {
	return web.Backend{Kind: web.Kind(p.Kind), APIBase: p.APIBase, Secret: p.Key}
}

// settings is what the node runs with, as the API shows it: the way back from [ConfigOf].
func (c *Config) settings() control.Settings {
	s := control.Settings{
		Name: c.Name, Listen: c.Listen, MDNS: c.MDNS, StaticPeers: c.Static, ClockSkewMS: c.Skew.Milliseconds(),
		ControlTCP: c.ControlTCP, MemoryBudget: c.MemoryBudget, LogLevel: c.LogLevel, DefaultAgents: c.DefaultAgents,
		WorkFolder: c.Security.WorkFolder, Security: c.Security.settings(), AgentStateAllowlist: c.AgentAllow, SkillDirs: c.SkillDirs,
		Extensions: control.ExtensionLimits{
			HookDeadlineSecs: wholeSeconds(c.Timings.Hook), InstantiateDeadlineSecs: wholeSeconds(c.Timings.Instantiate),
			IdleEvictionSecs: wholeSeconds(c.Timings.Idle), GitHosts: c.External.GitHosts, GitLocal: c.External.GitLocal, Policy: c.External.Policy,
		},
		Routines: control.RoutineLimits{MaxConcurrent: c.RoutineConcurrency, HandlerDeadlineSecs: wholeSeconds(c.RoutineDeadline)},
	}
	if s.AgentStateAllowlist == nil {
		s.AgentStateAllowlist = map[string][]string{}
	}
	for _, a := range c.Agents {
		s.Agents = append(s.Agents, control.AgentSpec{Name: a.Name, Config: a.Config})
	}
	for _, b := range c.Search {
		s.WebSearch.Providers = append(s.WebSearch.Providers, control.SearchProvider{Kind: string(b.Kind), APIBase: b.APIBase, Key: b.Secret})
	}
	return s
}

func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }

func (s *Security) settings() control.Security {
	out := control.Security{
		AutoApprovedTools: s.AutoApproved, LeakPolicy: leaksRedact, ShellSandbox: s.Sandbox, ToolPolicies: map[string]control.ToolPolicy{},
		ShellAllowlist: s.Grants.Shell.Allow, ShellDenylist: s.Grants.Shell.Deny,
		AllowRead: s.Grants.FS.AllowRead, AllowWrite: s.Grants.FS.AllowWrite,
	}
	if s.BlockLeaks {
		out.LeakPolicy = leaksBlock
	}
	if s.Sandbox == toolhost.NoSandbox {
		out.ShellSandbox = noSandbox
	}
	if p := s.Grants.Network.AllowPrivate; p != nil {
		out.Network.AllowPrivate = *p
	}
	if s.Grants.Network.Endpoints != nil {
		out.Network.Endpoints = make([]control.NetworkEndpoint, len(s.Grants.Network.Endpoints))
		for i, e := range s.Grants.Network.Endpoints {
			out.Network.Endpoints[i] = control.NetworkEndpoint(e)
		}
	}
	for tool, p := range s.Policies {
		out.ToolPolicies[tool] = control.ToolPolicy{
			Risk: string(p.Risk), Approval: string(p.Approval), TimeoutMS: p.Timeout.Milliseconds(), RateLimit: p.RateLimit, Sensitive: p.Sensitive,
		}
	}
	return out
}

// CheckSecurity reports the first thing that makes no sense.
func CheckSecurity(s control.Security) error {
	if s.LeakPolicy != "" && s.LeakPolicy != leaksRedact && s.LeakPolicy != leaksBlock {
		return fmt.Errorf("check security: leak policy %.40q (want %s or %s)", s.LeakPolicy, leaksRedact, leaksBlock)
	}
	return securityOf(s).check()
}

func (s Security) check() error {
	if s.Sandbox != toolhost.NoSandbox && s.Sandbox != toolhost.Bubblewrap {
		return fmt.Errorf("check security: unknown sandbox %.40q (there is %q)", s.Sandbox, toolhost.Bubblewrap)
	}
	for tool, p := range s.Policies {
		if err := pipeline.CheckPolicy(p); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	return s.Grants.Check()
}

// CheckSearch reports what is wrong with a provider of web_search.
func CheckSearch(p control.SearchProvider) error { return backendOf(p).Check() }

// SearchKinds are the search services, as the settings name them.
func SearchKinds() []string {
	return []string{
		string(web.Kagi), string(web.Tavily), string(web.Brave), string(web.Serper), string(web.SearXNG), string(web.DuckDuckGo),
	}
}

// workFolder is where relative paths of tools begin.
func (c *Config) workFolder() (string, error) {
	work := c.Security.WorkFolder
	if work == "" {
		work = filepath.Join(c.Home, "work")
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return "", fmt.Errorf("find work folder: %w", err)
	}
	home, err := filepath.Abs(c.Home)
	if err != nil {
		return "", fmt.Errorf("find home: %w", err)
	}
	if rel, err := filepath.Rel(work, home); err == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("open node: work_folder %s holds the peer's home: choose a folder for tools alone", work)
	}
	return work, nil
}
