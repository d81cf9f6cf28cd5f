// Package builtins holds the extensions that are compiled in. [All] is the one visible list of them.
//
// In this version the ten are declared, so that sessions record, switch and sync them, and none of
// them contributes a tool, hook or command yet: a command of a declared extension answers that this
// version can't run it. What lives here: declarations and, one folder each, their code. What may not:
// who is active (extension/activation) and who calls them.
package builtins

import "github.com/chaz-peer/chaz-peer/extension"

// All returns the built-in extensions in registration order.
func All() []extension.Declaration {
	tool := []extension.HookKind{extension.HookTool}
	both := []extension.HookKind{extension.HookTool, extension.HookCommand}
	register := []extension.Request{{Kind: extension.CapToolRegistration}, {Kind: extension.CapCommandRegistration}}

	core := builtin("core", tool...)
	core.Provides = []extension.Capability{extension.CapStatusSegment}

	memory := perSession(builtin("memory", both...))
	memory.Requires = register
	memory.Provides = []extension.Capability{extension.CapMemory, extension.CapContextTail}
	memory.Commands = []string{"memory"}

	schedule := builtin("schedule", both...)
	schedule.Requires = []extension.Request{{Kind: extension.CapAgentStateAdmin}}
	schedule.Commands = []string{"schedule"}

	skills := perSession(builtin("skills", both...))
	skills.Requires = register
	skills.Provides = []extension.Capability{extension.CapPromptAugmentation}
	skills.Commands = []string{"skills"}

	return []extension.Declaration{
		core,
		builtin("path_normalizer", extension.HookToolCall),
		builtin("security_warnings", extension.HookToolResult),
		builtin("fs", tool...),
		builtin("system", tool...),
		builtin("web", tool...),
		memory,
		schedule,
		skills,
		builtin("agent_schedule"),
	}
}

func builtin(name string, hooks ...extension.HookKind) extension.Declaration {
	return extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: hooks,
		},
		Scopes: []extension.Scope{extension.Global},
	}
}

func perSession(d extension.Declaration) extension.Declaration {
	d.Scopes = append(d.Scopes, extension.PerSession)
	return d
}
