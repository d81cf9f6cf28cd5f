package wasm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// resolverOf is what the call was lent of other extensions; an error where nothing was.
func (s *callState) resolverOf(what string) (extension.Resolver, error) {
	if s.call.Lent.Caps == nil {
		return nil, fmt.Errorf("%s: no other extensions are in reach of this call", what)
	}
	return s.call.Lent.Caps, nil
}

func nobody(what, provider string) error {
	if provider != "" {
		return fmt.Errorf("%s: the extension %.80q does not provide it here", what, provider)
	}
	return fmt.Errorf("%s: nobody provides it here", what)
}

func (g *guest) opMemory(ctx context.Context, s *callState, in opInput) (any, error) {
	op := OpMemoryRead
	if in.Op == "memory.remember" {
		op = OpMemoryWrite
	}
	if err := g.x.gate.allow(ctx, op, ""); err != nil {
		return nil, err
	}
	r, err := s.resolverOf("memory")
	if err != nil {
		return nil, err
	}
	m := r.Memory(in.Provider)
	if m == nil {
		return nil, nobody("memory", in.Provider)
	}
	switch in.Op {
	case "memory.search":
		rows, err := m.Search(ctx, extension.MemoryQuery{Text: in.Text, Tags: in.Tags, Limit: in.Limit, Bank: in.Bank})
		return append([]extension.MemoryRow{}, rows...), err
	case "memory.banks":
		banks, err := m.Banks(ctx)
		return append([]extension.BankInfo{}, banks...), err
	}
	var value string
	if json.Unmarshal(in.Value, &value) != nil || in.Key == "" {
		return nil, fmt.Errorf("memory.remember: key and value must be texts: %w", extension.ErrArgument)
	}
	row := extension.MemoryRow{Key: in.Key, Value: g.x.secrets.hide(value), Tags: in.Tags, Timestamp: in.Timestamp}
	return true, m.Remember(ctx, row, in.Bank)
}

func (g *guest) opMessenger(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpMessenger, ""); err != nil {
		return nil, err
	}
	if s.call.Session.IsZero() {
		return nil, fmt.Errorf("messenger: %w", errNoSession)
	}
	r, err := s.resolverOf("messenger")
	if err != nil {
		return nil, err
	}
	m := r.Messenger(in.Provider)
	if m == nil {
		return nil, nobody("messenger", in.Provider)
	}
	if err := s.mayAdd(&in); err != nil {
		return nil, fmt.Errorf("messenger: %w", err)
	}
	id, err := m.Send(ctx, s.call.Session, g.x.secrets.hide(in.Text), in.Kind)
	if err != nil {
		return nil, err
	}
	return map[string]string{"id": id}, nil
}

func (g *guest) opCap(ctx context.Context, s *callState, in opInput) (any, error) {
	if err := g.x.gate.allow(ctx, OpCap, in.ID); err != nil {
		return nil, err
	}
	what := "capability " + in.ID
	r, err := s.resolverOf(what)
	if err != nil {
		return nil, err
	}
	fn := r.Cap(in.ID, in.Provider)
	if fn == nil {
		return nil, nobody(what, in.Provider)
	}
	input := in.Input
	if input == nil {
		input = json.RawMessage("null")
	}
	out, err := fn(ctx, in.Call, input)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return out, nil
}
