package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

// reader is one agent of one peer in one session.
type reader struct {
	t       *testing.T
	peer    *banktest.Peer
	ext     extension.Extension
	log     *bytes.Buffer
	global  *extension.Instance
	session crdt.DocID
	agent   extension.Agent
	tools   []string
}

func newReader(t *testing.T, p *banktest.Peer, session crdt.DocID, a extension.Agent) *reader {
	t.Helper()
	log := &bytes.Buffer{}
	x := &reader{t: t, peer: p, ext: New(slog.New(slog.NewTextHandler(log, nil))), log: log, session: session, agent: a, tools: []string{"shell", "skill_show"}}
	var err error
	if x.global, err = x.ext.Instantiate(context.Background(), extension.GlobalContext{Peer: p.Handles}); err != nil {
		t.Fatal(err)
	}
	return x
}

func alone(t *testing.T, dirs ...string) *reader {
	t.Helper()
	p := banktest.NewNet().Peer(t, 1)
	p.Handles.SkillDirs = dirs
	nova := p.NewAgent("nova")
	return newReader(t, p, p.NewSession(nova), nova)
}

func (x *reader) call(tool string, args map[string]any) (string, error) {
	x.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, t := range x.global.Tools {
		if t.Name == tool {
			return t.Run(context.Background(), x.peer.Call(name, x.session, x.agent, x.tools...), text)
		}
	}
	x.t.Fatalf("no tool %s", tool)
	return "", nil
}

// gives calls a tool that must answer a text.
func (x *reader) gives(want, tool string, args map[string]any) {
	x.t.Helper()
	if got, err := x.call(tool, args); err != nil || got != want {
		x.t.Errorf("%s %v:\ngot  %s, %v\nwant %s", tool, args, got, err, want)
	}
}

func (x *reader) does(line string) string {
	x.t.Helper()
	out, err := x.global.Commands[0].Run(context.Background(), x.peer.Call(name, x.session, x.agent), line)
	if err != nil {
		x.t.Fatalf("/skills %s: %v", line, err)
	}
	return out
}

