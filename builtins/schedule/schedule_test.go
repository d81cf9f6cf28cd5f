package schedule_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/schedule"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestConformance(t *testing.T) {
	w := newWorld(t, "chaz")
	extensiontest.Run(t, schedule.New(), extensiontest.Handles{
		Peer: w.peer(), Session: document{w.repo, w.session},
		Agent: extension.Agent{ID: w.agents["chaz"], Name: "chaz"},
	})
}

func TestDeclaration(t *testing.T) {
	d := schedule.New().Declaration()
	if d.Name != "schedule" || !d.LivesAt(extension.Global) || d.LivesAt(extension.PerSession) || d.LivesAt(extension.PerAgent) {
		t.Errorf("declaration %+v", d)
	}
	if len(d.Requires) != 1 || d.Requires[0].Kind != extension.CapAgentStateAdmin || len(d.Provides) != 0 {
		t.Errorf("capabilities %v, %v", d.Requires, d.Provides)
	}
	var names []string
	for _, tool := range newWorld(t).live.Tools {
		names = append(names, tool.Name)
		if p := tool.Policy.Fill(); p.Risk != extension.LowRisk || p.Approval != extension.NeverAsk {
			t.Errorf("%s has the policy %+v", tool.Name, p)
		}
	}
	if got := strings.Join(names, " "); got != "schedule_add schedule_modify schedule_remove schedule_list schedule_once" {
		t.Errorf("tools: %s", got)
	}
}

func TestInstantiateNeedsTheAdmin(t *testing.T) {
	ctx := context.Background()
	peer := &extension.Peer{Clock: crdt.NewManualClock(0)}
	if _, err := schedule.New().Instantiate(ctx, extension.GlobalContext{Peer: peer}); err == nil || !strings.Contains(err.Error(), "agent_state_admin") {
		t.Errorf("without an admin: %v", err)
	}
	w := newWorld(t)
	if _, err := schedule.New().Instantiate(ctx, extension.AgentContext{Peer: w.peer()}); err == nil {
		t.Error("there is an instance of an agent")
	}
}

func TestRoutineSaysWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	err := w.live.Routine(context.Background(), extension.Fire{Routine: "agent:a:daily", Scope: "agent:a"})
	if err == nil || !strings.Contains(err.Error(), "needs turns") || !strings.Contains(err.Error(), "agent:a:daily") {
		t.Errorf("got %v", err)
	}
}
