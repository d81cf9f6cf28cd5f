package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/loaders/wasm/engine"
)

// measureCalls times one tool by every way there is to it: ours, where the module is called behind the
// active set, schemas, hooks, limits, the gate and the audit; the SDK, which calls the same module with
// the same bytes; a tool compiled in; a process of its own. It does so for a plugin that is most of the
// time itself, and for one that does next to nothing.
func measureCalls(ctx context.Context, o *options, g guests, t *table) error {
	progress("calls")
	b, err := newBed(ctx, place(o, "calls"), nil)
	if err != nil {
		return err
	}
	if err := hub.Fatal(b.hub.Install(ctx, []extension.Extension{compiled{}})); err != nil {
		return err
	}
	large, err := os.ReadFile(g.plugin)
	if err != nil {
		return err
	}
	want, err := vowels(mustArgs())
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name, label, tool, want string
		module                  []byte
	}{{"plugin", "Go plugin, 3 MB", "vowels", want, large}, {"tiny", "plugin under 1 kB", "say", "said", tinyPlugin("tiny")}} {
		arms, done, err := callArms(ctx, b, p.name, p.tool, p.module)
		if err == nil {
			list := []*arm{arms.held, arms.written, arms.bare, arms.sdk}
			if p.want == want {
				list = append(list, arms.compiled, arms.stdio)
			}
			err = takeTurns(o.calls, p.want, list)
		}
		if err = errors.Join(err, done()); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		arms.rows(t, p.label)
	}
	return errors.Join(thirdParty(ctx, o, b, g, t), b.close())
}

func mustArgs() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"text":%q}`, said))
}

type allArms struct{ held, written, bare, sdk, compiled, stdio *arm }

func (a allArms) rows(t *table, label string) {
	sdk := "the same module through the Extism SDK"
	t.add(row{what: "T2 warm tool call, whole path, audit in memory", against: sdk, size: label, pairs: a.held.against(a.sdk), unit: inTime, aim: 0.5})
	t.add(row{what: "T2 the same with the audit durable: two synced commits", against: sdk, size: label, pairs: a.written.against(a.sdk), unit: inTime})
	t.add(row{what: "T2 the module alone in our engine, with limits", against: sdk, size: label, pairs: a.bare.against(a.sdk), unit: inTime})
	if len(a.compiled.took) == 0 {
		return
	}
	t.add(row{what: "T2 warm tool call, whole path, audit in memory", against: "the same tool compiled in, same path", size: label, pairs: a.held.against(a.compiled), unit: inTime})
	t.add(row{what: "T2 warm tool call, whole path, audit in memory", against: "a server over pipes, JSON lines, nothing checked", size: label, pairs: a.held.against(a.stdio), unit: inTime})
}

func callArms(ctx context.Context, b *bed, name, tool string, module []byte) (a allArms, done func() error, err error) {
	done = func() error { return nil }
	ref, err := b.pack(ctx, name, module)
	if err != nil {
		return a, done, err
	}
	x, err := b.load(ctx, ref, extension.GuestLimits{})
	if err != nil {
		return a, done, err
	}
	doc, turn, err := b.seat(ctx, x, compiled{})
	if err != nil {
		return a, done, err
	}
	held, err1 := newCaller(&heldAudit{}, doc, turn, name+"__"+tool)
	written, err2 := newCaller(writtenAudit{b.repo}, doc, turn, name+"__"+tool)
	native, err3 := newCaller(&heldAudit{}, doc, turn, "compiled")
	sdk, err4 := sdkPlugin(ctx, module, 0)
	pool, err5 := b.pool(ctx, module)
	server, err6 := startServer(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return a, done, err
	}
	done = func() error { turn.Release(); return errors.Join(sdk.Close(ctx), server.stop()) }
	args := mustArgs()
	input := []byte(fmt.Sprintf(`{"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args))
	a.held = &arm{name: "whole path", every: 1, run: func() (string, error) { return held.call(ctx, args) }}
	a.written = &arm{name: "durable", every: 10, run: func() (string, error) { return written.call(ctx, args) }}
	a.compiled = &arm{name: "compiled in", every: 1, run: func() (string, error) { return native.call(ctx, args) }}
	a.bare = &arm{name: "engine", every: 1, run: func() (string, error) { return answer(pool.Call(ctx, "call", input)) }}
	a.sdk = &arm{name: "sdk", every: 1, run: func() (string, error) {
		_, out, err := sdk.Call("call", input)
		return answer(out, err)
	}}
	a.stdio = &arm{name: "server over pipes", every: 10, run: func() (string, error) { return answer(server.call(input)) }}
	return a, done, nil
}

