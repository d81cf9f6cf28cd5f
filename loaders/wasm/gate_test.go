package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// fetching are guests whose tool "get" fetches a URL, one for each interface, by its oldest way.
func fetching() map[string]goGuest {
	fetch := func(ctx context.Context, h engine.Host, url string) ([]byte, error) {
		r, err := h.HTTP(ctx, engine.HTTPRequest{Method: "GET", URL: url})
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": string(r.Body)}}})
	}
	url := func(input []byte) string {
		var in struct {
			Params, Request struct{ Arguments struct{ URL string } }
			Arguments       struct{ URL string }
		}
		_ = json.Unmarshal(input, &in) // the arguments are those of the tests
		return in.Params.Arguments.URL + in.Request.Arguments.URL + in.Arguments.URL
	}
	call := func(ctx context.Context, h engine.Host, input []byte) ([]byte, error) {
		return fetch(ctx, h, url(input))
	}
	list := `{"tools":[{"name":"get","description":"gets","inputSchema":{"type":"object"},"input_schema":{"type":"object"}}]}`
	return map[string]goGuest{
		extension.ABIExtismV1: {"describe": says(list), "call": call},
		extension.ABIExtismV2: {"list_tools": says(list), "call_tool": call},
		extension.ABIChaz1:    {exportToolList: says(list), exportToolCall: call},
	}
}

func TestSameDenialThroughEveryInterface(t *testing.T) {
	n := newInternet(t, http.HandlerFunc(hello))
	for abi, guest := range fetching() {
		t.Run(abi, func(t *testing.T) {
			w := newWorld()
			w.services.HTTP = n.config()
			m := module(abi)
			_, i := w.live(t, guest, m)
			_, err := w.run(t, i, "demo__get", `{"url":"http://public.example/"}`)
			wants(t, err, "not granted: net public.example; declare it under capabilities.net")
			if !errors.Is(err, extension.ErrGrant) {
				t.Errorf("%v is no ErrGrant", err)
			}
			if got := w.audit.with(OpNet, Denied); len(got) != 1 || got[0].Target != "public.example:80" || got[0].Session != w.call.Session.String() {
				t.Errorf("the audit has %+v", got)
			}
			if d := n.dials(); len(d) != 0 {
				t.Errorf("it dialled %v", d)
			}

			m.Caps.Net = []string{"public.example"}
			_, i = w.live(t, guest, m)
			out, err := w.run(t, i, "demo__get", `{"url":"http://public.example/"}`)
			if err != nil || out != "hello GET public.example" {
				t.Errorf("with the grant: %q, %v", out, err)
			}
			if len(w.audit.with(OpNet, Used)) != 1 {
				t.Error("the use is not in the audit")
			}
			n.forget()
		})
	}
}

// oneOp is a chaz-ext-1 guest whose tool "op" hands its argument to the host.
func oneOp() goGuest {
	return goGuest{
		exportToolList: says(`{"tools":[{"name":"op","description":"asks the host"}]}`),
		exportToolCall: func(ctx context.Context, h engine.Host, input []byte) ([]byte, error) {
			var in struct{ Arguments json.RawMessage }
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			v, err := chazCall(ctx, h, string(in.Arguments))
			if err != nil {
				return json.Marshal(map[string]string{"error": err.Error()})
			}
			return json.Marshal(map[string]string{"text": string(v)})
		},
	}
}

