package wasm

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// Module is verified code with what it says about itself and what it was given.
type Module struct {
	// Decl is the static side. [New] adds to it what follows from the rest: the hook kinds tool and
	// command, the declared commands, what Provides lists, and a request for each capability of others
	// that was granted.
	Decl    extension.Declaration
	Version string // as the manifest states it; "" is not compared with what the guest says
	ABI     string // one of extension.ABI…
	WASM    []byte
	SHA256  [32]byte // of WASM; checked once more
	// Tools are the declared ones: the guest may list these and no others. nil: whatever it lists.
	Tools    []DeclaredTool
	Commands []DeclaredCommand
	// Caps are the powers that were granted; Limits the bounds in force, zero fields the defaults.
	Caps          extension.GuestCaps
	Limits        extension.GuestLimits
	Deterministic bool // a fixed clock and fixed random numbers
	// ToolPrint is the [Fingerprint] of the tools as they were trusted; "" is none.
	ToolPrint string
	// Provides lists what it implements for others: memory, messenger, prompt_augmentation,
	// context_tail, status_segment, or string ids such as "acme/translate".
	Provides []string
}

// DeclaredTool is a tool by the guest's own name for it.
type DeclaredTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // JSON Schema of an object
}

// DeclaredCommand is a slash command, without the slash.
type DeclaredCommand struct {
	Name string `json:"name"`
	Help string `json:"help,omitempty"`
}

// The defaults of limits that are zero, and what no limit exceeds.
const (
	defaultMemory   = 64 << 20
	defaultFuel     = 20_000_000_000
	defaultDeadline = 5 * time.Second
	maxDeadline     = time.Minute // of a tool; everything else has defaultDeadline at most
	defaultOutput   = 1 << 20
	varLimit        = 256 << 10
	exchangeLimit   = 64 << 20
)

// limits returns the bounds of one pool.
func (m Module) limits() engine.Limits {
	or := func(v, otherwise int64) int64 {
		if v <= 0 {
			return otherwise
		}
		return v
	}
	return engine.Limits{
		Memory: or(m.Limits.MemoryBytes, defaultMemory), Fuel: or(m.Limits.FuelPerCall, defaultFuel),
		Deadline: min(or(m.Limits.DeadlineMS, defaultDeadline.Milliseconds()), maxDeadline.Milliseconds()),
		Output:   or(m.Limits.OutputBytes, defaultOutput), Vars: varLimit, Exchange: exchangeLimit,
	}
}

// check judges a module before anything of it runs.
func (m Module) check() error {
	if sha256.Sum256(m.WASM) != m.SHA256 {
		return errors.New("the bytes do not have the stated SHA-256")
	}
	d, err := dialectOf(m.ABI)
	if err != nil {
		return err
	}
	if !d.full() {
		if what := m.beyondTools(); what != "" {
			return fmt.Errorf("%s has tools only, but the manifest declares %s", m.ABI, what)
		}
	}
	for _, p := range m.Provides {
		if c := extension.Capability(p); c.HostOnly() {
			return fmt.Errorf("only the host provides the capability %s", p)
		}
		if _, err := extension.ParseCapability(p); err != nil && !typedID(p) {
			return fmt.Errorf("provides %.80q, which is neither a known capability nor an id such as acme/translate", p)
		}
	}
	for _, c := range m.Commands {
		if c.Name == "" || strings.ContainsAny(c.Name, "/ \t\r\n") {
			return fmt.Errorf("the command %.80q is no single word without slash", c.Name)
		}
	}
	return m.checkTools()
}

func (m Module) checkTools() error {
	seen := map[string]bool{}
	for _, t := range m.Tools {
		if _, err := cleanTool(m.Decl.Name, t); err != nil {
			return err
		}
		if seen[t.Name] {
			return fmt.Errorf("the tool %s is declared twice", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// beyondTools names something that only chaz-ext-1 can do.
func (m Module) beyondTools() string {
	for _, k := range m.Decl.Hooks {
		if k != extension.HookTool {
			return "the hook kind " + string(k)
		}
	}
	switch {
	case len(m.Commands)+len(m.Decl.Commands) > 0:
		return "commands"
	case len(m.Provides)+len(m.Decl.Provides) > 0:
		return "capabilities for others"
	}
	return ""
}

// typedID reports whether a text is the string id of a capability: two or more parts of a-z, 0-9,
// "_", "-" and "." joined by "/".
func typedID(s string) bool {
	parts := strings.Split(s, "/")
	return len(s) <= 128 && len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || strings.Trim(p, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != ""
	})
}

// declaration completes what the manifest says by what follows from it.
func (m Module) declaration() extension.Declaration {
	d := m.Decl
	d.Hooks, d.Commands = slices.Clone(d.Hooks), slices.Clone(d.Commands)
	d.Provides, d.Requests = slices.Clone(d.Provides), slices.Clone(d.Requests)
	d.Hooks = with(d.Hooks, m.Tools == nil || len(m.Tools) > 0, extension.HookTool)
	d.Hooks = with(d.Hooks, len(m.Commands) > 0, extension.HookCommand)
	for _, c := range m.Commands {
		d.Commands = with(d.Commands, true, c.Name)
	}
	for _, p := range m.Provides {
		d.Provides = with(d.Provides, !typedID(p), extension.Capability(p))
	}
	d.Requests = asking(d, m.Caps.Memory != "", extension.CapMemory)
	d.Requests = asking(d, m.Caps.Messenger, extension.CapMessenger)
	// A hook that may not decide can't enforce anything either.
	d.Enforcing = d.Enforcing && m.Caps.Hooks[extension.HookToolCall] == extension.GuestModify
	return d
}

func with[T comparable](list []T, when bool, x T) []T {
	if !when || slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// asking adds a request unless there is one of the kind: a resolver serves only who asked.
func asking(d extension.Declaration, when bool, c extension.Capability) []extension.Request {
	same := func(r extension.Request) bool { return r.Kind == c }
	if !when || slices.ContainsFunc(d.Requests, same) || slices.ContainsFunc(d.Requires, same) {
		return d.Requests
	}
	return append(d.Requests, extension.Request{Kind: c})
}

// DefaultLimits are the bounds of who asks for none.
func DefaultLimits() extension.GuestLimits {
	return extension.GuestLimits{
		MemoryBytes: defaultMemory, FuelPerCall: defaultFuel, DeadlineMS: defaultDeadline.Milliseconds(), OutputBytes: defaultOutput,
	}
}
