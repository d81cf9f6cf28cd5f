package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// reopen closes the node and opens its home under another policy; it is online again if it was.
func (p *peer) reopen(policy string) {
	p.t.Helper()
	p.cfg.External.Policy = []byte(policy)
	p.again(p.cfg.Extensions...)
}

// A policy that was tightened between two runs holds for what was trusted before.
func TestExtPolicyBitesWhatWasTrusted(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	ask(p, control.SessionNew, control.SessionNewParams{Name: room})
	done := p.switchOn(probe("keeper", map[string]any{"capabilities": map[string]any{"kv": 1000, "session_read": 5}}))
	p.trust("keeper", room)
	works := func(read bool) {
		t.Helper()
		p.wantCalled(room, "keeper__host", `{"op":"kv.set","key":"a","value":1}`, "ok", `"ok":true`)
		status := `"entries"`
		if !read {
			status = "reading the session"
		}
		p.wantCalled(room, "keeper__host", `{"op":"session.read"}`, "ok", status)
	}
	works(true)
	p.reopen(`{"forbid":["session_read"]}`)
	works(false)
	p.reopen(`{"max_caps":{"kv":1000,"session_read":2}}`)
	works(true)
	for _, policy := range []string{
		`{"deny":{"names":["keeper"]}}`, `{"deny":{"refs":["` + done.Root + `"]}}`, `{"deny":{"sha256":["` + done.WASMSHA256 + `"]}}`, `{"allow_unsigned":"never"}`,
	} {
		p.reopen(policy)
		p.wantCalled(room, "keeper__host", `{"op":"kv.get","key":"a"}`, "unknown", "no tool")
		p.wantState("keeper", done.Root+" on denied")
		if list := ask(p, control.ExtList, control.ExtListParams{}); len(list) != 1 || list[0].State != "denied" || list[0].Reason == "" || list[0].Instances != 0 {
			t.Errorf("%s: %+v", policy, list)
		}
	}
	p.reopen("")
	works(true)
}

// What enforces rules and may not run here keeps tools from running, if the policy says so.
func TestExtEnforcingPending(t *testing.T) {
	t.Parallel()
	a, b := extPair(t, node.Config{External: node.External{Policy: []byte(`{"enforcing_pending":"block"}`)}})
	c := newPeer(t, "c", node.Config{}).online()
	a.share(c)
	a.switchOn(wall("guard", `{"decision":"allow"}`, map[string]any{"enforcing": true}))
	sum := func(p *peer, status, output string) {
		t.Helper()
		p.wantCalled(room, "calculate", `{"expression":"40+2"}`, status, output)
	}
	for _, p := range []*peer{b, c} {
		p.extState("guard", "pending")
	}
	sum(b, "ok", "42") // nobody here can know yet that it enforces anything
	b.card("guard", room)
	c.card("guard", room)
	sum(b, "denied", "guard enforces rules in this session and does not run on this peer (pending)")
	sum(c, "ok", "42")
	b.trust("guard", room)
	sum(b, "ok", "42")
	b.wantCalled(room, "guard__say", "{}", "ok", "walled")
	// Untrusted, denied, or lost: the rules are not kept here any more.
	ask(b, control.ExtUntrust, control.ExtDecideParams{Ref: "guard", Session: room})
	sum(b, "denied", "(pending)")
	b.trust("guard", room)
	ask(b, control.ExtDeny, control.ExtDecideParams{Ref: "guard", Session: room})
	sum(b, "denied", "(denied)")
	b.trust("guard", room)
	sum(b, "ok", "42")
	a.close()
	b.close()
	b.spoil("blocks")
	b.open()
	b.online()
	sum(b, "denied", "(unavailable)")
	a.open()
	a.online()
	b.extState("guard", "trusted")
	sum(b, "ok", "42")
	a.cmd("/extensions remove guard", "Deactivated")
	ask(b, control.ExtUntrust, control.ExtDecideParams{Ref: "guard"})
	until(b, control.ToolCall, control.ToolCallParams{Session: room, Tool: "calculate", Args: []byte(`{"expression":"40+2"}`)}, "let through",
		func(r control.ToolCalled) bool { return r.Status == "ok" })
}

