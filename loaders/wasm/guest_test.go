package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// buildGuest compiles a folder of testdata with the public PDK.
func buildGuest(t testing.TB, name string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func built(t testing.TB, name, abi string) Module {
	m := module(abi)
	m.WASM = buildGuest(t, name)
	m.SHA256 = sha256.Sum256(m.WASM)
	m.Limits.DeadlineMS = 20_000 // under the race detector, too
	return m
}

func newRuntime(t testing.TB) Runtime {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return FromEngine(e)
}

// TestRealGuests runs guests that were written with the public PDK in the real sandbox.
func TestRealGuests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles three guests of several MB")
	}
	rt := newRuntime(t)
	v1, v2, chaz := built(t, "mcpv1", extension.ABIExtismV1), built(t, "mcpv2", extension.ABIExtismV2), built(t, "chaz", extension.ABIChaz1)
	t.Run("SameDenial", func(t *testing.T) { sameDenial(t, rt, v1, v2, chaz) })
	t.Run("Failures", func(t *testing.T) { failures(t, rt, v1) })
	t.Run("Config", func(t *testing.T) { configAndLogs(t, rt, v1) })
	t.Run("Growing", func(t *testing.T) { growing(t, rt, v2) })
	t.Run("Chaz", func(t *testing.T) { everything(t, rt, chaz) })
	t.Run("Files", func(t *testing.T) { files(t, rt, chaz) })
	t.Run("Conformance", func(t *testing.T) { conformance(t, rt, v1, chaz) })
	t.Run("WrongInterface", func(t *testing.T) {
		m := v1
		m.ABI = extension.ABIExtismV2
		x, err := New(rt, m, Services{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Instantiate(t.Context(), newWorld().scope())
		wants(t, err, "list tools", "no such function")
		m = chaz
		m.ABI = extension.ABIExtismV2
		if x, err = New(rt, m, Services{}); err != nil {
			t.Fatal(err)
		}
		_, err = x.Instantiate(t.Context(), newWorld().scope())
		wants(t, err, "chaz_host")
	})
}

func sameDenial(t *testing.T, rt Runtime, v1, v2, chaz Module) {
	n := newInternet(t, http.HandlerFunc(hello))
	for _, c := range []struct {
		m          Module
		tool, args string
	}{
		{v1, "demo__get", `{"url":"http://public.example/"}`},
		{v2, "demo__get", `{"text":"http://public.example/"}`},
		{chaz, "demo__op", `{"op":{"op":"http","url":"http://public.example/"}}`},
	} {
		w := newWorld()
		w.services.HTTP = n.config()
		_, i := w.live(t, rt, c.m)
		_, err := w.run(t, i, c.tool, c.args)
		wants(t, err, "not granted: net public.example; declare it under capabilities.net")
		if len(w.audit.with(OpNet, Denied)) != 1 || len(n.dials()) > 0 {
			t.Errorf("%s: the audit has %+v, dialled %v", c.m.ABI, w.audit.list, n.dials())
		}
		c.m.Caps.Net = []string{"public.example"}
		_, i = w.live(t, rt, c.m)
		if out, err := w.run(t, i, c.tool, c.args); err != nil || !strings.Contains(out, "hello GET public.example") {
			t.Errorf("%s with the grant: %q, %v", c.m.ABI, out, err)
		}
		n.forget()
	}
}

// failures makes a guest fail in every way, and each time goes on with it.
func failures(t *testing.T, rt Runtime, m Module) {
	m.Limits = extension.GuestLimits{DeadlineMS: 3000, MemoryBytes: 32 << 20}
	w := newWorld()
	_, i := w.live(t, rt, m)
	for how, want := range map[string]string{
		"trap": "trap", "spin": "deadline passed", "exit": "ended itself", "eat": "memory limit", "flood": "limit", "garbage": "not as the interface asks",
		"utf8": "not valid UTF-8", "null": "not as the interface asks", "words": "failed as asked: words",
	} {
		began := time.Now()
		out, err := w.run(t, i, "demo__fail", `{"how":"`+how+`"}`)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.80q, %v; want %q", how, out, err, want)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s took %s", how, took)
		}
		if out, err := w.run(t, i, "demo__log", `{"text":"hi"}`); err != nil || out != "logged" {
			t.Errorf("after %s: %q, %v", how, out, err)
		}
	}
}

