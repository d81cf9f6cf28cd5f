package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

func run(w *world, turn *Turn, name, args string) (string, error) {
	w.t.Helper()
	b, ok := turn.Tool(name)
	if !ok {
		w.t.Fatalf("no tool %s", name)
	}
	return b.Tool.Run(w.ctx, b.Call, json.RawMessage(args))
}

func TestATool(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("nova")
	f := compiled("f", extension.HookTool)
	f.gives(&extension.Instance{Tools: []extension.Tool{
		{
			Name: "look", Description: "looks", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`),
			Policy: extension.Policy{Risk: extension.HighRisk},
			Run: func(_ context.Context, c extension.Call, args json.RawMessage) (string, error) {
				copy(args, "{'x'}") // his own copy
				var names []string
				for _, i := range c.Lent.Tools() {
					names = append(names, i.Name)
				}
				return strings.Join(names, " ") + " " + c.Agent.Name, nil
			},
		},
		{Name: "bare", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return "", errors.New("no") }},
		{Name: "look", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { return "second", nil }},
	}})
	w.mustInstall(f)
	turn, err := w.hub.Turn(w.ctx, TurnKey{Session: w.session(f), Agent: agent, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Release()
	infos := turn.Tools()
	if len(infos) != 2 || infos[0].Policy.Risk != extension.HighRisk || infos[0].Policy.Timeout != extension.DefaultTimeout {
		t.Errorf("%+v", infos)
	}
	if string(infos[1].Parameters) != `{"type":"object"}` {
		t.Errorf("%s", infos[1].Parameters)
	}
	infos[0].Name = "changed" // his own copy
	args := json.RawMessage(`{"a":1}`)
	b, _ := turn.Tool("look")
	if out, err := b.Tool.Run(w.ctx, b.Call, args); out != "look bare nova" || err != nil || string(args) != `{"a":1}` {
		t.Errorf("%q %v %s", out, err, args)
	}
	if b.Owner != "f" || b.Call.Depth != 3 || b.Call.Agent != agent || b.Call.Lent.Host != nil || b.Tool.Policy.Approval != extension.NeverAsk {
		t.Errorf("%+v", b)
	}
	if _, err := run(w, turn, "bare", `{}`); err == nil || err.Error() != "no" {
		t.Error(err)
	}
	if _, ok := turn.Tool("nix"); ok {
		t.Error("found what is not there")
	}
	if len(w.outcomes()) != 0 {
		t.Errorf("an error of a tool is an answer: %v", w.outcomes())
	}
}

func TestAToolThatPanicsOrHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f := external("f", extension.HookTool).gives(&extension.Instance{Tools: []extension.Tool{
			{Name: "f__panic", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { panic("ouch") }},
			{Name: "f__hang", Run: func(context.Context, extension.Call, json.RawMessage) (string, error) { <-release; return "late", nil }},
		}})
		w.mustInstall(f)
		turn := w.turn(w.session(f), extension.Agent{})
		defer turn.Release()
		_, err := run(w, turn, "f__panic", `{}`)
		wantError(t, err, "panicked", "ouch")
		b, _ := turn.Tool("f__hang")
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := b.Tool.Run(ctx, b.Call, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		gone, stop := context.WithCancel(w.ctx)
		stop()
		if _, err := b.Tool.Run(gone, b.Call, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := w.outcomes(); !slices.Equal(got, []string{"f tool f__panic panic", "f tool f__hang deadline"}) {
			t.Errorf("%q", got)
		}
	})
}
