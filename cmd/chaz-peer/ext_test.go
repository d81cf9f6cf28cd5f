package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// methods are the methods that were asked, in order.
func (f *fake) methodsAsked() []string {
	var all []string
	for _, c := range f.calls {
		all = append(all, c.method)
	}
	return all
}

func trustBench(t *testing.T) *bench {
	b := newBench(t)
	b.node.results = sampleResults()
	b.tty, b.in, b.env["NO_COLOR"] = true, "y\n", "1"
	return b
}

// A yes is about exactly what was shown: the key of the card goes back.
func TestTrustShowsTheCardAndAsks(t *testing.T) {
	b := trustBench(t)
	r := b.do("ext", "trust", "weather", "--session", "hamlet", "--cap", "net=api.example.com")
	if r.code != 0 || !slices.Equal(b.node.methodsAsked(), []string{"ext.show", "ext.trust"}) {
		t.Fatalf("exit %d, asked %v, %s", r.code, b.node.methodsAsked(), r.err)
	}
	if got := b.node.calls[1].params; !strings.Contains(got, `"sha256":"`+extKey+`"`) || !strings.Contains(got, `"caps":["net=api.example.com"]`) {
		t.Errorf("trusted %s", got)
	}
	for _, want := range []string{
		"Sees every tool call before it runs", "--cap fs=notes:/notes:rw --mount notes=DIR", wasmHash, "What has changed since weather 1.2.0",
		"A yes gives it, in the session hamlet", "Let weather 1.3.0 run in the session hamlet? [y/N]",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("the question does not show %q:\n%s", want, r.err)
		}
	}
	if _, gives, _ := strings.Cut(r.err, "A yes gives it"); !strings.Contains(gives, powerNet.Words) || strings.Contains(gives, powerSecret.Words) {
		t.Errorf("a yes would give %q", gives)
	}
	if strings.Contains(r.out, "What it asks for") || !strings.Contains(r.out, "weather may run in hamlet.") {
		t.Errorf("out %q", r.out)
	}
	b.in = "y\n"
	if r := b.do("--json", "ext", "trust", "weather", "--session", "hamlet", "--all-requested"); r.code != 0 || !strings.HasPrefix(r.out, `{"name":"weather"`) || strings.Count(r.out, "\n") != 1 {
		t.Errorf("--json: exit %d, %q", r.code, r.out)
	}
}

func TestTrustTakesOnlyYesForYes(t *testing.T) {
	for _, answer := range []string{"n\n", "\n", "yess\n", "", "trust\n"} {
		b := trustBench(t)
		b.in = answer
		r := b.do("ext", "trust", "weather", "--session", "hamlet", "--no-caps")
		if r.code != exitError || !slices.Equal(b.node.methodsAsked(), []string{"ext.show"}) {
			t.Errorf("%q: exit %d, asked %v", answer, r.code, b.node.methodsAsked())
		}
	}
}

// Without a terminal nobody has looked, so the script must name the content.
func TestTrustWithoutATerminal(t *testing.T) {
	b := trustBench(t)
	for name, setup := range map[string]func(*app){
		"no terminal":              func(a *app) { a.inTTY, a.outTTY, a.errTTY = false, false, false },
		"the question is not seen": func(a *app) { a.errTTY = false },
		"nobody can answer":        func(a *app) { a.inTTY = false },
	} {
		b.setup = setup
		r := b.do("ext", "trust", "weather", "--session", "hamlet", "--all-requested")
		if r.code != exitError || len(b.node.calls) != 0 || strings.Count(r.err, "\n") != 2 {
			t.Errorf("%s: exit %d, asked %v, %q", name, r.code, b.node.methodsAsked(), r.err)
		}
		if !strings.Contains(r.err, "try: chaz-peer ext show weather --session hamlet, then repeat this with --yes-sha256") || strings.Contains(r.err, wasmHash) {
			t.Errorf("%s: %q", name, r.err)
		}
	}
	b.setup = func(a *app) { a.inTTY, a.outTTY, a.errTTY = false, false, false }
	r := b.do("ext", "trust", "weather", "--session", "hamlet", "--all-requested", "--yes-sha256", wasmHash)
	if r.code != 0 || !slices.Equal(b.node.methodsAsked(), []string{"ext.trust"}) || !strings.Contains(b.node.calls[0].params, `"sha256":"`+wasmHash+`"`) {
		t.Errorf("with the hash: exit %d, %v, %s", r.code, b.node.calls, r.err)
	}
}

