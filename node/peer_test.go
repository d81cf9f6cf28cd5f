package node_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// patience bounds every wait; it is far more than any of them takes.
const patience = 60 * time.Second

// part is an extension of a test: what it says of itself and what it is.
type part struct {
	d  extension.Declaration
	is func(s extension.ScopeContext) *extension.Instance
}

func (p part) Declaration() extension.Declaration { return p.d }

func (p part) Instantiate(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
	return p.is(s), nil
}

// newPart is one that lives at Global and is compiled into a host of the given version.
func newPart(name, version string, is *extension.Instance) part {
	kinds := is.Hooks.Kinds()
	if len(is.Tools) > 0 {
		kinds = append(kinds, extension.HookTool)
	}
	d := extension.Declaration{Manifest: extension.Manifest{Name: name, Ref: extension.BuiltinRef(name, version), Hooks: kinds}}
	return part{d, func(extension.ScopeContext) *extension.Instance { return is }}
}

// peer is a node of a test and a client of it.
type peer struct {
	t    *testing.T
	name string
	cfg  node.Config
	n    *node.Node
	c    *control.Client
	stop context.CancelFunc // nil: offline
	done chan error
}

// newPeer opens a node in a home of its own. It is closed with the test.
func newPeer(t *testing.T, name string, cfg node.Config) *peer {
	cfg.Home, cfg.Name, cfg.Listen = t.TempDir(), name, []string{"/ip4/127.0.0.1/tcp/0"}
	p := &peer{t: t, name: name, cfg: cfg}
	p.open()
	t.Cleanup(p.close)
	return p
}

func (p *peer) open() {
	p.t.Helper()
	var err error
	if p.n, err = node.Open(context.Background(), p.cfg); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	if p.c, err = control.InProcess(p.n.Methods(), nil); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// online runs the node until it is closed.
func (p *peer) online() *peer {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.done = stop, make(chan error, 1)
	n, ready, done := p.n, make(chan struct{}), p.done
	go func() { done <- n.Run(ctx, p.cfg.Home, func(node.Ready) { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		stop()
		p.stop = nil
		p.t.Fatalf("%s does not run: %v", p.name, err)
	}
	return p
}

func (p *peer) close() {
	p.t.Helper()
	if p.stop != nil {
		p.stop()
		if err := <-p.done; err != nil {
			p.t.Errorf("%s ended: %v", p.name, err)
		}
		p.stop = nil
	}
	if err := p.n.Close(); err != nil {
		p.t.Errorf("close %s: %v", p.name, err)
	}
}

// again closes the node and opens its home with other extensions; it is online again if it was.
func (p *peer) again(exts ...extension.Extension) {
	p.t.Helper()
	was := p.stop != nil
	p.close()
	p.cfg.Extensions = exts
	p.open()
	if was {
		p.online()
	}
}

// ask calls a method that must succeed.
func ask[P, R any](p *peer, e control.Endpoint[P, R], q P) R {
	p.t.Helper()
	r, err := try(p, e, q)
	if err != nil {
		p.t.Fatalf("%s: %s %+v: %v", p.name, e.Name(), q, err)
	}
	return r
}

func try[P, R any](p *peer, e control.Endpoint[P, R], q P) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return control.Call(ctx, p.c, e, q)
}

// refused calls a method that must fail with a code.
func refused[P, R any](p *peer, e control.Endpoint[P, R], q P, code control.Code, words ...string) {
	p.t.Helper()
	_, err := try(p, e, q)
	var said *control.Error
	if !errors.As(err, &said) || said.Code != code {
		p.t.Fatalf("%s: %s %+v: %v; want code %s", p.name, e.Name(), q, err, code)
	}
	for _, w := range words {
		if !strings.Contains(said.Cause, w) {
			p.t.Errorf("%s: %s: %q does not mention %q", p.name, e.Name(), said.Cause, w)
		}
	}
}

// until asks again and again until ok is content with the answer.
func until[P, R any](p *peer, e control.Endpoint[P, R], q P, what string, ok func(R) bool) R {
	p.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); ; <-look.C {
		r, err := try(p, e, q)
		if err == nil && ok(r) {
			return r
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: never %s: %+v, %v", p.name, what, r, err)
		}
	}
}

// cmd runs a slash command on the session "room" and checks its beginning.
func (p *peer) cmd(line, want string) {
	p.t.Helper()
	if r := ask(p, control.RunCmd, control.CmdParams{Session: room, Line: line}); !r.OK || !strings.HasPrefix(r.Output, want) {
		p.t.Errorf("%s: %s: %+v; want %q", p.name, line, r, want)
	}
}

// room is the session of these tests.
const room = "room"

// share gives the session, or the agent of a name, to another peer that is online, with write.
func (p *peer) share(to *peer) {
	p.t.Helper()
	p.shareAs(to, "write")
}

func (p *peer) shareAs(to *peer, role string) {
	p.t.Helper()
	ticket := ask(p, control.SessionShare, control.SessionShareParams{Session: room, ShareOptions: control.ShareOptions{Role: role}})
	j := ask(to, control.SessionJoin, control.JoinParams{Ticket: ticket.Ticket, WaitMS: patience.Milliseconds()})
	if j.State != control.StateReady {
		p.t.Fatalf("%s joins: %+v", to.name, j)
	}
}

// stored waits until the other peer has all of the session that this one has.
func (p *peer) stored() {
	p.t.Helper()
	ask(p, control.SessionWait, control.SessionWaitParams{Session: room, StoredOn: 2, TimeoutMS: patience.Milliseconds()})
}

// turn starts the session here, as the first turn does, and returns the effective set.
func (p *peer) turn() []string {
	p.t.Helper()
	return ask(p, control.ShowContext, control.ContextParams{Session: room}).Active
}

func (p *peer) call(tool, args string) control.ToolCalled {
	p.t.Helper()
	return ask(p, control.ToolCall, control.ToolCallParams{Session: room, Tool: tool, Args: []byte(args)})
}

// heads are the session's; equal heads are equal content.
func (p *peer) heads() []string {
	p.t.Helper()
	h := ask(p, control.SessionDetails, control.SessionShowParams{Session: room}).Heads
	slices.Sort(h)
	return h
}

// agree waits until both have the same.
func agree(a, b *peer) {
	a.t.Helper()
	until(a, control.SessionDetails, control.SessionShowParams{Session: room}, "agrees with "+b.name, func(s control.SessionShow) bool {
		slices.Sort(s.Heads)
		return slices.Equal(s.Heads, b.heads())
	})
}

// state is what a peer's session says of an extension: version, on or off, state. Empty: nothing.
func (p *peer) state(name string) string {
	p.t.Helper()
	for _, e := range ask(p, control.SessionDetails, control.SessionShowParams{Session: room}).Extensions {
		if e.Name != name {
			continue
		}
		ref, err := extension.ParseRef(e.Ref)
		if err != nil {
			p.t.Fatal(err)
		}
		on := "off"
		if e.SessionActive {
			on = "on"
		}
		return ref.Version() + " " + on + " " + e.State
	}
	return ""
}

func (p *peer) wantState(name, want string) {
	p.t.Helper()
	if got := p.state(name); got != want {
		p.t.Errorf("%s: %s is %q; want %q", p.name, name, got, want)
	}
}