// A tool that is not as it was trusted is gone, and somebody has to look again.
func TestExtToolListThatChanges(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "a", node.Config{})
	for _, s := range []string{room, "other"} {
		ask(p, control.SessionNew, control.SessionNewParams{Name: s})
	}
	done := p.switchOn(changeling("fay"))
	ask(p, control.RunCmd, control.CmdParams{Session: "other", Line: "/extensions add " + done.Ref})
	card := p.card("fay", room)
	if len(card.Tools) != 1 || card.Tools[0].Description != "Says hello." {
		t.Fatalf("%+v", card.Tools)
	}
	p.trust("fay", room)
	p.trust("fay", "other")
	p.wantCalled(room, "fay__say", "{}", "ok", "hello") // in which it changes the list
	p.extState("fay", "needs_review")
	p.wantCalled(room, "fay__say", "{}", "unknown", "no tool")
	for _, tool := range ask(p, control.ToolList, control.ToolListParams{Session: room}) {
		if strings.Contains(tool.Name, "fay") || strings.Contains(tool.Description, "keys") {
			t.Errorf("a tool that changed is offered: %+v", tool)
		}
	}
	var drifts []control.ExtEvent
	for _, e := range ask(p, control.ExtAudit, control.ExtAuditParams{}) {
		if e.What == "drift" {
			drifts = append(drifts, e)
		}
	}
	if len(drifts) != 1 || drifts[0].SessionName != room || !strings.Contains(drifts[0].Detail, "is not as it was") {
		t.Errorf("audit: %+v", drifts)
	}
	p.again()
	p.wantState("fay", done.Root+" on needs_review")
	p.wantCalled(room, "fay__say", "{}", "unknown", "no tool")
	p.trust("fay", room) // seen again, and the fresh instance is as it was shown
	p.wantCalled(room, "fay__say", "{}", "ok", "hello")
}

// Names of built-ins and of what the host keeps for itself are nobody else's, in a log neither.
func TestExtReservedNames(t *testing.T) {
	t.Parallel()
	a, b := extPair(t, node.Config{})
	good := a.pack(crier("crier", "hi", nil))
	for _, name := range []string{"fs", "core", "memory", "mcp-crier", "chaz-crier"} {
		g := crier(name, "stolen", nil)
		refused(a, control.ExtPack, control.ExtPackParams{Path: g.folder(t)}, control.CodeUsage, name)
		r := ask(a, control.RunCmd, control.CmdParams{Session: room, Line: "/extensions add " + g.folder(t)})
		if r.OK || !strings.Contains(r.Output, "reserved") {
			t.Errorf("%s: %+v", name, r)
		}
		if err := a.n.WriteActivation(room, name, extension.IPLDRef(name, good.Root)); err != nil {
			t.Fatal(err)
		}
	}
	before := b.turn()
	if err := a.n.WriteActivation(room, "crier", extension.IPLDRef("crier", good.Root)); err != nil {
		t.Fatal(err)
	}
	b.extState("crier", "pending") // the control, which came last
	for _, p := range []*peer{a, b} {
		for _, e := range ask(p, control.SessionDetails, control.SessionShowParams{Session: room}).Extensions {
			if e.Name != "crier" && e.State != "builtin" {
				t.Errorf("%s: %s is %s %s", p.name, e.Name, e.State, e.Reason)
			}
		}
		if list := ask(p, control.ExtPendingList, control.ExtPendingParams{}); len(list) != 1 || list[0].Name != "crier" {
			t.Errorf("%s: pending: %+v", p.name, list)
		}
	}
	if after := b.turn(); !slices.Equal(before, after) || !slices.Contains(after, "fs") {
		t.Errorf("active before %v, after %v", before, after)
	}
	// The trust of another name is none of a built-in's.
	fault := func(ref string) {
		t.Helper()
		_, err := tried(a, control.ExtTrust, control.ExtTrustParams{Ref: ref, Session: room, NoCaps: true, SHA256: good.Key})
		wantFault(t, err, control.CodeNotFound)
	}
	fault("fs")
	fault("mcp-crier")
}
