package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/bank/banktest"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/extensiontest"
)

func TestMemoryAccess(t *testing.T) {
	x := alone(t)
	ctx := t.Context()
	x.says("new team", "Made")
	x.says("grant team nova write", "may now")
	mem := x.room().Memory
	if err := mem.Remember(ctx, extension.MemoryRow{Key: "tea", Value: "green", Tags: []string{"Drink"}}, ""); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remember(ctx, extension.MemoryRow{Key: "tea", Value: "black"}, "team"); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remember(ctx, extension.MemoryRow{Key: "tea", Value: "black"}, "no such"); !errors.Is(err, extension.ErrArgument) {
		t.Fatalf("an unknown bank: %v", err)
	}
	for _, c := range []struct {
		q    extension.MemoryQuery
		want string
	}{
		{extension.MemoryQuery{Text: "tea"}, "2"},
		{extension.MemoryQuery{Text: "tea", Bank: "self"}, "1 green self"},
		{extension.MemoryQuery{Text: "tea", Bank: "team"}, "1 black team"},
		{extension.MemoryQuery{Tags: []string{"DRINK"}}, "1 green self"},
		{extension.MemoryQuery{Limit: 1}, "1 green self"},
		{extension.MemoryQuery{Text: "coffee"}, "0"},
	} {
		rows, err := mem.Search(ctx, c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(len(rows))
		if len(rows) == 1 {
			got += " " + rows[0].Value + " " + rows[0].Bank
		}
		if c.q.Limit == 1 {
			got, c.want = got[:1], c.want[:1]
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	if _, err := mem.Search(ctx, extension.MemoryQuery{Limit: -1}); !errors.Is(err, extension.ErrArgument) {
		t.Errorf("a negative limit: %v", err)
	}
	banks, err := mem.Banks(ctx)
	if err != nil || len(banks) != 2 || banks[0].Name != "self" || banks[1].Name != "team" || banks[1].Permission != "write" {
		t.Fatalf("%+v, %v", banks, err)
	}
}

func TestWhoseMemory(t *testing.T) {
	net := banktest.NewNet()
	a, b := net.Peer(t, 1), net.Peer(t, 2)
	nova, otto, far := a.NewAgent("nova"), a.NewAgent("otto"), b.NewAgent("far")
	for _, who := range []extension.Agent{nova, otto} {
		a.AddRows(who.ID, "memory", memoryRow("name", who.Name))
	}
	search := func(caller *extension.Agent, roster ...extension.Agent) (string, error) {
		x := newActor(t, a, a.NewSession(roster...), nova)
		ctx := t.Context()
		if caller != nil {
			ctx = extension.WithCaller(ctx, extension.Call{Session: x.session, Agent: *caller})
		}
		rows, err := x.room().Memory.Search(ctx, extension.MemoryQuery{})
		if err != nil || len(rows) != 1 {
			return "", fmt.Errorf("%d rows: %w", len(rows), err)
		}
		return rows[0].Value, nil
	}
	for _, c := range []struct {
		caller *extension.Agent
		roster []extension.Agent
		want   string
	}{
		{nil, []extension.Agent{otto, far}, "otto"}, // the one that is hosted here
		{nil, []extension.Agent{nova, otto}, ""},
		{nil, []extension.Agent{far}, ""},
		{nil, nil, ""},
		{&otto, []extension.Agent{nova, otto}, "otto"},
		{&far, []extension.Agent{nova, far}, ""}, // not hosted here: never somebody else's
		{&extension.Agent{}, []extension.Agent{nova}, ""},
	} {
		if got, err := search(c.caller, c.roster...); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("caller %v, roster %v: %q, %v; want %q", c.caller, c.roster, got, err, c.want)
		}
	}
}

func TestConformance(t *testing.T) {
	p := banktest.NewNet().Peer(t, 1)
	nova := p.NewAgent("nova")
	session := p.NewSession(nova)
	p.Say(session, crdt.EntryMessage, "whale")
	extensiontest.Run(t, New(), extensiontest.Handles{
		Peer: p.Handles, Session: p.Document(session), Agent: nova, AgentDoc: p.Document(nova.ID),
	})
	t.Run("WithoutHandles", func(t *testing.T) {
		extensiontest.Run(t, New(), extensiontest.Handles{Session: p.Document(session), Agent: nova})
	})
}
