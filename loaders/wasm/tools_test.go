package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

func TestCleanTool(t *testing.T) {
	long := strings.Repeat("n", 58) // with "demo__" the longest
	for _, c := range []struct {
		tool DeclaredTool
		want string // "" is taken
	}{
		{DeclaredTool{Name: "get-a_B9"}, ""},
		{DeclaredTool{Name: long}, ""},
		{DeclaredTool{Name: long + "n"}, "the limit is 64"},
		{DeclaredTool{}, "name"},
		{DeclaredTool{Name: "a b"}, "name"},
		{DeclaredTool{Name: "a/b"}, "name"},
		{DeclaredTool{Name: "gét"}, "name"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`[]`)}, "no JSON object"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{`)}, "not JSON"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"type":"string"}`)}, `not "object"`},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"type":7}`)}, `not "object"`},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"properties":{"x":{"$ref":"file:///etc/passwd"}}}`)}, "outside itself"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"properties":{"x":{"$dynamicRef":"http://x"}}}`)}, "outside itself"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"properties":{"x":{"$ref":"#/$defs/y"}}}`)}, ""},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"properties":{"$ref":{"type":"string"}}}`)}, ""},
		{DeclaredTool{Name: "a", InputSchema: []byte("{\"properties\":{\"x\u202e\":{}}}")}, "invisible"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`)}, "nested"},
		{DeclaredTool{Name: "a", InputSchema: []byte(`{"a":"` + strings.Repeat("x", maxSchema) + `"}`)}, "bytes; the limit"},
	} {
		_, err := cleanTool("demo", c.tool)
		if c.want == "" && err != nil {
			t.Errorf("%.80s %.80s: %v", c.tool.Name, c.tool.InputSchema, err)
		}
		if c.want != "" {
			wants(t, err, c.want)
		}
	}
	c, err := cleanTool("demo", DeclaredTool{
		Name: "a", Description: " ok\u202e\x1b[31m\u200b\tx\n" + strings.Repeat("é", 2000),
		InputSchema: []byte(`{"title":"a\u202eb","properties":{"n":{"maximum":9007199254740993}}}`),
	})
	if err != nil || !strings.HasPrefix(c.Description, "ok[31m\tx\né") || utf8.RuneCountInString(c.Description) > maxDescription+1 {
		t.Errorf("description %q, %v", c.Description, err)
	}
	if want := `{"properties":{"n":{"maximum":9007199254740993}},"title":"ab","type":"object"}`; string(c.InputSchema) != want {
		t.Errorf("schema %s, want %s", c.InputSchema, want)
	}
}

func TestCleanTools(t *testing.T) {
	list := []DeclaredTool{{Name: "a"}, {Name: "a"}, {Name: "bad name"}}
	for i := range maxTools {
		list = append(list, DeclaredTool{Name: fmt.Sprint("t", i)})
	}
	tools, refused := cleanTools("demo", list)
	if len(tools) != maxTools-2 || len(refused) != 3 || !strings.Contains(refused[0], "twice") || !strings.Contains(refused[2], "3 tools beyond") {
		t.Errorf("%d tools, refused: %q", len(tools), refused)
	}
}

// answering is a guest of each interface with one tool "t" that answers with fixed bytes.
func answering(out []byte, err error) map[string]goGuest {
	list := says(`{"tools":[{"name":"t","description":"d"}]}`)
	call := func(context.Context, engine.Host, []byte) ([]byte, error) { return out, err }
	return map[string]goGuest{
		extension.ABIExtismV1: {"describe": list, "call": call},
		extension.ABIExtismV2: {"list_tools": list, "call_tool": call},
		extension.ABIChaz1:    {exportToolList: list, exportToolCall: call},
	}
}

func TestHostileAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		out  string
		err  error
		want string
	}{
		"not JSON":        {"hello", nil, "not as the interface asks"},
		"half":            {`{"content":[`, nil, "not as the interface asks"},
		"a list":          {`[]`, nil, "not as the interface asks"},
		"numbers":         {`{"content":7,"text":7}`, nil, "not as the interface asks"},
		"a bomb":          {strings.Repeat(`{"content":[`, 50_000), nil, "not as the interface asks"},
		"no UTF-8":        {"{\"text\":\"\xff\",\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", nil, "not valid UTF-8"},
		"50 MB":           {strings.Repeat("x", 50_000_000), nil, "output too long"},
		"a trap":          {"", engine.ErrTrap, "the guest trapped"},
		"a deadline":      {"", engine.ErrDeadline, "deadline passed"},
		"its error":       {"", &engine.GuestError{Code: 1, Text: "no\x1b[2J\u202esuch\nfile"}, "no[2Jsuch file"},
		"isError":         {`{"isError":true,"content":[{"type":"text","text":"no such city"}]}`, nil, "no such city"},
		"isError, silent": {`{"isError":true,"content":[]}`, nil, "the tool failed"},
	} {
		for abi, guest := range answering([]byte(c.out), c.err) {
			w := newWorld()
			_, i := w.live(t, guest, module(abi))
			text, err := w.run(t, i, "demo__t", `{}`)
			if err == nil {
				t.Errorf("%s, %s: no error but %.80q", abi, name, text)
				continue
			}
			if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 5000 || !utf8.ValidString(err.Error()) {
				t.Errorf("%s, %s: %.300q; want %q", abi, name, err, c.want)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %v hides its cause", abi, name, err)
			}
			if died := name == "a trap" || name == "a deadline"; errors.Is(err, extension.ErrCrashed) != died {
				t.Errorf("%s, %s: %v counts as a crash: %v", abi, name, err, !died)
			}
		}
	}
}