func configAndLogs(t *testing.T, rt Runtime, m Module) {
	w := newWorld()
	w.settings.set = map[string]json.RawMessage{"tone": []byte(`"warm"`)}
	m.Caps.Secrets, m.Caps.Settings = []string{"API_KEY"}, extension.GuestRead
	x, i := w.live(t, rt, m)
	for key, want := range map[string]string{"tone": "warm", "API_KEY": "[secret API_KEY]", "none": "(nothing)"} {
		if out, err := w.run(t, i, "demo__config", `{"key":"`+key+`"}`); err != nil || out != want {
			t.Errorf("%s: %q, %v", key, out, err)
		}
	}
	if _, err := w.run(t, i, "demo__log", `{"text":"it is hunter2-hunter2"}`); err != nil {
		t.Fatal(err)
	}
	if l := x.Logs(); len(l) != 2 || l[0] != (LogLine{"warn", "it is [secret API_KEY]"}) || l[1] != (LogLine{"stdout", "printed it is [secret API_KEY]"}) {
		t.Errorf("logs %q", l)
	}
}

// growing is a list of tools that grows after a call.
func growing(t *testing.T, rt Runtime, m Module) {
	tools, refused, err := Discover(t.Context(), rt, m)
	if err != nil || len(tools) != 5 || len(refused) != 0 {
		t.Fatal(tools, refused, err)
	}
	w := newWorld()
	m.ToolPrint = Fingerprint(tools)
	x, i := w.live(t, rt, m)
	for tool, want := range map[string]string{"elicit": `{"action":"decline"}`, "roots": `{"roots":[]}`} {
		if out, err := w.run(t, i, "demo__"+tool, `{}`); err != nil || out != want {
			t.Errorf("%s: %q, %v", tool, out, err)
		}
	}
	_, err = w.run(t, i, "demo__sample", `{}`)
	wants(t, err, "not granted: asking a model")
	if len(w.drift) > 0 {
		t.Fatalf("drift %q", w.drift)
	}
	if out, err := w.run(t, i, "demo__grow", `{}`); err != nil || out != "grown" {
		t.Fatalf("%q, %v", out, err)
	}
	if len(w.drift) != 1 || !strings.Contains(w.drift[0], "the tool extra was not there") {
		t.Errorf("drift %q", w.drift)
	}
	if l := x.Logs(); len(l) == 0 || l[0] != (LogLine{"info", "growing"}) {
		t.Errorf("logs %q", l)
	}
}

// full grants and declares everything.
func full(m Module) Module {
	m.Version = "1"
	m.Decl.Scopes = []extension.Scope{extension.Global, extension.PerAgent, extension.PerSession}
	m.Decl.Hooks = []extension.HookKind{
		extension.HookToolCall, extension.HookToolResult, extension.HookBeforeAgentStart, extension.HookAgentEnd, extension.HookSessionStart, extension.HookSessionShutdown,
	}
	m.Decl.Settings = map[string]any{"tone": "calm"}
	m.Commands = []DeclaredCommand{{Name: "demo", Help: "repeats"}}
	m.Provides = []string{"memory", "messenger", "context_tail", "prompt_augmentation", "status_segment", "acme/translate"}
	m.Caps = extension.GuestCaps{
		Settings: "write", SessionRead: -1, SessionWrite: true, KV: 1000, Memory: "write", Messenger: true, Caps: []string{"acme/shout"},
		Hooks: map[extension.HookKind]extension.GuestHook{"tool_call": "modify", "tool_result": "modify", "before_agent_start": "modify"},
	}
	return m
}

