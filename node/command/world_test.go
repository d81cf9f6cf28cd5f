package command_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/node/command"
)

const start = int64(1786000000000) // 2026-08-06T07:06:40.000Z

// desk is one peer with a session, an agent and everything a Runner needs, all of it real documents.
type desk struct {
	t       *testing.T
	repo    *crdt.Repo
	clock   *crdt.ManualClock
	session crdt.DocID
	agent   command.Agent
	runner  *command.Runner
	cfg     command.Config

	names  map[crdt.DocID]string
	agents map[string]crdt.DocID
	pets   map[crdt.PeerID]string
	states map[extension.RefKind]command.Standing
	offset int64
}

func newDesk(t *testing.T) *desk { return newDeskAs(t, 1, crdt.NewMemStore()) }

func newDeskAs(t *testing.T, seed int64, store crdt.Store) *desk {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	id, err := crdt.NewIdentity(rng)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{
		t: t, clock: crdt.NewManualClock(start), names: map[crdt.DocID]string{}, agents: map[string]crdt.DocID{},
		pets: map[crdt.PeerID]string{}, states: map[extension.RefKind]command.Standing{},
	}
	d.repo, err = crdt.NewRepo(context.Background(), crdt.Config{
		Store: store, Identity: id, Clock: d.clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex(), activation.Index()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.repo.Close() })
	d.cfg = command.Config{
		Documents: d.repo, Declarations: builtins.Declarations(), Agents: d, Names: d, Peers: d, States: d, Clock: d.clock, Self: id.PeerID(),
	}
	d.cfg.Live = newStage(d, "")
	d.runner = command.New(d.cfg)
	return d
}

// started makes a session with its default rows, and an agent.
func started(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.newSession()
	d.agent = command.Agent{ID: d.newAgent("chaz", ""), Name: "chaz", Hosted: true}
	return d
}

func (d *desk) newSession() {
	d.t.Helper()
	var err error
	d.session, err = d.repo.Create(context.Background(), crdt.Session, func(tx *crdt.Tx) error {
		rows, err := activation.RecordActive(activation.NewLog(), builtins.Declarations(), tx.Now())
		for _, e := range rows {
			if _, err := tx.PutRow(activation.Store, e.Text); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) newAgent(name, home string) crdt.DocID {
	d.t.Helper()
	id, err := d.repo.Create(context.Background(), crdt.Agent, func(tx *crdt.Tx) error {
		if home != "" {
			if err := tx.Set(crdt.MetaStore, crdt.MetaHome, home); err != nil {
				return err
			}
		}
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.agents[name] = id
	return id
}

// put adds rows to a document's log as another writer would.
func (d *desk) put(doc crdt.DocID, rows ...string) {
	d.t.Helper()
	err := d.repo.Update(context.Background(), doc, func(tx *crdt.Tx) error {
		for _, text := range rows {
			if _, err := tx.PutRow(activation.Store, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) rows(doc crdt.DocID) (n int) {
	d.t.Helper()
	err := d.repo.View(context.Background(), doc, func(v *crdt.View) error { n = v.RowCount(activation.Store); return nil })
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

func (d *desk) run(line string) command.Result {
	return d.runner.Run(context.Background(), command.Call{Session: d.session, Agent: d.agent, Line: line})
}

// want runs a line and checks the kind of result and that the output holds each part.
func (d *desk) want(line string, kind command.Kind, parts ...string) string {
	d.t.Helper()
	r := d.run(line)
	if r.Kind != kind {
		d.t.Errorf("%q: %s: %s; want %s", line, r.Kind, r.Output, kind)
	}
	for _, p := range parts {
		if !strings.Contains(r.Output, p) {
			d.t.Errorf("%q: %s\nwant in it: %s", line, r.Output, p)
		}
	}
	if kind != command.NotCommand && (r.Output == "" || strings.HasSuffix(r.Output, "\n")) {
		d.t.Errorf("%q: output %q", line, r.Output)
	}
	return r.Output
}

func (d *desk) RosterEntry(ctx context.Context, ref string) (crdt.AttachedAgent, error) {
	id, ok := d.agents[ref]
	if !ok {
		return crdt.AttachedAgent{}, fmt.Errorf("no agent %s", ref)
	}
	a := crdt.AttachedAgent{ID: id}
	err := d.repo.View(ctx, id, func(v *crdt.View) error {
		a.Name, a.HomePeer = crdt.AgentView{View: v}.Name(), crdt.AgentView{View: v}.HomePeer()
		return nil
	})
	if a.HomePeer == "" {
		a.HomePeer = d.repo.Self().String()
	}
	return a, err
}

func (d *desk) SessionName(id crdt.DocID) string { return d.names[id] }

func (d *desk) SetSessionName(_ context.Context, id crdt.DocID, name string) error {
	for other, have := range d.names {
		if other != id && have == name {
			return errors.New("another session has that name")
		}
	}
	d.names[id] = name
	return nil
}

func (d *desk) Petname(id crdt.PeerID) string { return d.pets[id] }

func (d *desk) ClockOffset(crdt.PeerID) (int64, bool) { return d.offset, d.offset != 0 }

// RefState knows one answer for each kind of reference, in the desk's own session only.
func (d *desk) RefState(_ context.Context, session crdt.DocID, name string, ref extension.Ref) command.Standing {
	if s, ok := d.states[ref.Kind()]; ok && session == d.session && name == ref.Name() {
		return s
	}
	return command.Standing{State: command.StateUnavailable}
}