func TestEveryOperationAsksTheGate(t *testing.T) {
	type caps = extension.GuestCaps
	for _, c := range []struct {
		op, missing string // missing is in the refusal
		grant       caps
		want        string // in the answer with the grant
	}{
		{`{"op":"settings.get","key":"tone"}`, "capabilities.settings", caps{Settings: "read"}, `"warm"`},
		{`{"op":"settings.set","key":"tone","value":"cold"}`, "capabilities.settings", caps{Settings: "write"}, "true"},
		{`{"op":"session.read","limit":2}`, "capabilities.session_read", caps{SessionRead: -1}, `"entries":[{"n":2},{"n":3}],"cut":false`},
		{`{"op":"session.read","limit":50}`, "capabilities.session_read", caps{SessionRead: 1}, `"entries":[{"n":3}]`},
		{`{"op":"session.send","text":"hi"}`, "capabilities.session_write", caps{SessionWrite: true}, `"entry-4"`},
		{`{"op":"kv.set","key":"a","value":[1]}`, "capabilities.kv", caps{KV: 100}, "true"},
		{`{"op":"kv.get","key":"a"}`, "capabilities.kv", caps{KV: 100}, "null"},
		{`{"op":"kv.list"}`, "capabilities.kv", caps{KV: 100}, "[]"},
		{`{"op":"kv.delete","key":"a"}`, "capabilities.kv", caps{KV: 100}, "true"},
		{`{"op":"secret","name":"API_KEY"}`, "not granted: secret API_KEY; declare it under capabilities.secrets", caps{Secrets: []string{"API_KEY"}}, "[secret API_KEY]"},
		{`{"op":"memory.search","text":"sea"}`, "capabilities.memory", caps{Memory: "read"}, `"value":"the sea"`},
		{`{"op":"memory.banks"}`, "capabilities.memory", caps{Memory: "read"}, `"self"`},
		{`{"op":"memory.remember","key":"k","value":"v"}`, "capabilities.memory", caps{Memory: "write"}, "true"},
		{`{"op":"messenger.send","text":"hi"}`, "capabilities.messenger", caps{Messenger: true}, `"entry-4"`},
		{`{"op":"cap","id":"acme/shout","call":"say","input":"x"}`, "not granted: capability acme/shout", caps{Caps: []string{"acme/shout"}}, `say:`},
		{`{"op":"llm.create","messages":[{"role":"user","content":"hey"}]}`, "capabilities.llm", caps{LLM: &extension.GuestLLM{CallsPerDay: 3}}, "hey (3 calls a day)"},
		{`{"op":"http","url":"http://public.example/"}`, "capabilities.net", caps{Net: []string{"public.example"}}, `"status":200`},
	} {
		t.Run(c.op, func(t *testing.T) {
			fresh := func() *world {
				w := newWorld()
				w.services.HTTP = newInternet(t, http.HandlerFunc(hello)).config()
				w.settings.set = map[string]json.RawMessage{"tone": json.RawMessage(`"warm"`)}
				w.session.entries = []json.RawMessage{[]byte(`{"n":1}`), []byte(`{"n":2}`), []byte(`{"n":3}`)}
				w.memory.rows = []extension.MemoryRow{{Key: "k", Value: "the sea"}}
				return w
			}
			w := fresh()
			m := module(extension.ABIChaz1)
			_, i := w.live(t, oneOp(), m)
			_, err := w.run(t, i, "demo__op", c.op)
			wants(t, err, "not granted: ", c.missing)
			if !errors.Is(err, extension.ErrGrant) {
				t.Errorf("%v is no ErrGrant", err)
			}
			if len(w.audit.list) != 1 || w.audit.list[0].Outcome != Denied {
				t.Errorf("the audit has %+v", w.audit.list)
			}

			w, m.Caps = fresh(), c.grant
			_, i = w.live(t, oneOp(), m)
			out, err := w.run(t, i, "demo__op", c.op)
			if err != nil || !strings.Contains(out, c.want) {
				t.Errorf("with the grant: %q, %v; want %q", out, err, c.want)
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("a secret is in the result: %q", out)
			}
		})
	}
}

func TestReadDoesNotGrantWrite(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIChaz1)
	m.Caps = extension.GuestCaps{Settings: "read", Memory: "read", SessionRead: -1}
	_, i := w.live(t, oneOp(), m)
	for _, op := range []string{
		`{"op":"settings.set","key":"tone","value":1}`, `{"op":"memory.remember","key":"k","value":"v"}`, `{"op":"session.send","text":"x"}`,
	} {
		_, err := w.run(t, i, "demo__op", op)
		wants(t, err, "not granted")
	}
	if len(w.session.entries)+len(w.memory.rows)+len(w.settings.set) > 0 {
		t.Error("something was written")
	}
}

func TestBadOperations(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIChaz1)
	m.Caps = extension.GuestCaps{SessionWrite: true, KV: 20, Settings: "write", LLM: &extension.GuestLLM{}, Caps: []string{"acme/other"}}
	_, i := w.live(t, oneOp(), m)
	for op, want := range map[string]string{
		`{"op":"fly"}`: "no operation", `{}`: "no operation", `{"op":7}`: "read the request",
		`{"op":"session.send"}`: "a text of 0 bytes", `{"op":"session.send","text":"x","kind":"cost"}`: "only message and directive",
		`{"op":"session.send","text":"` + strings.Repeat("x", maxSend+1) + `"}`: "may be sent",
		`{"op":"kv.get"}`: "a key has", `{"op":"kv.set","key":"a"}`: "no value",
		`{"op":"kv.set","key":"abc","value":"0123456789012345678"}`: "quota", `{"op":"settings.set"}`: "empty",
		`{"op":"llm.create"}`: "no messages", `{"op":"llm.create","messages":[{"role":"root","content":"x"}]}`: "role",
		`{"op":"cap","id":"acme/other"}`: "nobody provides it", `{"op":"http","body_base64":"%"}`: "body_base64",
	} {
		_, err := w.run(t, i, "demo__op", op)
		wants(t, err, want)
	}
	if out, err := w.run(t, i, "demo__op", `{"op":"kv.set","key":"a","value":"0123456789"}`); err != nil {
		t.Errorf("what fits: %q, %v", out, err)
	}
	if out, err := w.run(t, i, "demo__op", `{"op":"tools.list"}`); err != nil || !strings.Contains(out, "read_file") {
		t.Errorf("tools.list: %q, %v", out, err)
	}
}

