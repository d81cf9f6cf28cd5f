package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// What wants to live beyond sessions, and is trusted in one, lives in that one.
func TestExtGlobalScopeTrustedInOneSession(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "other"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	done := p.switchOn(crier("herald", "hear", map[string]any{"scopes": []any{"global", "session"}}))
	only := p.switchOn(crier("bailiff", "ye", map[string]any{"scopes": []any{"global"}}))
	for _, x := range []control.ExtPacked{done, only} {
		ask(p, control.RunCmd, control.CmdParams{Session: "other", Line: "/extensions add " + x.Ref})
		p.trust(x.Name, room)
	}
	for range 2 {
		p.wantCalled(room, "herald__say", "{}", "ok", "hear")
		p.wantCalled(room, "bailiff__say", "{}", "ok", "ye")
		p.wantCalled("other", "herald__say", "{}", "unknown", "no tool")
		p.wantCalled("other", "bailiff__say", "{}", "unknown", "no tool")
		p.again()
	}
	for _, x := range []control.ExtPacked{done, only} {
		asked(p, control.ExtTrust, control.ExtTrustParams{Ref: x.Ref, Everywhere: true, NoCaps: true, SHA256: x.Key})
	}
	p.wantCalled("other", "herald__say", "{}", "ok", "hear")
	p.wantCalled("other", "bailiff__say", "{}", "ok", "ye")
}

// count is how many entries of the session a sender wrote.
func (p *peer) count(sender string) (n int) {
	p.t.Helper()
	for _, e := range p.entries() {
		if e.Sender == sender && e.EntryType == "message" {
			n++
		}
	}
	return n
}

// A routine of a session reaches code that the session alone has, also first thing after a restart.
func TestExtRoutineOfASession(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{}).online()
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	yearly := func(id string) control.RoutineAddParams {
		return control.RoutineAddParams{ID: id, Session: room, Extension: "clock", Cron: "0 0 0 1 1 *", Payload: json.RawMessage(`{}`)}
	}
	refused(p, control.RoutineAdd, yearly("early"), control.CodeNotFound, "clock")
	p.switchOn(clockwork("clock", map[string]any{"capabilities": map[string]any{"session_write": true}}))
	ask(p, control.RoutineAdd, yearly("tick"))
	refused(p, control.RoutineRun, control.RoutineParams{Routine: "tick"}, control.CodeInternal, "does not run on this peer: pending")
	p.trust("clock", room)
	ask(p, control.RoutineRun, control.RoutineParams{Routine: "tick"})
	if n := p.count("clock"); n != 1 {
		t.Fatalf("%d ticks", n)
	}
	past := control.RoutineAddParams{ID: "late", Session: room, Extension: "clock", At: "2020-01-01T00:00:00Z", Payload: json.RawMessage(`{}`)}
	p.close()
	p.open() // offline: what is due waits
	ask(p, control.RoutineAdd, past)
	p.online()
	until(p, control.GetID, control.IDParams{}, "ticked", func(control.ID) bool { return p.count("clock") == 2 })
	ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "clock", Session: room})
	refused(p, control.RoutineRun, control.RoutineParams{Routine: "tick"}, control.CodeInternal, "pending")
	p.trust("clock", room)
	ask(p, control.RoutineRun, control.RoutineParams{Routine: "tick"})
	if n := p.count("clock"); n != 3 {
		t.Errorf("%d ticks", n)
	}
}

// A session that is closed ends its guests, and what comes over the network does not start them again; who
// works in it does.
func TestExtClosedAndReopened(t *testing.T) {
	t.Parallel()
	a, b := extPair(t, node.Config{})
	a.switchOn(crier("crier", "hear", nil))
	b.extState("crier", "pending")
	b.trust("crier", room)
	b.wantCalled(room, "crier__say", "{}", "ok", "hear")
	running := func() (n int) {
		t.Helper()
		for _, x := range ask(b, control.ExtList, control.ExtListParams{}) {
			n += x.Instances
		}
		return n
	}
	if running() != 1 {
		t.Errorf("%d run", running())
	}
	ask(b, control.SessionClose, control.SessionParams{Session: room})
	if running() != 0 {
		t.Errorf("%d run in a closed session", running())
	}
	a.switchOn(crier("usher", "this way", nil))
	a.stored()
	if running() != 0 {
		t.Errorf("%d run after a change from outside", running())
	}
	b.again()
	a.stored()
	if running() != 0 {
		t.Errorf("%d run after a restart", running())
	}
	b.wantCalled(room, "crier__say", "{}", "ok", "hear")
	if running() != 1 {
		t.Errorf("%d run in a session that is worked in", running())
	}
	if b.state("usher") == "" || !strings.HasSuffix(b.state("usher"), "pending") {
		t.Errorf("usher: %q", b.state("usher"))
	}
}

// What a start has to look at is known without opening every session.
func TestExtRestartReplays(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{}).online()
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	ask(p, control.SessionNew, control.SessionNewParams{Name: "plain"})
	p.switchOn(crier("crier", "hear", nil))
	p.trust("crier", room)
	instances := func(p *peer) int {
		list := ask(p, control.ExtList, control.ExtListParams{})
		if len(list) != 1 {
			return -1
		}
		return list[0].Instances
	}
	p.again()
	until(p, control.ExtList, control.ExtListParams{}, "live by itself", func(list control.List[control.ExtHere]) bool {
		return len(list) == 1 && list[0].Instances == 1
	})
	p.cmd("/extensions remove crier", "Deactivated")
	p.again()
	p.turn()
	if n := instances(p); n != 0 {
		t.Errorf("%d run of what is off", n)
	}
}

// The log of what a session has for itself is its own; the log of what is shared is everybody's who shares.
func TestExtLogsOfSessions(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "other"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	g := probe("teller", map[string]any{"scopes": []any{"global", "session"}, "capabilities": map[string]any{"kv": 10}})
	done := p.switchOn(g)
	ask(p, control.RunCmd, control.CmdParams{Session: "other", Line: "/extensions add " + done.Ref})
	logs := func(session string) control.ExtLogsParams {
		return control.ExtLogsParams{Session: session, Name: "teller"}
	}
	refused(p, control.ExtLogs, logs(room), control.CodeNotFound, "it has not run")
	p.trust("teller", room)
	p.wantCalled(room, "teller__host", `{"op":"kv.list","prefix":""}`, "ok", "[]")
	ask(p, control.ExtLogs, logs(room))
	refused(p, control.ExtLogs, logs("other"), control.CodeNotFound, "it has not run")
	ask(p, control.ExtUntrust, control.ExtDecideParams{Ref: "teller"})
	asked(p, control.ExtTrust, control.ExtTrustParams{Ref: done.Ref, Everywhere: true, AllRequested: true, SHA256: done.Key})
	for _, s := range []string{room, "other"} {
		p.wantCalled(s, "teller__host", `{"op":"kv.list","prefix":""}`, "ok", "[]")
		ask(p, control.ExtLogs, logs(s))
	}
	ask(p, control.SessionClose, control.SessionParams{Session: room})
	p.wantCalled("other", "teller__host", `{"op":"kv.list","prefix":""}`, "ok", "[]")
	ask(p, control.ExtLogs, logs("other"))
}
