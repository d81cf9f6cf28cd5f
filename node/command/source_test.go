package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/command"
)

// shop sells what it has by the text that asks for it.
type shop struct {
	goods map[string]extension.Ref
	note  string
	asked []string
	d     *desk
}

func (s *shop) Resolve(_ context.Context, c command.Call, text string) (extension.Ref, string, error) {
	if c.Session != s.d.session || c.Agent.ID != s.d.agent.ID {
		return extension.Ref{}, "", fmt.Errorf("asked for another call")
	}
	s.asked = append(s.asked, text)
	ref, ok := s.goods[text]
	if !ok {
		return extension.Ref{}, "", errors.New("there is no such\tthing")
	}
	return ref, s.note, nil
}

// withShop is a started desk whose peer can load code.
func withShop(t *testing.T, goods map[string]extension.Ref) (*desk, *shop) {
	t.Helper()
	d := started(t)
	s := &shop{goods: goods, d: d}
	d.cfg.Sources = s
	d.runner = command.New(d.cfg)
	return d, s
}

func TestAddBySource(t *testing.T) {
	one, two := extension.IPLDRef("notes", "bafyone"), extension.IPLDRef("notes", "bafytwo")
	d, s := withShop(t, map[string]extension.Ref{"./dir": one, "ipld:bafytwo": two})
	n := d.rows(d.session)
	s.note = "It needs trust here:\n  `ext trust notes`\x1b[2J\n"
	out := d.want("/extensions add ./dir", command.Text, "Activated notes [bafyone]", "next agent turn", "trusts")
	if !strings.HasSuffix(out, "\nIt needs trust here:\n  `ext trust notes`[2J") {
		t.Errorf("the note is missing: %q", out)
	}
	d.want("/extensions", command.Text, "✗ notes [bafyone] — —  [unavailable]")
	d.want("/extensions add ./dir session", command.Text, "notes [bafyone] is already active", "It needs trust")
	if got := d.rows(d.session) - n; got != 1 {
		t.Errorf("%d rows", got)
	}
	s.note = ""
	if out := d.want("/extensions add ipld:bafytwo", command.Text, "Replaced notes [bafyone] by [bafytwo]"); strings.Contains(out, "\n") {
		t.Errorf("%q", out)
	}
	d.want("/extensions", command.Text, "✗ notes [bafytwo]")
	d.want("/extensions history notes", command.Text, "notes on this session: on. 2 events")
	d.want("/extensions remove notes", command.Text, "Deactivated notes")
	d.want("/extensions add notes", command.Text, "Activated notes") // by name: the last reference
	d.want("/extensions", command.Text, "✗ notes [bafytwo]")
	d.want("/extensions remove notes", command.Text)
	d.want("!chaz extensions add ./dir", command.Text, "Activated notes [bafyone]")
}

func TestWhatIsASource(t *testing.T) {
	ref := extension.GitRef("notes", "r", "1")
	for line, asked := range map[string]string{
		"./dir":                              "./dir",
		".":                                  ".",
		"../x session":                       "../x",
		"/abs/dir":                           "/abs/dir",
		"a.wasm":                             "a.wasm",
		"ipld:bafy":                          "ipld:bafy",
		"git:https://x/y@01#path=a":          "git:https://x/y@01#path=a",
		"registry:doc@1.0":                   "registry:doc@1.0",
		`'./my dir'`:                         "./my dir",
		`"./it's here"   session`:            "./it's here",
		`'say "hi".wasm'`:                    `say "hi".wasm`,
		"notes":                              "",
		"agent":                              "",
		"'plain'":                            "",
		"'my dir'":                           "",
		"wasm":                               "",
		"it's":                               "",
		strings.Repeat("x", 200) + "/\u202e": strings.Repeat("x", 200) + "/\u202e",
	} {
		d, s := withShop(t, map[string]extension.Ref{asked: ref})
		r := d.run("/extensions add " + line)
		got := strings.Join(s.asked, "|")
		if got != asked || r.OK() != (asked != "") {
			t.Errorf("%s: asked for %q; want %q: %s %s", line, got, asked, r.Kind, r.Output)
		}
		if asked == "" && !strings.Contains(r.Output, "unknown extension") {
			t.Errorf("%s: %s", line, r.Output)
		}
	}
	d, s := withShop(t, nil)
	for _, line := range []string{"'./dir", `"`, "''", "'./a'b", "./a b", "./a Agent", "./a session agent", "'./a' b", "'./a' './b'"} {
		d.want("/extensions add "+line, command.Usage, "usage: /extensions add", "ipld:<cid>")
	}
	d.want("/extensions remove ./dir", command.Error, "unknown extension './dir'")
	if len(s.asked) != 0 {
		t.Errorf("asked for %q", s.asked)
	}
}

func TestSourcesThatAreRefused(t *testing.T) {
	d, s := withShop(t, map[string]extension.Ref{
		"x:builtin":  extension.BuiltinRef("notes", "1"),
		"x:reserved": extension.IPLDRef("memory", "b"),
		"x:mcp":      extension.IPLDRef("mcp-x", "b"),
		"x:name":     extension.IPLDRef("No Name", "b"),
		"x:ours":     extension.IPLDRef("house", "b"),
		"x:none":     {},
		"x:good":     extension.IPLDRef("notes", "b"),
	})
	d.cfg.Declarations = append(d.cfg.Declarations, extension.Declaration{Manifest: extension.Manifest{Name: "house", Ref: extension.BuiltinRef("house", "1")}})
	d.runner = command.New(d.cfg)
	n := d.rows(d.session)
	for text, part := range map[string]string{
		"x:builtin":          "no code by reference",
		"x:reserved":         "reserved",
		"x:mcp":              "reserved",
		"x:name":             "the name must be",
		"x:ours":             "compiled into this peer",
		"x:none":             "the name must be",
		"x:nix\u202e\x1b[2J": "add x:nix[2J: there is no such",
	} {
		d.want("/extensions add "+text, command.Error, part)
	}
	asked := len(s.asked)
	d.want("/extensions add x:good agent", command.Error, "leave out `agent`")
	session := d.session
	d.session = d.agent.ID
	d.want("/extensions add x:good", command.Error, "not a session")
	d.session = session
	if len(s.asked) != asked || d.rows(d.session) != n {
		t.Error("what is refused was read, or written")
	}
	d.want("/extensions add x:good", command.Text, "Activated notes")
	d.cfg.Sources = nil
	d.runner = command.New(d.cfg)
	d.want("/extensions add x:good", command.Error, "this peer can't load extensions by reference")
}

// TestSuspendedCodeComesBackByItsSource is the other half of an add, as by name.
func TestSuspendedCodeComesBackByItsSource(t *testing.T) {
	ref := extension.GitRef("notes", "r", "1")
	d, _ := withShop(t, map[string]extension.Ref{"./dir": ref})
	live := newStage(d, "")
	d.cfg.Live = live
	d.runner = command.New(d.cfg)
	d.run("/extensions add ./dir")
	x := guest("notes", "1", false)
	x.crash = true
	if err := live.hub.InstallIn(t.Context(), d.session, x); err != nil {
		t.Fatal(err)
	}
	d.states[extension.Git] = command.Standing{State: command.StateTrusted}
	for range 3 {
		d.want("/notes", command.Error, "panicked")
	}
	d.want("/extensions", command.Text, "✗ notes [1] — —  [suspended]")
	d.want("/extensions add ./dir", command.Text, "may run again")
	d.want("/extensions", command.Text, "✓ notes [1] — —")
	d.want("/extensions add ./dir", command.Text, "already active")
}
