package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/hub"
	"github.com/chaz-peer/chaz-peer/node/command"
)

// speaker is an extension under the name of a declared one whose commands repeat their arguments.
type speaker struct {
	decl   extension.Declaration
	broken bool
}

func (s speaker) Declaration() extension.Declaration { return s.decl }

func (s speaker) Instantiate(context.Context, extension.ScopeContext) (*extension.Instance, error) {
	if s.broken {
		return nil, errors.New("the web is closed")
	}
	var in extension.Instance
	for _, name := range s.decl.Commands {
		in.Commands = append(in.Commands, extension.Command{Name: name, Usage: "repeat", Run: func(_ context.Context, _ extension.Call, args string) (string, error) {
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
		list = append(list, speaker{decl, decl.Name == broken})
	}
	h.Install(context.Background(), list)
	d.t.Cleanup(func() { h.Close(context.Background()) })
	return stage{h}
}

func (s stage) Run(ctx context.Context, c command.Call, word, args string) (string, bool, error) {
	out, err := s.hub.Command(ctx, c.Session, extension.Agent{ID: c.Agent.ID, Name: c.Agent.Name}, word, args)
	return out, !errors.Is(err, hub.ErrUnknownCommand), err
}

func (s stage) Commands() []command.ExtensionCommand {
	var out []command.ExtensionCommand
	for _, x := range s.hub.Commands() {
		out = append(out, command.ExtensionCommand{Name: x.Name, Owner: x.Owner, Usage: x.Usage})
	}
	return out
}

func (s stage) Trouble(name string, c command.Call) (command.State, string, bool) {
	switch st, reason, whole := s.hub.StateIn(name, c.Session, c.Agent.ID); st {
	case hub.StateFailed:
		return command.StateFailed, reason, whole
	case hub.StateSuspended:
		return command.StateSuspended, reason, whole
	}
	return "", "", true
}

func (s stage) Resume(name string) bool { return s.hub.Resume(name) }

func (s stage) CheckSetting(name, key string, value []byte) error {
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
