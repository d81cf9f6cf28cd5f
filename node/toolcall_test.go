package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// sayer is an extension with the tool say, which repeats up to twelve letters, and what it saw.
type sayer struct {
	runs, shutdowns atomic.Int32
	// inside is told of a call of "wait", which then waits for goOn.
	inside, goOn chan struct{}
}

func newSayer() *sayer {
	return &sayer{inside: make(chan struct{}), goOn: make(chan struct{})}
}

func (s *sayer) Declaration() extension.Declaration {
	return extension.Declaration{
		Manifest: extension.Manifest{Name: "sayer", Ref: extension.BuiltinRef("sayer", "1.0.0"), Hooks: []extension.HookKind{extension.HookTool}},
		Scopes:   []extension.Scope{extension.PerSession},
	}
}

func (s *sayer) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	run := func(ctx context.Context, _ extension.Call, args json.RawMessage) (string, error) {
		s.runs.Add(1)
		var a struct{ Text string }
		if err := json.Unmarshal(args, &a); err != nil {
			return "", err
		}
		switch a.Text {
		case "fail":
			return "", errors.New("the voice broke")
		case "panic":
			panic("stage fright")
		case "wait":
			s.inside <- struct{}{}
			select {
			case <-s.goOn:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return a.Text, nil
	}
	return &extension.Instance{
		Tools: []extension.Tool{{
			Name: "say", Run: run,
			Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":12}},"required":["text"]}`),
		}},
		Shutdown: func(context.Context) error { s.shutdowns.Add(1); return nil },
	}, nil
}

// checker is an extension with a tool_call hook.
func checker(name string, enforcing bool, hook func(ctx context.Context, text string) (extension.CallDecision, error)) extension.Extension {
	x := newPart(name, "1.0.0", &extension.Instance{Hooks: extension.Hooks{
		ToolCall: func(ctx context.Context, _ extension.Call, t extension.ToolCallInput) (extension.CallDecision, error) {
			var a struct{ Text string }
			if t.Tool != "say" {
				return extension.CallDecision{}, nil
			}
			if err := json.Unmarshal(t.Args, &a); err != nil {
				return extension.CallDecision{}, err
			}
			return hook(ctx, a.Text)
		},
	}})
	x.d.Enforcing = enforcing
	return x
}

func modify(args string) (extension.CallDecision, error) {
	return extension.CallDecision{Verdict: extension.Modify, Args: json.RawMessage(args)}, nil
}

// censor decides by the text of the call; stuck is how long it hangs although it was cancelled.
func censor(stuck <-chan struct{}) func(context.Context, string) (extension.CallDecision, error) {
	return func(ctx context.Context, text string) (extension.CallDecision, error) {
		switch text {
		case "deny":
			return extension.CallDecision{Verdict: extension.Deny, Reason: "not on this stage"}, nil
		case "ask":
			return extension.CallDecision{Verdict: extension.Ask, Reason: "the director must know"}, nil
		case "rewrite":
			return modify(`{"text":"rewritten"}`)
		case "number":
			return modify(`{"text":7}`)
		case "long":
			return modify(`{"text":"much longer than twelve letters"}`)
		case "empty":
			return modify(`{}`)
		case "no object":
			return modify(`"text"`)
		case "hook fails":
			return extension.CallDecision{}, errors.New("the censor is ill")
		case "hook panics":
			panic("the censor fell")
		case "hang":
			<-ctx.Done()
			return extension.CallDecision{Verdict: extension.Deny, Reason: "too late"}, ctx.Err()
		case "stuck":
			<-stuck
			return extension.CallDecision{Verdict: extension.Deny, Reason: "far too late"}, nil
		case "verdict":
			return extension.CallDecision{Verdict: "perhaps"}, nil
		}
		return extension.CallDecision{}, nil
	}
}

// entries reads the session.
func (p *peer) entries() []control.Entry {
	p.t.Helper()
	var out []control.Entry
	_, err := control.CallStream(context.Background(), p.c, control.SessionLog, control.SessionLogParams{Session: room}, nil,
		func(e control.Entry) error { out = append(out, e); return nil })
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// wantAudit checks that the session holds one result behind each call, and that they are these.
func (p *peer) wantAudit(calls [][2]string) {
	p.t.Helper()
	var got []string
	for _, e := range p.entries() {
		if e.EntryType == "tool_call" || e.EntryType == "tool_result" {
			got = append(got, e.EntryType+" "+e.Content)
		}
	}
	var want []string
	for _, c := range calls {
		want = append(want, "tool_call "+c[0], "tool_result "+c[1])
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("audit entries:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A tool call through the API, with hooks of every manner, answers and is written down.
func TestToolCallHooks(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	s := newSayer()
	p := newPeer(t, "a", node.Config{
		Extensions: []extension.Extension{s, checker("censor", false, censor(stuck))}, Timings: hub.Timings{Hook: 100 * time.Millisecond},
	})
	t.Cleanup(func() { close(stuck) }) // before the node is closed
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	var audit [][2]string
	for _, c := range []struct{ text, status, output string }{
		{"hail", "ok", "hail"},
		{"deny", "denied", "Error: the call was denied by the extension censor: not on this stage"},
		{"ask", "denied", "Error: the call needs approval, and there is nobody to ask."},
		{"rewrite", "ok", "rewritten"},
		{"number", "denied", "censor"},
		{"long", "denied", "censor"},
		{"empty", "denied", "censor"},
		{"no object", "denied", "censor"},
		{"hook fails", "ok", "hook fails"},
		{"hook panics", "ok", "hook panics"},
		{"hang", "ok", "hang"},
		{"stuck", "ok", "stuck"},
		{"verdict", "ok", "verdict"},
		{"fail", "error", "the voice broke"},
		{"panic", "error", "stage fright"},
		{"more than twelve", "invalid", "maxLength"},
	} {
		before := s.runs.Load()
		got := p.call("say", fmt.Sprintf(`{"text":%q}`, c.text))
		if got.Status != c.status || !strings.Contains(got.Output, c.output) {
			t.Errorf("%s: %+v; want %s %q", c.text, got, c.status, c.output)
		}
		if ran := s.runs.Load() - before; (ran == 1) != (c.status == "ok" || c.status == "error") {
			t.Errorf("%s: the tool ran %d times", c.text, ran)
		}
		if changed := slices.Contains(got.ChangedBy, "censor"); changed != (c.text == "rewrite") {
			t.Errorf("%s: changed by %v", c.text, got.ChangedBy)
		}
		audit = append(audit, [2]string{fmt.Sprintf(`say({"text":%q})`, c.text), "say " + got.Status + ": " + got.Output})
	}
	// Where a person says yes, an ask lets the call through.
	yes := ask(p, control.ToolCall, control.ToolCallParams{Session: room, Tool: "say", Args: []byte(`{"text":"ask"}`), Approve: true})
	if yes.Status != "ok" || yes.Output != "ask" {
		t.Errorf("approved: %+v", yes)
	}
	audit = append(audit, [2]string{`say({"text":"ask"})`, "say ok: ask"})
	if got := p.call("sing", "{}"); got.Status != "unknown" {
		t.Errorf("a tool that is not there: %+v", got)
	}
	audit = append(audit, [2]string{"sing({})", `sing unknown: Error: there is no tool named "sing" here.`})
	p.wantAudit(audit)
}

// An enforcing extension whose hook fails keeps the call from running.
func TestAnEnforcingHookFailsClosed(t *testing.T) {
	t.Parallel()
	s := newSayer()
	stuck := make(chan struct{})
	p := newPeer(t, "a", node.Config{
		Extensions: []extension.Extension{s, checker("guard", true, censor(stuck))}, Timings: hub.Timings{Hook: 100 * time.Millisecond},
	})
	t.Cleanup(func() { close(stuck) })
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	if got := p.call("say", `{"text":"hail"}`); got.Status != "ok" {
		t.Fatalf("%+v", got)
	}
	for _, text := range []string{"hook fails", "hook panics", "hang", "stuck", "verdict"} {
		if got := p.call("say", fmt.Sprintf(`{"text":%q}`, text)); got.Status != "denied" || !strings.Contains(got.Output, "guard") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if n := s.runs.Load(); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	// Removed from the session it enforces nothing.
	p.cmd("/extensions remove guard", "Deactivated guard")
	if got := p.call("say", `{"text":"hang"}`); got.Status != "ok" {
		t.Errorf("%+v", got)
	}
}

// A removal counts from the next call on: one that runs ends as it began, and then its instance ends.
func TestToolOfARemovedExtension(t *testing.T) {
	t.Parallel()
	s := newSayer()
	p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{s}}).online()
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	done := make(chan control.ToolCalled, 1)
	go func() {
		r, err := try(p, control.ToolCall, control.ToolCallParams{Session: room, Tool: "say", Args: []byte(`{"text":"wait"}`)})
		if err != nil {
			r.Output = err.Error()
		}
		done <- r
	}()
	<-s.inside
	p.cmd("/extensions remove sayer", "Deactivated sayer")
	p.wantTool("say", "")
	if n := s.shutdowns.Load(); n != 0 {
		t.Errorf("shut down %d times below a call that runs", n)
	}
	close(s.goOn)
	if r := <-done; r.Status != "ok" || r.Output != "wait" {
		t.Errorf("the call that ran: %+v", r)
	}
	until(p, control.GetID, control.IDParams{}, "shut down", func(control.ID) bool { return s.shutdowns.Load() == 1 })
	var kinds []string
	for _, e := range p.entries() {
		kinds = append(kinds, e.EntryType+" "+e.Content)
	}
	want := []string{
		`tool_call say({"text":"wait"})`, "tool_call say({})", `tool_result say unknown: Error: there is no tool named "say" here.`, "tool_result say ok: wait",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q", kinds)
	}
}

// What another peer removed is gone with the row's arrival, and comes back with the next.
func TestToolRemovedOnAnotherPeer(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	here, there := newSayer(), newSayer()
	a := newPeer(t, "a", node.Config{Extensions: []extension.Extension{there, checker("censor", false, censor(stuck))}}).online()
	b := newPeer(t, "b", node.Config{Extensions: []extension.Extension{here, checker("censor", false, censor(stuck))}}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	say := func(text, status string) {
		t.Helper()
		if got := b.call("say", fmt.Sprintf(`{"text":%q}`, text)); got.Status != status {
			t.Errorf("say %s: %+v; want %s", text, got, status)
		}
	}
	say("hail", "ok")
	say("deny", "denied")
	a.cmd("/extensions remove censor", "Deactivated censor")
	a.stored()
	say("deny", "ok")
	a.cmd("/extensions remove sayer", "Deactivated sayer")
	a.stored()
	say("hail", "unknown")
	until(b, control.GetID, control.IDParams{}, "shut down", func(control.ID) bool { return here.shutdowns.Load() == 1 })
	a.cmd("/extensions add sayer", "Activated sayer")
	a.cmd("/extensions add censor", "Activated censor")
	a.stored()
	say("deny", "denied")
	say("hail", "ok")
	if n := here.runs.Load(); n != 3 {
		t.Errorf("the tool ran %d times", n)
	}
	calls, results := 0, 0
	b.stored()
	for _, e := range a.entries() { // all of it is in the session, on the other peer too
		switch e.EntryType {
		case "tool_call":
			calls++
		case "tool_result":
			results++
		}
	}
	if calls != 6 || results != 6 {
		t.Errorf("%d calls and %d results", calls, results)
	}
}

// Whoever calls is the sender: the agent of the turn, in a session without one this peer.
func TestTheSenderOfACall(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{newSayer()}})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room, Agents: []string{}})
	p.call("say", `{"text":"hail"}`)
	ask(p, control.SessionAttach, control.AttachParams{Session: room, Agent: "chaz"})
	p.call("say", `{"text":"hail"}`)
	var senders []string
	for _, e := range p.entries() {
		senders = append(senders, e.Sender)
	}
	if want := []string{"a", "a", "chaz", "chaz"}; !slices.Equal(senders, want) {
		t.Errorf("%q; want %q", senders, want)
	}
	refused(p, control.ToolCall, control.ToolCallParams{Session: room, Agent: "yorick", Tool: "say", Args: []byte("{}")}, control.CodeNotFound, "yorick")
	refused(p, control.ToolCall, control.ToolCallParams{Session: "nowhere", Tool: "say", Args: []byte("{}")}, control.CodeNotFound, "nowhere")
}

// Of agents that were attached at once the one listed first answers.
func TestWhoAnswersFirst(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{newSayer()}})
	agents := []string{"nova", "archivist", "yorick"}
	for _, a := range agents {
		ask(p, control.AgentNew, control.AgentNewParams{Name: a})
	}
	for i := range agents {
		order := append(slices.Clone(agents[i:]), agents[:i]...)
		id := ask(p, control.SessionNew, control.SessionNewParams{Agents: order}).ID
		var got []string
		for _, a := range ask(p, control.SessionDetails, control.SessionShowParams{Session: id}).Agents {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, order) {
			t.Errorf("%v; want %v", got, order)
		}
		if c := ask(p, control.ShowContext, control.ContextParams{Session: id}); c.Agent != order[0] {
			t.Errorf("%s answers; want %s", c.Agent, order[0])
		}
	}
}
