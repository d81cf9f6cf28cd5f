package node_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// versioned is an extension whose only tool, named after it, tells its version.
func versioned(name, version string) extension.Extension {
	return newPart(name, version, &extension.Instance{Tools: []extension.Tool{{
		Name: name, Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return version, nil },
	}}})
}

// wantTool calls the tool of a versioned extension; version "" wants that there is none.
func (p *peer) wantTool(name, version string) {
	p.t.Helper()
	want := control.ToolCalled{Status: "ok", Output: version}
	if version == "" {
		want = control.ToolCalled{Status: "unknown", Output: `Error: there is no tool named "` + name + `" here.`}
	}
	if got := p.call(name, "{}"); got.Status != want.Status || got.Output != want.Output {
		p.t.Errorf("%s: tool %s: %+v; want %+v", p.name, name, got, want)
	}
}

// Peers with different extensions and versions share a session: each adds what is new, once, and
// nobody undoes what another one did. maker makes the session, the other one joins it.
func TestDifferentInstalledSets(t *testing.T) {
	for _, v := range []struct{ name, maker, joiner string }{
		{"older makes", "1.9.0", "1.10.0"}, {"newer makes", "1.10.0", "1.9.0"}, {"no version", "nightly", "1.0.0"},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			differentSets(t, v.maker, v.joiner)
		})
	}
}

func differentSets(t *testing.T, maker, joiner string) {
	newer, events := maker, "1 event,"
	if joiner == "1.10.0" {
		newer, events = joiner, "2 events,"
	}
	a := newPeer(t, "a", node.Config{Extensions: []extension.Extension{versioned("both", maker), versioned("only_a", "1.0.0")}}).online()
	b := newPeer(t, "b", node.Config{Extensions: []extension.Extension{versioned("both", joiner), versioned("only_b", "1.0.0")}}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	b.wantState("only_a", "1.0.0 on unavailable")
	b.wantState("only_b", "") // looking at a session does not start it
	b.wantState("both", maker+" on builtin")

	// Each start adds what is new there; the second one of each finds nothing to do.
	b.turn()
	b.stored()
	a.turn()
	agree(a, b)
	settled := a.heads()
	for range 2 {
		for _, p := range []*peer{a, b} {
			if p.turn(); !slices.Equal(p.heads(), settled) {
				t.Fatalf("%s wrote once more", p.name)
			}
		}
	}
	for _, p := range []*peer{a, b} {
		p.wantState("both", newer+" on builtin")
		p.cmd("/extensions history both", "both on this session: on. "+events)
		p.cmd("/extensions history only_a", "only_a on this session: on. 1 event,")
		p.cmd("/extensions history only_b", "only_b on this session: on. 1 event,")
		p.cmd("/extensions history core", "core on this session: on. 1 event,")
		other := map[string]string{"a": "only_b", "b": "only_a"}[p.name]
		p.wantState("only_"+p.name, "1.0.0 on builtin")
		p.wantState(other, "1.0.0 on unavailable")
		if got := p.turn(); slices.Contains(got, other) || !slices.Contains(got, "only_"+p.name) || !slices.Contains(got, "both") {
			t.Errorf("%s: active %v", p.name, got)
		}
		if list := ask(p, control.RunCmd, control.CmdParams{Session: room, Line: "/extensions"}).Output; strings.Contains(list, other) {
			t.Errorf("%s lists what it does not have:\n%s", p.name, list)
		}
		p.wantTool(other, "")
	}
	a.wantTool("both", maker)
	b.wantTool("both", joiner)
	a.wantTool("only_a", "1.0.0")
	b.wantTool("only_b", "1.0.0")
}

// What was removed stays removed: through the start of a peer that has not seen it, restarts, and
// versions that are new.
func TestRemovalsStand(t *testing.T) {
	a := newPeer(t, "a", node.Config{Extensions: []extension.Extension{versioned("seen", "1.0.0"), versioned("unseen", "1.0.0"), versioned("only_a", "1.0.0")}}).online()
	b := newPeer(t, "b", node.Config{Extensions: []extension.Extension{versioned("seen", "1.0.0"), versioned("unseen", "1.0.0")}}).online()
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.share(b)
	b.wantTool("seen", "1.0.0")
	b.wantTool("unseen", "1.0.0")
	b.cmd("/extensions remove only_a", "Deactivated only_a") // known from the log alone
	a.cmd("/extensions remove seen", "Deactivated seen")
	agree(a, b)
	a.wantTool("only_a", "")
	b.wantTool("seen", "")

	// Now apart: a removes while b, upgraded, starts the session.
	ask(a, control.PeersPause, control.PeerParams{Peer: b.n.Self().String()})
	a.cmd("/extensions remove unseen", "Deactivated unseen")
	b.again(versioned("seen", "2.0.0"), versioned("unseen", "2.0.0"))
	b.turn()
	b.wantTool("unseen", "2.0.0")
	b.wantTool("seen", "")
	b.wantState("seen", "1.0.0 off builtin")
	b.wantState("unseen", "2.0.0 on builtin")
	ask(a, control.PeersResume, control.PeerParams{Peer: b.n.Self().String()})
	a.share(b)
	agree(a, b)
	a.again(versioned("seen", "3.0.0"), versioned("unseen", "3.0.0"), versioned("only_a", "3.0.0"))
	for _, p := range []*peer{a, b} {
		for _, name := range []string{"seen", "unseen", "only_a"} {
			p.wantTool(name, "")
			if s := p.state(name); !strings.Contains(s, " off ") {
				t.Errorf("%s: %s is %q", p.name, name, s)
			}
		}
	}
	// It is not gone for good.
	a.cmd("/extensions add unseen", "Activated unseen")
	a.wantTool("unseen", "3.0.0")
}

// The events of an extension that a peer has no more stay, and count again where it is back.
func TestMissingExtensionsReviveFromTheLog(t *testing.T) {
	a := newPeer(t, "a", node.Config{Extensions: []extension.Extension{versioned("comes", "1.0.0"), versioned("goes", "1.0.0")}})
	ask(a, control.SessionNew, control.SessionNewParams{Name: room})
	a.wantTool("comes", "1.0.0")
	a.cmd("/extensions set comes greeting hail", "Set greeting")
	a.cmd("/extensions remove goes", "Deactivated goes")
	before := a.heads()

	a.again()
	a.turn()
	a.wantState("comes", "1.0.0 on unavailable")
	a.wantState("goes", "1.0.0 off unavailable")
	if !slices.Equal(a.heads(), before) {
		t.Error("a peer wrote about what it does not have")
	}
	a.wantTool("comes", "")
	a.cmd("/extensions settings comes", "{\n  \"greeting\": \"hail\"\n}")
	a.cmd("/extensions add comes", "comes is already active")

	a.again(versioned("comes", "1.0.0"), versioned("goes", "1.0.0"))
	a.wantState("comes", "1.0.0 on builtin")
	a.wantTool("comes", "1.0.0")
	a.wantTool("goes", "")
}
