package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

func TestNewChecks(t *testing.T) {
	for name, c := range map[string]struct {
		abi    string
		change func(*Module)
		want   string // "" is taken
	}{
		"plain":              {extension.ABIExtismV1, func(*Module) {}, ""},
		"other bytes":        {extension.ABIExtismV1, func(m *Module) { m.WASM = []byte("x") }, "SHA-256"},
		"unknown interface":  {"chaz-ext-2", func(*Module) {}, "not one that this version knows"},
		"no interface":       {"", func(*Module) {}, "not one that this version knows"},
		"hooks in v1":        {extension.ABIExtismV1, func(m *Module) { m.Decl.Hooks = []extension.HookKind{extension.HookToolCall} }, "tools only"},
		"commands in v2":     {extension.ABIExtismV2, func(m *Module) { m.Commands = []DeclaredCommand{{Name: "x"}} }, "tools only"},
		"provides in v2":     {extension.ABIExtismV2, func(m *Module) { m.Provides = []string{"memory"} }, "tools only"},
		"provides":           {extension.ABIChaz1, func(m *Module) { m.Provides = []string{"memory", "acme/a.b-c_1/d"} }, ""},
		"host-only":          {extension.ABIChaz1, func(m *Module) { m.Provides = []string{"agent_state_admin"} }, "only the host provides"},
		"unknown capability": {extension.ABIChaz1, func(m *Module) { m.Provides = []string{"memmory"} }, "neither"},
		"bad id":             {extension.ABIChaz1, func(m *Module) { m.Provides = []string{"acme//x"} }, "neither"},
		"command with slash": {extension.ABIChaz1, func(m *Module) { m.Commands = []DeclaredCommand{{Name: "/x"}} }, "no single word"},
		"bad host":           {extension.ABIExtismV1, func(m *Module) { m.Caps.Net = []string{"*"} }, "capabilities.net"},
		"bad tool":           {extension.ABIExtismV1, func(m *Module) { m.Tools = []DeclaredTool{{Name: "a b"}} }, "name"},
		"tool twice":         {extension.ABIExtismV1, func(m *Module) { m.Tools = []DeclaredTool{{Name: "a"}, {Name: "a"}} }, "twice"},
	} {
		m := module(c.abi)
		c.change(&m)
		_, err := New(goGuest{}, m, Services{})
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" {
			wants(t, err, "make extension", c.want)
		}
	}
}

