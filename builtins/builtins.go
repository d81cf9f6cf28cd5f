// Package builtins holds the extensions that are compiled in. [All] is the one visible list of them.
//
// What lives here: that list, the names nobody else may take, and one folder for each extension's
// code. What may not: who is active (extension/activation) and who calls them (extension/hub).
package builtins

import (
	"log/slog"

	"github.com/chaz-peer/chaz-peer/builtins/agentschedule"
	"github.com/chaz-peer/chaz-peer/builtins/core"
	"github.com/chaz-peer/chaz-peer/builtins/fs"
	"github.com/chaz-peer/chaz-peer/builtins/memory"
	"github.com/chaz-peer/chaz-peer/builtins/pathnormalizer"
	"github.com/chaz-peer/chaz-peer/builtins/schedule"
	"github.com/chaz-peer/chaz-peer/builtins/securitywarnings"
	"github.com/chaz-peer/chaz-peer/builtins/skills"
	"github.com/chaz-peer/chaz-peer/builtins/system"
	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Deps is what the operator configures of the built-in extensions. The zero value works.
type Deps struct {
	// Log is where extensions that run on their own warn; nil is nowhere.
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
		memory.New(),
		schedule.New(),
		skills.New(deps.Log),
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
