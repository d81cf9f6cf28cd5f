package agentschedule

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestConformance(t *testing.T) { extensiontest.Run(t, New(), extensiontest.Handles{}) }

// Every fire fails and says why, so that the engine counts it.
func TestFire(t *testing.T) {
	for _, s := range []extension.ScopeContext{extension.AgentContext{}, extension.SessionContext{}} {
		if _, err := New().Instantiate(t.Context(), s); err == nil {
			t.Errorf("there is an instance at scope %s", s.Scope())
		}
	}
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{"schedule":"daily"}`, ``, `null`, `[`} {
		err := i.Routine(t.Context(), extension.Fire{Routine: "daily", Scope: "agent:x", Payload: json.RawMessage(payload)})
		if !errors.Is(err, errNoTurns) || !strings.Contains(err.Error(), "daily") || len(err.Error()) > 256 {
			t.Errorf("%v", err)
		}
	}
}
