package node_test

import (
	"testing"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// Trust in one session is none in another, two sessions run two versions of one name at once, and trust
// everywhere is for all of them.
func TestExtTrustIsOfOneSession(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "other", "third"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	one, two := p.pack(crier("crier", "one", nil)), p.pack(crier("crier", "two", map[string]any{"version": "2.0.0"}))
	on := func(session, ref string) {
		t.Helper()
		if r := ask(p, control.RunCmd, control.CmdParams{Session: session, Line: "/extensions add " + ref}); !r.OK {
			t.Fatal(r.Output)
		}
	}
	on(room, one.Ref)
	on("other", one.Ref)
	on("third", two.Ref)
	if got := p.trust("crier", room); got.State != "trusted" || len(got.Sessions) != 1 || got.Sessions[0].Name != room {
		t.Errorf("trusted: %+v", got)
	}
	p.wantCalled(room, "crier__say", "{}", "ok", "one")
	p.wantCalled("other", "crier__say", "{}", "unknown", "no tool")
	if list := ask(p, control.ExtPendingList, control.ExtPendingParams{Session: "other"}); len(list) != 1 || list[0].State != "pending" {
		t.Errorf("pending in the other session: %+v", list)
	}
	p.trust("crier", "third")
	p.wantCalled("third", "crier__say", "{}", "ok", "two")
	p.wantCalled(room, "crier__say", "{}", "ok", "one")
	asked(p, control.ExtTrust, control.ExtTrustParams{Ref: one.Ref, Everywhere: true, SHA256: one.Key})
	p.wantCalled("other", "crier__say", "{}", "ok", "one")
	p.wantCalled("third", "crier__say", "{}", "ok", "two")
	p.again()
	for session, says := range map[string]string{room: "one", "other": "one", "third": "two"} {
		p.wantCalled(session, "crier__say", "{}", "ok", says)
	}
	ask(p, control.ExtDeny, control.ExtDecideParams{Ref: one.Ref})
	p.wantCalled(room, "crier__say", "{}", "unknown", "no tool")
	p.wantCalled("other", "crier__say", "{}", "unknown", "no tool")
	p.wantCalled("third", "crier__say", "{}", "ok", "two")
}
