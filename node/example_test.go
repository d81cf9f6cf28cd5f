package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// greeter is somebody's own extension: a tool, a command and a hook.
type greeter struct{}

func (greeter) Declaration() extension.Declaration {
	return extension.Declaration{
		Manifest: extension.Manifest{
			Name:  "greeter",
			Ref:   extension.GitRef("greeter", "https://example.org/greeter", strings.Repeat("0", 40)),
			Hooks: []extension.HookKind{extension.HookTool, extension.HookCommand, extension.HookToolCall},
		},
		Commands: []string{"greet"},
		Settings: map[string]any{"greeting": "Hello"},
	}
}

func (greeter) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	return &extension.Instance{
		Tools: []extension.Tool{{
			Name: "greeter__greet", Description: "Greet somebody.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Run: func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
				var a struct{ Name string }
				if err := json.Unmarshal(args, &a); err != nil {
					return "", err
				}
				return greet(ctx, c, a.Name)
			},
		}},
		Commands: []extension.Command{{Name: "greet", Usage: "greet somebody", Run: greet}},
		Hooks: extension.Hooks{ToolCall: func(_ context.Context, _ extension.Call, t extension.ToolCallInput) (extension.CallDecision, error) {
			if t.Tool == "greeter__greet" && strings.Contains(string(t.Args), "Claudius") {
				return extension.CallDecision{Verdict: extension.Deny, Reason: "we do not greet kings who killed their brothers"}, nil
			}
			return extension.CallDecision{}, nil
		}},
	}, nil
}

// greet uses the session's setting, or the declaration's default.
func greet(ctx context.Context, c extension.Call, name string) (string, error) {
	raw, err := c.Lent.Settings.Get(ctx, "greeting")
	if err != nil {
		return "", err
	}
	var greeting string
	if err := json.Unmarshal(raw, &greeting); err != nil {
		return "", err
	}
	return greeting + ", " + name + "!", nil
}

// An extension of one's own is compiled in, given to the node, and switched on in a session.
func Example_ownExtension() {
	home, err := os.MkdirTemp("", "chaz-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	n, err := node.Open(ctx, node.Config{Home: home, Extensions: []extension.Extension{greeter{}}})
	if err != nil {
		panic(err)
	}
	defer n.Close()
	c, err := control.InProcess(n.Methods(), nil)
	if err != nil {
		panic(err)
	}
	if _, err := control.Call(ctx, c, control.SessionNew, control.SessionNewParams{Name: "court"}); err != nil {
		panic(err)
	}
	run := func(line string) {
		r, err := control.Call(ctx, c, control.RunCmd, control.CmdParams{Session: "court", Line: line})
		fmt.Println(r.OK, r.Output, err)
	}
	call := func(name string) {
		args, _ := json.Marshal(map[string]string{"name": name})
		r, err := control.Call(ctx, c, control.ToolCall, control.ToolCallParams{Session: "court", Tool: "greeter__greet", Args: args})
		fmt.Println(r.Status, r.Output, err)
	}
	run("/greet Hamlet")
	run("/extensions add greeter")
	run("/greet Hamlet")
	run("/extensions set greeter greeting Hail")
	call("Horatio")
	call("Claudius")
	// Output:
	// false /greet is provided by the 'greeter' extension, which is not active on this session. Use `/extensions add greeter` to enable it. <nil>
	// true Activated greeter on this session, with effect from the next agent turn. <nil>
	// true Hello, Hamlet! <nil>
	// true Set greeting of greeter to "Hail". <nil>
	// ok Hail, Horatio! <nil>
	// denied Error: the call was denied by the extension greeter: we do not greet kings who killed their brothers <nil>
}
