package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// dialect is one interface between guest and host: which exports are called with what, and how answers
// are read. It has no powers: host functions go through the gate in every dialect.
type dialect struct {
	abi string
	speaker
}

// speaker is what the dialects differ in.
type speaker interface {
	// user lists the functions of extism:host/user.
	user() []string
	lister() string // the export that lists tools
	list(ctx context.Context, g *guest) ([]DeclaredTool, error)
	call(ctx context.Context, g *guest, c extension.Call, name string, args json.RawMessage) (string, error)
	instance(ctx context.Context, g *guest) (*extension.Instance, error)
}

func dialectOf(abi string) (dialect, error) {
	switch abi {
	case extension.ABIExtismV1:
		return dialect{abi, mcpV1{}}, nil
	case extension.ABIExtismV2:
		return dialect{abi, mcpV2{}}, nil
	case extension.ABIChaz1:
		return dialect{abi, chaz1{}}, nil
	}
	return dialect{}, fmt.Errorf("the interface %.40q is not one that this version knows", abi)
}

// full reports whether the dialect has more than tools.
func (d dialect) full() bool { return d.abi == extension.ABIChaz1 }

// DetectABI says which interface a module without a manifest speaks, by its exports; false if none. A
// manifest that states one is never overruled by this. A module that has more than one counts as the one
// with fewer powers: bare modules are tools only.
func DetectABI(has func(export string) bool) (string, bool) {
	switch {
	case has("describe") && has("call"):
		return extension.ABIExtismV1, true
	case has("list_tools") && has("call_tool"):
		return extension.ABIExtismV2, true
	case has(exportToolList) && has(exportToolCall):
		return extension.ABIChaz1, true
	}
	return "", false
}

// discoverLimit is the time of one call of [Discover].
const discoverLimit = 10 * time.Second

// Discover lists the tools of a module in a throw-away instance that has no powers at all, as they would
// be shown to a model. refused says which tools are left out, and why. Powers and tools of the module's
// manifest do not count.
func Discover(ctx context.Context, rt Runtime, m Module) (tools []DeclaredTool, refused []string, err error) {
	m.Caps, m.Tools, m.ToolPrint = extension.GuestCaps{}, nil, ""
	m.Limits.DeadlineMS = discoverLimit.Milliseconds()
	x, err := New(rt, m, Services{})
	if err != nil {
		return nil, nil, err
	}
	g, err := x.open(ctx, extension.GlobalContext{Peer: new(extension.Peer)})
	if err != nil {
		return nil, nil, fmt.Errorf("discover tools of %s: %w", x.decl.Name, err)
	}
	raw, err := x.dialect.list(ctx, g)
	if ended := g.close(ctx); err == nil {
		err = ended
	}
	if err != nil {
		return nil, nil, fmt.Errorf("discover tools of %s: %w", x.decl.Name, err)
	}
	tools, refused = cleanTools(x.decl.Name, raw)
	return tools, refused, nil
}
