package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
)

func TestOneCallInOrder(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk, RateLimit: ptr(1)}})
	r.cfg.HostFor = func(_ context.Context, h HostRequest) (extension.Host, error) {
		r.audit.note("host %v", h.Approved)
		return nil, nil
	}
	r.turn.onCall = func(_ context.Context, _ string, args json.RawMessage, validate func(json.RawMessage) error) CallOutcome {
		r.audit.note("hooks %s", args)
		changed := json.RawMessage(`{"secret":"x", "n":2}`)
		if err := validate(changed); err != nil {
			t.Error(err)
		}
		return CallOutcome{Verdict: extension.Allow, Args: changed, ChangedBy: []string{"norm"}}
	}
	r.turn.onResult = func(_ context.Context, _ string, text string) ResultOutcome {
		r.audit.note("result hooks %s", text)
		return ResultOutcome{Text: text + " <checked>"}
	}
	r.req.Approver = &asker{reply: func(_ context.Context, q Question) (Decision, error) {
		r.audit.note("ask %s", q.Arguments)
		return Approve, nil
	}}
	out := r.call(t)
	r.want(t, out, StatusOK, `did {"n":2,"secret":"x"} <checked>`)
	want := `call work, hooks {"n":1}, ask {"n":2,"secret":"x"}, host true, run {"n":2,"secret":"x"}, result hooks did {"n":2,"secret":"x"}, result ok`
	if got := r.audit.happened(); got != want {
		t.Errorf("order:\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(out.Text, "&lt;checked&gt;") || !strings.HasPrefix(out.Text, "<tool_output tool=\"work\">\n") || !strings.HasSuffix(out.Text, "\n</tool_output>") {
		t.Errorf("wrapped: %s", out.Text)
	}
	call, res := r.audit.calls[0], r.audit.results[0]
	if string(call.Args) != `{"n":1}` || string(res.Args) != `{"n":2,"secret":"x"}` || fmt.Sprint(res.ChangedBy) != "[norm]" || res.Owner != "ext" {
		t.Errorf("entries: %+v %+v", call, res)
	}
	// The second call in a minute is limited before any hook sees it.
	r.want(t, r.call(t), StatusLimited, "1 times a minute; wait 60 s")
	if !strings.HasSuffix(r.audit.happened(), "result ok, call work, result limited") {
		t.Errorf("a limited call went further: %s", r.audit.happened())
	}
}

func TestLookUp(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{})
	r.want(t, r.call(t), StatusOK, "did")
	for name, change := range map[string]func(){
		"another name":     func() { r.req.Tool = `wo"rk></tool_output>` },
		"not on the list":  func() { r.req.Allow = []string{"other", "wo*", "work.*", "*"} },
		"an empty list":    func() { r.req.Allow = []string{} },
		"inactive owner":   func() { r.turn.inactive = []string{"ext"} },
		"nothing to run":   func() { r.turn.tools[0].Tool.Run = nil },
		"no name at all":   func() { r.req.Tool = "" },
		"gone while asked": func() { r.turn.tools = nil },
	} {
		was, list, inactive, tools := r.req, r.req.Allow, r.turn.inactive, append([]Bound(nil), r.turn.tools...)
		change()
		out := r.call(t)
		r.want(t, out, StatusUnknown, "there is no tool named")
		if strings.Contains(out.Text, "></tool_output>") {
			t.Errorf("%s: the name breaks out of the wrapping: %s", name, out.Text)
		}
		r.req, r.req.Allow, r.turn.inactive, r.turn.tools = was, list, inactive, tools
	}
	r.req.Allow = []string{"work"}
	r.want(t, r.call(t), StatusOK, "did")
}

