package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// begin calls a tool beside the test and waits until the call is written down.
func (p *peer) begin(session, tool, args string) <-chan control.ToolCalled {
	p.t.Helper()
	out := make(chan control.ToolCalled, 1)
	go func() {
		r, err := try(p, control.ToolCall, control.ToolCallParams{Session: session, Tool: tool, Args: []byte(args)})
		if err != nil {
			r.Status = err.Error()
		}
		out <- r
	}()
	until(p, control.SessionDetails, control.SessionShowParams{Session: session}, "inside "+tool, func(control.SessionShow) bool {
		return slices.ContainsFunc(p.entries(), func(e control.Entry) bool { return e.EntryType == "tool_call" && strings.HasPrefix(e.Content, tool) })
	})
	return out
}

// Trust that is taken back during a call: the call is over at its deadline, and nothing else is begun.
func TestExtUntrustDuringACall(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{Timings: hub.Timings{Shutdown: 200 * time.Millisecond}})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	p.switchOn(spinner("top", map[string]any{"limits": map[string]any{"deadline_ms": 2000}}))
	p.trust("top", room)
	call := p.begin(room, "top__spin", "{}")
	gone := ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "top", Session: room})
	if len(gone.Sessions) != 1 || gone.Sessions[0].Name != room {
		t.Errorf("%+v", gone)
	}
	p.wantCalled(room, "top__spin", "{}", "unknown", "no tool")
	select {
	case r := <-call:
		if r.Status != "error" || !strings.Contains(r.Output, "deadline") && !strings.Contains(r.Output, "ended") {
			t.Errorf("the call: %+v", r)
		}
	case <-time.After(patience):
		t.Fatal("the call goes on for ever")
	}
}

// Hooks of what is not trusted any more are gone in the turn in which it happens.
func TestExtUntrustDuringATurn(t *testing.T) {
	t.Parallel()
	s := newSayer()
	p := newPeer(t, "a", node.Config{Extensions: []extension.Extension{s}})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	p.switchOn(wall("gag", `{"decision":"block","text":"not a word"}`, map[string]any{
		"hooks": []any{"tool_result"}, "capabilities": map[string]any{"hooks": map[string]any{"tool_result": "modify"}},
	}))
	p.trust("gag", room)
	p.wantCalled(room, "say", `{"text":"hail"}`, "blocked", "not a word")
	for _, trusted := range []bool{true, false} {
		call := make(chan control.ToolCalled, 1)
		go func() { call <- p.call("say", `{"text":"wait"}`) }()
		<-s.inside
		if !trusted {
			ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "gag", Session: room})
		}
		s.goOn <- struct{}{}
		if r := <-call; strings.Contains(r.Output, "not a word") != trusted {
			t.Errorf("trusted %v: %+v", trusted, r)
		}
	}
}

// A guest that loops in one session does not stop the others. How much it slows them is measured here, in
// turns, and told; only calls that do not come to an end fail the test.
func TestExtALoopDoesNotSlowOthers(t *testing.T) {
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "busy"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	p.switchOn(crier("crier", "hear", nil))
	p.trust("crier", room)
	done := p.pack(spinner("top", map[string]any{"limits": map[string]any{"deadline_ms": 700}}))
	ask(p, control.RunCmd, control.CmdParams{Session: "busy", Line: "/extensions add " + done.Ref})
	p.trust("top", "busy")
	timed := func() time.Duration {
		start := time.Now()
		p.wantCalled(room, "crier__say", "{}", "ok", "hear")
		return time.Since(start)
	}
	timed()
	var alone, beside []time.Duration
	for round := range 3 {
		for range 20 {
			alone = append(alone, timed())
		}
		call := make(chan error, 1)
		go func() {
			r, err := try(p, control.ToolCall, control.ToolCallParams{Session: "busy", Tool: "top__spin", Args: []byte("{}")})
			if err == nil && r.Status != "error" {
				err = fmt.Errorf("%+v", r)
			}
			call <- err
		}()
		until(p, control.SessionDetails, control.SessionShowParams{Session: "busy"}, "looping", func(s control.SessionShow) bool {
			return s.Entries == int64(2*round+1) // the call, and no result
		})
		for over := false; !over; {
			d := timed()
			select {
			case err := <-call:
				if err != nil {
					t.Fatalf("the loop: %v", err)
				}
				over = true
			default:
				beside = append(beside, d)
			}
		}
		ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "top", Session: "busy"})
		p.trust("top", "busy") // else three failures in a row suspend it
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	a, b := median(alone), median(beside)
	t.Logf("median of a tool call: %s alone (%d), %s beside a loop (%d): %.2f×", a, len(alone), b, len(beside), float64(b)/float64(a))
}
