package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/builtins/schedule"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/crdt/automerge"
	"github.com/chaz-peer/chaz-peer/crdt/chunk"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/routine"
)

// start is 2026-08-06T07:06:40Z, a Thursday.
const start = 1_786_000_000_000

// world is one peer with real documents, and the extension on it.
type world struct {
	t       testing.TB
	repo    *crdt.Repo
	clock   *crdt.ManualClock
	session crdt.DocID
	agents  map[string]crdt.DocID
	admin   *admin
	live    *extension.Instance
	self    string // name of the agent that calls
}

func newWorld(t testing.TB, names ...string) *world {
	t.Helper()
	w := bare(t)
	for _, name := range names {
		w.newAgent(name, true)
	}
	if len(names) > 0 {
		w.self = names[0]
	}
	return w
}

func bare(t testing.TB) *world {
	t.Helper()
	rng := rand.New(rand.NewSource(1))
	id, err := crdt.NewIdentity(rng)
	must(t, err)
	w := &world{t: t, clock: crdt.NewManualClock(start), agents: map[string]crdt.DocID{}}
	w.repo, err = crdt.NewRepo(context.Background(), crdt.Config{
		Store: crdt.NewMemStore(), Identity: id, Clock: w.clock, Codec: chunk.New(), Core: automerge.New(), Rand: rng,
		Indexes: []crdt.IndexSpec{crdt.EntryIndex()},
	})
	must(t, err)
	t.Cleanup(func() { w.repo.Close() })
	w.session, err = w.repo.Create(context.Background(), crdt.Session, func(*crdt.Tx) error { return nil })
	must(t, err)
	w.admin = &admin{repo: w.repo}
	w.live, err = schedule.New().Instantiate(context.Background(), extension.GlobalContext{Peer: w.peer()})
	must(t, err)
	return w
}

func (w *world) peer() *extension.Peer {
	return &extension.Peer{Self: w.repo.Self(), Clock: w.clock, Admin: w.admin, Sessions: sessions{w.repo}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) newAgent(name string, attach bool) crdt.DocID {
	w.t.Helper()
	id, err := w.repo.Create(context.Background(), crdt.Agent, func(tx *crdt.Tx) error {
		return tx.Set(crdt.MetaStore, crdt.MetaDisplay, name)
	})
	must(w.t, err)
	w.agents[name] = id
	if attach {
		w.clock.Set(start - 1000 + int64(len(w.agents))) // the roster is in the order of attaching
		w.update(w.session, func(tx *crdt.Tx) error {
			return crdt.AttachAgent(tx, crdt.AttachedAgent{ID: id, Name: name, HomePeer: w.repo.Self().String()})
		})
		w.clock.Set(start)
	}
	return id
}

func (w *world) update(id crdt.DocID, fn func(*crdt.Tx) error) {
	w.t.Helper()
	must(w.t, w.repo.Update(context.Background(), id, fn))
}

func (w *world) call() extension.Call {
	return extension.Call{Session: w.session, Agent: extension.Agent{ID: w.agents[w.self], Name: w.self}}
}

// tool runs a tool with arguments that are JSON text or anything that has a JSON form.
func (w *world) tool(name string, args any) (string, error) {
	w.t.Helper()
	raw, ok := args.(string)
	if !ok {
		text, err := json.Marshal(args)
		must(w.t, err)
		raw = string(text)
	}
	for _, tool := range w.live.Tools {
		if tool.Name == name {
			return tool.Run(context.Background(), w.call(), json.RawMessage(raw))
		}
	}
	w.t.Fatalf("there is no tool %s", name)
	return "", nil
}

func (w *world) slash(args string) (string, error) {
	return w.live.Commands[0].Run(context.Background(), w.call(), args)
}

// says checks that an answer is no error and has all the parts.
func (w *world) says(parts ...string) func(string, error) {
	return func(got string, err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatalf("error: %v", err)
		}
		has(w.t, got, parts)
	}
}

// refuses checks that an answer is an error with all the parts.
func (w *world) refuses(parts ...string) func(string, error) {
	return func(got string, err error) {
		w.t.Helper()
		if err == nil {
			w.t.Fatalf("no error, but %q", got)
		}
		has(w.t, err.Error(), parts)
		if len(err.Error()) > 2000 {
			w.t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
}

func has(t testing.TB, got string, parts []string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%q lacks %q", got, p)
		}
	}
}

// stored is a schedule as it lies in the agent's document, JSON text by field.
func (w *world) stored(agent, id string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	must(w.t, w.repo.View(context.Background(), w.agents[agent], func(v *crdt.View) error {
		for key, text := range v.Records("schedules") {
			if field, ok := strings.CutPrefix(key, id+"/"); ok {
				out[field] = text
			}
		}
		return nil
	}))
	return out
}

// decoded is what the engine reads of a schedule.
func (w *world) decoded(agent, id string) routine.Routine {
	w.t.Helper()
	fields := w.stored(agent, id)
	fields[routine.FieldTarget] = `{"extension":"agent_schedule","payload":null}`
	r, ok := routine.Decode(id, fields)
	if !ok || r.Fault != "" {
		w.t.Fatalf("%s is no schedule: %v, fault %q", id, fields, r.Fault)
	}
	return r
}