func everything(t *testing.T, rt Runtime, m Module) {
	w := newWorld()
	m = full(m)
	x, i := w.live(t, rt, m)
	ctx := t.Context()
	for op, want := range map[string]string{
		`{"op":"session.send","text":"hi"}`: `{"id":"entry-1"}`, `{"op":"cap","id":"acme/shout","call":"say","input":"x"}`: `say:`, `{"op":"kv.list"}`: `[]`,
	} {
		if out, err := w.run(t, i, "demo__op", `{"op":`+op+`}`); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v", op, out, err)
		}
	}
	d, err := i.Hooks.ToolCall(ctx, w.call, extension.ToolCallInput{Tool: "shell", Args: []byte(`{"line":"ls"}`)})
	if err != nil || d.Verdict != extension.Modify || string(d.Args) != `{"line":"true"}` {
		t.Errorf("tool_call: %+v, %v", d, err)
	}
	if d, err = i.Hooks.ToolCall(ctx, w.call, extension.ToolCallInput{Tool: "x", Args: []byte(`{"a":"secret"}`)}); err != nil || d.Verdict != extension.Deny || d.Reason != "no secrets" {
		t.Errorf("tool_call: %+v, %v", d, err)
	}
	if r, err := i.Hooks.ToolResult(ctx, w.call, extension.ToolResultInput{Tool: "x", Result: "plain"}); err != nil || r.Treatment != extension.Annotate || r.Text != "seen by demo" {
		t.Errorf("tool_result: %+v, %v", r, err)
	}
	if l, err := i.Hooks.BeforeAgentStart(ctx, w.call); err != nil || len(l) != 1 || l[0].Content != "mind the gap" {
		t.Errorf("before_agent_start: %v, %v", l, err)
	}
	if err := i.Hooks.SessionStart(ctx, extension.Call{Session: w.call.Session}); err != nil {
		t.Errorf("session_start: %v", err)
	}
	if v, err := w.services.KV.Get(ctx, w.call.Session.String(), "started"); err != nil || string(v) != "true" {
		t.Errorf("session_start left %s, %v", v, err)
	}
	if out, err := i.Commands[0].Run(ctx, w.call, "it all"); err != nil || out != "/demo it all" {
		t.Errorf("command: %q, %v", out, err)
	}
	w.settings.set = map[string]json.RawMessage{"tone": []byte(`"warm"`)}
	if out, err := i.ContextTail(ctx, extension.Turn{Session: w.call.Session}); err != nil || out != `tail in tone "warm"` {
		t.Errorf("tail: %q, %v", out, err)
	}
	caller := extension.WithCaller(ctx, w.call)
	if rows, err := i.Memory.Search(caller, extension.MemoryQuery{Text: "sea"}); err != nil || len(rows) != 1 || !strings.Contains(rows[0].Value, "sea") {
		t.Errorf("search: %v, %v", rows, err)
	}
	if id, err := i.Messenger.Send(caller, crdt.DocID{3}, "hi", "message"); err != nil || id != "sent" {
		t.Errorf("send: %q, %v", id, err)
	}
	if out, err := i.Caps["acme/translate"](caller, "to_upper", []byte(`"x"`)); err != nil || string(out) != `"\"X\""` {
		t.Errorf("translate: %s, %v", out, err)
	}
	global, err := x.Instantiate(ctx, extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(global.Routine(ctx, extension.Fire{Routine: "daily", Scope: "global"}), global.Shutdown(ctx)); err != nil {
		t.Errorf("routine and shutdown: %v", err)
	}
	if l := x.Logs(); len(l) != 2 || l[0].Text != "fired daily" || l[1].Text != "good bye" {
		t.Errorf("logs %q", l)
	}
}

func files(t *testing.T, rt Runtime, m Module) {
	inside, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{inside, outside} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text of "+dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "a.txt"), filepath.Join(inside, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		w := newWorld()
		w.services.Mounts = map[string]string{"notes": inside}
		m.Caps.FS = []extension.GuestMount{{ID: "notes", Path: "/notes", Write: write}}
		_, i := w.live(t, rt, m)
		if out, err := w.run(t, i, "demo__read", `{"path":"/notes/a.txt"}`); err != nil || out != "text of "+inside {
			t.Errorf("read: %q, %v", out, err)
		}
		for _, path := range []string{"/notes/link.txt", "/notes/../../etc/hostname", "/etc/hostname", outside + "/a.txt"} {
			if out, err := w.run(t, i, "demo__read", `{"path":"`+path+`"}`); err == nil {
				t.Errorf("%s was read: %q", path, out)
			}
			_, _ = w.run(t, i, "demo__write", `{"path":"`+path+`","text":"pwned"}`) // what it changed is looked at below
		}
		_, err := w.run(t, i, "demo__write", `{"path":"/notes/b.txt","text":"new"}`)
		if write != (err == nil) {
			t.Errorf("write %v: %v", write, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(outside, "a.txt")); err != nil || string(b) != "text of "+outside {
		t.Errorf("outside is %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(inside, "b.txt")); err != nil || string(b) != "new" {
		t.Errorf("inside is %q, %v", b, err)
	}
}

// conformance runs what every extension must do.
func conformance(t *testing.T, rt Runtime, v1, chaz Module) {
	for _, m := range []Module{v1, full(chaz)} {
		t.Run(m.ABI, func(t *testing.T) {
			w := newWorld()
			m.Limits.DeadlineMS = 1000 // "fail" spins if it is asked to
			x, err := New(rt, m, w.services)
			if err != nil {
				t.Fatal(err)
			}
			extensiontest.Run(t, x, extensiontest.Handles{
				Session: doc{id: w.call.Session}, Agent: w.call.Agent, AgentDoc: doc{id: w.call.Agent.ID}, Limit: time.Minute,
			})
		})
	}
}

// BenchmarkCall is one tool call by the whole path: gate, limits, sandbox, checks of the answer.
func BenchmarkCall(b *testing.B) {
	w := newWorld()
	x, err := New(newRuntime(b), built(b, "mcpv1", extension.ABIExtismV1), w.services)
	if err != nil {
		b.Fatal(err)
	}
	i, err := x.Instantiate(b.Context(), w.scope())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := i.Tools[1].Run(b.Context(), w.call, []byte(`{"key":"tone"}`)); err != nil {
			b.Fatal(err)
		}
	}
	if err := i.Shutdown(context.Background()); err != nil {
		b.Fatal(err)
	}
}