// catalogue is what a fresh session instance adds to the system prompt.
func (x *reader) catalogue() string {
	x.t.Helper()
	i, err := x.ext.Instantiate(context.Background(), extension.SessionContext{
		Peer: x.peer.Handles, Doc: x.peer.Document(x.session), Settings: x.peer.Settings(name, x.session),
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return x.augment(i)
}

func (x *reader) augment(i *extension.Instance) string {
	x.t.Helper()
	out, err := i.PromptAugmentation(context.Background(), extension.Turn{Session: x.session, Agent: x.agent, Tools: x.tools})
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func skillRow(name, description string, at int, more ...any) map[string]any {
	r := map[string]any{"name": name, "description": description, "body": "body of " + description, "timestamp": at, "tags": []string{}}
	for i := 0; i < len(more); i += 2 {
		r[more[i].(string)] = more[i+1]
	}
	return r
}

func TestSkillsOnDisk(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, first, "b.md", "---\nname: pdf\ndescription: Read PDF files\ntriggers: [PDF, forms]\n---\nUse pdftotext.")
	write(t, first, "a.md", "---\nname: zip\n---\nUse unzip.")
	write(t, second, "a.md", "---\nname: pdf\ndescription: another\n---\nNo.")
	write(t, second, "c.md", "---\nname: needy\nrequires_tools: [web_fetch, shell, browse]\n---\nFetch.")
	write(t, second, "notes.txt", "---\nname: notes\n---\n")
	write(t, second, "bad.md", "no front matter")
	write(t, second, "huge.md", "---\nname: huge\n---\n"+strings.Repeat("x", maxFile))
	write(t, second, "full.md", "---\nname: full\n---\n"+strings.Repeat("x", maxFile-len("---\nname: full\n---\n")))
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "---\nname: secret\n---\npassword")
	if err := os.Symlink(secret, filepath.Join(second, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(second, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(second, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := alone(t, filepath.Join(first, "not there"), first, second)

	x.gives(`1. zip
2. pdf: Read PDF files; triggers: PDF, forms
3. needy; can't be used, it needs tools that you do not have: browse, web_fetch
4. full`, "skill_list", nil)
	x.gives(`1. pdf: Read PDF files; triggers: PDF, forms`, "skill_search", map[string]any{"query": " FORM "})
	x.gives(`1. zip`, "skill_search", map[string]any{"query": "ZI"})
	x.gives(`None of the 4 skills fits nothing.`, "skill_search", map[string]any{"query": "nothing"})
	x.gives(`{"text":"Use pdftotext.","name":"pdf","description":"Read PDF files"}`, "skill_show", map[string]any{"name": "pdf"})
	x.gives(`There is no skill secret; skill_list lists those that there are.`, "skill_show", map[string]any{"name": "secret"})
	x.gives(`The skill needy can't be used: it needs tools that you do not have: browse, web_fetch.`, "skill_show", map[string]any{"name": "needy"})
	if _, err := x.call("skill_search", map[string]any{"query": " "}); !errors.Is(err, extension.ErrArgument) {
		t.Errorf("an empty query: %v", err)
	}
	if out, err := x.call("skill_show", map[string]any{"name": "full"}); err != nil || strings.Contains(out, "…") {
		t.Errorf("the largest file is shown whole: %d bytes, %v", len(out), err)
	}
	for _, file := range []string{"bad.md", "huge.md", "link.md", "pipe.md", "folder.md"} {
		if strings.Count(x.log.String(), "/"+file+" cause=") != 1 {
			t.Errorf("%s is not in the log once:\n%s", file, x.log)
		}
	}
	for _, file := range []string{"a.md", "b.md", "full.md", "notes.txt"} {
		if strings.Contains(x.log.String(), file) {
			t.Errorf("%s is in the log:\n%s", file, x.log)
		}
	}
	write(t, first, "late.md", "---\nname: late\n---\n")
	if got := x.catalogue(); strings.Contains(got, "late") || !strings.Contains(got, "- zip\n- pdf: Read PDF files\n- full") {
		t.Errorf("files are read once: %s", got)
	}
}

func TestCatalogue(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "z.md", "---\nname: z-disk\ndescription: on disk\n---\n")
	write(t, dir, "need.md", "---\nname: needy\nrequires_tools: [web_fetch]\n---\n")
	x := alone(t, dir)
	granted, lent := x.peer.NewBank(crdt.SkillBank, "zeta"), x.peer.NewBank(crdt.SkillBank, "alpha")
	x.peer.AddRows(x.agent.ID, "skills", skillRow("own", "of the agent", 1), skillRow("z-disk", "of the agent too", 9))
	x.peer.AddRows(granted, "skills", skillRow("granted", "of zeta", 1), skillRow("own", "of zeta", 5))
	x.peer.AddRows(lent, "skills", skillRow("b", "of alpha", 1), skillRow("a", "first\nof alpha\x1b[2J", 1), skillRow("a", "newer", 2))
	x.does("grant zeta nova read")

	const head = "## Skills\nBefore a task that one of these covers, read it with skill_show and follow it.\n"
	want := head + `- z-disk: on disk
- own: of the agent
- granted: of zeta (bank zeta)`
	if got := x.catalogue(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	before, err := x.ext.Instantiate(t.Context(), extension.SessionContext{
		Peer: x.peer.Handles, Doc: x.peer.Document(x.session), Settings: x.peer.Settings(name, x.session),
	})
	if err != nil {
		t.Fatal(err)
	}
	x.does("attach alpha")
	if got := x.augment(before); got != want {
		t.Errorf("an instance keeps what it was built with: %s", got)
	}
	want += "\n- a: newer (bank alpha)\n- b: of alpha (bank alpha)"
	if got := x.catalogue(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := strings.Count(x.log.String(), "skill=needy missing=web_fetch"); n != 1 {
		t.Errorf("a skill that lacks a tool was warned of %d times:\n%s", n, x.log)
	}
	x.tools = append(x.tools, "web_fetch")
	if got := x.catalogue(); !strings.Contains(got, "- needy\n") {
		t.Errorf("with its tool the skill is there: %s", got)
	}
	x.gives("{\"text\":\"body of newer\",\"name\":\"a\",\"description\":\"newer\"}", "skill_show", map[string]any{"name": "a"})
	x.gives("1. own: of the agent", "skill_search", map[string]any{"query": "own"}) // not that of zeta: the first of a name counts
	x.does("revoke zeta nova")
	x.does("detach alpha")
	if got := x.catalogue(); strings.Contains(got, "zeta") || strings.Contains(got, "alpha") {
		t.Errorf("taken back: %s", got)
	}
	x.agent = extension.Agent{ID: crdt.DocID{1}, Name: "ghost"}
	if got := x.catalogue(); got != head+"- needy\n- z-disk: on disk" {
		t.Errorf("an agent that is not hosted here has what is on disk: %s", got)
	}
}

func TestNothingToTell(t *testing.T) {
	x := alone(t)
	if got := x.catalogue(); got != "" {
		t.Errorf("a catalogue of nothing: %q", got)
	}
	x.gives("There are no skills.", "skill_list", nil)
	x.gives("None of the 0 skills fits a.", "skill_search", map[string]any{"query": "a"})
}

func TestHostileSkills(t *testing.T) {
	x := alone(t)
	bankID := x.peer.NewBank(crdt.SkillBank, "wild")
	rows := []any{
		7, nil, "x",
		map[string]any{},
		skillRow("", "no name", 1), skillRow("a\nb", "two lines", 1), skillRow(" a", "blank", 1),
		skillRow(strings.Repeat("n", 65), "long name", 1), skillRow("time", "", 1, "timestamp", "now"), skillRow("body", "", 1, "body", 7),
		skillRow("tags", "", 1, "tags", make([]string, 65)), skillRow("evil", "\u202eabc\x00", 1, "body", "a\x1b[2J\nb\u202e"),
		skillRow("wordy", strings.Repeat("long ", 20_000), 1, "tags", []string{"x\ny"}),
	}
	for i := range 2_000 {
		rows = append(rows, skillRow(fmt.Sprintf("s%04d", i), strings.Repeat("d", 300), 1))
	}
	x.peer.AddRows(bankID, "skills", rows...)
	x.does("attach wild")
	got := x.catalogue()
	if len(got) > 17_000 || !strings.Contains(got, "more: skill_list and skill_search find them.") || strings.ContainsAny(got, "\x00\x1b\u202e") {
		t.Errorf("a catalogue of %d bytes: %.300q", len(got), got)
	}
	if list, err := x.call("skill_list", nil); err != nil || len(list) > 55_000 || !strings.Contains(list, "[cut here: ") || !strings.HasPrefix(list, "1. evil: �abc� (bank wild)\n2. s0000") {
		t.Errorf("a list of %d bytes, %v: %.100q", len(list), err, list)
	}
	x.gives(`{"text":"a�[2J\nb�","name":"evil","description":"�abc�"}`, "skill_show", map[string]any{"name": "evil"})
	if out, err := x.call("skill_search", map[string]any{"query": "wordy"}); err != nil || len(out) > 3_000 || strings.Contains(out, "\n") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestBankOfAnotherPeer(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	shared := a.NewBank(crdt.SkillBank, "shared")
	a.AddRows(shared, "skills", skillRow("deploy", "how we ship", 1, "tags", []string{"Release"}))
	ticket, err := a.Handles.SkillBanks.Sharing().Share(t.Context(), shared, crdt.Read)
	if err != nil {
		t.Fatal(err)
	}
	nova := b.NewAgent("nova")
	x := newReader(t, b, b.NewSession(nova), nova)
	if out := x.does("import " + ticket + " read"); !strings.Contains(out, "Imported the skill bank shared") {
		t.Fatal(out)
	}
	x.gives("There are no skills.", "skill_list", nil) // nobody granted it yet
	x.does("grant shared nova read")
	x.gives("1. deploy: how we ship (bank shared); triggers: Release", "skill_search", map[string]any{"query": "release"})
	a.AddRows(shared, "skills", skillRow("deploy", "how we ship now", 2))
	b.Pull(a, shared)
	x.gives("1. deploy: how we ship now (bank shared)", "skill_list", nil) // what arrives counts at once
}

func TestCommandHasNoConfig(t *testing.T) {
	x := alone(t)
	_, err := x.global.Commands[0].Run(t.Context(), x.peer.Call(name, x.session, x.agent), "config")
	if err == nil || !strings.Contains(err.Error(), "list, new, delete, grant, revoke, share, unshare, import, attach, detach") {
		t.Fatal(err)
	}
	if out := x.does("new tricks what we can do"); !strings.Contains(out, "skill bank tricks") {
		t.Fatal(out)
	}
}

func TestDeclaration(t *testing.T) {
	d := New(nil).Declaration()
	if got := strings.Join(d.ReadAtBuild, ","); got != bank.Setting || d.Name != "skills" || !d.LivesAt(extension.PerSession) || !d.LivesAt(extension.Global) {
		t.Fatalf("%+v", d)
	}
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", "---\nname: x\n---\nbody")
	p := banktest.NewNet().Peer(t, 1)
	p.Handles.SkillDirs = []string{dir}
	nova := p.NewAgent("nova")
	session := p.NewSession(nova)
	extensiontest.Run(t, New(nil), extensiontest.Handles{
		Peer: p.Handles, Session: p.Document(session), Agent: nova, AgentDoc: p.Document(nova.ID),
	})
	t.Run("WithoutHandles", func(t *testing.T) {
		extensiontest.Run(t, New(nil), extensiontest.Handles{Session: p.Document(session), Agent: nova})
	})
}
