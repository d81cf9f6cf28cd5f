package extensiontest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// sample is an extension made of values; the zero build gives what good gives.
type sample struct {
	d     extension.Declaration
	build func(context.Context, extension.ScopeContext) (*extension.Instance, error)
}

func (s *sample) Declaration() extension.Declaration { return s.d }

func (s *sample) Instantiate(ctx context.Context, sc extension.ScopeContext) (*extension.Instance, error) {
	return s.build(ctx, sc)
}

// good is an extension that uses every endpoint and does nothing wrong.
func good() *sample {
	d := extension.Declaration{
		Manifest: extension.Manifest{
			Name: "good", Ref: extension.BuiltinRef("good", "1.0.0"),
			Hooks: []extension.HookKind{
				extension.HookBeforeAgentStart, extension.HookToolCall, extension.HookToolResult, extension.HookAgentEnd,
				extension.HookSessionStart, extension.HookSessionShutdown, extension.HookTool, extension.HookCommand,
			},
			Requires: []extension.Request{{Kind: extension.CapSettings}},
			Provides: []extension.Capability{extension.CapMemory, extension.CapMessenger, extension.CapContextTail, extension.CapPromptAugmentation, extension.CapStatusSegment},
		},
		Scopes: []extension.Scope{extension.Global, extension.PerAgent, extension.PerSession}, Commands: []string{"good"},
		Settings: map[string]any{"limit": 3}, SettingsSchema: json.RawMessage(`{"type":"object"}`), ReadAtBuild: []string{"limit"},
	}
	return &sample{d: d, build: func(ctx context.Context, sc extension.ScopeContext) (*extension.Instance, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return goodInstance(sc.Scope()), nil
	}}
}

// goodInstance has a goroutine that ends with it.
func goodInstance(scope extension.Scope) *extension.Instance {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { <-stop; close(stopped) }()
	var over atomic.Bool
	plain := func(context.Context, extension.Call) error { return nil }
	i := &extension.Instance{
		Tools: []extension.Tool{goodTool()},
		Commands: []extension.Command{{Name: "good", Run: func(_ context.Context, c extension.Call, args string) (string, error) {
			if err := c.Lent.Settings.Set(context.Background(), "last", strings.ToValidUTF8(args, "?")); err != nil {
				return "", err
			}
			v, err := c.Lent.Settings.Get(context.Background(), "limit")
			return string(v), err
		}}},
		Hooks: extension.Hooks{
			BeforeAgentStart: func(context.Context, extension.Call) ([]extension.Message, error) {
				return []extension.Message{{Role: "user", Content: "hi"}}, nil
			},
			ToolCall: func(_ context.Context, _ extension.Call, in extension.ToolCallInput) (extension.CallDecision, error) {
				if in.Tool == "shell" {
					return extension.CallDecision{Verdict: extension.Ask}, nil
				}
				return extension.CallDecision{}, nil
			},
			ToolResult: func(context.Context, extension.Call, extension.ToolResultInput) (extension.ResultDecision, error) {
				return extension.ResultDecision{Treatment: extension.Annotate, Text: "seen"}, nil
			},
			AgentEnd: plain, SessionStart: plain, SessionShutdown: plain,
		},
		StatusSegment: func(context.Context) (map[string]string, error) { return nil, nil },
		Memory:        bank{}, Messenger: bank{},
		Caps: map[string]extension.CapFunc{"good/echo": func(_ context.Context, _ string, in json.RawMessage) (json.RawMessage, error) { return in, nil }},
		Shutdown: func(context.Context) error {
			if !over.Swap(true) {
				close(stop)
				<-stopped
			}
			return nil
		},
	}
	if scope == extension.Global {
		i.Routine = func(context.Context, extension.Fire) error { return errors.New("not now") }
		return i
	}
	i.ContextTail = func(_ context.Context, t extension.Turn) (string, error) { return strings.Join(t.Tools, " "), nil }
	i.PromptAugmentation = i.ContextTail
	return i
}

