package core

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestConformance(t *testing.T) { extensiontest.Run(t, New(), extensiontest.Handles{}) }

func TestPolicies(t *testing.T) {
	for name, want := range map[string]extension.Policy{
		"shell":        {Risk: extension.HighRisk, Approval: extension.AlwaysAsk, Timeout: 30 * time.Second},
		"compact":      {Risk: extension.LowRisk, Approval: extension.NeverAsk, Timeout: time.Minute},
		"spawn_agent":  {Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic, Timeout: 5 * time.Minute},
		"spawn_worker": {Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic, Timeout: 5 * time.Minute},
	} {
		p := tools(t)[name].Policy.Fill()
		if p.Risk != want.Risk || p.Approval != want.Approval || p.Timeout != want.Timeout || p.RateLimit != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestOnlyGlobal(t *testing.T) {
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New().Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
}

func TestStatusOfNoServers(t *testing.T) {
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := i.StatusSegment(t.Context()); err != nil || len(s) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// What needs turns says so, and what is wrong with a call is said first.
func TestWithoutTurns(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		wrong      bool
	}{
		{"compact", `{"summary":"so far"}`, false},
		{"compact", `{"summary":" \n"}`, true},
		{"compact", `{}`, true},
		{"spawn_agent", `{"agent_ref":"nova","task":"count"}`, false},
		{"spawn_agent", `{"agent":"nova","task":"count","async":true}`, false},
		{"spawn_agent", `{"task":"count"}`, true},
		{"spawn_agent", `{"agent_ref":"nova"}`, true},
		{"spawn_worker", `{"name":"clerk","task":"count","tools":["calculate"]}`, false},
		{"spawn_worker", `{"task":"count"}`, true},
		{"spawn_worker", `{"name":"clerk","task":" "}`, true},
		{"spawn_worker", `[]`, true},
	} {
		text, err := tools(t)[c.tool].Run(t.Context(), extension.Call{}, json.RawMessage(c.args))
		if text != "" || errors.Is(err, extension.ErrArgument) != c.wrong || errors.Is(err, errNoTurns) == c.wrong {
			t.Errorf("%s %s: %q, %v", c.tool, c.args, text, err)
		}
		if !c.wrong && !strings.Contains(err.Error(), "does not run turns") {
			t.Errorf("%s: %v", c.tool, err)
		}
	}
}
