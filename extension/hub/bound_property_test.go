package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// have is one installed version: its reference, and what tells two installations of it apart.
type have struct{ sha, power string }

// versionModel is what sessions should have, told without the hub.
type versionModel struct {
	sessions []crdt.DocID
	on       []map[string]string        // sha that the log names, by session and name; "" is off
	own      []map[string]have          // by session and name
	whole    map[string]map[string]have // by name and sha
	t        *rapid.T
	w        *world
	counts   map[string]int
}

var versionNames, shas = []string{"a", "b"}, []string{"1", "2"}

// installed is an extension whose tool tells which installation answers.
func (m *versionModel) installed(name string, v have) *fake {
	f := newFake(name, extension.GitRef(name, "https://example.org/"+name, strings.Repeat(v.sha, 40)), []extension.HookKind{extension.HookTool})
	return f.at(extension.Global, extension.PerSession).builds(func(_ context.Context, s extension.ScopeContext) (*extension.Instance, error) {
		if s.Scope() != extension.PerSession {
			return &extension.Instance{}, nil
		}
		return &extension.Instance{Tools: []extension.Tool{tool(name+"__t", v.sha+" "+v.power)}}, nil
	})
}

// wants is what a tool must answer in a session, "" where there must be none.
func (m *versionModel) wants(i int, name string) string {
	sha := m.on[i][name]
	if sha == "" {
		return ""
	}
	if v, ok := m.own[i][name]; ok && v.sha == sha {
		return v.sha + " " + v.power
	}
	if v, ok := m.whole[name][sha]; ok {
		return v.sha + " " + v.power
	}
	return ""
}

func (m *versionModel) act(op string, i int, name string, v have) {
	id, w := m.sessions[i], m.w
	switch op {
	case "on":
		w.toggle(id, activation.Activated, m.installed(name, v))
		m.on[i][name] = v.sha
	case "start": // as a host does that replays the log
		m.act("on", i, name, v)
		m.act("bind", i, name, v)
	case "off":
		w.toggle(id, activation.Deactivated, m.installed(name, v))
		m.on[i][name] = ""
	case "bind":
		w.bindTo(id, m.installed(name, v))
		m.own[i][name] = v
	case "unbind":
		_, there := m.own[i][name]
		if err := w.hub.RemoveIn(w.ctx, id, name); (err == nil) != there {
			m.t.Fatalf("RemoveIn: %v; it was there: %v", err, there)
		}
		delete(m.own[i], name)
	case "close":
		if err := w.hub.SessionShutdown(w.ctx, id); err != nil {
			m.t.Fatal(err)
		}
		m.own[i] = map[string]have{}
	case "install":
		w.mustInstall(m.installed(name, v))
		if _, there := m.whole[name][v.sha]; !there { // the first stays
			m.whole[name][v.sha] = v
		}
	case "remove":
		_, there := m.whole[name][v.sha]
		if err := w.hub.RemoveRef(w.ctx, m.installed(name, v).d.Ref); (err == nil) != there {
			m.t.Fatalf("RemoveRef: %v; it was there: %v", err, there)
		}
		delete(m.whole[name], v.sha)
	}
}

// check calls every tool of every session.
func (m *versionModel) check() {
	versions := map[string]bool{}
	for i, id := range m.sessions {
		m.checkSession(i)
		if got := len(m.w.hub.InstalledIn(id)); got != len(m.own[i]) {
			m.t.Fatalf("session %d has %d of its own; want %d", i, got, len(m.own[i]))
		}
		versions[m.wants(i, "a")] = true
	}
	delete(versions, "")
	if len(versions) > 1 {
		m.counts["two versions of one name at the same time"]++
	}
}

func (m *versionModel) checkSession(i int) {
	turn := m.w.turn(m.sessions[i], extension.Agent{})
	defer turn.Release()
	for _, name := range versionNames {
		got, want := "", m.wants(i, name)
		if b, ok := turn.Tool(name + "__t"); ok {
			var err error
			if got, err = b.Tool.Run(m.w.ctx, b.Call, nil); err != nil {
				m.t.Fatal(err)
			}
		}
		if got != want {
			m.t.Fatalf("session %d, %s: %q answers; want %q", i, name, got, want)
		}
		m.counts[fmt.Sprintf("answered %v", want != "")]++
	}
}

// TestEverySessionGetsItsOwnVersion switches, installs and removes versions at random, for single
// sessions and for the peer; after each step every tool is called and the right code must answer.
func TestEverySessionGetsItsOwnVersion(t *testing.T) {
	counts := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		m := &versionModel{t: r, w: w, counts: counts, whole: map[string]map[string]have{"a": {}, "b": {}}}
		for range 3 {
			m.sessions = append(m.sessions, w.session())
			m.on, m.own = append(m.on, map[string]string{}), append(m.own, map[string]have{})
		}
		ops := []string{"on", "on", "off", "bind", "start", "start", "start", "unbind", "close", "install", "install", "remove"}
		for step := range rapid.IntRange(1, 25).Draw(r, "steps") {
			op := rapid.SampledFrom(ops).Draw(r, "op")
			v := have{rapid.SampledFrom(shas).Draw(r, "sha"), fmt.Sprint(step)}
			m.act(op, rapid.IntRange(0, 2).Draw(r, "session"), rapid.SampledFrom(versionNames).Draw(r, "name"), v)
			counts[op]++
			m.check()
		}
	})
	for _, what := range []string{
		"two versions of one name at the same time", "answered true", "answered false",
		"on", "off", "bind", "start", "unbind", "close", "install", "remove",
	} {
		if counts[what] == 0 {
			t.Errorf("%s never happened", what)
		}
	}
	t.Log(counts)
}
