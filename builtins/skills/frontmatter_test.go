package skills

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
)

func TestParseFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "---\nname: pdf\n---\nDo it.\n", `pdf||[]|[]|Do it.`},
		{"all keys", "---\nname: pdf\ndescription: Read PDF files\ntriggers: [pdf, \"a, b\", 'it''s']\nrequires_tools:\n  - shell\n  - read_file # comment\n\n---\n\n# Title\n\ntext\n", `pdf|Read PDF files|[pdf a, b it's]|[shell read_file]|# Title

text`},
		{"windows", "\ufeff---\r\nname: pdf\r\n---\r\na\r\nb\r\n", "pdf||[]|[]|a\nb"},
		{"comments", "---\n# top\nname: pdf # the name\n\n  # indented\ndescription: a#b\n---", `pdf|a#b|[]|[]|`},
		{"quotes", `---
name: 'a b'
description: "tab\tnew\u00e4 \"x\" # no comment" # comment
---`, "a b|tab\tnewä \"x\" # no comment|[]|[]|"},
		{"other keys", "---\nlicense: {MIT, [x]}\nname: pdf\nmetadata:\n  name: other\n  deep:\n\t- x\nlist:\n- 1\n- 2\ntriggers:\n- one\n---\nbody", `pdf||[one]|[]|body`},
		{"folded", "---\nname: pdf\ndescription: >-\n  one\n  two\n\n  three\ntriggers: pdf\n---", `pdf|one two three|[pdf]|[]|`},
		{"empty lists", "---\nname: pdf\ntriggers: []\nrequires_tools:\n---", `pdf||[]|[]|`},
		{"last comma", "---\nname: pdf\ntriggers: [a,]\n---", `pdf||[a]|[]|`},
		{"a colon without blank", "---\nname: pdf\ndescription: see http://x/y\n---", `pdf|see http://x/y|[]|[]|`},
		{"body with fence", "---\nname: pdf\n---\na\n---\nb", "pdf||[]|[]|a\n---\nb"},
	} {
		s, err := parseFile(c.text)
		if got := fmt.Sprintf("%s|%s|%v|%v|%s", s.name, s.description, s.triggers, s.requires, s.body); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestParseFileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                "does not begin",
		"name: pdf":                                       "does not begin",
		" ---\nname: a\n---":                              "does not begin",
		"---\nname: pdf\n":                                "no second line",
		"---\n---\n":                                      "no name",
		"---\ndescription: x\n---":                        "no name",
		"---\nname:\n---":                                 "empty",
		"---\nname: pdf\nname: b\n---":                    "line 3: name is there twice",
		"---\nother: 1\nother: 2\n---":                    "twice",
		"---\nname: pdf\n  more: 1\n---":                  "line 3: it is indented",
		"---\nname: pdf\n- x\n---":                        "indented",
		"---\nname: pdf\n\tx: 1\n---":                     "tab",
		"---\nname:pdf\n---":                              "key: value",
		"---\nname\n---":                                  "key: value",
		"---\n\"name\": pdf\n---":                         "key: value",
		"---\nname: &a pdf\n---":                          "quotes",
		"---\nname: *a\n---":                              "quotes",
		"---\nname: !tag x\n---":                          "quotes",
		"---\nname: {a: b}\n---":                          "quotes",
		"---\nname: a: b\n---":                            "quotes",
		"---\nname: \"a\n---":                             "do not close",
		"---\nname: 'a\n---":                              "do not close",
		"---\nname: \"a\\xff\"\n---":                      "escape",
		"---\nname: \"a\" b\n---":                         "more behind",
		"---\nname: \"a\"#b\n---":                         "more behind",
		"---\nname: >\n  a\n---":                          "quotes",
		"---\nname: x\ntriggers: [a\n---":                 `ends with "]"`,
		"---\nname: x\ntriggers: [a] b\n---":              "more behind",
		"---\nname: x\ntriggers: [[a]]\n---":              "quotes",
		"---\nname: x\ntriggers: [a #b]\n---":             "quotes",
		"---\nname: x\ntriggers: [,]\n---":                "empty",
		"---\nname: x\ntriggers:\n  -\n---":               `begins with "- "`,
		"---\nname: x\ntriggers:\n  a: b\n---":            `begins with "- "`,
		"---\nname: x\ntriggers:\n  - \"\"\n---":          "empty item",
		"---\nname: \"a\\nb\"\n---":                       "not plain text",
		"---\nname: \"a\\u202eb\"\n---":                   "not plain text",
		"---\nname: " + strings.Repeat("x", 65) + "\n---": "longer than 64",
		"---\nname: x\ntriggers: [" + strings.Repeat("a,", 65) + "]\n---":     "more than 64",
		"---\nname: x\nrequires_tools: " + strings.Repeat("a", 201) + "\n---": "longer than 200",
		"---\nname: \xff\n---":                     "UTF-8",
		"---\nname: x\ntriggers:\n- a\n  - b\n---": "below each other",
	} {
		if s, err := parseFile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %+v, %v; want %q", text, s, err, want)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"---\nname: pdf\ndescription: >\n  x\ntriggers: [a, \"b\", 'c']\nrequires_tools:\n  - x\n---\nbody", "---\n#\n'\":[]\n---", "---\na:\n\n\t- \n---",
		"---\nname: \"\\u0061\" # x\n---\n", "---\nname: ''\n---", "\ufeff---\r\n---",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseFile(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("no words")
			}
			return
		}
		if s.name == "" || bank.Line(s.name, maxName) != s.name || !utf8.ValidString(s.body+s.description) || len(s.body) > len(text) {
			t.Fatalf("%q gives %+v", text, s)
		}
		// What was read can be written in the plainest form and means the same.
		again, err := parseFile("---\nname: '" + strings.ReplaceAll(s.name, "'", "''") + "'\n---\n" + s.body)
		if err != nil || again.name != s.name || again.body != strings.TrimSpace(strings.ReplaceAll(s.body, "\r\n", "\n")) {
			t.Fatalf("%+v, %v", again, err)
		}
	})
}