func TestDeclarationIsCompleted(t *testing.T) {
	m := module(extension.ABIChaz1)
	m.Commands = []DeclaredCommand{{Name: "demo"}}
	m.Provides = []string{"memory", "acme/x"}
	m.Caps = extension.GuestCaps{Memory: "read", Messenger: true}
	m.Decl.Requests = []extension.Request{{Kind: extension.CapMemory, Provider: "memory"}}
	x, err := New(goGuest{}, m, Services{})
	if err != nil {
		t.Fatal(err)
	}
	d := x.Declaration()
	if !slices.Equal(d.Hooks, []extension.HookKind{extension.HookTool, extension.HookCommand}) || !slices.Equal(d.Commands, []string{"demo"}) ||
		!slices.Equal(d.Provides, []extension.Capability{extension.CapMemory}) || len(d.Requests) != 2 || d.Requests[1].Kind != extension.CapMessenger {
		t.Errorf("%+v", d)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if len(m.Decl.Hooks) > 0 {
		t.Error("the module of the caller changed")
	}
	m.Commands, m.Tools = nil, []DeclaredTool{}
	if x, err = New(goGuest{}, m, Services{}); err != nil || len(x.Declaration().Hooks) > 0 {
		t.Errorf("without tools and commands: %v, %v", x.Declaration().Hooks, err)
	}
}

// options keeps what a pool was opened with.
type options struct {
	goGuest
	got *engine.Options
}

func (o options) Compile(context.Context, []byte) (Compiled, error) { return o, nil }

func (o options) Open(ctx context.Context, opt engine.Options) (Pool, error) {
	*o.got = opt
	return o.goGuest.Open(ctx, opt)
}

func TestMounts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got engine.Options
	guest := options{goGuest{"describe": says(`{"tools":[]}`)}, &got}
	mount := func(id, path string) extension.GuestMount {
		return extension.GuestMount{ID: id, Path: path, Write: true}
	}
	for name, c := range map[string]struct {
		fs   []extension.GuestMount
		want string
	}{
		"none": {nil, ""}, "one": {[]extension.GuestMount{mount("notes", "/notes")}, ""},
		"not bound": {[]extension.GuestMount{mount("photos", "/p")}, "bound to no folder"},
		"not there": {[]extension.GuestMount{mount("gone", "/p")}, "open folder"},
		"the root":  {[]extension.GuestMount{mount("notes", "/a/..")}, "not absolute, or the root"},
		"relative":  {[]extension.GuestMount{mount("notes", "notes")}, "not absolute"},
		"same path": {[]extension.GuestMount{mount("notes", "/n"), mount("more", "/n/")}, "another has the path"},
	} {
		w := newWorld()
		w.services.Mounts = map[string]string{"notes": dir, "more": dir, "gone": filepath.Join(dir, "gone")}
		m := module(extension.ABIExtismV1)
		m.Caps.FS = c.fs
		x, err := New(guest, m, w.services)
		if err != nil {
			t.Fatal(name, err)
		}
		i, err := x.Instantiate(t.Context(), w.scope())
		if c.want != "" {
			wants(t, err, c.want)
			continue
		}
		if err != nil || len(got.Mounts) != len(c.fs) {
			t.Fatalf("%s: %+v, %v", name, got.Mounts, err)
		}
		if name == "one" {
			root := got.Mounts["/notes"]
			if b, err := root.Dir.ReadFile("a.txt"); err != nil || string(b) != "inside" || !root.Write {
				t.Errorf("%q, %v", b, err)
			}
		}
		if err := i.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if name == "one" {
			if _, err := got.Mounts["/notes"].Dir.Open("."); err == nil {
				t.Error("the folder is still open")
			}
		}
	}
}

func TestLimits(t *testing.T) {
	m := module(extension.ABIExtismV1)
	if l := m.limits(); l.Memory != 64<<20 || l.Deadline != 5000 || l.Output != 1<<20 || l.Fuel <= 0 || l.Vars != 256<<10 || l.Exchange != 64<<20 {
		t.Errorf("defaults: %+v", l)
	}
	m.Limits = extension.GuestLimits{MemoryBytes: 1 << 20, FuelPerCall: 7, DeadlineMS: 600_000, OutputBytes: 9}
	if l := m.limits(); l.Memory != 1<<20 || l.Deadline != 60_000 || l.Output != 9 || l.Fuel != 7 {
		t.Errorf("stated: %+v", l)
	}
}

// broken is a runtime that fails a number of times.
type broken struct {
	goGuest
	left *int
}

func (b broken) Compile(context.Context, []byte) (Compiled, error) {
	if *b.left--; *b.left >= 0 {
		return nil, errors.New("no space")
	}
	return b.goGuest, nil
}