func goodTool() extension.Tool {
	return extension.Tool{
		Name: "good_fetch", Description: "Fetches.", Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"},"n":{"type":"integer"}},"required":["url"]}`),
		Policy: extension.Policy{Sensitive: []string{"url"}},
		Run: func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
			var in struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal(args, &in); err != nil {
				return "", errors.Join(extension.ErrArgument, err)
			}
			if c.Lent.Caps.Memory("") != nil {
				return "", errors.New("who is that?")
			}
			_, err := c.Lent.Host.Fetch(ctx, extension.FetchRequest{URL: in.URL})
			return "", err
		},
	}
}

type bank struct{}

func (bank) Search(context.Context, extension.MemoryQuery) ([]extension.MemoryRow, error) {
	return nil, nil
}
func (bank) Remember(context.Context, extension.MemoryRow, string) error { return nil }
func (bank) Banks(context.Context) ([]extension.BankInfo, error)         { return nil, nil }

func (bank) Send(context.Context, crdt.DocID, string, string) (string, error) {
	return "", extension.ErrReadOnly
}

// blank is a document that can't be opened.
type blank struct{}

func (blank) ID() crdt.DocID                                     { return crdt.DocID{7} }
func (blank) View(context.Context, func(*crdt.View) error) error { return crdt.ErrUnknownDoc }
func (blank) Update(context.Context, func(*crdt.Tx) error) error { return crdt.ErrUnknownDoc }

func handles() Handles {
	return Handles{Session: blank{}, AgentDoc: blank{}, Agent: extension.Agent{ID: crdt.DocID{8}, Name: "nova"}, Limit: 2 * time.Second}
}

func TestAGoodExtensionPasses(t *testing.T) { Run(t, good(), handles()) }

// A fault spoils an extension: its declaration when the instance is nil, else the instance.
type fault func(s *sample, i *extension.Instance)

func declared(fn func(*extension.Declaration)) fault {
	return func(s *sample, i *extension.Instance) {
		if i == nil {
			fn(&s.d)
		}
	}
}

func built(fn func(*extension.Instance)) fault {
	return func(_ *sample, i *extension.Instance) {
		if i != nil {
			fn(i)
		}
	}
}

func runs(fn func(context.Context, json.RawMessage) (string, error)) fault {
	return built(func(i *extension.Instance) {
		i.Tools[0].Run = func(ctx context.Context, _ extension.Call, args json.RawMessage) (string, error) {
			return fn(ctx, args)
		}
	})
}

// faults are what the suite must find, by a part of what it says.
func faults() map[string]fault {
	all := declarationFaults()
	maps.Copy(all, instanceFaults())
	return all
}

func declarationFaults() map[string]fault {
	return map[string]fault{
		"reserved":                declared(func(d *extension.Declaration) { d.Name = "mcp-x"; d.Ref = extension.GitRef("mcp-x", "r", "s") }),
		"API 7":                   declared(func(d *extension.Declaration) { d.API = 7 }),
		"unknown scope":           declared(func(d *extension.Declaration) { d.Scopes = []extension.Scope{"moon"} }),
		"unknown hook kind":       declared(func(d *extension.Declaration) { d.Hooks = append(d.Hooks, "moon") }),
		"belongs to the host":     declared(func(d *extension.Declaration) { d.Commands = append(d.Commands, "quit") }),
		"brought at no scope":     declared(func(d *extension.Declaration) { d.Commands = append(d.Commands, "more") }),
		"no JSON form":            declared(func(d *extension.Declaration) { d.Settings = map[string]any{"f": func() {}} }),
		"does not declare":        declared(func(d *extension.Declaration) { d.Hooks = []extension.HookKind{extension.HookCommand} }),
		"provides the capability": declared(func(d *extension.Declaration) { d.Provides = nil }),
	}
}

