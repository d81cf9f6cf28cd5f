package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// What chaz_provide gets as "cap", "op" and "input", and answers under "ok":
//
//	memory     search    {"text", "tags", "limit", "bank"}               → [{"key", "value", "tags", "timestamp", "bank"}]
//	memory     remember  {"key", "value", "tags", "timestamp", "bank"}   → anything
//	memory     banks     {}                                              → [{"name", "id", "permission"}]
//	messenger  send      {"session", "text", "kind"}                     → {"id"}
//	an id such as acme/translate: op, input and output are between the two extensions
//
// "session" and "agent" beside them are those of the extension that asks.
type provideCall struct {
	who
	Cap   string `json:"cap"`
	Op    string `json:"op"`
	Input any    `json:"input"`
}

// provides brings the services that the guest declares to provide.
func (g *guest) provides(ctx context.Context, i *extension.Instance) error {
	for _, p := range g.x.m.Provides {
		switch {
		case typedID(p):
			if i.Caps == nil {
				i.Caps = map[string]extension.CapFunc{}
			}
			i.Caps[p] = g.capFunc(p)
		case p == string(extension.CapMemory):
			i.Memory = guestMemory{g}
		case p == string(extension.CapMessenger):
			i.Messenger = messengerFor(g.home.Session, g)
		default:
			continue // context texts and status
		}
		if !g.has(ctx, exportProvide) {
			return lacks(exportProvide, "provides "+p)
		}
	}
	return nil
}

// serve asks the guest for a service in the name of whoever uses it. Nothing is lent: what was lent to
// one extension is not meant for another.
func (g *guest) serve(ctx context.Context, id, op string, in, out any) error {
	c, ok := extension.CallerOf(ctx)
	if !ok {
		c = g.home
	}
	var answer struct {
		OK json.RawMessage `json:"ok"`
	}
	if err := g.ask(ctx, exportProvide, c, g.x.toolLimit(), provideCall{whoOf(c), id, op, in}, &answer); err != nil {
		return err
	}
	if answer.OK == nil {
		return g.nonsense(exportProvide, errors.New(`no "ok"`))
	}
	if err := json.Unmarshal(answer.OK, out); err != nil {
		return g.nonsense(exportProvide, err)
	}
	return nil
}

func (g *guest) capFunc(id string) extension.CapFunc {
	return func(ctx context.Context, op string, input json.RawMessage) (json.RawMessage, error) {
		if len(input) == 0 {
			input = json.RawMessage("null")
		}
		if !json.Valid(input) {
			return nil, fmt.Errorf("capability %s: the input is not JSON: %w", id, extension.ErrArgument)
		}
		var out json.RawMessage
		err := g.serve(ctx, id, op, input, &out)
		return out, err
	}
}

// guestMemory is a memory that a guest keeps.
type guestMemory struct{ *guest }

// Search implements [extension.MemoryAccess].
func (m guestMemory) Search(ctx context.Context, q extension.MemoryQuery) ([]extension.MemoryRow, error) {
	var rows []extension.MemoryRow
	err := m.serve(ctx, string(extension.CapMemory), "search", q, &rows)
	return rows, err
}

// Remember implements [extension.MemoryAccess].
func (m guestMemory) Remember(ctx context.Context, r extension.MemoryRow, bank string) error {
	r.Bank = bank
	return m.serve(ctx, string(extension.CapMemory), "remember", r, new(json.RawMessage))
}

// Banks implements [extension.MemoryAccess].
func (m guestMemory) Banks(ctx context.Context) ([]extension.BankInfo, error) {
	var banks []extension.BankInfo
	err := m.serve(ctx, string(extension.CapMemory), "banks", struct{}{}, &banks)
	return banks, err
}

// guestMessenger is a messenger behind which a guest is. S is the type of session ids, which this
// package takes from calls and does not name.
type guestMessenger[S fmt.Stringer] struct{ g *guest }

func messengerFor[S fmt.Stringer](_ S, g *guest) guestMessenger[S] { return guestMessenger[S]{g} }

// Send implements [extension.Messenger].
func (m guestMessenger[S]) Send(ctx context.Context, session S, text, kind string) (string, error) {
	var out struct {
		ID string `json:"id"`
	}
	in := map[string]string{"session": session.String(), "text": text, "kind": kind}
	err := m.g.serve(ctx, string(extension.CapMessenger), "send", in, &out)
	return line(out.ID, 200), err
}
