package builtins_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/builtins/web"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestDeclarations(t *testing.T) {
	want := `
core global tool requires= provides=status_segment commands=
path_normalizer global tool_call requires= provides= commands=
security_warnings global tool_result requires= provides= commands=
fs global tool requires= provides= commands=
system global tool requires= provides= commands=
web global tool requires= provides= commands=
memory global,per_session tool,command requires=tool_registration,command_registration provides=memory,context_tail commands=memory
schedule global tool,command requires=agent_state_admin provides= commands=schedule
skills global,per_session tool,command requires=tool_registration,command_registration provides=prompt_augmentation commands=skills
agent_schedule global  requires= provides= commands=
`
	var b strings.Builder
	b.WriteByte('\n')
	for _, d := range builtins.Declarations() {
		var req []extension.Capability
		for _, r := range d.Requires {
			req = append(req, r.Kind)
		}
		fmt.Fprintf(&b, "%s %s %s requires=%s provides=%s commands=%s\n", d.Name, join(d.Scopes), join(d.Hooks), join(req), join(d.Provides), join(d.Commands))
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if !extension.ReservedName(d.Name) || d.Ref.Version() != extension.HostVersion {
			t.Errorf("%s: reserved %v, version %s", d.Name, extension.ReservedName(d.Name), d.Ref.Version())
		}
		for _, c := range d.Commands {
			if extension.ReservedCommand(c) {
				t.Errorf("%s declares the reserved command /%s", d.Name, c)
			}
		}
	}
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
	if !semver.IsValid("v" + extension.HostVersion) {
		t.Error("the program's version is not a semantic version")
	}
}

// admin administers no agents; an instance is built with it and never uses it.
type admin struct{ extension.AgentAdmin }

// The lists of taken names are what the extensions bring, and each is brought once.
func TestNames(t *testing.T) {
	ctx := extension.GlobalContext{Peer: &extension.Peer{Clock: crdt.NewManualClock(0), Admin: admin{}}}
	var tools, commands []string
	for _, x := range builtins.All(builtins.Deps{}) {
		i, err := x.Instantiate(t.Context(), ctx)
		if err != nil {
			t.Errorf("%s: %v", x.Declaration().Name, err)
			continue
		}
		for _, tool := range i.Tools {
			tools = append(tools, tool.Name)
		}
		for _, c := range i.Commands {
			commands = append(commands, c.Name)
		}
	}
	if !slices.Equal(tools, toolNames()) {
		t.Errorf("tools:\n%v\n%v", tools, toolNames())
	}
	if !slices.Equal(commands, commandNames()) {
		t.Errorf("commands:\n%v\n%v", commands, commandNames())
	}
}

// All makes new extensions each time, with the declarations of Declarations.
func TestAllAgain(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	a := builtins.All(builtins.Deps{Log: log, Search: []web.Backend{{Kind: web.SearXNG, APIBase: "http://127.0.0.1:1"}}})
	for i, d := range builtins.Declarations() {
		if got := a[i].Declaration(); got.Name != d.Name || !got.Ref.Equal(d.Ref) {
			t.Errorf("%s at the place of %s", got.Name, d.Name)
		}
	}
}

func join[T ~string](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return strings.Join(out, ",")
}
