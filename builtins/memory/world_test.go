package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// actor is one agent of one peer in one session, with the peer's instance of the extension.
type actor struct {
	t       testing.TB
	peer    *banktest.Peer
	ext     extension.Extension
	global  *extension.Instance
	session crdt.DocID
	agent   extension.Agent
}

func newActor(t testing.TB, p *banktest.Peer, session crdt.DocID, a extension.Agent) *actor {
	t.Helper()
	x := &actor{t: t, peer: p, ext: New(), session: session, agent: a}
	var err error
	if x.global, err = x.ext.Instantiate(context.Background(), extension.GlobalContext{Peer: p.Handles}); err != nil {
		t.Fatal(err)
	}
	return x
}

// room builds the instance of the session.
func (x *actor) room() *extension.Instance {
	x.t.Helper()
	i, err := x.ext.Instantiate(context.Background(), extension.SessionContext{
		Peer: x.peer.Handles, Doc: x.peer.Document(x.session), Settings: x.peer.Settings(name, x.session),
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return i
}

func (x *actor) tail(i *extension.Instance) string {
	x.t.Helper()
	out, err := i.ContextTail(context.Background(), extension.Turn{Session: x.session, Agent: x.agent})
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

func (x *actor) call(tool string, args map[string]any) (string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, t := range x.global.Tools {
		if t.Name == tool {
			return t.Run(context.Background(), x.peer.Call(name, x.session, x.agent), text)
		}
	}
	return "", fmt.Errorf("no tool %s", tool)
}

func (x *actor) remember(key, value string, more ...any) {
	x.t.Helper()
	args := map[string]any{"key": key, "value": value}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	if _, err := x.call("remember", args); err != nil {
		x.t.Fatal(err)
	}
	x.peer.Clock.Advance(time.Second)
}

// recall returns the keys that were found, in order, and the whole answer.
func (x *actor) recall(query string, more ...any) (keys, answer string) {
	x.t.Helper()
	args := map[string]any{"query": query}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	answer, err := x.call("recall", args)
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(answer) {
		if key, _, ok := strings.Cut(line, ": "); ok {
			out = append(out, key)
		}
	}
	return strings.Join(out, " "), answer
}

func (x *actor) do(line string) (string, error) {
	return x.global.Commands[0].Run(context.Background(), x.peer.Call(name, x.session, x.agent), line)
}

func (x *actor) says(line, want string) string {
	x.t.Helper()
	out, err := x.do(line)
	if err != nil || !strings.Contains(out, want) {
		x.t.Fatalf("/memory %s: %q, %v; want %q", line, out, err, want)
	}
	return out
}

func alone(t testing.TB) *actor {
	t.Helper()
	p := banktest.NewNet().Peer(t, 1)
	nova := p.NewAgent("nova")
	return newActor(t, p, p.NewSession(nova), nova)
}