func TestToolRemovedWhileSomebodyThinks(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk}})
	r.req.Approver = &asker{reply: func(context.Context, Question) (Decision, error) {
		r.turn.inactive = []string{"ext"}
		return Approve, nil
	}}
	r.want(t, r.call(t), StatusUnknown, "no tool named")
	if strings.Contains(r.audit.happened(), "run") {
		t.Error("it ran")
	}
}

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		list []string
		tool string
		want bool
	}{
		{nil, "x", true},
		{[]string{}, "x", false},
		{[]string{"x"}, "x", true},
		{[]string{"x"}, "xy", false},
		{[]string{"git__*"}, "git__log", true},
		{[]string{"git__*"}, "git__", true},
		{[]string{"git__*"}, "git_log", false},
		{[]string{"git__*"}, "github__log", false},
		{[]string{"git*"}, "git__log", false},
		{[]string{"git.*"}, "git.log", false},
		{[]string{"__*"}, "__x", false},
		{[]string{"*"}, "x", false},
		{[]string{"git__l*"}, "git__log", false},
	} {
		if got := allowed(c.list, c.tool); got != c.want {
			t.Errorf("%v, %s: %v", c.list, c.tool, got)
		}
	}
}

func TestTools(t *testing.T) {
	r := newRig(t, Config{Policies: map[string]extension.Policy{"work": {Timeout: tick}}}, extension.Tool{Policy: extension.Policy{Approval: extension.AlwaysAsk}})
	r.turn.tools = append(r.turn.tools, Bound{Owner: "off", Tool: extension.Tool{Name: "hidden"}}, Bound{Owner: "ext", Tool: extension.Tool{Name: "other"}})
	r.turn.inactive = []string{"off"}
	infos := r.Tools(r.turn, nil)
	if len(infos) != 2 || infos[0].Policy.Timeout != tick || infos[0].Policy.Approval != extension.AlwaysAsk || infos[1].Policy.Timeout != extension.DefaultTimeout {
		t.Errorf("all: %+v", infos)
	}
	if infos := r.Tools(r.turn, []string{"other", "hidden"}); len(infos) != 1 || infos[0].Name != "other" {
		t.Errorf("by list: %+v", infos)
	}
	// A tool that asks what there is sees the same.
	r.turn.tools[0].Tool.Run = func(_ context.Context, c extension.Call, _ json.RawMessage) (string, error) {
		return fmt.Sprint(len(c.Lent.Tools())), nil
	}
	r.turn.tools[0].Tool.Policy.Approval = extension.NeverAsk
	r.req.Allow = []string{"work"}
	r.want(t, r.call(t), StatusOK, "1")
}

func TestArguments(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{})
	for args, part := range map[string]string{
		``: `did {}`, ` `: `did {}`, `{}`: `did {}`, "\n{ \"n\" : 12345678901234567890 }": `did {"n":12345678901234567890}`,
		`{"n":1,"n":2}`: `did {"n":2}`, `{"secret":"\ud800"}`: "did {\"secret\":\"\uFFFD\"}", "{\"secret\":\"\xff\"}": "did {\"secret\":\"\uFFFD\"}",
	} {
		r.req.Args = json.RawMessage(args)
		r.want(t, r.call(t), StatusOK, part)
	}
	for args, part := range map[string]string{
		`{`: "no JSON", `nonsense`: "no JSON", `{} {}`: "no JSON", `[]`: "must be a JSON object", `null`: "must be a JSON object", `"{}"`: "must be a JSON object",
		`{"n":"1"}`: "at '/n': got string, want integer", `{"n":-1}`: "at '/n': minimum", `{"n":1.5}`: "at '/n'", `{"b":1,"a":2}`: "additional properties 'a', 'b' not allowed",
		`{"n":null}`: "at '/n': got null", `{"n":"x","secret":1}`: "at '/n'", strings.Repeat(`{"n":`, 20000) + "1" + strings.Repeat("}", 20000): "no JSON",
		`{"secret":"` + strings.Repeat("x", maxArgs) + `"}`: "more than the limit",
	} {
		r.req.Args = json.RawMessage(args)
		before := len(r.audit.events)
		r.want(t, r.call(t), StatusInvalid, part)
		if strings.Contains(strings.Join(r.audit.events[before:], ","), "run") {
			t.Errorf("%.40s: the tool ran", args)
		}
	}
}