// put writes fields of a schedule as the engine or another peer would; "" deletes.
func (w *world) put(agent, id string, fields map[string]string) {
	w.t.Helper()
	w.update(w.agents[agent], func(tx *crdt.Tx) error {
		for k, text := range fields {
			var err error
			if text == "" {
				err = tx.Delete("schedules", id+"/"+k)
			} else {
				err = tx.Set("schedules", id+"/"+k, json.RawMessage(text))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// sessions finds sessions of a repo.
type sessions struct{ repo *crdt.Repo }

func (s sessions) List(context.Context) ([]extension.Entry, error) { return nil, nil }

func (s sessions) Open(_ context.Context, ref string) (extension.Document, error) {
	id, err := crdt.ParseDocID(ref)
	if sum, ok := s.repo.Summary(id); err != nil || !ok || sum.Kind != crdt.Session {
		return nil, fmt.Errorf("open session: %w", extension.ErrNotFound)
	}
	return document{s.repo, id}, nil
}

type document struct {
	repo *crdt.Repo
	id   crdt.DocID
}

func (d document) ID() crdt.DocID { return d.id }

func (d document) View(ctx context.Context, fn func(*crdt.View) error) error {
	return d.repo.View(ctx, d.id, fn)
}

func (d document) Update(ctx context.Context, fn func(*crdt.Tx) error) error {
	return d.repo.Update(ctx, d.id, fn)
}

// admin is an [extension.AgentAdmin] over the agents of a repo.
type admin struct {
	repo    *crdt.Repo
	allowed []string // nil: all
}

func (a *admin) Resolve(ctx context.Context, c extension.Call, ref string) (extension.Agent, error) {
	if ref == "" {
		ref = c.Agent.ID.String()
	}
	var found []extension.Agent
	for _, sum := range a.repo.List() {
		if sum.Kind != crdt.Agent {
			continue
		}
		x := extension.Agent{ID: sum.ID}
		err := a.repo.View(ctx, sum.ID, func(v *crdt.View) error { x.Name = crdt.AgentView{View: v}.Name(); return nil })
		if err != nil {
			return x, err
		}
		if (x.Name == ref || x.ID.String() == ref) && (a.allowed == nil || slices.Contains(a.allowed, x.Name)) {
			found = append(found, x)
		}
	}
	switch len(found) {
	case 0:
		return extension.Agent{}, fmt.Errorf("resolve: %w", extension.ErrNoAgent)
	case 1:
		return found[0], nil
	}
	return extension.Agent{}, fmt.Errorf("resolve: %w", extension.ErrAmbiguous)
}

func (a *admin) Schedules(ctx context.Context, x extension.Agent) (map[string]map[string]json.RawMessage, error) {
	if _, err := a.Resolve(ctx, extension.Call{}, x.ID.String()); err != nil {
		return nil, err
	}
	out := map[string]map[string]json.RawMessage{}
	err := a.repo.View(ctx, x.ID, func(v *crdt.View) error {
		for key, text := range v.Records("schedules") {
			i := strings.LastIndexByte(key, '/')
			if i < 1 {
				continue
			}
			if _, there := v.Record("schedules", key[:i]+"/trigger"); !there {
				continue
			}
			if out[key[:i]] == nil {
				out[key[:i]] = map[string]json.RawMessage{}
			}
			out[key[:i]][key[i+1:]] = json.RawMessage(text)
		}
		return nil
	})
	return out, err
}

func (a *admin) PutSchedule(ctx context.Context, x extension.Agent, id string, fields map[string]any, create bool) error {
	if _, err := a.Resolve(ctx, extension.Call{}, x.ID.String()); err != nil {
		return err
	}
	if id == "" || strings.ContainsRune(id, '/') {
		return errors.New("put schedule: a bad id came through")
	}
	return a.repo.Update(ctx, x.ID, func(tx *crdt.Tx) error {
		_, there := tx.Record("schedules", id+"/trigger")
		switch {
		case create && there:
			return fmt.Errorf("put schedule: it is there: %w", extension.ErrArgument)
		case !create && !there:
			return fmt.Errorf("put schedule: %w", extension.ErrNotFound)
		}
		for field, v := range fields {
			var err error
			if v == nil {
				err = tx.Delete("schedules", id+"/"+field)
			} else {
				err = tx.Set("schedules", id+"/"+field, v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *admin) RemoveSchedule(ctx context.Context, x extension.Agent, id string) (there bool, err error) {
	if _, err := a.Resolve(ctx, extension.Call{}, x.ID.String()); err != nil {
		return false, err
	}
	err = a.repo.Update(ctx, x.ID, func(tx *crdt.Tx) error {
		for key := range tx.Records("schedules") {
			i := strings.LastIndexByte(key, '/')
			if i != len(id) || key[:i] != id {
				continue
			}
			there = there || key[i+1:] == "trigger"
			if err := tx.Delete("schedules", key); err != nil {
				return err
			}
		}
		return nil
	})
	return there, err
}