func instanceFaults() map[string]fault {
	return map[string]fault{
		"is there twice":                     built(func(i *extension.Instance) { i.Tools = append(i.Tools, i.Tools[0]) }),
		"has no description":                 built(func(i *extension.Instance) { i.Tools[0].Description = " " }),
		"no JSON Schema of an object":        built(func(i *extension.Instance) { i.Tools[0].Parameters = json.RawMessage(`{"type":"array"}`) }),
		"which it does not have":             built(func(i *extension.Instance) { i.Tools[0].Policy.Sensitive = []string{"key"} }),
		"unknown risk":                       built(func(i *extension.Instance) { i.Tools[0].Policy.Risk = "some" }),
		"invalid UTF-8":                      runs(func(context.Context, json.RawMessage) (string, error) { return "\xff", nil }),
		"without a word":                     runs(func(context.Context, json.RawMessage) (string, error) { return "", errors.New("") }),
		"changes the arguments it was given": runs(func(_ context.Context, args json.RawMessage) (string, error) { clear(args); return "", nil }),
		"panicked": runs(func(_ context.Context, args json.RawMessage) (string, error) {
			var in map[string]any
			_ = json.Unmarshal(args, &in)
			return in["url"].(string), nil
		}),
		"did not come back": runs(func(ctx context.Context, _ json.RawMessage) (string, error) {
			if ctx.Err() != nil {
				select {} // it looks at no context
			}
			return "", nil
		}),
		"decides \"perhaps\"": built(func(i *extension.Instance) {
			i.Hooks.ToolCall = func(context.Context, extension.Call, extension.ToolCallInput) (extension.CallDecision, error) {
				return extension.CallDecision{Verdict: "perhaps"}, nil
			}
		}),
		"which is no JSON object": built(func(i *extension.Instance) {
			i.Hooks.ToolCall = func(_ context.Context, _ extension.Call, in extension.ToolCallInput) (extension.CallDecision, error) {
				return extension.CallDecision{Verdict: extension.Modify, Args: in.Args}, nil
			}
		}),
		"role \"prophet\"": built(func(i *extension.Instance) {
			i.Hooks.BeforeAgentStart = func(context.Context, extension.Call) ([]extension.Message, error) {
				return []extension.Message{{Role: "prophet"}}, nil
			}
		}),
		"Shutdown panicked": built(func(i *extension.Instance) {
			stop := make(chan int)
			i.Shutdown = func(context.Context) error { close(stop); return nil }
		}),
		"goroutines are left": built(func(i *extension.Instance) { i.Shutdown = nil }),
		"neither an instance nor an error": func(s *sample, i *extension.Instance) {
			s.build = func(context.Context, extension.ScopeContext) (*extension.Instance, error) { return nil, nil }
		},
	}
}

const faultVariable = "EXTENSIONTEST_FAULT"

// TestOneFault runs the suite on an extension with one fault, in the process that
// TestTheSuiteFindsFaults starts.
func TestOneFault(t *testing.T) {
	spoil := faults()[os.Getenv(faultVariable)]
	if spoil == nil {
		t.Skip("only as a child of TestTheSuiteFindsFaults")
	}
	s := good()
	build := s.build
	s.build = func(ctx context.Context, sc extension.ScopeContext) (*extension.Instance, error) {
		i, err := build(ctx, sc)
		if err == nil {
			spoil(s, i)
		}
		return i, err
	}
	spoil(s, nil)
	h := handles()
	h.Limit = 3 * time.Second // only a fault waits for it
	Run(t, s, h)
}

func TestTheSuiteFindsFaults(t *testing.T) {
	for says := range faults() {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestOneFault$")
			child.Env = append(os.Environ(), faultVariable+"="+says)
			out, err := child.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite passes it:\n%s", out)
			}
			if !strings.Contains(string(out), says) {
				t.Errorf("the suite does not say %q:\n%s", says, out)
			}
		})
	}
}
