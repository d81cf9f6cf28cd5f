package memory

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/extension/hub"
)

// switched writes an event into a log.
func switched(t *testing.T, p *banktest.Peer, doc crdt.DocID, kind activation.Kind) {
	t.Helper()
	err := p.Update(t.Context(), doc, func(tx *crdt.Tx) error {
		log := tx.Index(activation.IndexName).(*activation.Log)
		rows, err := log.Next(tx.Now(), kind, name, New().Declaration().Ref)
		if err != nil {
			return err
		}
		for _, e := range rows {
			if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hosted is a hub with the extension installed.
func hosted(t *testing.T, p *banktest.Peer) *hub.Hub {
	t.Helper()
	h := hub.New(hub.Config{Peer: p.Handles, Documents: p.Repo, Clock: p.Clock})
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	for _, r := range h.Install(t.Context(), []extension.Extension{New()}) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return h
}

// TestInTheHub runs the extension as a host does: what is attached counts from the next turn on, a
// turn in progress keeps what it has, and whoever is switched off contributes nothing.
func TestInTheHub(t *testing.T) {
	p := banktest.NewNet().Peer(t, 1, activation.Index())
	nova := p.NewAgent("nova")
	session := p.NewSession(nova)
	p.AddRows(p.NewBank(crdt.MemoryBank, "sea"), "memory", memoryRow("whale", "sings"))
	p.Say(session, crdt.EntryMessage, "Does the whale sing?")
	switched(t, p, session, activation.Activated)

	h, ctx := hosted(t, p), t.Context()
	turn := func() *hub.Turn {
		t.Helper()
		tu, err := h.Turn(ctx, hub.TurnKey{Session: session, Agent: nova})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tu.Release)
		return tu
	}
	before := turn()
	if got := before.Tails(ctx); got != "" {
		t.Fatalf("nothing is attached: %q", got)
	}
	if out, err := h.Command(ctx, session, nova, "memory", "attach sea"); err != nil || !strings.Contains(out, "Attached") {
		t.Fatalf("%q, %v", out, err)
	}
	if got := before.Tails(ctx); got != "" {
		t.Errorf("a turn in progress got %q", got)
	}
	after := turn()
	if got := keysOf(after.Tails(ctx)); got != "whale" {
		t.Errorf("the next turn got %q", got)
	}
	rows, err := after.Resolver().Memory("").Search(ctx, extension.MemoryQuery{Text: "sings"})
	if err != nil || len(rows) != 1 || rows[0].Bank != "sea" {
		t.Errorf("for other extensions: %v, %v", rows, err)
	}
	tool, ok := after.Tool("recall")
	if !ok {
		t.Fatal("no tool recall")
	}
	if out, err := tool.Tool.Run(ctx, tool.Call, json.RawMessage(`{"query":"whale"}`)); err != nil || !strings.Contains(out, "sings") {
		t.Errorf("%q, %v", out, err)
	}
	switched(t, p, nova.ID, activation.Deactivated)
	if got := turn().Tails(ctx); got != "" {
		t.Errorf("an agent that opted out got %q", got)
	}
	if out, err := h.Command(ctx, session, nova, "memory", "detach sea"); err != nil {
		t.Errorf("the command follows the session: %q, %v", out, err)
	}
	switched(t, p, session, activation.Deactivated)
	if _, err := h.Command(ctx, session, nova, "memory", "list"); err == nil {
		t.Error("the command works although the session has it off")
	}
}