func TestAGuestCanNotFillASession(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIChaz1)
	m.Caps.SessionWrite = true
	guest := oneOp()
	guest[exportToolCall] = func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
		for range 100 {
			_, _ = chazCall(ctx, h, `{"op":"session.send","text":"spam"}`) // most of them are refused
			_, _ = chazCall(ctx, h, `{"op":"secret","name":"API_KEY"}`)
		}
		return []byte(`{"text":"done"}`), nil
	}
	_, i := w.live(t, guest, m)
	if _, err := w.run(t, i, "demo__op", `{}`); err != nil {
		t.Fatal(err)
	}
	if n := len(w.session.entries); n != maxSends {
		t.Errorf("%d messages of one call; the limit is %d", n, maxSends)
	}
	if n := len(w.audit.list); n != maxEvents+1 || !strings.Contains(w.audit.list[n-1].Detail, "168 more") {
		t.Errorf("%d events, the last: %+v", n, w.audit.list[n-1])
	}
}

func TestConfig(t *testing.T) {
	asked := map[string]string{}
	guest := goGuest{
		"describe": says(`{"tools":[{"name":"t"}]}`),
		"call": func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
			for _, key := range []string{"API_KEY", "OTHER_KEY", "tone", "size", "nothing"} {
				if v, ok := h.Config(ctx, key); ok {
					asked[key] = v
				}
			}
			return []byte(`{"content":[]}`), nil
		},
	}
	for name, c := range map[string]struct {
		caps extension.GuestCaps
		want map[string]string
	}{
		"nothing":  {extension.GuestCaps{}, map[string]string{}},
		"settings": {extension.GuestCaps{Settings: "read"}, map[string]string{"tone": "warm", "size": `{"w":1}`}},
		"secret":   {extension.GuestCaps{Secrets: []string{"API_KEY", "OTHER_KEY"}}, map[string]string{"API_KEY": "hunter2-hunter2"}},
	} {
		w := newWorld()
		w.settings.set = map[string]json.RawMessage{"tone": []byte(`"warm"`), "size": []byte(`{"w":1}`), "nothing": []byte("null")}
		m := module(extension.ABIExtismV1)
		m.Caps = c.caps
		clear(asked)
		x, i := w.live(t, guest, m)
		if _, err := w.run(t, i, "demo__t", `{}`); err != nil {
			t.Fatal(err)
		}
		if len(asked) != len(c.want) {
			t.Errorf("%s: it got %v, want %v", name, asked, c.want)
		}
		for key, v := range c.want {
			if asked[key] != v {
				t.Errorf("%s: %s is %q, want %q", name, key, asked[key], v)
			}
		}
		if logs := x.Logs(); name == "nothing" && (len(logs) != 5 || !strings.Contains(logs[0].Text, "not granted: config API_KEY; declare it under capabilities.secrets")) {
			t.Errorf("the log has %v", logs)
		}
	}
}

func FuzzOp(f *testing.F) {
	for _, s := range []string{`{"op":"kv.set","key":"a","value":1}`, `{"op":"http","headers":{"a":"b"}}`, `{"op":"cap","input":[`, "\xff", `null`, `{"op":"session.read","limit":-1}`} {
		f.Add([]byte(s))
	}
	w := newWorld()
	caps := []extension.GuestCaps{{}, {
		Settings: "write", SessionRead: -1, SessionWrite: true, KV: 1 << 20, Secrets: []string{"API_KEY"}, Memory: "write", Messenger: true,
		Caps: []string{"acme/shout"}, LLM: &extension.GuestLLM{},
	}}
	f.Fuzz(func(t *testing.T, op []byte) {
		for _, c := range caps {
			m := module(extension.ABIChaz1)
			m.Caps = c
			guest := goGuest{exportCommand: func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
				out, err := h.User(ctx, chazFunction, op)
				var answer map[string]json.RawMessage
				if err != nil || json.Unmarshal(out, &answer) != nil || len(answer) != 1 || (answer["ok"] == nil) == (answer["error"] == nil) {
					t.Errorf("%q is answered with %q, %v", op, out, err)
				}
				return []byte("{}"), nil
			}}
			m.Commands = []DeclaredCommand{{Name: "demo"}}
			_, i := w.live(t, guest, m)
			if _, err := i.Commands[0].Run(t.Context(), w.call, ""); err != nil {
				t.Error(err)
			}
		}
	})
}
