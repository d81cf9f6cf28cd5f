package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slashLines are lines and what becomes of them; empty: nothing.
func slashLines() map[string]string {
	return map[string]string{
		"/extensions add ./weather":           "/extensions add DIR/weather",
		"/extensions add ./weather agent":     "/extensions add DIR/weather agent",
		"/extensions  add   ../x  session ":   "/extensions add UP/x session",
		"/extensions add .":                   "/extensions add DIR",
		"/extensions add x.wasm":              "/extensions add DIR/x.wasm",
		"/extensions add plugins/rain":        "/extensions add DIR/plugins/rain",
		"/extensions add /abs/./x":            "/extensions add /abs/x",
		"/extensions add ~":                   "/extensions add /home/u",
		"/extensions add ~/x":                 "/extensions add /home/u/x",
		"/extensions add ~other":              "/extensions add DIR/~other",
		"/extensions add './my ext'":          "/extensions add 'DIR/my ext'",
		`/extensions add "./my ext" agent`:    "/extensions add 'DIR/my ext' agent",
		"/extensions add ./my ext":            "/extensions add 'DIR/my ext'",
		"/extensions add './weather'":         "/extensions add DIR/weather",
		"/extensions add ./it's":              "/extensions add DIR/it's",
		"/extensions add ./a it's":            "/extensions add 'DIR/a it's'",
		"/extensions add weather":             "", // a name, although there is a folder
		"/extensions add weather agent":       "",
		"/extensions add agent":               "",
		"/extensions add no/such":             "",
		"/extensions add ipld:bafy":           "",
		"/extensions add git:x@1#path=a.wasm": "",
		"/extensions add git:./x.git@1":       "",
		"/extensions add registry:d@1.wasm":   "",
		"/extensions add":                     "",
		"/extensions":                         "",
		"/extensions remove ./weather":        "",
		"/extension add ./weather":            "",
		"say /extensions add ./weather":       "",
		"":                                    "",
		" /extensions add ./weather":          "",
	}
}

// A path is the person's, not the daemon's; everything else of a line is none of our business.
func TestPathsOfSlashCommandsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"weather", "plugins/rain", "my ext"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range slashLines() {
		if want == "" {
			want = in
		}
		want = strings.NewReplacer("DIR", dir, "UP", filepath.Dir(dir)).Replace(want)
		b := newBench(t)
		b.node.results = sampleResults()
		b.env["HOME"] = "/home/u"
		var got string
		b.setup = func(a *app) { got, err = a.absLine(in) }
		if b.do("version"); err != nil || got != want {
			t.Errorf("%q becomes %q, %v; want %q", in, got, err, want)
		}
	}
	b := newBench(t)
	b.node.results = sampleResults()
	b.do("cmd", "--session", "s", "/extensions add ./weather")
	if got := b.node.calls[0].params; got != `{"session":"s","line":"/extensions add `+dir+`/weather"}` {
		t.Errorf("cmd asked %s", got)
	}
	if r := b.do("cmd", "--session", "s", "/extensions add './a\nb'"); r.code != exitUsage || len(b.node.calls) != 1 {
		t.Errorf("a line break: exit %d, %q", r.code, r.err)
	}
}

// What was made absolute once stays as it is, and says the same argument and scope.
func FuzzAbsLine(f *testing.F) {
	for in := range slashLines() {
		f.Add(in)
	}
	a := &app{env: func(string) string { return "" }}
	f.Fuzz(func(t *testing.T, line string) {
		once, err := a.absLine(line)
		if err != nil {
			return
		}
		if twice, err := a.absLine(once); err != nil || twice != once {
			t.Fatalf("%q becomes %q, and that %q, %v", line, once, twice, err)
		}
		if once != line && !strings.HasPrefix(once, "/extensions add /") && !strings.HasPrefix(once, "/extensions add '/") {
			t.Fatalf("%q becomes %q", line, once)
		}
	})
}

func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z世\t \n\x1b]{0,200}`).Draw(t, "text")
		width := rapid.IntRange(2, 80).Draw(t, "width")
		lines := wrap(text, width)
		for _, l := range lines {
			if columns(l) > width || l == "" || strings.TrimSpace(l) != l {
				t.Fatalf("%q in %d columns has the line %q", text, width, l)
			}
		}
		joined := strings.ReplaceAll(strings.Join(lines, ""), " ", "")
		if want := strings.Join(strings.Fields(clean(text)), ""); joined != want {
			t.Fatalf("%q lost text: %q", text, joined)
		}
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"weather": "weather", "net=api.example.com:443": "net=api.example.com:443", "git:https://h/r.git@ab#path=x": "git:https://h/r.git@ab#path=x",
		"net=*.example.com": "'net=*.example.com'", "my ext": "'my ext'", "it's": `'it'\''s'`, "": "''", "#x": "'#x'", "~x": "'~x'", "$(rm)": "'$(rm)'", "a\nb": "'a\nb'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%q is typed %s, want %s", in, got, want)
		}
	}
}