func TestCompilingIsTriedAgain(t *testing.T) {
	left := 1
	x, err := New(broken{goGuest{"describe": says(`{"tools":[{"name":"t"}]}`)}, &left}, module(extension.ABIExtismV1), Services{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	_, err = x.Instantiate(t.Context(), w.scope())
	wants(t, err, "instantiate demo: no space")
	if i := w.build(t, x); len(i.Tools) != 1 {
		t.Error("the second attempt brings nothing")
	}
	if _, err := x.Instantiate(t.Context(), extension.GlobalContext{}); err == nil {
		t.Error("it lives at a scope that it does not declare")
	}
}

func TestLogs(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIExtismV1)
	m.Caps.Secrets = []string{"API_KEY"}
	x, i := w.live(t, goGuest{
		"describe": says(`{"tools":[{"name":"t"}]}`),
		"call": func(ctx context.Context, h engine.Host, _ []byte) ([]byte, error) {
			key, _ := h.Config(ctx, "API_KEY")
			h.Log("info", "the key is "+key+"\nand\x1b[31m \u202ered\r\n")
			return nil, &engine.GuestError{Code: 1, Text: "bad key " + key}
		},
	}, m)
	_, err := w.run(t, i, "demo__t", `{}`)
	wants(t, err, "bad key [secret API_KEY]")
	want := []LogLine{{"info", "the key is [secret API_KEY]"}, {"info", `and\u{1b}[31m \u{202e}red`}}
	if got := x.Logs(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, e := range w.audit.list {
		if strings.Contains(fmt.Sprint(e), "hunter2") {
			t.Errorf("the audit tells a secret: %+v", e)
		}
	}
}

func TestSecretsDoNotLeaveByTheHost(t *testing.T) {
	w := newWorld()
	m := module(extension.ABIChaz1)
	m.Caps = extension.GuestCaps{Secrets: []string{"API_KEY"}, SessionWrite: true, Settings: "write", Memory: "write", Messenger: true}
	guest := oneOp()
	ask := guest[exportToolCall]
	guest[exportToolCall] = func(ctx context.Context, h engine.Host, in []byte) ([]byte, error) {
		key, err := chazCall(ctx, h, `{"op":"secret","name":"API_KEY"}`)
		if err != nil {
			return nil, err
		}
		return ask(ctx, h, bytes.ReplaceAll(in, []byte(`"KEY"`), key))
	}
	_, i := w.live(t, guest, m)
	for op, want := range map[string]string{
		`{"op":"session.send","text":"KEY"}`: "", `{"op":"messenger.send","text":"KEY"}`: "", `{"op":"memory.remember","key":"k","value":"KEY"}`: "",
		`{"op":"settings.set","key":"k","value":{"a":"KEY"}}`: "holds a secret", `{"op":"cap","id":"KEY"}`: "[secret API_KEY]",
	} {
		_, err := w.run(t, i, "demo__op", op)
		if want == "" && err != nil {
			t.Errorf("%s: %v", op, err)
		}
		if want != "" {
			wants(t, err, want)
		}
	}
	if denied := w.audit.with(OpCap, Denied); len(denied) != 1 || denied[0].Target != "[secret API_KEY]" {
		t.Errorf("the audit has %+v", denied)
	}
	if all := fmt.Sprintf("%s %v %v", w.session.entries, w.memory.rows, w.settings.set); strings.Contains(all, "hunter2") || strings.Count(all, "[secret API_KEY]") != 3 {
		t.Errorf("written down: %s", all)
	}
}

func TestRedactor(t *testing.T) {
	r := new(redactor)
	r.add("PIN", "123")
	r.add("SHORT", "hunter2")
	r.add("LONG", "hunter2-extended")
	r.add("PEM", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----")
	for in, want := range map[string]string{
		"123": "123", "a hunter2-extended b hunter2": "a [secret LONG] b [secret SHORT]", "MIIEvQIBADANBgkqhkiG": "[secret PEM]", "": "",
	} {
		if got := r.hide(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestRingIsBounded checks that whatever is logged, the newest lines are there, on one line each, and no
// more than the bounds.
func TestRingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := new(ring)
		var last string
		for _, text := range rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Just(strings.Repeat("x\n", 300)), rapid.Just(strings.Repeat("\x1b", 50_000)), rapid.Just(strings.Repeat(strings.Repeat("y", 1000)+"\n", 100))), 1, 20).Draw(t, "texts") {
			r.add("info", text+"END")
			last = text + "END"
		}
		lines, size := r.lines(), 0
		for _, l := range lines {
			size += len(l.Text)
			if strings.ContainsFunc(l.Text, func(r rune) bool { return r != '\t' && r != '�' && invisible(r) }) || len(l.Text) > maxLine+20 {
				t.Fatalf("line %q", l.Text)
			}
		}
		if len(lines) == 0 || len(lines) > maxLines || size > maxLogBytes {
			t.Fatalf("%d lines, %d bytes", len(lines), size)
		}
		if end := lines[len(lines)-1].Text; !strings.HasSuffix(end, "END") && len(last) < maxLine/10 {
			t.Fatalf("the last line is %q", end)
		}
	})
	r := new(ring)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				r.add("info", "x")
				r.lines()
			}
		})
	}
	wg.Wait()
}
