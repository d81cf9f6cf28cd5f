package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// provider answers for every service it may provide.
func provider(got *[]string) goGuest {
	return goGuest{exportProvide: func(_ context.Context, _ engine.Host, in []byte) ([]byte, error) {
		*got = append(*got, string(in))
		var q struct{ Cap, Op string }
		if err := json.Unmarshal(in, &q); err != nil {
			return nil, err
		}
		return []byte(map[string]string{
			"search": `{"ok":[{"key":"k","value":"v","timestamp":1}]}`, "banks": `{"ok":[{"name":"self","id":"i","permission":"read"}]}`,
			"remember": `{"ok":true}`, "send": `{"ok":{"id":"e1"}}`, "say": `{"ok":{"loud":true}}`, "fail": `{"error":"I can't"}`, "lie": `{"ok":7}`, "": `{}`,
		}[q.Op]), nil
	}}
}

func TestServicesOfAGuest(t *testing.T) {
	var got []string
	m := module(extension.ABIChaz1)
	m.Provides = []string{"memory", "messenger", "acme/shout"}
	w := newWorld()
	x, i := w.live(t, provider(&got), m)
	if d := x.Declaration(); len(d.Provides) != 2 {
		t.Errorf("it declares %v", d.Provides)
	}
	ctx := extension.WithCaller(t.Context(), w.call)
	rows, err := i.Memory.Search(ctx, extension.MemoryQuery{Text: "x", Limit: 3})
	if err != nil || len(rows) != 1 || rows[0].Value != "v" {
		t.Errorf("search: %v, %v", rows, err)
	}
	if banks, err := i.Memory.Banks(ctx); err != nil || len(banks) != 1 {
		t.Errorf("banks: %v, %v", banks, err)
	}
	if err := i.Memory.Remember(ctx, extension.MemoryRow{Key: "k", Value: "v"}, "b"); err != nil {
		t.Errorf("remember: %v", err)
	}
	if id, err := i.Messenger.Send(ctx, crdt.DocID{9}, "hi", "message"); err != nil || id != "e1" {
		t.Errorf("send: %q, %v", id, err)
	}
	shout := i.Caps["acme/shout"]
	if out, err := shout(ctx, "say", []byte(`"x"`)); err != nil || string(out) != `{"loud":true}` {
		t.Errorf("say: %s, %v", out, err)
	}
	who := `"session":"` + w.call.Session.String() + `","agent":{"id":"`
	if !strings.HasPrefix(got[0], "{"+who) || !strings.HasSuffix(got[0], `"cap":"memory","op":"search","input":{"text":"x","limit":3}}`) {
		t.Errorf("the guest got %s", got[0])
	}
	if !strings.Contains(got[3], `"session":"`+crdt.DocID{9}.String()) {
		t.Errorf("the guest got %s", got[3])
	}
	_, err = shout(ctx, "fail", nil)
	wants(t, err, "I can't")
	_, err = shout(ctx, "", nil)
	wants(t, err, `no "ok"`)
	if _, err = shout(ctx, "say", []byte("[")); !errors.Is(err, extension.ErrArgument) {
		t.Errorf("bad input: %v", err)
	}
}

// calling is a guest whose tool and whose capability "acme/ring" use the capability "acme/ring".
func calling() goGuest {
	ring := func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
		_, err := chazCall(ctx, h, `{"op":"cap","id":"acme/ring"}`)
		text := "done"
		if err != nil {
			text = err.Error()
		}
		return json.Marshal(map[string]any{"text": text, "ok": text})
	}
	return goGuest{exportToolList: says(`{"tools":[{"name":"t"}]}`), exportToolCall: ring, exportProvide: ring}
}

// TestGuestsThatCallEachOther lets two guests call themselves and each other in circles, beginning with
// as many calls as a guest has instances, all of them busy: every call comes back, and the depth is what
// ends it.
func TestGuestsThatCallEachOther(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIChaz1)
	m.Provides, m.Caps.Caps = []string{"acme/ring"}, []string{"acme/ring"}
	_, a := w.live(t, calling(), m)
	_, b := w.live(t, calling(), m)
	const chains = 4
	var busy sync.WaitGroup
	busy.Add(chains)
	var calls atomic.Int64
	call := extension.Call{Session: crdt.DocID{1}}
	call.Lent.Caps = lent{caps: map[string]extension.CapFunc{"acme/ring": func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		n, to := calls.Add(1), a
		if n <= chains {
			busy.Done()
			busy.Wait()
		} else if n%2 == 0 {
			to = b
		}
		out, err := to.Tools[0].Run(ctx, call, []byte("{}"))
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}}}
	var wg sync.WaitGroup
	for range chains {
		wg.Go(func() {
			if out, err := a.Tools[0].Run(t.Context(), call, []byte("{}")); err != nil || out != "done" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n != chains*maxDepth {
		t.Errorf("%d calls; %d chains of %d were expected", n, chains, maxDepth)
	}
}

func TestContextReadsTheSettingsOfItsSession(t *testing.T) {
	guest := goGuest{exportContext: func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
		v, err := chazCall(ctx, h, `{"op":"settings.get","key":"tone"}`)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]string{"text": string(v)})
	}}
	m := module(extension.ABIChaz1)
	m.Provides, m.Caps.Settings = []string{"context_tail"}, extension.GuestRead
	m.Decl.Settings = map[string]any{"tone": "calm"}
	w := newWorld()
	w.settings.set = map[string]json.RawMessage{"tone": []byte(`"warm"`)}
	_, i := w.live(t, guest, m)
	for session, want := range map[crdt.DocID]string{w.call.Session: `"warm"`, {9}: `"calm"`} {
		if out, err := i.ContextTail(t.Context(), extension.Turn{Session: session}); err != nil || out != want {
			t.Errorf("%q, %v; want %s", out, err, want)
		}
	}
}

func TestNothingIsLentWhereNothingMayBe(t *testing.T) {
	m := module(extension.ABIChaz1)
	m.Provides, m.Caps.Caps = []string{"acme/ring"}, []string{"acme/ring"}
	w := newWorld()
	_, i := w.live(t, calling(), m)
	out, err := i.Caps["acme/ring"](extension.WithCaller(t.Context(), w.call), "x", nil)
	if err != nil || !strings.Contains(string(out), "no other extensions are in reach of this call") {
		t.Errorf("%s, %v", out, err)
	}
}
