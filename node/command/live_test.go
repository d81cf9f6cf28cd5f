package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/command"
)

// speaker is an extension under the name of a declared one whose commands repeat their arguments.
type speaker struct {
	decl          extension.Declaration
	broken, crash bool
}

func (s speaker) Declaration() extension.Declaration { return s.decl }

func (s speaker) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	if s.broken {
		return nil, errors.New("the web is closed")
	}
	var in extension.Instance
	for _, name := range s.decl.Commands {
		in.Commands = append(in.Commands, extension.Command{Name: name, Usage: "repeat", Run: func(_ context.Context, _ extension.Call, args string) (string, error) {
			if s.crash {
				panic("ouch")
			}
			return fmt.Sprintf("%s says %s\x07", name, args), nil
		}})
	}
	return &in, nil
}

// stage is the live side of a desk: a real hub of speakers.
type stage struct{ hub *hub.Hub }

func newStage(d *desk, broken string) stage {
	h := hub.New(hub.Config{Peer: &extension.Peer{Clock: d.clock}, Documents: d.repo, Clock: d.clock})
	var list []extension.Extension
	for _, decl := range builtins.Declarations() {
		decl.Requires, decl.Scopes, decl.Provides = nil, nil, nil
		list = append(list, speaker{decl: decl, broken: decl.Name == broken})
	}
	h.Install(context.Background(), list)
	d.t.Cleanup(func() { h.Close(context.Background()) })
	return stage{h}
}

func (s stage) Run(ctx context.Context, c command.Call, word, args string) (string, bool, error) {
	out, err := s.hub.Command(ctx, c.Session, extension.Agent{ID: c.Agent.ID, Name: c.Agent.Name}, word, args)
	return out, !errors.Is(err, hub.ErrUnknownCommand), err
}

func (s stage) Commands(session crdt.DocID) []command.ExtensionCommand {
	var out []command.ExtensionCommand
	for _, x := range s.hub.Commands(session) {
		out = append(out, command.ExtensionCommand{Name: x.Name, Owner: x.Owner, Usage: x.Usage})
	}
	return out
}

func (s stage) Trouble(name string, ref extension.Ref, c command.Call) (command.State, string, bool) {
	switch st, reason, whole := s.hub.StateIn(name, ref, c.Session, c.Agent.ID); st {
	case hub.StateFailed:
		return command.StateFailed, reason, whole
	case hub.StateSuspended:
		return command.StateSuspended, reason, whole
	}
	return "", "", true
}

func (s stage) Resume(session crdt.DocID, name string) bool { return s.hub.Resume(session, name) }

func (s stage) CheckSetting(session crdt.DocID, name, key string, value []byte) error {
	for _, d := range s.hub.InstalledIn(session) {
		if d.Name == name && string(value) != `"yes"` {
			return errors.New("want yes")
		}
	}
	var n float64
	if name == "schedule" && key == "poll_secs" && json.Unmarshal(value, &n) != nil {
		return errors.New("want a number")
	}
	return nil
}

func TestLiveCommands(t *testing.T) {
	d := started(t)
	d.cfg.Live = newStage(d, "web")
	d.runner = command.New(d.cfg)
	d.want("/memory list of banks", command.Text, "memory says list of banks")
	d.want("/extensions list", command.Text, "✗ web", "[failed: the web is closed]", "✓ memory")
	d.want("/extensions set schedule poll_secs soon", command.Error, "want a number")
	d.want("/extensions set schedule poll_secs 60", command.Text, "60")
	d.want("/extensions set schedule poll_secs null", command.Text, "null")
	d.want("/extensions set schedule other soon", command.Text, "soon")
}

// guest makes an external extension of speakers.
func guest(name, sha string, broken bool) speaker {
	return speaker{broken: broken, decl: extension.Declaration{
		Manifest: extension.Manifest{Name: name, Ref: extension.GitRef(name, "r", sha), Hooks: []extension.HookKind{extension.HookCommand}},
		Commands: []string{name},
	}}
}

// TestAnExtensionOfOneSession has one session with an extension of its own: its command, its settings
// and its state are there and nowhere else.
func TestAnExtensionOfOneSession(t *testing.T) {
	d := started(t)
	live := newStage(d, "")
	d.cfg.Live = live
	d.runner = command.New(d.cfg)
	on := `{"extension_ref":{"kind":"git","name":"notes","repo":"r","sha":"1"},"kind":"activated","name":"notes","timestamp":5}`
	bad := `{"extension_ref":{"kind":"git","name":"bad","repo":"r","sha":"1"},"kind":"activated","name":"bad","timestamp":5}`
	here := d.session
	d.newSession()
	there := d.session
	for _, id := range []crdt.DocID{here, there} {
		d.put(id, on, bad)
	}
	for _, x := range []speaker{guest("notes", "1", false), guest("bad", "1", true)} {
		if err := live.hub.InstallIn(t.Context(), here, x); err != nil {
			t.Fatal(err)
		}
	}
	d.states[extension.Git] = command.Standing{State: command.StateTrusted, Hooks: []extension.HookKind{extension.HookCommand}}
	d.session = here
	d.want("/notes of here", command.Text, "notes says of here")
	d.want("/help", command.Text, "/notes", "/memory")
	d.want("/extensions", command.Text, "✓ notes [1] — Command")
	d.want("/bad", command.Error, "not live", "the web is closed")
	d.want("/extensions", command.Text, "✗ bad [1] — Command  [failed: the web is closed]")
	d.want("/extensions set notes k no", command.Error, "want yes")
	d.want("/extensions set notes k yes", command.Text)
	d.session = there
	d.want("/notes", command.Error, "unknown command /notes")
	d.want("/extensions set notes k no", command.Text)
	if out := d.want("/help", command.Text, "/memory"); containsWord(out, "/notes") {
		t.Error(out)
	}
}

func containsWord(text, word string) bool {
	for _, w := range strings.Fields(text) {
		if w == word {
			return true
		}
	}
	return false
}