// pool opens a module in the engine with the usual limits.
func (b *bed) pool(ctx context.Context, module []byte) (*engine.Pool, error) {
	return openPool(ctx, b.engine, module, engineLimits())
}

func openPool(ctx context.Context, e *engine.Engine, module []byte, l engine.Limits) (*engine.Pool, error) {
	m, err := e.Compile(ctx, module)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Open(ctx, engine.Options{Name: "bench", Limits: l, Host: noHost{}})
}

// noHost is a host that has nothing.
type noHost struct{}

var errNothing = errors.New("this host has nothing")

func (noHost) Config(context.Context, string) (string, bool) { return "", false }
func (noHost) Log(string, string)                            {}

func (noHost) HTTP(context.Context, engine.HTTPRequest) (engine.HTTPResponse, error) {
	return engine.HTTPResponse{}, errNothing
}

func (noHost) User(context.Context, string, []byte) ([]byte, error) { return nil, errNothing }

// engineLimits are the usual ones, with fuel without end, where a row is about time.
func engineLimits() engine.Limits {
	return engine.Limits{Memory: 64 << 20, Fuel: 1 << 60, Deadline: 60_000, Output: 1 << 20, Vars: 256 << 10, Exchange: 64 << 20}
}

// answer reads the text of a tool's result.
func answer(out []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(out, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("read %.80q: %w", out, err)
	}
	return r.Content[0].Text, nil
}

// thirdParty times a module that others wrote and compiled, in the engine alone: it is no plugin with
// tools.
func thirdParty(ctx context.Context, o *options, b *bed, g guests, t *table) error {
	module, err := os.ReadFile(g.vowels)
	if err != nil {
		return err
	}
	pool, err := b.pool(ctx, module)
	if err != nil {
		return err
	}
	sdk, err := sdkPlugin(ctx, module, 0)
	if err != nil {
		return err
	}
	count := func(out []byte, err error) (string, error) {
		var r struct{ Count int }
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		return fmt.Sprint(r.Count), err
	}
	want := 0
	for _, r := range said {
		if strings.ContainsRune("aeiou", r) {
			want++
		}
	}
	ours := &arm{name: "engine", every: 1, run: func() (string, error) { return count(pool.Call(ctx, "count_vowels", []byte(said))) }}
	theirs := &arm{name: "sdk", every: 1, run: func() (string, error) {
		_, out, err := sdk.Call("count_vowels", []byte(said))
		return count(out, err)
	}}
	if err := takeTurns(o.calls, fmt.Sprint(want), []*arm{ours, theirs}); err != nil {
		return err
	}
	t.add(row{what: "T2 the module alone in our engine, with limits", against: "the same module through the Extism SDK", size: "count_vowels", pairs: ours.against(theirs), unit: inTime})
	return errors.Join(sdk.Close(ctx), pool.Close(ctx))
}

// server is a process that answers one line of JSON with one line, as tool servers over pipes do.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startServer(ctx context.Context) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.CommandContext(ctx, self, "-child", "server")}
	s.cmd.Stderr = os.Stderr
	in, err1 := s.cmd.StdinPipe()
	out, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *server) call(line []byte) ([]byte, error) {
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return s.out.ReadBytes('\n')
}

func (s *server) stop() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// serveLines is the other side.
func serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var q struct {
			Params struct{ Arguments json.RawMessage }
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		n, err := vowels(q.Params.Arguments)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, `{"content":[{"type":"text","text":%q}]}`+"\n", n); err != nil {
			return err
		}
	}
	return lines.Err()
}
