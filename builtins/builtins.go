// Package builtins holds the extensions that are compiled in. [All] is the one visible list of them.
//
// What lives here: that list, the names nobody else may take, and one folder for each extension's
// code. What may not: who is active (extension/activation) and who calls them (extension/hub).
package builtins

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/chaz-peer/chaz-peer/builtins/agentschedule"
	"github.com/chaz-peer/chaz-peer/builtins/core"
	"github.com/chaz-peer/chaz-peer/builtins/fs"
	"github.com/chaz-peer/chaz-peer/builtins/pathnormalizer"
	"github.com/chaz-peer/chaz-peer/builtins/schedule"
	"github.com/chaz-peer/chaz-peer/builtins/securitywarnings"
	"github.com/chaz-peer/chaz-peer/builtins/system"
	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Deps is what the operator configures of the built-in extensions. The zero value works.
type Deps struct {
	// Log is where security_warnings warns; nil is nowhere.
	Log *slog.Logger
	// Search lists the back ends of web_search, the first one first; none is DuckDuckGo alone.
	Search []web.Backend
}

// All returns the built-in extensions in registration order.
func All(deps Deps) []extension.Extension {
	return []extension.Extension{
		core.New(),
		pathnormalizer.New(),
		securitywarnings.New(deps.Log),
		fs.New(),
		system.New(),
		web.New(deps.Search),
		declared{memory()},
		schedule.New(),
		declared{skills()},
		agentschedule.New(),
	}
}

// Declarations returns what the built-in extensions say of themselves, in registration order.
func Declarations() []extension.Declaration {
	all := All(Deps{})
	out := make([]extension.Declaration, len(all))
	for i, x := range all {
		out[i] = x.Declaration()
	}
	return out
}

// declared is an extension that is known, listed and switched, and contributes nothing yet.
type declared struct{ decl extension.Declaration }

// Declaration implements [extension.Extension].
func (d declared) Declaration() extension.Declaration { return d.decl }

// Instantiate implements [extension.Extension].
func (d declared) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	return nil, fmt.Errorf("instantiate %s: this build has no code for it", d.decl.Name)
}

func memory() extension.Declaration {
	d := declare("memory", extension.PerSession)
	d.Requires = []extension.Request{{Kind: extension.CapToolRegistration}, {Kind: extension.CapCommandRegistration}}
	d.Provides = []extension.Capability{extension.CapMemory, extension.CapContextTail}
	d.Commands = []string{"memory"}
	return d
}

func skills() extension.Declaration {
	d := declare("skills", extension.PerSession)
	d.Requires = []extension.Request{{Kind: extension.CapToolRegistration}, {Kind: extension.CapCommandRegistration}}
	d.Provides = []extension.Capability{extension.CapPromptAugmentation}
	d.Commands = []string{"skills"}
	return d
}

func declare(name string, further ...extension.Scope) extension.Declaration {
	return extension.Declaration{
		Manifest: extension.Manifest{
			Name:  name,
			Ref:   extension.BuiltinRef(name, extension.HostVersion),
			Hooks: []extension.HookKind{extension.HookTool, extension.HookCommand},
		},
		Scopes: append([]extension.Scope{extension.Global}, further...),
	}
}