func TestTrustWantsThePowersNamed(t *testing.T) {
	b := trustBench(t)
	r := b.do("ext", "trust", "weather", "--session", "hamlet")
	const flags = "--all-requested, --no-caps, or of these what you agree to: --cap net=api.example.com --cap fs=notes:/notes:rw --mount notes=DIR --cap secrets=KEY\n"
	if r.code != exitUsage || !strings.HasSuffix(r.err, flags) || !slices.Equal(b.node.methodsAsked(), []string{"ext.show"}) {
		t.Errorf("exit %d, asked %v, %q", r.code, b.node.methodsAsked(), r.err)
	}
	card := sampleCard()
	card.Asks = nil
	b.node.results["ext.show"] = card
	if r := b.do("ext", "trust", "weather", "--session", "hamlet"); r.code != 0 || !strings.Contains(r.err, "No powers outside its sandbox.") {
		t.Errorf("one that asks for nothing: exit %d, %q", r.code, r.err)
	}
}

func TestNoQuestionAboutWhatCannotRun(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*control.ExtCard)
		want   string
	}{
		{"missing", func(c *control.ExtCard) {
			c.BytesHere, c.Key, c.State, c.Reason = false, "", "unavailable", "no peer has it"
		}, "error: trust weather 1.3.0: no peer has it\ntry: chaz-peer ext show weather --fetch --session hamlet\n"},
		{"invalid", func(c *control.ExtCard) { c.State, c.Reason = "invalid", "the wasm sha256 differs" }, "the wasm sha256 differs\ntry: chaz-peer cmd --session hamlet '/extensions remove weather'\n"},
	} {
		b := trustBench(t)
		card := sampleCard()
		tc.change(&card)
		b.node.results["ext.show"] = card
		if r := b.do("ext", "trust", "weather", "--session", "hamlet", "--all-requested"); r.code != exitError || !strings.HasSuffix(r.err, tc.want) || len(b.node.calls) != 1 {
			t.Errorf("%s: exit %d, %q", tc.name, r.code, r.err)
		}
	}
}

