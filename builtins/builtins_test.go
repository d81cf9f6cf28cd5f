package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/extension"
)

func TestAll(t *testing.T) {
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

func join[T ~string](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return strings.Join(out, ",")
}