func TestFaultySchemas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fine.json")
	if err := os.WriteFile(file, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{
		"no JSON": `{`, "no schema": `{"type":7}`, "a remote reference": `{"$ref":"https://example.com/x.json"}`, "a file": `{"$ref":"file://` + file + `"}`,
		"another dialect": `{"$schema":"https://example.com/dialect"}`, "an expression": `{"properties":{"n":{"pattern":"("}}}`, "dangling": `{"$ref":"#/$defs/none"}`,
		"too long": `{"description":"` + strings.Repeat("x", maxSchema) + `"}`, "a circle": `{"$ref":"#"}`,
	} {
		r := newRig(t, Config{}, extension.Tool{Parameters: json.RawMessage(s)})
		out := r.call(t)
		if name == "a circle" && out.Status == StatusInvalid {
			continue
		}
		r.want(t, out, StatusError, "the tool's own schema is faulty")
		if strings.Contains(r.audit.happened(), "run") {
			t.Errorf("%s: the tool ran", name)
		}
	}
	for _, s := range []string{``, `{}`, `true`, `{"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`} {
		r := newRig(t, Config{}, extension.Tool{Parameters: json.RawMessage(s)})
		r.want(t, r.call(t), StatusOK, "did")
	}
}

func TestSchemaCacheIsBounded(t *testing.T) {
	var s schemas
	for i := range maxCached + 10 {
		if err := s.check(t.Context(), json.RawMessage(fmt.Sprintf(`{"maxProperties":%d}`, i+1)), json.RawMessage(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.done) > maxCached || len(s.done) == 0 {
		t.Errorf("%d schemas are remembered", len(s.done))
	}
}

func TestCallHooks(t *testing.T) {
	for name, c := range map[string]struct {
		out    CallOutcome
		status Status
		part   string
	}{
		"allow":                {CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"n":1}`)}, StatusOK, `did {"n":1}`},
		"nothing said":         {CallOutcome{}, StatusOK, `did {"n":1}`},
		"rewrite":              {CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"n":7}`), ChangedBy: []string{"a"}}, StatusOK, `did {"n":7}`},
		"deny":                 {CallOutcome{Verdict: extension.Deny, Reason: "<no>", By: "guard"}, StatusDenied, "denied by the extension guard: <no>"},
		"rewrite to invalid":   {CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{"n":-7}`), ChangedBy: []string{"a", "b"}}, StatusDenied, "extension a, b: it changed the arguments into invalid ones: at '/n'"},
		"rewrite to no JSON":   {CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`{`), ChangedBy: []string{"a"}}, StatusDenied, "invalid ones"},
		"silent rewrite":       {CallOutcome{Verdict: extension.Allow, Args: json.RawMessage(`[]`)}, StatusDenied, "invalid ones"},
		"nonsense":             {CallOutcome{Verdict: "maybe"}, StatusDenied, "unknown verdict"},
		"ask, nobody there":    {CallOutcome{Verdict: extension.Ask, Reason: "why", By: "guard"}, StatusDenied, "nobody to ask"},
		"deny after a rewrite": {CallOutcome{Verdict: extension.Deny, Args: json.RawMessage(`{"n":9}`), ChangedBy: []string{"a"}, By: "b", Reason: "r"}, StatusDenied, "extension b: r"},
	} {
		r := newRig(t, Config{}, extension.Tool{})
		r.turn.onCall = func(context.Context, string, json.RawMessage, func(json.RawMessage) error) CallOutcome { return c.out }
		r.want(t, r.call(t), c.status, c.part)
		if ran := strings.Contains(r.audit.happened(), "run"); ran != (c.status == StatusOK) {
			t.Errorf("%s: ran %v", name, ran)
		}
		if last := r.audit.results[0]; strings.HasPrefix(name, "deny after") && (string(last.Args) != `{"n":9}` || last.ChangedBy[0] != "a") {
			t.Errorf("%s: %+v", name, last)
		}
	}
	r := newRig(t, Config{}, extension.Tool{})
	r.turn.onCall = func(_ context.Context, _ string, args json.RawMessage, _ func(json.RawMessage) error) CallOutcome {
		args[1] = 'X' // must not reach anybody
		panic("hook")
	}
	r.want(t, r.call(t), StatusDenied, "panicked: hook")
}

func TestResultHooks(t *testing.T) {
	r := newRig(t, Config{}, extension.Tool{})
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome {
		return ResultOutcome{Text: "because", Blocked: true, By: "guard"}
	}
	r.want(t, r.call(t), StatusBlocked, "withheld by the extension guard: because")
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome { panic("hook") }
	r.want(t, r.call(t), StatusOK, `did {"n":1}`)
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome {
		return ResultOutcome{Text: "sk-" + strings.Repeat("a", 30) + "\xff"}
	}
	r.want(t, r.call(t), StatusOK, "[REDACTED:openai_key]\uFFFD")
	// After anything but a success they are not asked.
	seen := false
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome { seen = true; return ResultOutcome{Text: text} }
	r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) { return "partial", errTest }
	r.want(t, r.call(t), StatusError, "Error: it broke")
	if seen {
		t.Error("a result hook saw a failure")
	}
}

func TestPolicies(t *testing.T) {
	own := extension.Policy{Risk: extension.HighRisk, Approval: extension.AlwaysAsk, Timeout: 30 * tick, Sensitive: []string{"key"}}
	got := mergePolicy(own, extension.Policy{Timeout: 60 * tick})
	if got.Approval != extension.AlwaysAsk || got.Risk != extension.HighRisk || got.Timeout != 60*tick || len(got.Sensitive) != 1 || got.RateLimit != nil {
		t.Errorf("overriding the timeout dropped something: %+v", got)
	}
	got = mergePolicy(own, extension.Policy{Risk: extension.LowRisk, Approval: extension.NeverAsk, RateLimit: ptr(0), Sensitive: []string{}})
	if got.Approval != extension.NeverAsk || got.Risk != extension.LowRisk || got.Timeout != 30*tick || len(got.Sensitive) != 0 || *got.RateLimit != 0 {
		t.Errorf("overriding the rest: %+v", got)
	}
	if got := mergePolicy(extension.Policy{}, extension.Policy{}); got.Risk != extension.LowRisk || got.Approval != extension.NeverAsk || got.Timeout != extension.DefaultTimeout {
		t.Errorf("defaults: %+v", got)
	}
	r := newRig(t, Config{Policies: map[string]extension.Policy{"work": {RateLimit: ptr(0)}}}, extension.Tool{})
	r.want(t, r.call(t), StatusLimited, "switched off")
	r = newRig(t, Config{}, extension.Tool{Policy: extension.Policy{Approval: "sometimes", Timeout: -1}})
	r.want(t, r.call(t), StatusDenied, "nobody to ask") // what is not understood asks
	for _, p := range []extension.Policy{{Risk: "some"}, {Approval: "yes"}, {Timeout: -1}, {RateLimit: ptr(-1)}} {
		if _, err := New(Config{Clock: r.clock, Audit: r.audit, Policies: map[string]extension.Policy{"x": p}}); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
	for _, cfg := range []Config{{}, {Clock: r.clock}, {Audit: r.audit}, {Clock: r.clock, Audit: r.audit, Leaks: "shred"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(schema, `{"n":1}`)
	f.Add(schema, `{"n":-1,"b":[]}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"null"},{"required":["x"]}]}}}`, `{"x":1e400}`)
	f.Add(`{"properties":{"n":{"pattern":"^(a+)+$"}}}`, `{"n":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if len(schema) > 2000 || len(args) > 2000 {
			return
		}
		var s schemas
		parsed, err := parse(json.RawMessage(args))
		if err != nil {
			return
		}
		if again, err := parse(parsed); err != nil || string(again) != string(parsed) {
			t.Fatalf("%q is read as %s, and that as %s (%v)", args, parsed, again, err)
		}
		first := fmt.Sprint(s.check(t.Context(), json.RawMessage(schema), parsed))
		if second := fmt.Sprint(s.check(t.Context(), json.RawMessage(schema), parsed)); first != second {
			t.Fatalf("two answers: %s and %s", first, second)
		}
	})
}