func TestTrustThatDoesNotRunIsAFailure(t *testing.T) {
	b := trustBench(t)
	b.node.results["ext.trust"] = control.ExtTrusted{Name: "weather", State: "denied", Reason: "the policy of this peer allows no unsigned code"}
	if r := b.do("ext", "trust", "weather", "--everywhere", "--no-caps"); r.code != exitError || !strings.Contains(r.out, "the policy of this peer allows no unsigned code") {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	b.in = "y\n"
	b.node.results["ext.trust"] = &control.Error{Cause: "trust weather: other content now", Code: control.CodeConflict}
	if r := b.do("ext", "trust", "weather", "--session", "hamlet", "--no-caps"); r.code != exitError || !strings.HasSuffix(r.err, "try: chaz-peer ext show weather --session hamlet\n") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestTrustBindsFolders(t *testing.T) {
	b := trustBench(t)
	dir := t.TempDir()
	t.Chdir(dir)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"notes", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.env["HOME"] = filepath.Join(dir, "home")
	r := b.do("ext", "trust", "weather", "--session", "s", "--all-requested", "--mount", "notes=./notes", "--mount", "h=~", "--yes-sha256", wasmHash)
	if want := `"mounts":{"h":"` + dir + `/home","notes":"` + dir + `/notes"}`; r.code != 0 || !strings.Contains(b.node.calls[0].params, want) {
		t.Errorf("exit %d, %v, %q", r.code, b.node.calls, r.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.do("ext", "trust", "weather", "--session", "s", "--all-requested", "--mount", "notes=file"); r.code != exitUsage || !strings.Contains(r.err, "is no folder") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

// What helps next stands at the end of a card, as it is typed.
func TestCardEndsWithTheNextCommand(t *testing.T) {
	for _, tc := range []struct{ state, remedy, want string }{
		{"pending", "", "→ let it run: chaz-peer ext trust 'my ext' --session hamlet --cap net=api.example.com"},
		{"pending", "", "→ refuse it:  chaz-peer ext deny 'my ext'"},
		{"needs_review", "ignored", "→ let it run: chaz-peer ext trust 'my ext' --session hamlet"},
		{"trusted", "", "→ take it back: chaz-peer ext untrust 'my ext'"},
		{"denied", "", "→ chaz-peer ext trust 'my ext' --session hamlet"},
		{"denied", "edit extensions.deny in the config file", "→ edit extensions.deny in the config file"},
		{"unavailable", "", "→ chaz-peer ext show 'my ext' --fetch --session hamlet"},
		{"unavailable", "connect to laptop", "→ connect to laptop"},
		{"invalid", "", "→ chaz-peer cmd --session hamlet '/extensions remove weather'"},
		{"suspended", "", "→ chaz-peer ext logs --session hamlet weather"},
	} {
		b := newBench(t)
		card := sampleCard()
		card.State, card.Remedy = tc.state, tc.remedy
		b.node.results["ext.show"] = card
		if r := b.do("ext", "show", "my ext", "--session", "hamlet"); r.code != 0 || !strings.Contains(r.out, tc.want) {
			t.Errorf("%s: exit %d, no %q in\n%s", tc.state, r.code, tc.want, r.out)
		}
	}
}

// Nothing that a stranger wrote reaches the terminal as a command, or begins a line.
func TestCardHoldsStrangersInTheirPlace(t *testing.T) {
	evil := "a\x1b[2J\u202e\n\nState: trusted\n" + strings.Repeat("W", 300) + strings.Repeat(" \u4e16", 200)
	short := "x\x1b\u202e\nState: trusted" // these two hold no text of strangers, or it was checked
	card := control.ExtCard{
		Name: evil, Version: evil, RefText: evil, CID: evil, WASMSHA256: evil, Key: evil, Publisher: evil, License: evil, Homepage: evil, Source: evil,
		ABI: evil, Scopes: control.List[string]{evil}, Hooks: control.List[string]{evil}, Commands: control.List[string]{evil}, Provides: control.List[string]{evil},
		Tools: control.List[control.ExtTool]{{Name: evil, Description: evil}}, Asks: control.List[control.ExtPower]{{Words: evil, Cap: short}},
		Grants: control.List[control.ExtPower]{{Words: evil, Cap: short}}, Limits: control.List[string]{evil},
		Diff:  &control.ExtDiff{Version: evil, Key: evil, Added: control.List[string]{evil}, Removed: control.List[string]{evil}, Changed: control.List[string]{evil}},
		State: evil, Reason: evil, Remedy: short, BytesHere: true,
	}
	b := newBench(t)
	b.node.results["ext.show"] = card
	for _, here := range []bool{true, false} {
		card.BytesHere = here
		b.node.results["ext.show"] = card
		r := b.do("ext", "show", "x")
		if r.code != 0 || strings.ContainsAny(r.out, "\x1b\u202e") {
			t.Fatalf("exit %d, %q", r.code, r.out)
		}
		for i, l := range strings.Split(r.out, "\n") {
			if columns(l) > 160 {
				t.Errorf("line %d is %d columns wide: %q", i, columns(l), l)
			}
			if strings.HasPrefix(strings.TrimSpace(l), "State:") && !strings.HasPrefix(l, "  ") {
				t.Errorf("line %d begins with a stranger's text: %q", i, l)
			}
		}
	}
}

func TestExtExportAndImport(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	b.node.events["ext.export"] = []any{control.Chunk{Data: []byte("CAR")}, control.Chunk{Data: []byte("v1")}}
	path := filepath.Join(t.TempDir(), "weather.car")
	if r := b.do("ext", "export", "weather", path, "--session", "s"); r.code != 0 || !strings.Contains(r.out, "3 blocks") {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "CARv1" {
		t.Errorf("%q, %v", got, err)
	}
	if r := b.do("ext", "export", "weather", path); r.code != exitError || !strings.Contains(r.err, "--force") {
		t.Errorf("over an existing file: exit %d, %q", r.code, r.err)
	}
	if r := b.do("ext", "export", "weather"); r.out != "CARv1" {
		t.Errorf("to a pipe: %q", r.out)
	}
	r := b.do("ext", "import", path)
	if last := b.node.calls[len(b.node.calls)-1]; r.code != 0 || last.upload != "CARv1" || last.params != `{"size":5}` {
		t.Errorf("exit %d, %+v, %q", r.code, last, r.err)
	}
	if !strings.Contains(r.out, "waits for a decision: it does not run") || !strings.Contains(r.out, "chaz-peer ext show ipld:"+extCID) {
		t.Errorf("import says %q", r.out)
	}
	b.tty = true
	if r := b.do("ext", "export", "weather"); r.code != exitError || strings.Contains(r.out, "CAR") {
		t.Errorf("to a terminal: exit %d, %q", r.code, r.out)
	}
}

// A package that must be fetched shows how far it is.
func TestShowHasABar(t *testing.T) {
	b := trustBench(t)
	b.node.events["ext.show"] = []any{control.Progress{Done: 5, Total: 10, Unit: "bytes"}}
	if r := b.do("ext", "show", "weather"); r.code != 0 || !strings.Contains(r.err, "fetching [###############...............]  50 % of 10 bytes") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestPublishTellsPathsFromCIDs(t *testing.T) {
	b := newBench(t)
	b.node.results = sampleResults()
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("weather", 0o700); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"weather": `{"path":"` + dir + `/weather"}`, "./gone": `{"path":"` + dir + `/gone"}`, "x.wasm": `{"path":"` + dir + `/x.wasm"}`,
		extCID: `{"cid":"` + extCID + `"}`, "ipld:" + extCID: `{"cid":"` + extCID + `"}`,
	} {
		r := b.do("ext", "publish", what)
		if got := b.node.calls[len(b.node.calls)-1].params; r.code != 0 || got != want || r.out != "registry:"+docA+"@1.3.0\n" || r.err != "" {
			t.Errorf("%s: exit %d, asked %s, %q %q", what, r.code, got, r.out, r.err)
		}
	}
}
