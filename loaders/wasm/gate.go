package wasm

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Op is what a guest asks the gate for.
type Op string

// The operations. What each needs is in [gate.allow].
const (
	OpNet         Op = "net"          // target: host:port
	OpFS          Op = "fs"           // target: id of a mount
	OpSecret      Op = "secret"       // target: its name
	OpConfig      Op = "config"       // config_get; target: a key that is neither a granted secret nor a setting
	OpSettingsGet Op = "settings.get" // target: a key
	OpSettingsSet Op = "settings.set"
	OpSessionRead Op = "session.read"
	OpSessionSend Op = "session.send"
	OpKV          Op = "kv" // target: a key
	OpLLM         Op = "llm"
	OpMemoryRead  Op = "memory.read"
	OpMemoryWrite Op = "memory.write"
	OpMessenger   Op = "messenger"
	OpCap         Op = "cap"  // target: the string id
	OpHook        Op = "hook" // a decision; target: the hook kind
	// OpTools is no power: the guest's list of tools, in events with [Drifted].
	OpTools Op = "tools"
)

// gate decides what a guest may do. Every host function of every interface asks it, and nothing else
// reads the grants.
type gate struct {
	name  string // of the extension
	caps  extension.GuestCaps
	net   []hostRule // of caps.Net
	audit func(Event)
	hide  func(string) string // takes secrets out of what a guest wrote
}

func newGate(name string, caps extension.GuestCaps, audit func(Event), hide func(string) string) (*gate, error) {
	g := &gate{name: name, caps: caps, audit: audit, hide: hide}
	for _, entry := range caps.Net {
		r, err := parseHostRule(entry)
		if err != nil {
			return nil, fmt.Errorf("read capabilities.net: %w", err)
		}
		g.net = append(g.net, r)
	}
	return g, nil
}

// allow refuses what was not granted, with an error that wraps [extension.ErrGrant] and says what is
// missing and how to declare it. Refusals are told to the audit, and so is the use of powers that
// reach beyond the guest.
func (g *gate) allow(ctx context.Context, op Op, target string) error {
	if !g.has(op, target) {
		return g.deny(ctx, op, target)
	}
	switch op {
	case OpSettingsGet, OpSessionRead, OpKV, OpMemoryRead:
	default:
		g.tell(ctx, Event{Op: op, Target: target, Outcome: Used})
	}
	return nil
}

// deny is the refusal.
func (g *gate) deny(ctx context.Context, op Op, target string) error {
	what, key := op.words(target)
	err := fmt.Errorf("%w: %s; declare it under capabilities.%s", extension.ErrGrant, what, key)
	if s := stateOf(ctx); s != nil {
		s.refused(err)
	}
	g.tell(ctx, Event{Op: op, Target: target, Outcome: Denied, Detail: err.Error()})
	return err
}

func (g *gate) has(op Op, target string) bool {
	c := g.caps
	switch op {
	case OpNet:
		h, port, err := net.SplitHostPort(target)
		return err == nil && g.permits(h, port)
	case OpFS:
		return slices.ContainsFunc(c.FS, func(m extension.GuestMount) bool { return m.ID == target })
	case OpSecret:
		return slices.Contains(c.Secrets, target)
	case OpSettingsGet:
		return c.Settings == extension.GuestRead || c.Settings == extension.GuestWrite
	case OpSettingsSet:
		return c.Settings == extension.GuestWrite
	case OpSessionRead:
		return c.SessionRead != 0
	case OpSessionSend:
		return c.SessionWrite
	case OpKV:
		return c.KV > 0
	case OpLLM:
		return c.LLM != nil
	case OpMemoryRead:
		return c.Memory == extension.GuestRead || c.Memory == extension.GuestWrite
	case OpMemoryWrite:
		return c.Memory == extension.GuestWrite
	case OpMessenger:
		return c.Messenger
	case OpCap:
		return slices.Contains(c.Caps, target)
	case OpHook:
		return c.Hooks[extension.HookKind(target)] == extension.GuestModify
	}
	return false
}

// sees reports whether a hook of the kind is called at all.
func (g *gate) sees(k extension.HookKind) bool {
	switch k {
	case extension.HookToolCall, extension.HookToolResult, extension.HookBeforeAgentStart:
		r := g.caps.Hooks[k]
		return r == extension.GuestObserve || r == extension.GuestModify
	}
	return true // the others are told that something happens, and nothing of it
}

// words says what is missing, and which key of a manifest's capabilities declares it.
func (op Op) words(target string) (what, key string) {
	target = line(target, 200)
	switch op {
	case OpNet:
		return "net " + entryFor(target), "net"
	case OpFS:
		return "folder " + target, "fs"
	case OpSecret:
		return "secret " + target, "secrets"
	case OpConfig:
		return "config " + target, "secrets, or its settings under capabilities.settings"
	case OpSettingsGet:
		return "reading settings", "settings"
	case OpSettingsSet:
		return "changing settings", "settings"
	case OpSessionRead:
		return "reading the session", "session_read"
	case OpSessionSend:
		return "adding to the session", "session_write"
	case OpKV:
		return "data of its own", "kv"
	case OpLLM:
		return "asking a model", "llm"
	case OpMemoryRead:
		return "reading memories", "memory"
	case OpMemoryWrite:
		return "writing memories", "memory"
	case OpMessenger:
		return "sending messages", "messenger"
	case OpCap:
		return "capability " + target, "caps"
	case OpHook:
		return "deciding in the hook " + target, "hooks"
	}
	return string(op), string(op)
}

// maxEvents is how many events one call of a guest may cause; those beyond are counted.
const maxEvents = 32

// tell fills in whose doing an event is and hands it to the audit.
func (g *gate) tell(ctx context.Context, e Event) {
	s := stateOf(ctx)
	if g.audit == nil || s != nil && !s.event() {
		return
	}
	g.emit(s, e)
}

func (g *gate) emit(s *callState, e Event) {
	if g.audit == nil {
		return
	}
	e.Extension = g.name
	e.Target, e.Detail = line(g.hide(e.Target), 200), line(g.hide(e.Detail), 500)
	if s != nil {
		who := whoOf(s.call)
		e.Session = who.Session
		if who.Agent != nil {
			e.Agent = who.Agent.ID
		}
	}
	g.audit(e)
}
