package hub

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// store is memory that answers with its name.
type store struct {
	name string
	hang chan struct{}
}

func (s store) Search(_ context.Context, q extension.MemoryQuery) ([]extension.MemoryRow, error) {
	switch q.Text {
	case "panic":
		panic("ouch")
	case "hang":
		<-s.hang
	case "fail":
		return nil, errors.New("no index")
	}
	return []extension.MemoryRow{{Key: s.name}}, nil
}

func (s store) Remember(context.Context, extension.MemoryRow, string) error { return nil }

func (s store) Banks(context.Context) ([]extension.BankInfo, error) {
	return []extension.BankInfo{{Name: s.name}}, nil
}

func (s store) Send(_ context.Context, _ crdt.DocID, text, _ string) (string, error) {
	return s.name + " " + text, nil
}

// memories is an extension that provides memory and messenger at its scopes.
func memories(f *fake, hang chan struct{}) *fake {
	f.provides(extension.CapMemory, extension.CapMessenger)
	return f.builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		x := store{f.d.Name + " " + where(s), hang}
		return &extension.Instance{Memory: x, Messenger: x, Caps: map[string]extension.CapFunc{
			f.d.Name + "/echo": func(_ context.Context, op string, input json.RawMessage) (json.RawMessage, error) { return input, nil },
		}}, nil
	})
}

// asks is an extension whose tool says whose memory it finds; args name the provider.
func asks(f *fake, requests ...extension.Request) *fake {
	f.d.Requests = requests
	f.d.Hooks = []extension.HookKind{extension.HookTool}
	return f.gives(&extension.Instance{Tools: []extension.Tool{{Name: "ask_" + f.d.Name, Run: func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
		m := c.Lent.Caps.Memory(string(args))
		if m == nil {
			return "nobody", nil
		}
		rows, err := m.Search(ctx, extension.MemoryQuery{})
		if err != nil {
			return "", err
		}
		return rows[0].Key, nil
	}}}})
}

func TestTheResolverPicksProviders(t *testing.T) {
	w := newWorld(t)
	kind := func(provider string) extension.Request {
		return extension.Request{Kind: extension.CapMemory, Provider: provider}
	}
	one := memories(external("one"), nil)
	two := memories(external("two"), nil).at(extension.Global, extension.PerSession)
	off := memories(compiled("off"), nil)
	list := []*fake{
		one, two, asks(compiled("free")), asks(external("any"), kind("")), asks(external("bound"), kind("two")), asks(external("mute")),
	}
	w.mustInstall(append(list, off)...)
	session := w.session(list...)
	w.during(session, extension.Agent{}, func(turn *Turn) {
		for _, c := range []struct{ who, provider, want string }{
			{"free", "", "one global"},
			{"free", "two", "two per_session"},
			{"free", "off", "nobody"},
			{"free", "nix", "nobody"},
			{"any", "", "one global"},
			{"any", "two", "two per_session"},
			{"bound", "", "two per_session"},
			{"bound", "two", "two per_session"},
			{"bound", "one", "nobody"},
			{"mute", "", "nobody"},
			{"mute", "one", "nobody"},
		} {
			b, ok := turn.Tool("ask_" + c.who)
			if !ok {
				t.Fatal(c.who)
			}
			if got, err := b.Tool.Run(w.ctx, b.Call, json.RawMessage(c.provider)); got != c.want || err != nil {
				t.Errorf("%s asks for %q and gets %q, %v; want %q", c.who, c.provider, got, err, c.want)
			}
		}
		r := turn.Resolver()
		if id, err := r.Messenger("").Send(w.ctx, session, "hi", "message"); id != "one global hi" || err != nil {
			t.Error(id, err)
		}
		if r.Messenger("off") != nil || r.Cap("one/echo", "two") != nil || r.Cap("off/echo", "") != nil {
			t.Error("found what is not there")
		}
		out, err := r.Cap("two/echo", "")(w.ctx, "op", json.RawMessage(`{"a":1}`))
		if string(out) != `{"a":1}` || err != nil {
			t.Errorf("%s %v", out, err)
		}
		if banks, err := r.Memory("two").Banks(w.ctx); len(banks) != 1 || err != nil || r.Memory("").Remember(w.ctx, extension.MemoryRow{}, "") != nil {
			t.Error(banks, err)
		}
	})
}

func TestNobodyFindsHimself(t *testing.T) {
	w := newWorld(t)
	f := compiled("f", extension.HookTool).provides(extension.CapMemory)
	f.builds(func(context.Context, extension.ScopeContext) (*extension.Instance, error) {
		i := *mustBuild(t, asks(compiled("f")))
		i.Memory = store{"f", nil}
		return &i, nil
	})
	w.mustInstall(f)
	w.during(w.session(f), extension.Agent{}, func(turn *Turn) {
		b, _ := turn.Tool("ask_f")
		if got, _ := b.Tool.Run(w.ctx, b.Call, nil); got != "nobody" {
			t.Error(got)
		}
		if got, _ := b.Tool.Run(w.ctx, b.Call, json.RawMessage("f")); got != "f" {
			t.Error(got)
		}
	})
}

func mustBuild(t *testing.T, f *fake) *extension.Instance {
	t.Helper()
	i, err := f.build(context.Background(), extension.GlobalContext{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestACapabilityIsLentAndGuarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f := memories(external("f"), release)
		w.mustInstall(f)
		turn := w.turn(w.session(f), extension.Agent{})
		m := turn.Resolver().Memory("")
		search := func(text string) error {
			_, err := m.Search(w.ctx, extension.MemoryQuery{Text: text})
			return err
		}
		for range 2 * maxFaults {
			wantError(t, search("fail"), "no index") // an answer
		}
		start := time.Now()
		wantError(t, search("hang"), "10s")
		if time.Since(start) != 10*time.Second {
			t.Error(time.Since(start))
		}
		wantError(t, search("panic"), "panicked")
		if err := search(""); err != nil {
			t.Error(err)
		}
		turn.Release()
		wantError(t, search(""), "ended") // it must not be kept
		if turn.Resolver().Memory("") != nil {
			t.Error("a released turn still resolves")
		}
	})
}
