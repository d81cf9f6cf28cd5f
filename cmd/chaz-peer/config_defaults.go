package main

import (
	"cmp"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// The defaults of what has one.
const (
	defaultMemory          = 256 << 20
	leastMemory            = 16 << 20
	defaultLogLevel        = "info"
	defaultAgent           = "chaz"
	defaultLeakPolicy      = "redact"
	defaultSandbox         = "off"
	defaultHookSecs        = 10
	defaultInstantiateSecs = 10
	defaultIdleSecs        = 1800
	defaultConcurrent      = 8
	defaultHandlerSecs     = 600
)

// settings puts the defaults under what was given. home is the absolute home folder.
func (f fileConfig) settings(hostname, home string) control.Settings {
	s := control.Settings{
		Name: cmp.Or(f.Name, hostname), Listen: f.Listen, MDNS: f.MDNS == nil || *f.MDNS, StaticPeers: f.StaticPeers,
		ClockSkewMS: f.ClockSkew.Milliseconds(), ControlTCP: f.ControlTCP, MemoryBudget: cmp.Or(f.MemoryBudget, defaultMemory),
		LogLevel: cmp.Or(f.LogLevel, defaultLogLevel), Agents: f.Agents, DefaultAgents: f.DefaultAgents,
		WorkFolder: cmp.Or(f.WorkFolder, "work"), Security: f.Security, AgentStateAllowlist: f.AgentAllow, WebSearch: f.WebSearch, SkillDirs: f.SkillDirs,
		Extensions: control.ExtensionLimits{
			HookDeadlineSecs:        cmp.Or(f.Extensions.HookDeadlineSecs, defaultHookSecs),
			InstantiateDeadlineSecs: cmp.Or(f.Extensions.InstantiateDeadlineSecs, defaultInstantiateSecs),
			IdleEvictionSecs:        cmp.Or(f.Extensions.IdleEvictionSecs, defaultIdleSecs),
			GitHosts:                f.Extensions.GitHosts, GitLocal: f.Extensions.GitLocal, Policy: f.Extensions.Policy,
		},
		Routines: control.RoutineLimits{
			MaxConcurrent:       cmp.Or(f.Routines.MaxConcurrent, defaultConcurrent),
			HandlerDeadlineSecs: cmp.Or(f.Routines.HandlerDeadlineSecs, defaultHandlerSecs),
		},
	}
	s.Security.LeakPolicy = cmp.Or(s.Security.LeakPolicy, defaultLeakPolicy)
	s.Security.ShellSandbox = cmp.Or(s.Security.ShellSandbox, defaultSandbox)
	if len(s.Agents) == 0 {
		s.Agents = control.List[control.AgentSpec]{{Name: defaultAgent}}
	}
	if len(s.DefaultAgents) == 0 {
		s.DefaultAgents = control.List[string]{s.Agents[0].Name}
	}
	if !filepath.IsAbs(s.WorkFolder) {
		s.WorkFolder = filepath.Join(home, s.WorkFolder)
	}
	if s.SkillDirs == nil {
		s.SkillDirs = control.List[string]{filepath.Join(".chaz", "skills"), filepath.Join(home, "skills")}
	}
	if s.AgentStateAllowlist == nil {
		s.AgentStateAllowlist = map[string][]string{}
	}
	if s.Security.ToolPolicies == nil {
		s.Security.ToolPolicies = map[string]control.ToolPolicy{}
	}
	return s
}
