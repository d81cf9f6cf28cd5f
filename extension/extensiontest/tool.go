package extensiontest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

// schema is what the suite reads of a tool's parameters.
type schema struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func checkTool(t *testing.T, tool extension.Tool) {
	t.Helper()
	if tool.Name == "" || len(tool.Name) > 64 || strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		t.Errorf("the tool name %q is not 1 to 64 letters, digits, _ and -", tool.Name)
	}
	if tool.Run == nil {
		t.Errorf("the tool %s has no function", tool.Name)
	}
	if strings.TrimSpace(tool.Description) == "" {
		t.Errorf("the tool %s has no description", tool.Name)
	}
	var s schema
	if len(tool.Parameters) > 0 {
		if err := json.Unmarshal(tool.Parameters, &s); err != nil || s.Type != "object" {
			t.Errorf("the parameters of %s are no JSON Schema of an object: %v", tool.Name, err)
		}
	}
	for name, p := range s.Properties {
		if !object(p) && string(p) != "true" {
			t.Errorf("the parameter %s of %s is no JSON Schema", name, tool.Name)
		}
	}
	for _, name := range slices.Concat(s.Required, tool.Policy.Sensitive) {
		if _, there := s.Properties[name]; !there {
			t.Errorf("%s names the parameter %q, which it does not have", tool.Name, name)
		}
	}
	p := tool.Policy.Fill()
	if !slices.Contains([]extension.Risk{extension.LowRisk, extension.MediumRisk, extension.HighRisk}, p.Risk) {
		t.Errorf("%s has the unknown risk %q", tool.Name, p.Risk)
	}
	if !slices.Contains([]extension.Approval{extension.NeverAsk, extension.AskUnlessAutomatic, extension.AlwaysAsk}, p.Approval) {
		t.Errorf("%s has the unknown approval rule %q", tool.Name, p.Approval)
	}
	if p.Timeout < 0 || p.RateLimit != nil && *p.RateLimit < 0 {
		t.Errorf("%s has a negative limit", tool.Name)
	}
}

// hostile are texts that no schema lets through, and values for any parameter.
func hostile() (texts, values []string) {
	texts = []string{
		"", "null", "[]", `"x"`, "0", "{", `{"a":}`, "\x00", "\xff\xfe", `{"` + "\xff" + `":1}`,
		strings.Repeat(`{"a":`, 20_000), strings.Repeat("[", 20_000), `{}{}`, `{"a":1,"a":2}`,
	}
	values = []string{
		"null", "true", "-1", "0", "1e308", "1e999", "9223372036854775808", "-0.0", `""`, `" "`, "[]", "{}", "[null]", `{"x":[1]}`,
		`"../../../../etc/passwd"`, `"/"`, `"~"`, `"a\u0000b"`, `"\ud800"`, "\"\xff\"", `"$(id)"`, `"file:///etc/passwd"`,
		`"http://[::1"`, `"http://127.0.0.1/"`, `"% * ((("`, `"` + strings.Repeat("x", 200_000) + `"`, `"` + strings.Repeat("(", 5_000) + `"`,
		"[" + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",") + "]",
	}
	return texts, values
}

// tools calls every tool with nonsense. Whatever comes back, it comes back.
func (s *suite) tools(t *testing.T, i *extension.Instance) {
	texts, values := hostile()
	for _, tool := range i.Tools {
		if slices.Contains(s.Quiet, tool.Name) {
			continue
		}
		for _, args := range texts {
			s.tool(t, tool, args)
		}
		var sch schema
		_ = json.Unmarshal(tool.Parameters, &sch) // checkTool saw to it
		names := append([]string{"no_such_parameter"}, sch.Required...)
		for _, v := range values {
			for name := range sch.Properties {
				s.tool(t, tool, arguments(names, name, v))
			}
			s.tool(t, tool, arguments(names, "", v))
		}
	}
}

// arguments gives one parameter a value and the others a plain text, or all that value.
func arguments(names []string, name, value string) string {
	var b strings.Builder
	b.WriteByte('{')
	for _, n := range names {
		if n == name {
			continue
		}
		v := `"x"`
		if name == "" {
			v = value
		}
		b.WriteString(`"` + n + `":` + v + `,`)
	}
	if name != "" {
		return b.String() + `"` + name + `":` + value + "}"
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}

func (s *suite) tool(t *testing.T, tool extension.Tool, args string) {
	t.Helper()
	given := json.RawMessage(args)
	var out string
	err := s.guarded(t, "tool "+tool.Name+" with "+cut(args), t.Context(), func(ctx context.Context) (err error) {
		out, err = tool.Run(ctx, s.call(), given)
		return err
	}, false)
	if string(given) != args {
		t.Errorf("tool %s changes the arguments it was given", tool.Name)
	}
	if err == nil && !utf8.ValidString(out) {
		t.Errorf("tool %s with %s returns invalid UTF-8", tool.Name, cut(args))
	}
	if err != nil && err.Error() == "" {
		t.Errorf("tool %s with %s fails without a word", tool.Name, cut(args))
	}
}

func cut(s string) string {
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