func TestResultText(t *testing.T) {
	for out, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}`:                                  "a\nb\n",
		`{"content":[{"type":"image","data":"AAAAAAAA","mimeType":"image/png"}]}`:                                "[image, image/png, about 6 bytes; not shown]",
		`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"body"}}]}`: "[resource file:///a]\nbody",
		`{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AAAA"}}]}`:                         "[resource file:///a, of unknown kind, about 3 bytes; not shown]",
		`{"content":[{"type":"resource_link","uri":"file:///a","name":"n"}]}`:                                    "[resource file:///a n]",
		`{"content":[{"type":"resource"},{"type":"hologram"}]}`:                                                  "[resource  ]\n[content of the unknown type \"hologram\"; not shown]",
		`{"content":[],"structuredContent":{"a":1}}`:                                                             `{"a":1}`,
		`{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1},"isError":false,"_meta":{}}`:        "t",
	} {
		for abi, guest := range answering([]byte(out), nil) {
			w := newWorld()
			_, i := w.live(t, guest, module(abi))
			if got, err := w.run(t, i, "demo__t", `{}`); err != nil || got != want {
				t.Errorf("%s: %s is %q, %v; want %q", abi, out, got, err, want)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	var got string
	guest := goGuest{"describe": says(`{"tools":[{"name":"t"}]}`), "call": func(_ context.Context, _ engine.Host, in []byte) ([]byte, error) {
		got = string(in)
		return []byte(`{"content":[]}`), nil
	}}
	w := newWorld()
	_, i := w.live(t, guest, module(extension.ABIExtismV1))
	for _, bad := range []string{"", "null", "[]", "{", "\xff", `{"a":`} {
		if _, err := w.run(t, i, "demo__t", bad); !errors.Is(err, extension.ErrArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got != "" {
		t.Errorf("the guest was called with %s", got)
	}
	if _, err := w.run(t, i, "demo__t", `{"n":9007199254740993}`); err != nil || got != `{"method":"tools/call","params":{"name":"t","arguments":{"n":9007199254740993}}}` {
		t.Errorf("the guest got %s, %v", got, err)
	}
}

func TestPolicy(t *testing.T) {
	guest := answering([]byte(`{}`), nil)[extension.ABIExtismV1]
	for _, c := range []struct {
		caps     extension.GuestCaps
		risk     extension.Risk
		approval extension.Approval
	}{
		{extension.GuestCaps{}, extension.LowRisk, extension.NeverAsk},
		{extension.GuestCaps{SessionRead: -1, KV: 1, Settings: "read"}, extension.LowRisk, extension.NeverAsk},
		{extension.GuestCaps{Net: []string{"a.example"}}, extension.MediumRisk, extension.AskUnlessAutomatic},
		{extension.GuestCaps{SessionWrite: true}, extension.MediumRisk, extension.AskUnlessAutomatic},
	} {
		m := module(extension.ABIExtismV1)
		m.Caps, m.Limits.DeadlineMS = c.caps, 1500
		_, i := newWorld().live(t, guest, m)
		if p := i.Tools[0].Policy; p.Risk != c.risk || p.Approval != c.approval || p.Timeout != 2500*time.Millisecond {
			t.Errorf("%+v: %+v", c.caps, p)
		}
	}
}

// pages is a v2 guest that lists one tool a page.
func pages(n int) goGuest {
	return goGuest{"list_tools": func(_ context.Context, _ engine.Host, in []byte) ([]byte, error) {
		var r struct{ Request struct{ Cursor string } }
		if err := json.Unmarshal(in, &r); err != nil {
			return nil, err
		}
		at := len(r.Request.Cursor)
		out := map[string]any{"tools": []any{map[string]any{"name": fmt.Sprint("t", at)}}}
		if at+1 < n {
			out["nextCursor"] = strings.Repeat("x", at+1)
		}
		return json.Marshal(out)
	}}
}

func TestPagesOfTools(t *testing.T) {
	_, i := newWorld().live(t, pages(3), module(extension.ABIExtismV2))
	names := []string{}
	for _, tool := range i.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"demo__t0", "demo__t1", "demo__t2"}) {
		t.Errorf("tools %v", names)
	}
	x, err := New(pages(1000), module(extension.ABIExtismV2), Services{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Instantiate(t.Context(), newWorld().scope())
	wants(t, err, "more than 16 pages")
}

func TestMCPHostFunctions(t *testing.T) {
	var answers []string
	guest := goGuest{
		"list_tools": says(`{"tools":[{"name":"t"}]}`),
		"call_tool": func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
			for _, f := range mcpFunctions() {
				in := `{"level":"info","data":{"a":"b"}}`
				if f == "create_message" {
					in = `{"messages":[{"role":"user","content":{"type":"text","text":"hey"}}],"maxTokens":9}`
				}
				out, err := h.User(ctx, f, []byte(in))
				if err != nil {
					return nil, err
				}
				answers = append(answers, f+string(out))
			}
			_, err := h.User(ctx, chazFunction, []byte(`{"op":"tools.list"}`))
			return []byte(`{"content":[]}`), err
		},
	}
	w := newWorld()
	m := module(extension.ABIExtismV2)
	_, i := w.live(t, guest, m)
	_, err := w.run(t, i, "demo__t", `{}`)
	wants(t, err, "not granted: asking a model; declare it under capabilities.llm")
	if !errors.Is(err, extension.ErrGrant) {
		t.Errorf("%v is no ErrGrant", err)
	}
	m.Caps.LLM = &extension.GuestLLM{CallsPerDay: 2}
	answers = nil
	x, i := w.live(t, guest, m)
	_, err = w.run(t, i, "demo__t", `{}`)
	wants(t, err, "extism-mcp-v2 has no host function \"chaz_host\"") // no way around into the other interface
	all := strings.Join(answers, " ")
	for _, want := range []string{`create_elicitation{"action":"decline"}`, `"text":"hey (2 calls a day)"`, `list_roots{"roots":[]}`, "notify_progress"} {
		if !strings.Contains(all, want) {
			t.Errorf("the answers %s lack %s", all, want)
		}
	}
	if l := x.Logs(); len(l) != 1 || l[0] != (LogLine{"info", `{"a":"b"}`}) {
		t.Errorf("logs %v", l)
	}
	w.services.LLM = nil
	_, i = w.live(t, guest, m)
	_, err = w.run(t, i, "demo__t", `{}`)
	wants(t, err, "no model back end")
}

// TestCleanSchemaIsStable checks that cleaning is done once and for all, whatever comes in.
func TestCleanSchemaIsStable(t *testing.T) {
	leaf := rapid.OneOf(rapid.Just(any("x\u202ey")), rapid.Just(any(1.5)), rapid.Just(any(true)), rapid.Just(any(nil)), rapid.Just(any("#/a")))
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOf(rapid.SampledFrom([]string{"type", "properties", "$ref", "title", "a"}), leaf).Draw(t, "fields")
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		once, err := cleanSchema(text)
		if err != nil {
			return
		}
		twice, err := cleanSchema(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%s → %s → %s, %v", text, once, twice, err)
		}
	})
}

func FuzzCleanSchema(f *testing.F) {
	for _, s := range []string{`{}`, `{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, `[1]`, `{"a":[[{"b":"\u202e"}]]}`, "null", `{"type":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := cleanSchema(text)
		if err != nil {
			return
		}
		if !isObject(once) || strings.ContainsFunc(string(once), func(r rune) bool { return invisible(r) }) {
			t.Errorf("%q → %q", text, once)
		}
		if twice, err := cleanSchema(once); err != nil || string(twice) != string(once) {
			t.Errorf("%q → %q → %q, %v", text, once, twice, err)
		}
	})
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"a"}]}`, `{"isError":true}`, `{"text":"x"}`, `null`, `{"content":[null]}`, `{"content":[{"type":"resource","resource":{}}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for abi, guest := range answering(out, nil) {
			w := newWorld()
			_, i := w.live(t, guest, module(abi))
			text, err := w.run(t, i, "demo__t", `{}`)
			if err == nil && !utf8.ValidString(text) || err != nil && err.Error() == "" {
				t.Errorf("%s: %q is %q, %v", abi, out, text, err)
			}
		}
	})
}
